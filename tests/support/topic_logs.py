"""A cluster's topics of policies in memory: brokers that edit when a test wants it, and a client that may die."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, field

from syncer.errors import StoreUnavailable, TopicPoliciesWithheld, ValueRefused
from syncer.model import MetaPath, Millis
from syncer.system_topics.contract import FoundTopics, TopicLog
from syncer.system_topics.log import GONE, Held, LogMessage, WriterClaim
from syncer.system_topics.policies import GLOBAL, key_of, namespace_of, topic_of


class Died(Exception):
    """The process ended here."""


@dataclass(slots=True)
class TopicCluster:
    """What outlives every process.

    Args:
        messages: Of each namespace's topic, in their order; a namespace that has none has no topic.
        topics: Of each namespace.
        service: Why its brokers keep no policies in system topics; empty: they do.
        elsewhere: Namespaces without a topic have their policies in the metadata store.
        faults: Namespaces that do not answer, and why.
        steps: Called one after the other, at each step that a client makes, with its name.
        hooks: The same by the step's name.
        trace: The steps that were made.
        claims: Of the changes that daemons have sent, whether they arrived or not.
    """

    messages: dict[str, list[LogMessage]] = field(default_factory=dict)
    topics: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    service: str = ""
    elsewhere: bool = False
    faults: dict[str, str] = field(default_factory=dict)
    steps: deque[Callable[[str], None]] = field(default_factory=deque)
    hooks: dict[str, list[Callable[[], object]]] = field(default_factory=dict)
    trace: list[str] = field(default_factory=list)
    claims: list[WriterClaim] = field(default_factory=list)
    listings: int = 0
    open: int = 0
    _number: int = 0

    def at(self, step: str) -> None:
        """A client makes a step: whatever a test wants to happen there happens."""
        self.trace.append(step)
        if hooks := self.hooks.get(step):
            hooks.pop(0)()
        if self.steps:
            self.steps.popleft()(step)

    def edit(self, path: MetaPath, value: bytes | None) -> str:
        """A broker sets a path's policies, or removes the last of them; the id of its message."""
        return self.put(namespace_of(path) or "", key_of(path), value, None)

    def delete_topic(self, path: MetaPath) -> str:
        """A broker deletes the topic of a path, its policies first."""
        namespace = namespace_of(path) or ""
        sent = self.put(namespace, key_of(path), GONE, None)
        self.topics[namespace].discard(topic_of(path))
        return sent

    def put(self, namespace: str, key: str, held: Held, claim: WriterClaim | None) -> str:
        """Put a message into a topic; its id."""
        self._number += 1
        message = LogMessage(
            id=f"0:{self._number}", key=key, held=held, published_ms=Millis(1000 + self._number), claim=claim
        )
        self.messages.setdefault(namespace, []).append(message)
        self.topics[namespace].add(key.removeprefix(GLOBAL))
        return message.id

    def compact(self, namespace: str) -> None:
        """Keep the last message of each key, but for those without a value: a broker's when it deletes a topic."""
        last = {each.key: each for each in self.messages[namespace]}
        self.messages[namespace] = [each for each in last.values() if each.held != GONE]

    def check(self, namespace: str) -> None:
        """Raise where a namespace does not answer."""
        if namespace in self.faults:
            raise TopicPoliciesWithheld(self.faults[namespace])


class MemoryTopicLogs:
    """One process's client of the cluster."""

    def __init__(self, cluster: TopicCluster, region: str = "east") -> None:
        self.cluster = cluster
        self.region = region
        self.opened: dict[str, MemoryTopicLog] = {}

    async def open(self) -> None:
        """Nothing is to be done."""

    async def close(self) -> None:
        """End all that is open."""
        for each in list(self.opened.values()):
            await each.close()

    async def check_service(self) -> bool:
        """Raise where the cluster has another one."""
        if self.cluster.service:
            raise TopicPoliciesWithheld(self.cluster.service, lasting=True)
        return self.cluster.elsewhere

    async def foresee(self, namespaces: Sequence[str]) -> None:
        """Each is asked for by itself."""

    async def find(self, namespace: str) -> FoundTopics:
        """List a namespace."""
        self.cluster.at("find")
        self.cluster.check(namespace)
        self.cluster.listings += 1
        system = (f"persistent://{namespace}/__change_events",) if namespace in self.cluster.messages else ()
        return FoundTopics(system_topics=system, topics=frozenset(self.cluster.topics[namespace]))

    async def log(self, namespace: str, system_topics: Collection[str]) -> TopicLog:
        """Open a topic."""
        assert system_topics
        self.cluster.at("open")
        self.cluster.check(namespace)
        self.cluster.open += 1
        log = self.opened[namespace] = MemoryTopicLog(self, namespace)
        return log

    async def make(self, topic: str) -> None:
        """Make the topic of policies of a topic's namespace."""
        self.cluster.at("make")
        namespace = topic.partition("://")[2].rpartition("/")[0]
        self.cluster.messages.setdefault(namespace, [])

    async def stirred(self) -> AsyncIterator[Collection[str]]:
        """Look every few milliseconds."""
        while True:
            names = [name for name, each in self.opened.items() if each.behind]
            if names:
                yield names
            await asyncio.sleep(0.005)


class MemoryTopicLog:
    """One open topic."""

    at_end = True

    def __init__(self, logs: MemoryTopicLogs, namespace: str) -> None:
        self._logs = logs
        self._namespace = namespace
        self._next = 0

    @property
    def _messages(self) -> list[LogMessage]:
        return self._logs.cluster.messages[self._namespace]

    @property
    def behind(self) -> bool:
        """Whether something was not read."""
        return self._next < len(self._messages)

    async def read_on(self) -> Sequence[LogMessage]:
        """Read to the end."""
        self._logs.cluster.at("read")
        self._logs.cluster.check(self._namespace)
        found, self._next = self._messages[self._next :], len(self._messages)
        return found

    async def prepare(self, path: MetaPath, value: bytes | None) -> bytes:
        """Take any value but one."""
        assert topic_of(path)
        self._logs.cluster.at("prepare")
        if value is not None and b"unknownField" in value:
            raise ValueRefused("the brokers' schema has no field unknownField")
        return value if value is not None else b""

    async def append(self, key: str, payload: bytes, claim: WriterClaim) -> str:
        """Write a message; a process may die before or after, or lose the answer."""
        cluster = self._logs.cluster
        if not claim.restores:
            cluster.claims.append(claim)
        cluster.at("append")
        cluster.check(self._namespace)
        sent = cluster.put(self._namespace, key, payload or None, claim)
        cluster.at("appended")
        return sent

    async def close(self) -> None:
        """Let it go."""
        if self._logs.opened.get(self._namespace) is self:
            del self._logs.opened[self._namespace]
            self._logs.cluster.open -= 1


def lost_answer(step: str) -> None:
    """Whatever was done at this step, its answer does not come."""
    raise StoreUnavailable(f"no answer at {step}")


def death(step: str) -> None:
    """The process ends at this step."""
    raise Died(step)


def nothing(step: str) -> None:
    """Let it pass."""
    del step
