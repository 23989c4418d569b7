"""A wave as it was read before an attempt, and what is foreseen of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from syncer.admin.calls import AdminCalls
from syncer.errors import NotFound
from syncer.migration.brake import FlipTiming
from syncer.migration.cure import Looks, cures_of, shared_connections
from syncer.migration.evidence import TopicSeen
from syncer.migration.reading.at_once import all_of
from syncer.migration.running.clock import Clock
from syncer.migration.running.insisting import insist
from syncer.migration.running.looking import Looking
from syncer.migration.running.report import Foreseen
from syncer.migration.running.stopping import HOLD_WAIT_S
from syncer.replacing import replace

_APART_S: Final = 1.0
"""Between the two looks by which a producer is known to be steady."""
_BEFORE_MARK_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """A wave as it was read.

    Attributes:
        kick: Namespaces that do not demand encryption.
        known: Every topic that was found.
        topics: Those that have yet to be migrated.
        took_s: For which that was read.
    """

    namespaces: tuple[str, ...]
    kick: tuple[str, ...]
    known: frozenset[str]
    topics: Mapping[str, TopicSeen]
    took_s: float

    def once(self) -> tuple[Looks, ...]:
        """The topics as they were looked at once: no producer is known to be steady then."""
        return tuple(Looks(first=topic, second=topic, apart_s=0.0) for topic in self.topics.values())

    def foresee(self, looks: Sequence[Looks], timing: FlipTiming, *, alone: bool) -> Foreseen:
        """What a flip will do to clients.

        The pause of a brake has to reach over our own calls too: they take as long as reading has taken.

        Args:
            looks: At its topics.
            timing: Of blue's brokers.
            alone: Whether the brake alone may be foreseen.
        """
        timing = replace(timing, calls_s=HOLD_WAIT_S + _BEFORE_MARK_S + 2 * self.took_s)
        cures = cures_of(looks, timing, can_kick=len(self.kick) == len(self.namespaces), alone=alone)
        return Foreseen(
            cures=cures,
            longest_gap_s=max((each.longest_gap_s(timing) for each in cures), default=0.0),
            shared=shared_connections(self.topics.values(), cures),
        )


class WaveReading:
    """Reads waves of blue."""

    def __init__(self, blue: AdminCalls, clock: Clock, looking: Looking) -> None:
        self._blue = blue
        self._clock = clock
        self._looking = looking

    async def read(self, namespaces: tuple[str, ...]) -> Wave:
        """Read all topics of namespaces.

        Raises:
            NotFound: Blue has no such namespace.
            AdminError: A call was refused, or not answered.
        """
        began = self._clock.now_ms()
        kick, names = [], []
        for namespace in namespaces:
            told = await insist(self._clock, partial(self._blue.namespace, namespace))
            if told is None:
                raise NotFound(f"blue has no namespace {namespace}")
            if not told.get("encryption_required"):
                kick.append(namespace)
            names += await self._looking.listed(namespace)
        topics = await self._looking.topics(names)
        there = {name: topic.ledger for name, topic in topics.items() if topic.ledger is not None}
        return Wave(
            namespaces=namespaces,
            kick=tuple(kick),
            known=frozenset(there),
            topics={name: topic for name, topic in topics.items() if name in there and not there[name].migrated},
            took_s=(self._clock.now_ms() - began) / 1000,
        )

    async def again(self, wave: Wave) -> tuple[Looks, ...]:
        """Look at counters a second time, if that may tell of each topic that its one producer is steady."""
        if not all(len(topic.producers) == 1 for topic in wave.topics.values()):
            return wave.once()
        await self._clock.sleep(_APART_S)
        flows = await self._looking.flows(wave.topics)
        return tuple(
            Looks(first=topic, second=replace(topic, flow=flows[name]), apart_s=_APART_S)
            for name, topic in wave.topics.items()
        )

    async def made_since(self, wave: Wave) -> list[str]:
        """Topics that were made since a wave was read: nobody keeps them still."""
        listed = await all_of(self._looking.listed, wave.namespaces)
        return sorted(set().union(*listed) - wave.known)
