"""Topics of a migration: how far each is, by what its cluster shows, and whether it can still be taken back.

    OPEN ─▶ BRAKED ─▶ TERMINATED ─▶ DRAINING ─▶ DRAINED ─▶ REDIRECTED ─▶ GONE
                          │
                          ├─▶ STRANDED   the broker refuses to load it, and it holds what was not read
                          └─▶ FENCED     its ledger is closed and the broker has never finished its mark

A topic goes on by what brokers and clients do; nothing here moves it. Every answer is of this moment: a run that begins
anew finds each topic where it is.
Source: ``PersistentTopic.checkClusterMigration``, ``ManagedLedgerImpl.asyncMigrate``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from syncer.migration.evidence import StatsAnswer, TopicSeen


class TopicState(StrEnum):
    """How far a topic is."""

    OPEN = "open"
    """It takes messages at blue."""
    BRAKED = "braked"
    """It takes messages at the rate of the brake."""
    TERMINATED = "terminated"
    """Its ledger is closed; the broker has not finished the mark, or producers are still there."""
    DRAINING = "draining"
    """Nothing is written any more, and a subscription has yet to read."""
    DRAINED = "drained"
    """Everything was read; somebody is still connected."""
    REDIRECTED = "redirected"
    """Nobody is there any more."""
    GONE = "gone"
    """Blue has deleted it."""
    STRANDED = "stranded"
    """It cannot be loaded, and holds what was not read: its namespace's mark has to be taken off."""
    FENCED = "fenced"
    """It cannot be written, read, or left: its namespace's mark has to be taken off, and it has to be unloaded."""
    UNKNOWN = "unknown"
    """The broker could not tell."""


READ: Final = frozenset({TopicState.DRAINED, TopicState.REDIRECTED, TopicState.GONE})
"""States of a topic of which nothing is left to read."""


class Rollback(StrEnum):
    """Whether something can be taken back as it was."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


def state_of(topic: TopicSeen, *, brake: int | None = None, window_over: bool = False) -> TopicState:
    """How far a topic is.

    Args:
        topic: As it was just read; statistics that were not asked are not known.
        brake: Rate in bytes per second that this migration has set for it; ``None``: none.
        window_over: Whether the ledger has been closed for longer than any mark takes.
    """
    ledger = topic.ledger
    if ledger is None:
        return TopicState.GONE if topic.answer in (StatsAnswer.ABSENT, StatsAnswer.UNASKED) else TopicState.UNKNOWN
    if topic.answer is StatsAnswer.MIGRATED:
        return TopicState.REDIRECTED if ledger.drained else TopicState.STRANDED
    if ledger.terminated is None:
        closed = topic.flow is not None and topic.flow.ledger_state == "Terminated"
        if not closed:
            return TopicState.BRAKED if brake is not None and topic.publish_rate == brake else TopicState.OPEN
        return TopicState.FENCED if window_over else TopicState.TERMINATED
    if topic.answer is not StatsAnswer.LOADED:
        return TopicState.REDIRECTED if ledger.migrated and ledger.drained else TopicState.UNKNOWN
    if topic.flow is not None and topic.flow.pending_adds and window_over:
        return TopicState.FENCED
    if not ledger.migrated or topic.producers:
        return TopicState.TERMINATED
    if any(not each.drained for each in topic.subscriptions.values()):
        return TopicState.DRAINING
    return TopicState.DRAINED if topic.subscriptions else TopicState.REDIRECTED


def rollback_of(state: TopicState) -> Rollback:
    """Whether a topic in this state can be opened at blue again: a closed ledger cannot."""
    match state:
        case TopicState.OPEN | TopicState.BRAKED:
            return Rollback.YES
        case TopicState.UNKNOWN | TopicState.STRANDED:
            return Rollback.PARTLY
        case _:
            return Rollback.NO


def rollback_of_all(states: Iterable[TopicState]) -> Rollback:
    """Whether a wave can be taken back: all of it, a part, or nothing."""
    found = {rollback_of(state) for state in states}
    if len(found) == 1:
        return found.pop()
    return Rollback.PARTLY if found else Rollback.YES
