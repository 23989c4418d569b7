"""The topics of policies of all selected namespaces: found, read, followed and read anew, each in its turn and bounds.

selected namespace ──▶ looked at (a listing; nothing is loaded or made) ──▶ opened, read, followed ──▶ closed, idle
▲                                                     │                       │
└──── again in rotation, or sooner when it stirs ◀────┴───────────────────────┘
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter as Tally
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import orjson
import structlog

from syncer.errors import SyncerError, TopicPoliciesWithheld
from syncer.model import MetaPath
from syncer.paths import PARTITIONED_TOPICS, POLICIES, namespace_path, topic_name
from syncer.stores.contract import Entry, MetadataStore, PartlyRead
from syncer.stores.topic_policies import OvertakenPolicies, TopicPoliciesStanding
from syncer.system_topics.contract import TopicLogs
from syncer.system_topics.log import OvertakenPolicy, UnreadablePolicy
from syncer.system_topics.namespace import MovedPolicies, PolicyTopic
from syncer.system_topics.notices import PolicyNotices
from syncer.system_topics.policies import namespace_of, path_of

log = structlog.get_logger()

AT_ONCE: Final = 8
"""Namespaces that are looked at, opened or read at the same time."""
PAGE: Final = 500
OVERTAKEN_KEPT: Final = 10_000
LACKING_S: Final = 3.0
LOOKS_PER_S: Final = 20
"""A namespace without a topic of policies is looked at so soon again, and all of them no oftener than so."""
LISTED_S: Final = 2.0
"""How long a listing says that a topic does not exist."""
_RETRY_S: Final = 0.5
_LONGEST_RETRY_S: Final = 60.0
_SERVICE_RETRY_S: Final = 2.0
_TURN_S: Final = 0.1
_SERVICE_S: Final = 30.0
"""How long the brokers' word on the service that they use counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBounds:
    """What the source may take.

    Args:
        max_readers: Topics that are open at once.
        openings_per_s: Listings and openings in a second.
        look_every: How often a namespace is looked at that is not followed.
        renew_every: How often one that is followed is read anew, for deletes that were compacted away unseen.
    """

    max_readers: int = 1000
    openings_per_s: float = 500.0
    look_every: timedelta = timedelta(seconds=60)
    renew_every: timedelta = timedelta(minutes=30)


