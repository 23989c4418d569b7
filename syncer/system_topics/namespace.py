"""One namespace's topic of policies: opened, followed, closed, read anew, and what stands in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from syncer.errors import TopicPoliciesWithheld
from syncer.model import MetaPath, Revision
from syncer.stores.contract import Entry, PartlyRead
from syncer.stores.topic_policies import OvertakenPolicies
from syncer.system_topics.contract import TopicLog, TopicLogs
from syncer.system_topics.fence_bound import ReadFence
from syncer.system_topics.log import GONE, LogMessage, OvertakenPolicy, PolicyLog, StandingPolicy, UnreadablePolicy
from syncer.system_topics.policies import key_of, namespace_of, path_of, topic_of

ASKED_KEPT: Final = 10_000
"""Paths that were asked for while nothing was answered; who asked for more is told to read all again."""
LATE_COUNTS_S: Final = 2.0
"""For so long a reading counts that came too late for who had asked."""


@dataclass(slots=True)
class MovedPolicies:
    """What a reading has found.

    Args:
        paths: That hold something else than before, or were asked for in vain.
        overtaken: Values that could not be put back.
        all: More than can be named may have changed.
    """

    paths: dict[MetaPath, None] = field(default_factory=dict)
    overtaken: list[OvertakenPolicy] = field(default_factory=list)
    all: bool = False


class PolicyTopic:
    """The topic of one namespace. One task at a time has its lock.

    Args:
        namespace: ``TENANT/NAMESPACE``.
        logs: Where it is opened.
        fence: The fence of the region's store, above which no claim counts.
    """

    def __init__(self, namespace: str, logs: TopicLogs, fence: ReadFence) -> None:
        self.namespace = namespace
        self.lock = asyncio.Lock()
        self.fold: PolicyLog | None = None
        self.trouble: TopicPoliciesWithheld | None = None
        self.topics: frozenset[str] = frozenset()
        self.found_at = self.opened_at = self.tried_at = self.used_at = float("-inf")
        self.failures = 0
        self.lacks = False
        self._logs = logs
        self._fence = fence
        self._log: TopicLog | None = None
        self._given_up: list[TopicLog] = []
        self._told: set[tuple[str, str]] = set()
        """What was overtaken and told of what the topic holds: each reading from the beginning finds it again."""
        self._untold = MovedPolicies()
        """What was found by a reading that did not come to its end."""
        self._asked: dict[MetaPath, None] = {}
        self._asked_more = False
        self._late = self._outdated = False
        self._read_at = float("-inf")

    @property
    def is_open(self) -> bool:
        """Whether a reader is open."""
        return self._log is not None

    @property
    def is_unread(self) -> bool:
        """Whether nothing was read, or nothing that says anything of the namespace that is there now."""
        return self.fold is None or self._outdated

    @property
    def log(self) -> TopicLog:
        """The open topic.

        Raises:
            TopicPoliciesWithheld: It is not open.
        """
        if self._log is None:
            raise TopicPoliciesWithheld(f"{self.namespace}: its topic of policies is not open")
        return self._log

    async def refresh(self, *, anew: bool = False, elsewhere: bool = False, past: str = "") -> MovedPolicies:
        """Read on to the end, opening what is not open; the caller has the lock.

        Args:
            past: No further than this message of ours, where it is met before the end: nothing is answered by that.
            elsewhere: Where there is no topic, the policies are in the metadata store.
            anew: From the beginning: deletes that were compacted away meanwhile are found by that alone.

        Raises:
            TopicPoliciesWithheld: It does not answer; what was read before is kept.
        """
        self.tried_at, self._late = time.monotonic(), False
        try:
            if self._log is None or anew or self._outdated:
                await self._read_anew(elsewhere=elsewhere)
            else:
                await self._read_on(self._log, self._fold(), self._untold, past)
                self._told |= set(map(_ids, self._untold.overtaken))
        except TopicPoliciesWithheld as exc:
            self.withhold(exc)
            await self.shut()
            raise
        except BaseException:  # also where nobody waits any more: what was read and not taken is read anew, soon
            self._give_up()
            self.tried_at = float("-inf")
            raise
        self.failures, self.trouble, self._read_at = 0, None, time.monotonic()
        moved, self._untold = self._untold, MovedPolicies()
        asked = self.take_asked()
        moved.paths |= asked.paths
        moved.all |= asked.all
        return moved

    def withhold(self, trouble: TopicPoliciesWithheld) -> None:
        """Nothing is answered for now."""
        self.failures += 1
        self.trouble = trouble
        self.tried_at = time.monotonic()

    def ask_in_vain(self, path: MetaPath) -> None:
        """Somebody wants to know of a path, and is to be told when it can be answered."""
        if len(self._asked) < ASKED_KEPT:
            self._asked[path] = None
        else:
            self._asked_more = True

    def take_asked(self) -> MovedPolicies:
        """Whoever was told so is asked no more: these are to be told now."""
        asked = MovedPolicies(self._asked, all=self._asked_more)
        self._asked, self._asked_more = {}, False
        return asked

    def note_late(self) -> None:
        """It was just read, too late for who had asked: they are told, and ask again."""
        self._late = True

    @property
    def was_late(self) -> bool:
        """Whether that reading counts for who asks now: else one that always takes longer would never be answered."""
        recent = self._late and time.monotonic() - self._read_at < LATE_COUNTS_S
        return recent and self.trouble is None and not self.is_unread

    def note_gone(self) -> None:
        """Its namespace is gone: what was read says nothing of one that is made again by that name."""
        self._outdated, self.opened_at = True, float("-inf")

    async def forget(self) -> MovedPolicies:
        """The same, with the reader closed and all of that forgotten; the caller has the lock.

        Returns:
            What is to be told.
        """
        moved, asked = self._untold, self.take_asked()
        moved.paths |= asked.paths | (dict.fromkeys(self._standings()) if self.fold is not None else {})
        moved.all |= asked.all
        self._untold, self._told, self.fold, self._outdated = MovedPolicies(), set(), None, False
        self.topics, self.found_at, self.lacks = frozenset(), float("-inf"), False
        self.failures, self.trouble = 0, None
        await self.shut()
        return moved

    async def shut(self) -> None:
        """Close the reader; what was read is kept."""
        self._give_up()
        while self._given_up:
            await self._given_up.pop().close()

    def entry(self, path: MetaPath) -> Entry | None:
        """What stands at a path, as it was last read.

        Raises:
            TopicPoliciesWithheld: It cannot be read.
        """
        standing = self._fold().standing(key_of(path))
        if standing is not None and isinstance(standing.held, UnreadablePolicy):
            raise TopicPoliciesWithheld(f"{path}: what stands there cannot be read: {standing.held.why}")
        return _entry(path, standing)

    def undecided(self, path: MetaPath) -> bool:
        """Whether nothing stands at a path, and nobody has removed it: its topic is gone, or it never had any."""
        standing = self._fold().standing(key_of(path))
        return standing is None or standing.held == GONE

    def last(self, path: MetaPath) -> Entry | None:
        """What stood at a path before its topic was gone, as far as that was read."""
        standing = self._fold().standing(key_of(path))
        return _entry(path, standing.last) if standing is not None else None

    def partly(self, paths: Iterable[MetaPath]) -> PartlyRead:
        """The same of some of its paths, as far as they can be read."""
        answers: dict[MetaPath, Entry | None] = {}
        undecided: dict[MetaPath, Entry | None] = {}
        withheld: dict[MetaPath, str] = {}
        for path in paths:
            try:
                answers[path] = self.entry(path)
            except TopicPoliciesWithheld as exc:
                withheld[path] = exc.message
            if self.undecided(path):
                undecided[path] = self.last(path)
        return PartlyRead(answers, withheld, undecided)

    def entries(self) -> Iterator[Entry]:
        """All that stands and can be read."""
        for key in list(self._fold().seen()):
            path = path_of(key)
            if path is not None and (entry := _entry(path, self._fold().standing(key))) is not None:
                yield entry

    def paths(self) -> list[MetaPath]:
        """All paths of which something was ever read."""
        return [path for key in self._fold().seen() if (path := path_of(key)) is not None]

    def undecodable(self) -> Iterator[tuple[MetaPath, str]]:
        """What cannot be read, and why."""
        for key in self._fold().seen():
            path, standing = path_of(key), self._fold().standing(key)
            if path is not None and standing is not None and isinstance(standing.held, UnreadablePolicy):
                yield path, standing.held.why

    def _give_up(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            self._given_up.append(log)

    async def _read_on(self, log: TopicLog, fold: PolicyLog, moved: MovedPolicies, past: str = "") -> None:
        while True:
            found = await log.read_on()
            await self._fence.reach(each.claim for each in found)
            self._take(fold, found, moved)
            if log.at_end or any(each.id == past for each in found):
                return

    def _fold(self) -> PolicyLog:
        if self.fold is None:
            self.fold = PolicyLog()
        return self.fold

    async def _read_anew(self, *, elsewhere: bool) -> None:
        await self.shut()
        self._outdated = False
        found = await self._logs.find(self.namespace)
        self.topics, self.found_at = found.topics, time.monotonic()
        before = self._standings()
        fold, moved = PolicyLog(), MovedPolicies()
        self.lacks = not found.system_topics
        if self.lacks and elsewhere:
            raise TopicPoliciesWithheld(
                f"{self.namespace} has no topic of policies: its brokers keep them in the metadata store", lasting=True
            )
        if found.system_topics:
            self._log = await self._logs.log(self.namespace, found.system_topics)
            self.opened_at = time.monotonic()
            await self._read_on(self._log, fold, moved)
        self.fold = fold
        after, untold = self._standings(), self._untold
        untold.paths |= dict.fromkeys(path for path in (*before, *after) if before.get(path) != after.get(path))
        told = self._told | set(map(_ids, untold.overtaken))
        untold.overtaken += [each for each in moved.overtaken if _ids(each) not in told]
        self._told = set(map(_ids, moved.overtaken))

    def _standings(self) -> dict[MetaPath, Revision]:
        found = {}
        for key in self._fold().seen():
            path, standing = path_of(key), self._fold().standing(key)
            if path is not None and standing is not None and standing.held not in (None, GONE):
                found[path] = Revision(standing.id)
        return found

    def _take(self, fold: PolicyLog, messages: Iterable[LogMessage], moved: MovedPolicies) -> None:
        gone = set[str]()
        for message in messages:
            path = path_of(message.key)
            if path is None or namespace_of(path) != self.namespace:
                continue
            overtaken = fold.take(message, self._fence.bound)
            moved.paths[path] = None
            if message.held == GONE:
                gone.add(topic_of(path))
            if overtaken is not None:
                moved.overtaken.append(overtaken)
        if gone:  # a listing from before a topic was deleted counts no more
            self.topics, self.found_at = self.topics - gone, float("-inf")


class EndsWrites(Protocol):
    """Brings to an end what was begun to write into topics."""

    async def mend(self, topic: PolicyTopic) -> None:
        """Put back whatever a void message has overwritten in a namespace; the caller has the lock.

        Raises:
            TopicPoliciesWithheld: Its topic does not answer.
        """
        ...

    async def settle(self, topic: PolicyTopic) -> None:
        """Find out what became of writes whose outcome is unknown; the caller has the lock, and has read the topic.

        Raises:
            TopicPoliciesWithheld: That cannot be done yet.
        """
        ...

    def unsettled(self, namespace: str) -> bool:
        """Whether there are such writes to a namespace."""
        ...


def overtaken_at(path: MetaPath, each: OvertakenPolicy) -> OvertakenPolicies:
    """What was overtaken at a path, as the store tells it."""
    held = each.lost.held
    return OvertakenPolicies(
        path=path,
        lost_id=each.lost.id,
        value=held if isinstance(held, bytes) else None,
        unreadable=isinstance(held, UnreadablePolicy),
        lost_at_ms=each.lost.published_ms,
        by_at_ms=each.by.published_ms,
    )


def _ids(overtaken: OvertakenPolicy) -> tuple[str, str]:
    return overtaken.lost.id, overtaken.by.id


def _entry(path: MetaPath, standing: StandingPolicy | None) -> Entry | None:
    """What stands as an entry; ``None``: it is no value."""
    if standing is None or not isinstance(standing.held, bytes):
        return None
    return Entry(path=path, value=standing.held, revision=Revision(standing.id), modified_at_ms=standing.published_ms)
