"""Watching namespaces that were marked: what is ill is healed, and what is left at blue is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from syncer.migration.broker_health import BrokerHealth, deadlock_stop, deadlocked
from syncer.migration.draining import Drain, Level, drain_of
from syncer.migration.evidence import StatsAnswer
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.examining import BrokerExamination
from syncer.migration.running.healing import Healing
from syncer.migration.steering import StepEnd, StepResult
from syncer.migration.topics import READ, TopicState
from syncer.model import Millis
from syncer.replacing import replace

_SETTLES_MS: Final = Millis(30_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What was seen of namespaces that are marked.

    Attributes:
        states: How far each topic is.
        drains: Subscriptions that are not empty, where their topic is loaded.
        to_send: Topic and cluster → entries that have yet to be replicated: until then nobody can write the topic.
        healing: Namespaces whose mark is off until what they hold was read.
        deadlocked: Brokers whose threads wait for each other for ever.
        read: Topics of which nothing is left to read, since the last look.
        emptied: Subscriptions of others that were not empty at the last look, and are now: topic, and name.
    """

    states: Mapping[str, TopicState] = field(default_factory=dict)
    drains: tuple[Drain, ...] = ()
    to_send: Mapping[str, int] = field(default_factory=dict)
    healing: tuple[str, ...] = ()
    deadlocked: tuple[BrokerHealth, ...] = ()
    read: tuple[str, ...] = ()
    emptied: tuple[tuple[str, str], ...] = ()

    @property
    def drained(self) -> bool:
        """Whether nothing is left to read or to send."""
        if self.deadlocked or self.healing or self.to_send:
            return False
        return all(each in READ for each in self.states.values())


def deadlock_of(watched: Watched) -> StepResult | None:
    """How a step ends that needs to know of blue's topics, and cannot; ``None``: no broker is deadlocked."""
    stop = deadlock_stop(watched.deadlocked)
    return None if stop is None else StepResult(end=StepEnd.WAITING, stop=stop)


class Watching:
    """Looks after blue while clients are moved, again and again.

    Attributes:
        last: What was seen last.
    """

    def __init__(self, examination: BrokerExamination, clock: Clock, healing: Healing) -> None:
        self._examination = examination
        self._clock = clock
        self._healing = healing
        self._first: dict[str, dict[str, Level]] = {}
        self._left: dict[str, frozenset[str]] = {}
        self._read: set[str] = set()
        self._redirected: set[str] = set()
        self.last = Watched()

    def pass_over(self, topics: Iterable[str]) -> None:
        """Take topics for redirected of which nothing is left, nor any client, until all are looked at again."""
        self._redirected.update(topics)

    async def look(self, namespaces: Sequence[str], *, whole: bool = False) -> Watched:
        """Look once at namespaces that were marked before now.

        Where a broker is deadlocked, nothing else is asked: its topics are not answered for, and hold up every look.
        What was seen of topics is of an earlier look then, or nothing at all.

        Args:
            namespaces: The namespaces.
            whole: Look again at topics too that were redirected; else only whether they are there.

        Raises:
            AdminError: A call was refused or not answered.
        """
        if found := deadlocked(await self._examination.look()):
            healing = await self._healing.healing(namespaces)
            self.last = replace(self.last, deadlocked=found, healing=healing, read=(), emptied=())
            return self.last
        seen = await self._healing.round(namespaces, left=() if whole else self._redirected)
        states = seen.states
        self._redirected.difference_update(states)
        self._redirected.update(name for name, state in states.items() if state is TopicState.REDIRECTED)
        left = [name for name, state in states.items() if state not in READ]
        drains: list[Drain] = []
        to_send: dict[str, int] = {}
        emptied: list[tuple[str, str]] = []
        now = self._clock.now_ms()
        for name in left:
            topic = seen.topics[name]
            if topic.answer is not StatsAnswer.LOADED:
                continue
            first = self._first.setdefault(name, {})
            for subscription, each in topic.subscriptions.items():
                first.setdefault(subscription, Level(at_ms=now, backlog=each.backlog))
            drains += drain_of(topic, first, now, _SETTLES_MS)
            full = frozenset(key for key, each in topic.subscriptions.items() if not each.drained)
            emptied += [(name, each) for each in sorted(self._left.get(name, frozenset()) - full)]
            self._left[name] = full
            to_send |= {
                f"{name} to {remote}": each.backlog for remote, each in topic.replicators.items() if each.backlog
            }
        read = tuple(sorted(name for name, state in states.items() if state in READ and name not in self._read))
        self._read = self._read.difference(left).union(read)
        self.last = Watched(
            read=read,
            emptied=tuple(emptied),
            states=states,
            drains=tuple(drains),
            to_send=to_send,
            healing=await self._healing.healing(namespaces),
        )
        return self.last
