"""Looks at topics of a wave: as little as a decision needs, and at one topic while there is nothing to see yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Final, TypeVar

from syncer.admin.calls import AdminCalls
from syncer.migration.evidence import Flow, LedgerSeen, StatsAnswer, TopicSeen
from syncer.migration.reading import forms
from syncer.migration.reading.at_once import all_of
from syncer.migration.reading.namespaces import is_of_clients
from syncer.migration.reading.topics import read_clients, read_flow, read_topic
from syncer.migration.running.clock import Clock
from syncer.migration.running.insisting import insist
from syncer.model import Millis

_EVERY_S: Final = 0.2
_TRIES: Final = 3

_Looked = TypeVar("_Looked")


class Looking:
    """Looks at topics of one cluster."""

    def __init__(self, calls: AdminCalls, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock

    async def listed(self, namespace: str) -> list[str]:
        """Names of the topics of clients that a namespace has."""
        found = await insist(self._clock, lambda: self._calls.topics(namespace))
        return [name for name in found if is_of_clients(name)]

    async def topics(self, names: Iterable[str]) -> dict[str, TopicSeen]:
        """What brokers know of each; one that is not loaded is loaded, where its broker does so."""
        return await self._each(names, self._topic)

    async def ledger(self, name: str) -> LedgerSeen | None:
        """What the store holds of a topic."""
        return (await insist(self._clock, lambda: read_topic(self._calls, name, load=False))).ledger

    async def flows(self, names: Iterable[str]) -> dict[str, Flow | None]:
        """What passes through each; ``None``: there is no such topic."""
        return await self._each(names, self._flow)

    async def flows_told(self, names: Iterable[str]) -> dict[str, Flow | None]:
        """What passes through each; ``None``: there is no such topic, or its broker could not tell."""
        return await self._each(names, lambda name: read_flow(self._calls, name))

    async def connected(self, names: Iterable[str]) -> dict[str, TopicSeen]:
        """Each with whoever is connected to it now; without anybody where its broker could not tell."""
        return await self._each(names, lambda name: read_clients(self._calls, name))

    async def clients(self, topic: TopicSeen) -> TopicSeen:
        """A topic with the clients and subscriptions that it has now; its ledger is as it was.

        Raises:
            AdminError: It is not loaded any more; or a call was refused.
        """
        told = await insist(self._clock, lambda: self._calls.stats(topic.name, precise=True))
        empty = LedgerSeen(terminated=None, migrated=False)
        return forms.loaded_topic(f"stats of {topic.name}", topic.name, told, topic.ledger or empty, topic.flow)

    async def until(
        self,
        names: Collection[str],
        holds: Callable[[str], Awaitable[bool]],
        *,
        deadline_ms: Millis,
        waits_s: tuple[float, float] = (_EVERY_S, _EVERY_S),
    ) -> tuple[str, ...]:
        """Look until something holds of each topic: at one as long as it does not, then at all others.

        Args:
            names: The topics.
            holds: Looks at one.
            deadline_ms: Until then.
            waits_s: The first wait between two looks at a topic, and the longest: each is twice the one before.

        Returns:
            The topics of which it does not hold in time.
        """

        async def held(name: str) -> bool:
            wait_s, longest_s = waits_s
            while not await holds(name):
                left_s = (deadline_ms - self._clock.now_ms()) / 1000
                if left_s <= 0:
                    return False
                await self._clock.sleep(min(wait_s, left_s))
                wait_s = min(2 * wait_s, longest_s)
            return True

        names = tuple(names)
        answers = [*await all_of(held, names[:1]), *await all_of(held, names[1:])]
        return tuple(name for name, answer in zip(names, answers, strict=True) if not answer)

    async def _topic(self, name: str) -> TopicSeen:
        """A topic, looked at again if its broker could not tell the first time."""
        seen = await read_topic(self._calls, name, load=True, whole=False)
        for _ in range(_TRIES):
            told = seen.answer is not StatsAnswer.FAILED and (seen.answer is not StatsAnswer.LOADED or seen.flow)
            if told:
                break
            await self._clock.sleep(_EVERY_S)
            seen = await read_topic(self._calls, name, load=True, whole=False)
        return seen

    async def _flow(self, name: str) -> Flow | None:
        told = await self._calls.internal_stats(name)
        return None if told is None else forms.flow(f"internalStats of {name}", told)

    async def _each(self, names: Iterable[str], look: Callable[[str], Awaitable[_Looked]]) -> dict[str, _Looked]:
        names = tuple(names)
        found = await all_of(lambda name: insist(self._clock, lambda: look(name)), names)
        return dict(zip(names, found, strict=True))
