"""Draining: how long until blue has nothing left that somebody has to read or to send on, and who holds it up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncer.migration.evidence import SubscriptionSeen, TopicSeen
from syncer.model import Millis

_UNSURE: Final = 0.02
"""Part of what has come between two looks that may be counted by one figure of a look and not by the other: a topic's
backlogs and its entries are told by two calls."""


class HeldUp(StrEnum):
    """Why a subscription does not become empty by itself."""

    NOBODY = "nobody-reads"
    """It has no consumer."""
    STANDS = "does-not-fall"
    """It has consumers, and its backlog has not become smaller."""
    UNACKNOWLEDGED = "unacknowledged"
    """All that is left was delivered and not acknowledged."""
    DELAYED = "delayed"
    """All that is left waits for its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A subscription's backlog at one time."""

    at_ms: Millis
    backlog: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """How a subscription drains.

    Attributes:
        left: Entries.
        eta_s: Until nothing is left, if it goes on as since the first look; ``None``: it does not fall.
        held_up: Why it does not fall; ``None``: it does, or it was not watched for long enough to say.
    """

    topic: str
    subscription: str
    left: int
    eta_s: float | None = None
    held_up: HeldUp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """What a topic has yet to replicate to another cluster: once it is marked, nobody writes it before that is sent.

    Attributes:
        left: Entries.
        eta_s: Until nothing is left, at the pace so far; ``None``: nothing was sent while it was watched.
    """

    topic: str
    remote: str
    left: int
    eta_s: float | None = None


def drain_of(topic: TopicSeen, first: Mapping[str, Level], now: Millis, settle_ms: Millis) -> tuple[Drain, ...]:
    """How each subscription of a topic drains that is not empty.

    Args:
        topic: As it is now.
        first: Subscription → the earliest level that is to be compared with.
        now: When it was read.
        settle_ms: Before it was watched for so long, nothing is said of why it does not fall.
    """
    return tuple(
        _drain(topic.name, name, seen, first.get(name), now, settle_ms)
        for name, seen in sorted(topic.subscriptions.items())
        if not seen.drained
    )


def _drain(topic: str, name: str, seen: SubscriptionSeen, first: Level | None, now: Millis, settle_ms: Millis) -> Drain:
    if not seen.consumers:
        return Drain(topic=topic, subscription=name, left=seen.backlog, held_up=HeldUp.NOBODY)
    if first is None or now <= first.at_ms:
        return Drain(topic=topic, subscription=name, left=seen.backlog)
    fallen, watched_ms = first.backlog - seen.backlog, now - first.at_ms
    if fallen > 0:
        eta_s = seen.backlog * watched_ms / fallen / 1000
        return Drain(topic=topic, subscription=name, left=seen.backlog, eta_s=eta_s)
    held_up = _why(seen) if watched_ms >= settle_ms else None
    return Drain(topic=topic, subscription=name, left=seen.backlog, held_up=held_up)


def _why(seen: SubscriptionSeen) -> HeldUp:
    if seen.delayed >= seen.backlog:
        return HeldUp.DELAYED
    return HeldUp.UNACKNOWLEDGED if seen.unacked >= seen.backlog else HeldUp.STANDS


def drains_foreseen(first: TopicSeen, now: TopicSeen, apart_s: float) -> tuple[Drain, ...]:
    """How each subscription of a topic that is not empty would drain, if nothing were written to it from now on.

    Its pace is what was read since the first look: what has left the backlog, and what has come to the topic meanwhile.

    Args:
        first: The topic as it was.
        now: As it is.
        apart_s: Seconds between the two, more than 0.
    """
    found: list[Drain] = []
    for name, seen in sorted(now.subscriptions.items()):
        before = first.subscriptions.get(name)
        if seen.drained:
            continue
        eta_s, held_up = None, None
        if not seen.consumers:
            held_up = HeldUp.NOBODY
        elif before is not None:
            eta_s = _eta_s(before.backlog, seen.backlog, _added(first, now), apart_s)
            held_up = _why(seen) if eta_s is None else None
        found.append(Drain(topic=now.name, subscription=name, left=seen.backlog, eta_s=eta_s, held_up=held_up))
    return tuple(found)


def sending_foreseen(first: TopicSeen, now: TopicSeen, apart_s: float) -> tuple[Sending, ...]:
    """How long each replicator of a topic that is not empty would send, if nothing were written from now on.

    Args:
        first: The topic as it was.
        now: As it is.
        apart_s: Seconds between the two, more than 0.
    """
    found: list[Sending] = []
    for remote, seen in sorted(now.replicators.items()):
        before = first.replicators.get(remote)
        if seen.backlog:
            eta_s = None if before is None else _eta_s(before.backlog, seen.backlog, _added(first, now), apart_s)
            found.append(Sending(topic=now.name, remote=remote, left=seen.backlog, eta_s=eta_s))
    return tuple(found)


def _eta_s(before: int, left: int, added: int, apart_s: float) -> float | None:
    done = before - left + added
    return left * apart_s / done if done > _UNSURE * added else None


def _added(first: TopicSeen, now: TopicSeen) -> int:
    """Entries that have come between two looks; a topic that was loaded anew in between has lost count."""
    if first.flow is None or now.flow is None:
        return 0
    return max(0, now.flow.entries_added - first.flow.entries_added)


def slowest_s(drains: Iterable[Drain | Sending]) -> float | None:
    """Until everything is read, or sent; 0: it is. ``None``: something is not known to fall."""
    longest = 0.0
    for drain in drains:
        if drain.eta_s is None:
            return None
        longest = max(longest, drain.eta_s)
    return longest
