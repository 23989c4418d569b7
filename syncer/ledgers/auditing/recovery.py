"""Recovery: ledgers that are marked as under-replicated, and whether auto-recovery can mend each.

Source: Auditor, ReplicationWorker, ZkLedgerUnderreplicationManager, BookKeeper 4.17.2; BookKeeper issue 4872.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from syncer.ledgers.auditing.picture import LedgersPicture
from syncer.ledgers.losses.decommission import BlockedBy, ClusterBookies, decommission
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.nodes import AuditorPlace, UnderReplicationMark


class MarkState(StrEnum):
    """How far the mending of a marked ledger is."""

    LEDGER_GONE = "ledger-gone"
    BOOKIES_BACK = "bookies-back"
    BEING_COPIED = "being-copied"
    BLOCKED = "blocked"
    FOR_PLACEMENT = "for-placement"
    WAITING = "waiting"


class RecoveryFault(StrEnum):
    """What keeps auto-recovery from working at all."""

    DISABLED = "disabled"
    NO_AUDITOR = "no-auditor"
    TWO_AUDITORS = "two-auditors"
    UNKNOWN = "unknown"


class MarkedLedger(NamedTuple):
    """A marked ledger: its topic, how far its mending is, why it is blocked, which host copies it."""

    mark: UnderReplicationMark
    topic: str | None
    state: MarkState
    blocked: BlockedBy | None
    worker: str | None


class UnmarkedLedger(NamedTuple):
    """A ledger that names bookies which are lost, and that nobody has marked."""

    ledger_id: int
    topic: str | None
    bookies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryStanding:
    """Auto-recovery of a cluster.

    Attributes:
        auditors: The leader of each place where one is elected.
        fault: What keeps it from working at all.
        workers: Hosts that copy a ledger now.
    """

    marked: tuple[MarkedLedger, ...]
    unmarked: tuple[UnmarkedLedger, ...]
    auditors: dict[AuditorPlace, str]
    fault: RecoveryFault | None
    workers: tuple[str, ...]


def recovery_standing(picture: LedgersPicture, *, known: bool) -> RecoveryStanding:
    """Judge the auto-recovery of a cluster.

    Args:
        picture: The picture.
        known: Its nodes of auto-recovery and its bookies were read whole.
    """
    record = picture.recovery
    auditors = auditors_of(picture)
    marked = {mark.ledger_id for mark in record.marks}
    lost = picture.lost()
    bookies = picture.cluster_bookies()
    return RecoveryStanding(
        marked=tuple(_marked(picture, mark, bookies) for mark in sorted(record.marks, key=lambda mark: mark.ledger_id)),
        unmarked=tuple(_unmarked(picture, marked, lost)),
        auditors=auditors,
        fault=_fault(auditors, disabled=record.disabled, known=known),
        workers=tuple(sorted({lock.host for lock in record.locks.values()})),
    )


def auditors_of(picture: LedgersPicture) -> dict[AuditorPlace, str]:
    """Find who leads in each place where an auditor is elected; of votes the lowest number leads.

    Args:
        picture: The picture.
    """
    return {
        place: min(votes, key=lambda vote: vote.number).bookie
        for place in AuditorPlace
        if (votes := [vote for vote in picture.recovery.votes if vote.place is place])
    }


def _fault(auditors: dict[AuditorPlace, str], *, disabled: bool, known: bool) -> RecoveryFault | None:
    if disabled:
        return RecoveryFault.DISABLED
    if len(auditors) > 1:
        return RecoveryFault.TWO_AUDITORS
    if auditors:
        return None
    return RecoveryFault.NO_AUDITOR if known else RecoveryFault.UNKNOWN


def _marked(picture: LedgersPicture, mark: UnderReplicationMark, bookies: ClusterBookies) -> MarkedLedger:
    ledger = picture.ledgers.get(mark.ledger_id)
    topic = picture.topic_of(mark.ledger_id)
    lock = picture.recovery.locks.get(mark.ledger_id)
    worker = None if lock is None else lock.host
    if ledger is None:
        return MarkedLedger(mark, topic, MarkState.LEDGER_GONE, None, worker)
    if lock is not None:
        return MarkedLedger(mark, topic, MarkState.BEING_COPIED, None, worker)
    if not picture.bookies_known:
        return MarkedLedger(mark, topic, MarkState.WAITING, None, None)
    away = ledger.bookies() - bookies.readable
    if not away:
        state = MarkState.BOOKIES_BACK if mark.bookies else MarkState.FOR_PLACEMENT
        return MarkedLedger(mark, topic, state, None, None)
    blocked = blocked_by(ledger, away, bookies)
    return MarkedLedger(mark, topic, MarkState.WAITING if blocked is None else MarkState.BLOCKED, blocked, None)


def blocked_by(ledger: LedgerMetadata, away: frozenset[str], bookies: ClusterBookies) -> BlockedBy | None:
    """Tell why auto-recovery can never mend a ledger; None where it can.

    Args:
        ledger: The ledger.
        away: Bookies that it names, and that are lost.
        bookies: Of the cluster.
    """
    plan = decommission([ledger], tuple(sorted(away)), bookies)
    return next((reason for _, reason in plan.examples), None)


def _unmarked(picture: LedgersPicture, marked: set[int], lost: frozenset[str]) -> Iterator[UnmarkedLedger]:
    if not lost:
        return
    for ledger_id, ledger in sorted(picture.ledgers.items()):
        if ledger_id not in marked and (away := ledger.bookies() & lost):
            yield UnmarkedLedger(ledger_id, picture.topic_of(ledger_id), tuple(sorted(away)))


BACK: Final = frozenset({MarkState.BOOKIES_BACK, MarkState.LEDGER_GONE})
"""Marks that stay only until a worker looks at them."""
