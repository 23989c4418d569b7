"""Draining: how long until blue has nothing left that somebody has to read, and who holds it up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from syncer.migration.evidence import SubscriptionSeen, TopicSeen
from syncer.model import Millis


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
        held_up: BrakeRefusal not; ``None``: it falls, or it has not been watched for long enough to say.
    """

    topic: str
    subscription: str
    left: int
    eta_s: float | None = None
    held_up: HeldUp | None = None


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


def slowest_s(drains: Iterable[Drain]) -> float | None:
    """Until everything is drained; 0: it is. ``None``: something is not known to fall."""
    longest = 0.0
    for drain in drains:
        if drain.eta_s is None:
            return None
        longest = max(longest, drain.eta_s)
    return longest
