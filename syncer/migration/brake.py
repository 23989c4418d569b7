"""The brake: a publish rate so low that one message buys a pause longer than the window in which ledgers are closed.

Between a topic's ledger being *Terminated* and its mark being finished, a publish kills its producer and the last
acknowledgement makes consumers read everything again. Who is stopped before it begins, and until it is over, meets
neither. The rate is the topic's own policy ``publishRate``; what it does is Pulsar's token bucket:

* its capacity, its first content and its rate are the same number N of bytes, and every write of a policy of the topic
  or of its namespace makes a new, full one;
* a producer is stopped by its *own* publish, never by another's; the message that exceeds the rate goes through. One
  that has not published since is not stopped at all;
* all that are stopped are released together, when the debt of all is paid.

So one entry of s bytes buys s/N - 1 seconds and a hundredth, and n producers share the sum of theirs. Sizes that differ
too much, and producers that are silent, cannot be kept still by a rate alone: they are sent away, and a rate that is
taken off again at once only sees to it that hardly anything is under way when they are. Taken off, a rate stops nobody
anew; who is stopped is released by the timer that runs, which the first of them has set by its own entry alone.

Units: bytes and seconds. An entry is what is stored as one: a message, a batch, or a chunk.
Source: ``PublishRateLimiterImpl``, ``AsyncTokenBucket``, ``AbstractTopic.updatePublishRateLimiter``, Pulsar 4.0.8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LONGEST_PAUSE_S: Final = 15.0
"""A stopped connection reads nothing, not even answers to look-ups: clients give those up after 30 s."""
MOST_UNEVEN: Final = 3.0
"""Largest entry over smallest, beyond which one rate does not suit both."""
UNKNOWN_ENTRY_BYTES: Final = 1_000
"""What an entry is taken to be where none was seen."""
KICK_WAIT_S: Final = 2.0
"""From a rate to the moment at which producers are sent away: who publishes as often as that is stopped by then."""
KICK_ENTRIES: Final = 2
"""Entries that stop a connection while producers are sent away: the one that exceeds the rate, and one that was waiting
in a socket of the topic's producers. No broker tells who sends on without waiting for receipts: everybody may."""
_AFTER_KICK_S: Final = 1.0
"""For so long after it the mean entry keeps its producer still."""
COUNTED: Final = 0.9
"""Of an entry as it is stored; the rest may be what the broker has added to it."""
_REFILL: Final = 0.01
_RESOLUTION_S: Final = 0.016


class BrakeRefusal(StrEnum):
    """Why a rate alone does not keep a topic still."""

    SILENT = "silent"
    """A producer has not published lately: nothing stops it before its next message."""
    UNEVEN = "uneven"
    """The largest entry is so much larger than the smallest that no rate suits both."""
    MANY = "many"
    """So many producers would together be stopped for longer than their clients bear."""
    TOO_SMALL = "too-small"
    """The smallest entry is so small that even one byte a second pauses it too briefly."""
    WAITING = "waiting"
    """A producer waits for exclusive access, and comes in as soon as another is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipTiming:
    """How long a pause has to be.

    Attributes:
        check_period_s: How often a broker looks for marks (``clusterMigrationCheckDurationSeconds``).
        window_s: Longest time from a closed ledger to a finished mark, as measured on this cluster's canary.
        calls_s: What our own calls take, from the mark to the answer of every broker.
    """

    check_period_s: float
    window_s: float
    calls_s: float = 1.0

    @property
    def pause_s(self) -> float:
        """The shortest pause that reaches over all of it."""
        return self.check_period_s + self.window_s + self.calls_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What is known of those who publish on a topic.

    Attributes:
        producers: That are connected.
        silent: Of these, that have not published within the wait before the mark.
        waiting: That wait for exclusive access.
        smallest_bytes: Of the recent entries; ``None``: none was seen.
        largest_bytes: The same.
    """

    producers: int
    silent: int = 0
    waiting: int = 0
    smallest_bytes: float | None = None
    largest_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Brake:
    """A rate, and what it does.

    Attributes:
        rate: ``publishThrottlingRateInByte``.
        shortest_s: Pause of whoever publishes the smallest entry once.
        longest_s: Pause of the first that is stopped, when every producer publishes its largest entry once.
    """

    rate: int
    shortest_s: float
    longest_s: float


def pause_s(entry_bytes: float, rate: int) -> float:
    """How long the broker reads nothing from a producer after its first entry at a rate; 0: it is not stopped.

    Source: ``AsyncTokenBucket.calculateThrottlingDuration``: until a hundredth of the rate, or one byte, is there.
    """
    if entry_bytes < rate:
        return 0.0
    return (entry_bytes - rate + max(1, math.floor(_REFILL * rate))) / rate


def release_s(sizes: list[float], rate: int) -> float:
    """How long after the first of them all producers are released that have published one entry each; 0: none is."""
    owed = math.fsum(sizes)
    return pause_s(owed, rate) if sizes else 0.0


def kick_rate(entry_bytes: float | None) -> int:
    """The rate of a topic whose producers are about to be sent away.

    Args:
        entry_bytes: Mean entry of whoever publishes the largest ones; ``None``: it is not known.
    """
    return max(1, math.floor((entry_bytes or UNKNOWN_ENTRY_BYTES) / (KICK_WAIT_S + _AFTER_KICK_S + 1)))


def kick_pause_s(entry_bytes: float | None, rate: int) -> float:
    """How long at most producers that are about to be sent away are stopped, from the last answer that they got.

    An entry that is read when the first pause is over meets an empty bucket: it is paid for whole, and by everybody.

    Args:
        entry_bytes: As for :func:`kick_rate`.
        rate: That was set.
    """
    return KICK_ENTRIES * (entry_bytes or UNKNOWN_ENTRY_BYTES) / rate + _RESOLUTION_S


def brake(traffic: Traffic, timing: FlipTiming, longest_s: float = LONGEST_PAUSE_S) -> Brake | BrakeRefusal:
    """The rate that keeps a topic still for as long as it has to be, or why no rate does.

    Args:
        traffic: Who publishes, and what.
        timing: How long the pause has to be.
        longest_s: No client may be stopped for longer.
    """
    if traffic.waiting:
        return BrakeRefusal.WAITING
    if traffic.silent:
        return BrakeRefusal.SILENT
    smallest = traffic.smallest_bytes or UNKNOWN_ENTRY_BYTES
    largest = max(traffic.largest_bytes or smallest, smallest)
    if largest > MOST_UNEVEN * smallest:
        return BrakeRefusal.UNEVEN
    rate = math.floor(smallest / (timing.pause_s + 1))
    if rate < 1:
        return BrakeRefusal.TOO_SMALL
    longest = release_s([largest] * max(traffic.producers, 1), rate) + _RESOLUTION_S
    if longest > longest_s:
        return BrakeRefusal.MANY
    return Brake(rate=rate, shortest_s=pause_s(smallest, rate), longest_s=longest)
