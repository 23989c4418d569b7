"""The cure of a topic: how it is kept still while its ledger is closed, by what passed through it within a short wait.

    who publishes                             cure
    nobody                                    the gate: no producer is let in
    one producer, steadily and evenly         the brake: a rate so low that its own next entry stops it
    anybody else                              brake and gate, and whoever is there is sent away (the kick)

Of several producers no counter tells which of them has published since the brake: a rate alone may leave one of them
running into the window. The kick is a policy of the namespace and meets all its topics, so that a wave has one cure:
what one of its topics needs, all of them get. Some topics are refused: nothing that can be set keeps them still.

Source: ``ServerCnx.handleProducer`` (the gate is asked first), ``PersistentTopic.onPoliciesUpdate`` (the kick),
``Backoff`` (when who was sent away comes again), Pulsar 4.0.8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from syncer.migration.brake import (
    COUNTED,
    Brake,
    BrakeRefusal,
    FlipTiming,
    Traffic,
    brake,
    kick_pause_s,
    kick_rate,
)
from syncer.migration.evidence import StatsAnswer, TopicSeen
from syncer.migration.roll_call import Who, seen_on
from syncer.replacing import replace

STEADY_PER_S: Final = 10.0
"""Entries a second from which on a producer counts as steady: within a second of the brake it is stopped."""
BACKOFF_S: Final = (0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 12.7, 25.5, 51.1)
"""When a client that was sent away comes again at the latest, counted from then, if it is let in at none of them."""
_EARLY: Final = 0.9
"""It may come earlier by a tenth."""
DRAIN_S: Final = 2.0
"""What it takes until all is read and acknowledged once nobody publishes, where consumers are not behind."""


class Cure(StrEnum):
    """What is done to a topic before its namespace is marked."""

    BRAKE = "brake"
    """A rate, and nothing else."""
    GATE = "gate"
    """No producer is let in; nobody is there who would have to be stopped."""
    GATE_AND_BRAKE = "gate-and-brake"
    """No producer is let in, all that are there are stopped by a rate and sent away."""
    REFUSED = "refused"
    """Nothing: the topic cannot be moved without harm as it is."""


class CureRefusal(StrEnum):
    """Why a topic cannot be moved as it is."""

    NOT_LOADED = "not-loaded"
    """No broker has it in memory, or none could tell: marked now it would be stranded."""
    CLOSED = "closed"
    """Its ledger was closed by somebody else."""
    WAITING = "waiting"
    """A producer waits for exclusive access: it comes in past the gate as soon as another is gone."""
    CHUNKS = "chunks"
    """A message in chunks that straddle the mark is lost."""
    TRANSACTIONS = "transactions"
    """Transactions are open: they stay at blue."""
    NO_KICK = "no-kick"
    """Producers have to be sent away, and nothing does so: the namespace demands encryption already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """A topic, looked at twice.

    Attributes:
        first: Before the wait, with all that its broker tells.
        second: After it; only its flow need be newer.
        apart_s: Between the two.
    """

    first: TopicSeen
    second: TopicSeen
    apart_s: float

    @property
    def entries(self) -> int:
        """Added within the wait; below zero: it was loaded anew."""
        if self.first.flow is None or self.second.flow is None:
            return 0
        return self.second.flow.entries_added - self.first.flow.entries_added

    @property
    def means(self) -> tuple[float, ...]:
        """Mean sizes of entries: of all that are stored, and of those that came within the wait."""
        first, second = self.first.flow, self.second.flow
        if first is None or second is None:
            return ()
        stored = (second.size_bytes / second.entries,) if second.entries > 0 else ()
        came, came_bytes = second.entries - first.entries, second.size_bytes - first.size_bytes
        return (*stored, came_bytes / came) if came > 0 and came_bytes > 0 else stored


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCure:
    """A topic's cure, and why it is not a weaker one.

    Attributes:
        why: What a rate alone does not do, or why the topic is refused; ``None``: the brake does, or nobody publishes.
        brake: The rate that does alone, where one does.
        kick_rate: The rate that goes with the kick.
        kick_pause_s: For how long at most that stops a producer.
    """

    topic: str
    cure: Cure
    why: BrakeRefusal | CureRefusal | None = None
    brake: Brake | None = None
    kick_rate: int = 1
    kick_pause_s: float = 0.0

    @property
    def rate(self) -> int | None:
        """Bytes a second that the topic is held to; ``None``: to none."""
        if self.cure is Cure.BRAKE:
            return self.brake.rate if self.brake is not None else None
        return self.kick_rate if self.cure is Cure.GATE_AND_BRAKE else None

    def longest_gap_s(self, timing: FlipTiming) -> float:
        """For how long at most its producers are without an answer, if nothing goes wrong."""
        match self.cure:
            case Cure.BRAKE if self.brake is not None:
                return self.brake.longest_s
            case Cure.GATE_AND_BRAKE:
                return self.kick_pause_s + back_after_s(hold_s(timing))
            case Cure.GATE:
                return back_after_s(hold_s(timing))
            case _:
                return 0.0