class SystemTopics:
    """The source of global topic policies beside a store.

    Args:
        patterns: Selected namespaces: ``TENANT/NAMESPACE`` or ``TENANT/*``.
        store: The region's store, for the namespaces that exist.
        logs: Their topics.
        bounds: What it may take.
    """

    def __init__(
        self, patterns: Collection[str], store: MetadataStore, logs: TopicLogs, bounds: SourceBounds | None = None
    ) -> None:
        self._whole = frozenset(each.partition("/")[0] for each in patterns if each.endswith("/*"))
        self._named = frozenset(each for each in patterns if not each.endswith("/*"))
        self._store = store
        self._logs = logs
        self._bounds = bounds or SourceBounds()
        self._topics: dict[str, PolicyTopic] = {}
        self._replicated: set[str] = set()
        self._service: TopicPoliciesWithheld | None = None
        self._elsewhere = False
        self._service_at = float("-inf")
        self._service_lock = asyncio.Lock()
        self._wakes = asyncio.Event()
        self._next_opening = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self.notices = PolicyNotices()
        self.overtaken: deque[OvertakenPolicies] = deque(maxlen=OVERTAKEN_KEPT)
        self.tally: Tally[str] = Tally()
        self.mend: Callable[[PolicyTopic], Awaitable[MovedPolicies]] | None = None
        """Puts back what is owed; set while this process may write."""

    # -- life

    async def begin(self) -> None:
        """Look for the selected namespaces and begin to read and follow them; a second call does nothing."""
        if self._tasks:
            return
        self._tasks = [asyncio.create_task(self._tend()), asyncio.create_task(self._follow())]

    async def close(self) -> None:
        """End all that is open."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for topic in self._topics.values():
            await topic.shut()
        await self._logs.close()

    # -- which paths are answered here

    def selects(self, namespace: str) -> bool:
        """Whether the policies of a namespace's topics are kept in a system topic."""
        return namespace in self._named or namespace.partition("/")[0] in self._whole

    def keeps(self, path: MetaPath) -> bool:
        """Whether what stands at a path is kept in a system topic."""
        namespace = namespace_of(path)
        return namespace is not None and self.selects(namespace)

    def topic(self, namespace: str) -> PolicyTopic:
        """The topic of a selected namespace, whether it is open or not."""
        if namespace not in self._topics:
            self._topics[namespace] = PolicyTopic(namespace, self._logs)
            self._wakes.set()
        return self._topics[namespace]

    # -- answers

    async def read(self, paths: Sequence[MetaPath]) -> PartlyRead:
        """What stands at paths that are kept here."""
        answers: dict[MetaPath, Entry | None] = {}
        withheld: dict[MetaPath, str] = {}
        by_namespace: dict[str, list[MetaPath]] = {}
        for path in paths:
            by_namespace.setdefault(namespace_of(path) or "", []).append(path)
        declared = await self._declared(by_namespace)
        gate = asyncio.Semaphore(AT_ONCE)

        async def answer(namespace: str) -> None:
            mine = by_namespace[namespace]
            if declared[namespace] is None:
                answers.update(dict.fromkeys(mine))
                return
            topic = self.topic(namespace)
            async with gate, topic.lock:
                try:
                    await self.bring_up(topic)
                except TopicPoliciesWithheld as exc:
                    for path in mine:
                        topic.ask_in_vain(path)
                        withheld[path] = exc.message
                    return
                for path in mine:
                    try:
                        answers[path] = topic.entry(path)
                    except TopicPoliciesWithheld as exc:
                        withheld[path] = exc.message

        await asyncio.gather(*(answer(each) for each in by_namespace))
        return PartlyRead(answers, withheld)

    async def bring_up(self, topic: PolicyTopic, *, anew: bool = False) -> None:
        """Read a namespace's topic to its end; the caller has its lock.

        Raises:
            TopicPoliciesWithheld: It cannot be told what stands there.
        """
        if topic.trouble is not None and not self._due(topic):
            raise topic.trouble
        await self._check(topic)
        topic.used_at = time.monotonic()
        if not topic.is_open or anew:
            await self._turn()
            await self._make_room(topic)
            self.tally["opened"] += 1
        moved = await topic.refresh(anew=anew, elsewhere=self._elsewhere)
        if self.mend is not None and topic.is_open and topic.fold is not None and any(topic.fold.owed()):
            moved.join(await self.mend(topic))
        self.notify(moved)

    def notify(self, moved: MovedPolicies) -> None:
        """What a reading has found goes to the watches."""
        for each in moved.overtaken:
            self._keep(each)
        if moved.all:
            self.notices.gap("more topic policies were asked for in vain than are remembered")
        elif moved.paths:
            self.notices.notify(tuple(moved.paths))

    async def scan(self) -> AsyncIterator[tuple[Entry, ...]]:
        """Stream all entries of the selected namespaces, each read at least once; none of those that cannot be told."""
        await self.begin()
        page: list[Entry] = []
        namespaces = [name async for name in self._existing()]
        await self._read_all(namespaces)
        for name in namespaces:
            topic = self.topic(name)
            if topic.fold is None or topic.trouble is not None:
                continue
            page += topic.entries()
            while len(page) >= PAGE:
                yield tuple(page[:PAGE])
                del page[:PAGE]
        if page:
            yield tuple(page)

    async def declared(self, topic: PolicyTopic) -> bool:
        """Whether a namespace exists in the store."""
        return (await self._declared([topic.namespace]))[topic.namespace] is not None

    async def exists(self, topic: PolicyTopic, name: str) -> bool:
        """Whether a topic exists here; the listing is asked for again where it is not fresh.

        Raises:
            TopicPoliciesWithheld: The brokers do not say.
        """
        if name in topic.topics:
            return True
        domain, _, rest = name.partition("://")
        tenant, namespace, local = rest.split("/", 2)
        declared = MetaPath(f"{PARTITIONED_TOPICS}/{tenant}/{namespace}/{domain}/{topic_name(local)}")
        if (await self._store.read([declared]))[declared] is not None:
            return True
        if time.monotonic() - topic.found_at >= LISTED_S:
            await self._turn()
            topic.topics = (await self._logs.find(topic.namespace)).topics
            topic.found_at = time.monotonic()
        return name in topic.topics

    async def make(self, topic: PolicyTopic, name: str) -> None:
        """Have the brokers make the topic of policies of a namespace that has none; the caller has the lock."""
        await self._turn()
        await self._logs.make(name)
        await self.bring_up(topic, anew=True)
        if not topic.is_open:
            raise TopicPoliciesWithheld(f"{topic.namespace}: the brokers have made no topic of policies")

    # -- notices of the store

    def noticed(self, paths: Iterable[MetaPath]) -> tuple[MetaPath, ...]:
        """The store has told of paths; the paths kept here of which that tells something, too."""
        found: list[MetaPath] = []
        for path in paths:
            parts = path.split("/")
            if len(parts) < 5 or parts[2] not in {"policies", "partitioned-topics"}:
                continue
            namespace = f"{parts[3]}/{parts[4]}"
            if not self.selects(namespace):
                continue
            topic = self.topic(namespace)
            topic.tried_at = float("-inf") if topic.trouble is not None or not topic.is_open else topic.tried_at
            self._wakes.set()
            if parts[2] == "policies" and topic.fold is not None:
                found += topic.paths()
        return tuple(found)

    # -- standing

    def standing(self) -> TopicPoliciesStanding:
        """How the source fares."""
        troubles = {name: each.trouble.message for name, each in self._topics.items() if each.trouble is not None}
        unreadable = {name: f"{path}: {why}" for name, each in self._topics.items() for path, why in each.undecodable()}
        return TopicPoliciesStanding(
            namespaces=len(self._topics),
            followed=sum(each.is_open for each in self._topics.values()),
            unread=sum(each.fold is None and each.trouble is None for each in self._topics.values()),
            replicated=tuple(sorted(self._replicated)),
            withheld={
                name: why for name, why in sorted({**unreadable, **troubles}.items()) if name not in self._replicated
            },
            counts=dict(self.tally),
        )

    # -- inside

    def _keep(self, each: OvertakenPolicy) -> None:
        path = path_of(each.key)
        if path is None:
            return
        self.tally["overtaken"] += 1
        log.warning("topic_policy_overtaken", path=path, lost=each.lost.id, by=each.by.id)
        held = each.lost.held
        self.overtaken.append(
            OvertakenPolicies(
                path=path,
                lost_id=each.lost.id,
                value=held if isinstance(held, bytes) else None,
                unreadable=isinstance(held, UnreadablePolicy),
                lost_at_ms=each.lost.published_ms,
                by_at_ms=each.by.published_ms,
            )
        )

    async def _declared(self, namespaces: Iterable[str]) -> dict[str, Entry | None]:
        """Each namespace's own entry in the store; which of them Pulsar replicates is noted on the way."""
        where = {name: namespace_path(*name.split("/")) for name in namespaces}
        found = await self._store.read(list(where.values()))
        for name, path in where.items():
            self._note_replication(name, found[path])
        return {name: found[path] for name, path in where.items()}

    def _note_replication(self, name: str, entry: Entry | None) -> None:
        if entry is not None and _clusters(entry) > 1:
            self._replicated.add(name)
        else:
            self._replicated.discard(name)

    async def _existing(self) -> AsyncIterator[str]:
        """The selected namespaces that the store has, noted as they are met."""
        tenants = sorted(self._whole | {each.partition("/")[0] for each in self._named})
        gone = set(self._topics)
        for tenant in tenants:
            async for page in self._store.scan(MetaPath(f"{POLICIES}/{tenant}")):
                for entry in page:
                    name = entry.path.removeprefix(f"{POLICIES}/")
                    if name.count("/") == 1 and entry.value and self.selects(name):
                        self._note_replication(name, entry)
                        self.topic(name)
                        gone.discard(name)
                        yield name
        for name in gone:
            topic = self._topics[name]
            async with topic.lock:
                await topic.shut()
            self._replicated.discard(name)
            self._topics.pop(name, None)

    async def _read_all(self, namespaces: Sequence[str]) -> None:
        """Read each namespace that was never read, as fast as the bounds let."""
        waiting = deque(name for name in namespaces if self.topic(name).fold is None)

        async def work() -> None:
            while waiting:
                topic = self.topic(waiting.popleft())
                async with topic.lock:
                    if topic.fold is None:
                        with contextlib.suppress(TopicPoliciesWithheld):
                            await self.bring_up(topic)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))

    async def _check(self, topic: PolicyTopic) -> None:
        trouble: TopicPoliciesWithheld | None
        if topic.namespace in self._replicated:
            trouble = TopicPoliciesWithheld(
                f"{topic.namespace} is geo-replicated: Pulsar carries its global topic policies itself", lasting=True
            )
        else:
            trouble = await self._service_trouble()
        if trouble is not None:
            topic.withhold(trouble)
            await topic.shut()
            raise trouble

    async def _service_trouble(self) -> TopicPoliciesWithheld | None:
        async with self._service_lock:
            if time.monotonic() - self._service_at >= (_SERVICE_S if self._service is None else _SERVICE_RETRY_S):
                try:
                    self._elsewhere = await self._logs.check_service()
                    self._service = None
                except TopicPoliciesWithheld as exc:
                    self._service = exc
                self._service_at = time.monotonic()
            return self._service

    async def _turn(self) -> None:
        """Wait for the next opening that the bound lets."""
        now = time.monotonic()
        at = max(now, self._next_opening)
        self._next_opening = at + 1 / self._bounds.openings_per_s
        if at > now:
            await asyncio.sleep(at - now)

    async def _make_room(self, topic: PolicyTopic) -> None:
        """Close who was used least lately, while as many are open as may be."""
        opened = [each for each in self._topics.values() if each.is_open and each is not topic]
        excess = len(opened) + 1 - self._bounds.max_readers
        for idle in sorted(opened, key=lambda each: each.used_at):
            if excess <= 0:
                return
            if not idle.lock.locked():
                async with idle.lock:
                    await idle.shut()
                self.tally["closed"] += 1
                excess -= 1

    async def _tend(self) -> None:
        """Look at whatever is due, a few at a time."""
        found_at = float("-inf")
        while True:
            self._wakes.clear()
            try:
                if time.monotonic() - found_at >= self._bounds.look_every.total_seconds():
                    async for _ in self._existing():
                        pass
                    found_at = time.monotonic()
                due = [topic for topic in self._topics.values() if self._due(topic) and not topic.lock.locked()]
                await asyncio.gather(*(self._look_at(topic) for topic in due[:AT_ONCE]))
            except SyncerError as exc:
                log.info("topic_policies_not_looked_at", code=exc.code, cause=exc.message)
                due = []
            if not due:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wakes.wait(), _TURN_S * 10)
            await asyncio.sleep(0 if len(due) > AT_ONCE else _TURN_S)

    def _due(self, topic: PolicyTopic) -> bool:
        age = time.monotonic() - topic.tried_at
        if topic.trouble is not None:
            return age >= min(_RETRY_S * float(1 << min(topic.failures - 1, 10)), _LONGEST_RETRY_S)
        if topic.is_open:
            return time.monotonic() - topic.opened_at >= self._bounds.renew_every.total_seconds()
        if topic.lacks:
            return age >= self._soon_s
        return age >= self._bounds.look_every.total_seconds()

    @property
    def _soon_s(self) -> float:
        """How soon a namespace without a topic is looked at again: its first policy is told by nothing else."""
        few = len(self._topics) / LOOKS_PER_S
        return min(max(LACKING_S, few), self._bounds.look_every.total_seconds())

    async def _look_at(self, topic: PolicyTopic) -> None:
        async with topic.lock:
            if self._topics.get(topic.namespace) is not topic or not self._due(topic):
                return
            declared = (await self._declared([topic.namespace]))[topic.namespace]
            if declared is None:
                await topic.shut()
                return
            with contextlib.suppress(TopicPoliciesWithheld):
                await self.bring_up(topic, anew=topic.is_open)

    async def _follow(self) -> None:
        """Read on wherever something is new."""
        async for names in self._logs.stirred():
            for name in names:
                topic = self._topics.get(name)
                if topic is None or not topic.is_open:
                    continue
                async with topic.lock:
                    with contextlib.suppress(SyncerError):
                        await self.bring_up(topic)


def _clusters(entry: Entry) -> int:
    """Clusters that a namespace is replicated to; a value that says nothing of them counts as one."""
    try:
        named = orjson.loads(entry.value).get("replication_clusters")
    except (orjson.JSONDecodeError, AttributeError):
        return 1
    return len(named) if isinstance(named, list) else 1
