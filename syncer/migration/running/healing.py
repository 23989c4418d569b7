"""Healing: topics that cannot be read after the mark are made readable again, and marked again when all is read.

A topic that was unloaded before it was read is refused by its broker (stranded); one whose ledger was closed while
entries were on their way may let nobody in (fenced). Both are read again once their namespace's mark is off; a fenced
one has to be unloaded too, and may be open again then: it is flipped anew. Every closed ledger stays closed: producers
wait until the namespace is marked again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from syncer.admin.calls import AdminCalls
from syncer.migration.evidence import TopicSeen
from syncer.migration.running.clock import Clock
from syncer.migration.running.insisting import MANY_ATTEMPTS, each_of, insist
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.looking import Looking
from syncer.migration.running.marking import Marking
from syncer.migration.topics import READ, TopicState, state_of

UNMARKED: Final = "unmarked/"
"""In the journal: namespaces whose mark is off until what they hold was read."""
_MARGIN_S: Final = 0.5
ILL: Final = frozenset({TopicState.STRANDED, TopicState.FENCED})
"""States in which a topic cannot be read."""
_OPEN: Final = frozenset({TopicState.OPEN, TopicState.BRAKED})


@dataclass(frozen=True, slots=True, kw_only=True)
class HealingRound:
    """What one round has seen.

    Attributes:
        states: How far each topic is.
        topics: Those that were looked at, as they were seen last.
    """

    states: Mapping[str, TopicState]
    topics: Mapping[str, TopicSeen]


class Healing:
    """Looks after namespaces that were marked; one round after the other, each of which may be the last.

    Attributes:
        window_s: Longest that a broker was seen to take from a closed ledger to a finished mark: what is not marked
            after that is fenced.
    """

    def __init__(
        self,
        blue: AdminCalls,
        clock: Clock,
        journal: MigrationJournal,
        looking: Looking,
        marking: Marking,
        *,
        window_s: float,
    ) -> None:
        self._blue = blue
        self._clock = clock
        self._journal = journal
        self._looking = looking
        self._marking = marking
        self.window_s = window_s

    async def healing(self, namespaces: Iterable[str]) -> tuple[str, ...]:
        """Namespaces whose mark was taken off, and which have yet to be marked again."""
        kept = await self._journal.recall(UNMARKED)
        return tuple(each for each in namespaces if f"{UNMARKED}{each}" in kept)

    async def unread(self, namespaces: Collection[str]) -> tuple[str, ...]:
        """Topics of namespaces without their mark that have yet to be read; who is open again does not count.

        With none left, such a namespace can be flipped anew.
        """
        unmarked = await self.healing(namespaces)
        names = [name for each in unmarked for name in await self._looking.listed(each)]
        seen = (await self._looking.topics(names)).values()
        return tuple(each.name for each in seen if not _is_read(each) and _state(each) not in _OPEN)

    async def healed(self, namespaces: Iterable[str]) -> None:
        """Namespaces were marked again."""
        for namespace in await self.healing(namespaces):
            await self._journal.forget(f"{UNMARKED}{namespace}")
            await self._journal.note({"event": "marked-again", "namespace": namespace})

    async def round(self, namespaces: Collection[str], *, left: Collection[str] = ()) -> HealingRound:
        """Look at every topic of namespaces that were marked a while ago; heal what is ill, and mark what is healed.

        Args:
            namespaces: The namespaces.
            left: Topics that are known to be well since then: they are taken for redirected and not looked at again,
                unless their namespace's mark is off.
        """
        unmarked = await self.healing(namespaces)
        states: dict[str, TopicState] = {}
        topics: dict[str, TopicSeen] = {}
        for namespace in namespaces:
            names = await self._looking.listed(namespace)
            known = {name for name in names if name in left} if namespace not in unmarked else set[str]()
            asked = [name for name in names if name not in known]
            seen = await self._looking.topics(asked)
            here = dict.fromkeys(known, TopicState.REDIRECTED) | {name: _state(topic) for name, topic in seen.items()}
            if closing := {name for name, state in here.items() if state is TopicState.FENCED}:
                await self._clock.sleep(self.window_s + _MARGIN_S)
                seen = await self._looking.topics(asked)
                here |= {name: _state(topic, window_over=name in closing) for name, topic in seen.items()}
            states |= here
            topics |= seen
            if any(state in ILL for state in here.values()):
                await self.unmark(namespace, here)
            elif namespace in unmarked and all(map(_is_read, seen.values())):
                await self._mark_again(namespace)
        return HealingRound(states=states, topics=topics)

    async def unmark(self, namespace: str, states: Mapping[str, TopicState]) -> None:
        """Take a namespace's mark off at once, and unload what is fenced."""
        ill = {name: state.value for name, state in states.items() if state in ILL}
        await self._journal.remember(f"{UNMARKED}{namespace}", ill)
        await self._marking.unmark(namespace)
        await self._journal.note({"event": "unmarked", "namespace": namespace, "topics": ill})
        fenced = [name for name, state in states.items() if state is TopicState.FENCED]
        await each_of(lambda name: insist(self._clock, lambda: self._blue.unload_topic(name), MANY_ATTEMPTS), fenced)

    async def _mark_again(self, namespace: str) -> None:
        await insist(self._clock, lambda: self._blue.mark_namespace(namespace, migrated=True), MANY_ATTEMPTS)
        await self.healed((namespace,))


def _state(topic: TopicSeen, *, window_over: bool = True) -> TopicState:
    return state_of(topic, window_over=window_over)


def _is_read(topic: TopicSeen) -> bool:
    """Whether nothing of a topic is left to read, and nothing can be written to it."""
    closed = _state(topic) is TopicState.TERMINATED
    return _state(topic) in READ or (closed and all(each.drained for each in topic.subscriptions.values()))