def hold_s(timing: FlipTiming) -> float:
    """From the kick until producers are let in again, if consumers are not behind."""
    return DRAIN_S + timing.check_period_s + timing.window_s


def back_after_s(hold: float) -> float:
    """When a producer stands at green that was sent away, and held for so long.

    It counts its steps from its first attempt, which is read once its connection is not stopped any more. Its first
    attempt after it was let in is answered by sending it to green; a Java client goes there at its next step only.
    """
    return next((then for step, then in pairwise(BACKOFF_S) if step * _EARLY >= hold), BACKOFF_S[-1])


def tries_again_s(passed: float) -> float:
    """When a client that was sent away so many seconds ago tries to come in again at the latest."""
    return next((step for step in BACKOFF_S if step >= passed), BACKOFF_S[-1])


def cure_of(looks: Looks, timing: FlipTiming, *, can_kick: bool, alone: bool = True) -> TopicCure:
    """The cure of one topic.

    Args:
        looks: The topic.
        timing: How long it has to be kept still.
        can_kick: Whether its producers can be sent away.
        alone: Whether a rate alone may do.
    """
    topic, sizes = looks.first, looks.means
    refused = _refused(topic)
    if refused is not None:
        return TopicCure(topic=topic.name, cure=Cure.REFUSED, why=refused)
    traffic = Traffic(
        producers=len(topic.producers),
        silent=0 if _steady(looks) else 1,
        smallest_bytes=min(sizes) * COUNTED if sizes else None,
        largest_bytes=max(sizes, default=None),
    )
    found = brake(traffic, timing)
    largest = max((*sizes, *(each.mean_entry_bytes for each in topic.producers)), default=None)
    rate = kick_rate(largest)
    pause = kick_pause_s(largest, rate)
    nobody = not topic.producers and looks.entries == 0
    if alone and isinstance(found, Brake):
        return TopicCure(topic=topic.name, cure=Cure.BRAKE, brake=found, kick_rate=rate, kick_pause_s=pause)
    if not can_kick:
        return TopicCure(topic=topic.name, cure=Cure.REFUSED, why=CureRefusal.NO_KICK)
    if nobody:
        return TopicCure(topic=topic.name, cure=Cure.GATE)
    why = found if isinstance(found, BrakeRefusal) else None
    return TopicCure(topic=topic.name, cure=Cure.GATE_AND_BRAKE, why=why, kick_rate=rate, kick_pause_s=pause)


def cures_of(wave: Sequence[Looks], timing: FlipTiming, *, can_kick: bool, alone: bool = True) -> tuple[TopicCure, ...]:
    """The cures of all topics of a wave: if one of them needs the gate, all are gated."""
    found = tuple(cure_of(each, timing, can_kick=can_kick, alone=alone) for each in wave)
    if all(each.cure is Cure.BRAKE for each in found):
        return found
    return tuple(_gated(each, can_kick=can_kick) for each in found)


def shared_connections(topics: Iterable[TopicSeen], cures: Iterable[TopicCure]) -> Mapping[str, tuple[Who, ...]]:
    """Connections that are stopped, and who is on them beside the producer that stops them.

    A stopped connection is not read: acknowledgements, look-ups and messages of all others on it wait too.
    """
    braked = {each.topic for each in cures if each.rate is not None}
    there: dict[str, list[Who]] = defaultdict(list)
    stopped: set[str] = set()
    for who, client in seen_on(topics):
        there[client.address].append(who)
        if not who.subscription and who.topic in braked:
            stopped.add(client.address)
    return {address: tuple(there[address]) for address in sorted(stopped) if len(there[address]) > 1}


def _refused(topic: TopicSeen) -> CureRefusal | None:
    if topic.answer is not StatsAnswer.LOADED or topic.flow is None or topic.ledger is None:
        return CureRefusal.NOT_LOADED
    if topic.ledger.terminated is not None or topic.flow.ledger_state == "Terminated":
        return CureRefusal.CLOSED
    if topic.waiting_producers:
        return CureRefusal.WAITING
    if any(each.chunks_per_s > 0 for each in topic.producers):
        return CureRefusal.CHUNKS
    return CureRefusal.TRANSACTIONS if topic.ongoing_transactions else None


def _steady(looks: Looks) -> bool:
    """Whether all that publish are known to do so all the time: of one alone the topic's counter tells."""
    return len(looks.first.producers) == 1 and looks.entries >= max(1, STEADY_PER_S * looks.apart_s)


def _gated(found: TopicCure, *, can_kick: bool) -> TopicCure:
    if found.cure is not Cure.BRAKE:
        return found
    if not can_kick:
        return TopicCure(topic=found.topic, cure=Cure.REFUSED, why=CureRefusal.NO_KICK)
    return replace(found, cure=Cure.GATE_AND_BRAKE)
