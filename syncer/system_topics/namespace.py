"""One namespace's topic of policies: opened, followed, closed, read anew, and what stands in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from syncer.errors import TopicPoliciesWithheld
from syncer.model import MetaPath, Revision
from syncer.stores.contract import Entry
from syncer.system_topics.contract import TopicLog, TopicLogs
from syncer.system_topics.log import LogMessage, OvertakenPolicy, PolicyLog, StandingPolicy, UnreadablePolicy
from syncer.system_topics.policies import key_of, namespace_of, path_of

ASKED_KEPT: Final = 10_000
"""Paths that were asked for while nothing was answered; who asked for more is told to read all again."""


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

    def join(self, other: MovedPolicies) -> None:
        """Take what a further reading has found, too."""
        self.paths |= other.paths
        self.overtaken += other.overtaken
        self.all |= other.all


class PolicyTopic:
    """The topic of one namespace. One task at a time has its lock.

    Args:
        namespace: ``TENANT/NAMESPACE``.
        logs: Where it is opened.
    """

    def __init__(self, namespace: str, logs: TopicLogs) -> None:
        self.namespace = namespace
        self.lock = asyncio.Lock()
        self.fold: PolicyLog | None = None
        self.trouble: TopicPoliciesWithheld | None = None
        self.topics: frozenset[str] = frozenset()
        self.found_at = self.opened_at = self.tried_at = self.used_at = float("-inf")
        self.failures = 0
        self.lacks = False
        self._logs = logs
        self._log: TopicLog | None = None
        self._asked: dict[MetaPath, None] = {}
        self._asked_more = False

    @property
    def is_open(self) -> bool:
        """Whether a reader is open."""
        return self._log is not None

    @property
    def log(self) -> TopicLog:
        """The open topic.

        Raises:
            TopicPoliciesWithheld: It is not open.
        """
        if self._log is None:
            raise TopicPoliciesWithheld(f"{self.namespace}: its topic of policies is not open")
        return self._log

    async def refresh(self, *, anew: bool = False, elsewhere: bool = False) -> MovedPolicies:
        """Read on to the end, opening what is not open; the caller has the lock.

        Args:
            elsewhere: Where there is no topic, the policies are in the metadata store.
            anew: From the beginning: deletes that were compacted away meanwhile are found by that alone.

        Raises:
            TopicPoliciesWithheld: It does not answer; what was read before is kept.
        """
        self.tried_at = time.monotonic()
        try:
            if self._log is None or anew:
                moved = await self._read_anew(elsewhere=elsewhere)
            else:
                moved = self._taken(self._fold(), await self._log.read_on())
        except TopicPoliciesWithheld as exc:
            self.withhold(exc)
            await self.shut()
            raise
        self.failures, self.trouble = 0, None
        moved.paths |= self._asked
        moved.all |= self._asked_more
        self._asked, self._asked_more = {}, False
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

    async def shut(self) -> None:
        """Close the reader; what was read is kept."""
        log, self._log = self._log, None
        if log is not None:
            await log.close()

    def entry(self, path: MetaPath) -> Entry | None:
        """What stands at a path, as it was last read.

        Raises:
            TopicPoliciesWithheld: It cannot be read.
        """
        standing = self._fold().standing(key_of(path))
        if standing is None or standing.held is None:
            return None
        if isinstance(standing.held, UnreadablePolicy):
            raise TopicPoliciesWithheld(f"{path}: what stands there cannot be read: {standing.held.why}")
        return _entry(path, standing, standing.held)

    def entries(self) -> Iterator[Entry]:
        """All that stands and can be read."""
        for key in list(self._fold().seen()):
            path, standing = path_of(key), self._fold().standing(key)
            if path is not None and standing is not None and isinstance(standing.held, bytes):
                yield _entry(path, standing, standing.held)

    def paths(self) -> list[MetaPath]:
        """All paths of which something was ever read."""
        return [path for key in self._fold().seen() if (path := path_of(key)) is not None]

    def undecodable(self) -> Iterator[tuple[MetaPath, str]]:
        """What cannot be read, and why."""
        for key in self._fold().seen():
            path, standing = path_of(key), self._fold().standing(key)
            if path is not None and standing is not None and isinstance(standing.held, UnreadablePolicy):
                yield path, standing.held.why

    def _fold(self) -> PolicyLog:
        if self.fold is None:
            self.fold = PolicyLog()
        return self.fold

    async def _read_anew(self, *, elsewhere: bool) -> MovedPolicies:
        await self.shut()
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
            moved.overtaken = self._taken(fold, await self._log.read_on()).overtaken
        self.fold = fold
        after = self._standings()
        moved.paths = dict.fromkeys(path for path in (*before, *after) if before.get(path) != after.get(path))
        return moved

    def _standings(self) -> dict[MetaPath, Revision]:
        found = {}
        for key in self._fold().seen():
            path, standing = path_of(key), self._fold().standing(key)
            if path is not None and standing is not None and standing.held is not None:
                found[path] = Revision(standing.id)
        return found

    def _taken(self, fold: PolicyLog, messages: Iterable[LogMessage]) -> MovedPolicies:
        moved = MovedPolicies()
        for message in messages:
            path = path_of(message.key)
            if path is None or namespace_of(path) != self.namespace:
                continue
            overtaken = fold.take(message)
            moved.paths[path] = None
            if overtaken is not None:
                moved.overtaken.append(overtaken)
        return moved


def _entry(path: MetaPath, standing: StandingPolicy, value: bytes) -> Entry:
    return Entry(path=path, value=value, revision=Revision(standing.id), modified_at_ms=standing.published_ms)
