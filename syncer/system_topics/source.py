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
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Final

import structlog

from syncer.errors import SyncerError, TopicPoliciesWithheld
from syncer.model import MetaPath
from syncer.paths import GLOBAL_TOPIC_POLICIES, PARTITIONED_TOPICS, POLICIES, namespace_path, topic_name
from syncer.stores.contract import Entry, MetadataStore, PartlyRead
from syncer.stores.topic_policies import OvertakenPolicies, TopicPoliciesStanding
from syncer.system_topics.contract import TopicLogs
from syncer.system_topics.fence_bound import ReadFence
from syncer.system_topics.late_readings import LateReadings
from syncer.system_topics.log import OvertakenPolicy
from syncer.system_topics.namespace import EndsWrites, MovedPolicies, PolicyTopic, overtaken_at
from syncer.system_topics.notices import PolicyNotices
from syncer.system_topics.policies import namespace_of, path_of
from syncer.system_topics.service import BrokersService
from syncer.system_topics.source_bounds import OpeningPace, SourceBounds
from syncer.system_topics.stored_topics import clusters_of

log = structlog.get_logger()

AT_ONCE: Final = 16
"""Namespaces that are looked at, opened or read at the same time."""
AHEAD: Final = 20
"""Namespaces that are listed at once."""
PAGE: Final = 500
OVERTAKEN_KEPT: Final = 10_000
LACKING_S: Final = 3.0
LOOKS_PER_S: Final = 20
"""A namespace without a topic of policies is looked at so soon again, and all of them no oftener than so."""
FIRST_S: Final = 30.0
"""How long a scan waits for a topic that was never read: what is found there later is told by itself."""
LISTED_S: Final = 2.0
"""How long a listing says that a topic does not exist."""
_RETRY_S: Final = 0.5
_LONGEST_RETRY_S: Final = 60.0
_TURN_S: Final = 0.1
_TOPIC_PARTS: Final = 7
"""Of the path at which a topic with partitions is declared, the empty one before its first slash included."""


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
        self.fence = ReadFence(store)
        self._topics: dict[str, PolicyTopic] = {}
        self._replicated: set[str] = set()
        self._service = BrokersService(logs)
        self._wakes = asyncio.Event()
        self._openings = OpeningPace(self._bounds.openings_per_s)
        self._reading_all = 0
        self._tasks: list[asyncio.Task[None]] = []
        self.notices = PolicyNotices()
        self.late = LateReadings(AT_ONCE, self.notify)
        self.patience_s = self._bounds.patience.total_seconds()
        self.overtaken: deque[OvertakenPolicies] = deque(maxlen=OVERTAKEN_KEPT)
        self.tally: Tally[str] = Tally()
        self.writer: EndsWrites | None = None
        """Brings to an end what was begun to write; there is one while this process may write."""

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
        await self.late.close()
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
            self._topics[namespace] = PolicyTopic(namespace, self._logs, self.fence)
            self._wakes.set()
        return self._topics[namespace]

    # -- answers

    async def read(self, paths: Sequence[MetaPath], *, waits: bool = False) -> PartlyRead:
        """What stands at paths that are kept here.

        Where a namespace is gone, that its topics have no policies any more was decided with it.

        Args:
            paths: Any of them.
            waits: For as long as it takes to read their topics; else what takes too long is withheld, and told later.
        """
        answers: dict[MetaPath, Entry | None] = {}
        undecided: dict[MetaPath, Entry | None] = {}
        withheld: dict[MetaPath, str] = {}
        by_namespace: dict[str, list[MetaPath]] = {}
        for path in paths:
            by_namespace.setdefault(namespace_of(path) or "", []).append(path)
        declared = await self._declared(by_namespace)

        async def answer(namespace: str) -> None:
            mine = by_namespace[namespace]
            if declared[namespace] is None:
                answers.update(dict.fromkeys(mine))
                former = self._topics.get(namespace)
                if former is not None and (former.is_open or former.fold is not None):
                    await self._forget(former)
                return
            topic = self.topic(namespace)

            async def look() -> PartlyRead:
                await self.reach(topic)
                return topic.partly(mine)

            try:
                told = await self.late.do(topic, look, None if waits else self.patience_s)
            except TopicPoliciesWithheld as exc:
                for path in mine:
                    topic.ask_in_vain(path)
                    withheld[path] = exc.message
                return
            answers.update(told.answers)
            undecided.update(told.undecided)
            withheld.update(told.withheld)

        await asyncio.gather(*(answer(each) for each in by_namespace))
        return PartlyRead(answers, withheld, undecided)

    async def reach(self, topic: PolicyTopic) -> None:
        """Bring a topic up, if that was not just done, too late for who had asked; the caller has its lock.

        Raises:
            TopicPoliciesWithheld: It cannot be told what stands there.
        """
        if not topic.was_late or self._unsettled(topic.namespace):
            await self.bring_up(topic)

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
            await self._openings.turn()
            await self._make_room(topic)
            self.tally["opened"] += 1
        failures = topic.failures
        self.notify(await topic.refresh(anew=anew, elsewhere=self._service.elsewhere))
        if self.writer is None:
            return
        try:
            if topic.is_open and topic.fold is not None and any(topic.fold.owed()):
                await self.writer.mend(topic)
            await self.writer.settle(topic)
        except TopicPoliciesWithheld as exc:
            topic.failures = failures
            topic.withhold(exc)
            raise

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
            if topic.is_unread or topic.trouble is not None or self._unsettled(name):
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
            await self._openings.turn()
            topic.topics = (await self._logs.find(topic.namespace)).topics
            topic.found_at = time.monotonic()
        return name in topic.topics

    async def make(self, topic: PolicyTopic, name: str) -> None:
        """Have the brokers make the topic of policies of a namespace that has none; the caller has the lock."""
        await self._openings.turn()
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
            if parts[2] == "partitioned-topics" and len(parts) == _TOPIC_PARTS:  # its policies may have waited for it
                found.append(MetaPath(f"{GLOBAL_TOPIC_POLICIES}/{'/'.join(parts[3:])}"))
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
        self.overtaken.append(overtaken_at(path, each))

    async def _declared(self, namespaces: Iterable[str]) -> dict[str, Entry | None]:
        """Each namespace's own entry in the store; which of them Pulsar replicates is noted on the way."""
        where = {name: namespace_path(*name.split("/")) for name in namespaces}
        found = await self._store.read(list(where.values()))
        for name, path in where.items():
            self._note_replication(name, found[path])
        return {name: found[path] for name, path in where.items()}

    def _note_replication(self, name: str, entry: Entry | None) -> None:
        if entry is not None and clusters_of(entry) > 1:
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
            topic = self._topics.get(name)
            if topic is not None and await self._forget(topic):
                self._replicated.discard(name)
                self._topics.pop(name, None)

    async def _forget(self, topic: PolicyTopic) -> bool:
        """A namespace is gone; whether nothing of its topic is left by now."""

        async def forget() -> None:
            self.notify(await topic.forget())

        topic.note_gone()
        try:
            await self.late.do(topic, forget, self.patience_s)
        except TopicPoliciesWithheld:
            return False
        return True

    async def _read_all(self, namespaces: Sequence[str]) -> None:
        """Read each namespace that was never read, or in which a write is open, as fast as the bounds let.

        What is due beside that waits.
        """
        waiting = deque(name for name in namespaces if self.topic(name).is_unread or self._unsettled(name))
        foreseen, looking = set[str](), asyncio.Lock()

        async def look_ahead(name: str) -> None:
            async with looking:
                if name not in foreseen:
                    these = [name, *islice(waiting, AHEAD - 1)]
                    foreseen.update(these)
                    await self._logs.foresee(these)

        async def work() -> None:
            while waiting:
                topic = self.topic(waiting.popleft())
                await look_ahead(topic.namespace)
                with contextlib.suppress(TopicPoliciesWithheld):
                    await self.late.do(topic, partial(self._read_first, topic), FIRST_S)

        self._reading_all += 1
        try:
            await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        finally:
            self._reading_all -= 1

    async def _read_first(self, topic: PolicyTopic) -> None:
        if topic.is_unread or self._unsettled(topic.namespace):
            await self.bring_up(topic)

    def _unsettled(self, namespace: str) -> bool:
        return self.writer is not None and self.writer.unsettled(namespace)

    async def _check(self, topic: PolicyTopic) -> None:
        trouble: TopicPoliciesWithheld | None
        if topic.namespace in self._replicated:
            trouble = TopicPoliciesWithheld(
                f"{topic.namespace} is geo-replicated: Pulsar carries its global topic policies itself", lasting=True
            )
        else:
            trouble = await self._service.trouble()
        if trouble is not None:
            topic.withhold(trouble)
            await topic.shut()
            raise trouble

    async def _make_room(self, topic: PolicyTopic) -> None:
        """Close who was used least lately, while as many are open as may be."""
        if len(self._topics) <= self._bounds.max_readers:
            return
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
                due = [] if self._reading_all else [each for each in self._topics.values() if self._may_look_at(each)]
                await asyncio.gather(*(self._look_at(topic) for topic in due[:AT_ONCE]))
            except SyncerError as exc:
                log.info("topic_policies_not_looked_at", code=exc.code, cause=exc.message)
                due = []
            except Exception:
                log.exception("topic_policies_not_looked_at")  # whatever it is, the others are looked at
                due = []
            if not due:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wakes.wait(), _TURN_S * 10)
            await asyncio.sleep(0 if len(due) > AT_ONCE else _TURN_S)

    def _may_look_at(self, topic: PolicyTopic) -> bool:
        return self._due(topic) and not topic.lock.locked() and not self.late.is_late(topic)

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
        async def look() -> None:
            if self._topics.get(topic.namespace) is not topic or not self._due(topic):
                return
            if await self.declared(topic):
                await self.bring_up(topic, anew=topic.is_open)
            else:
                self.notify(await topic.forget())

        with contextlib.suppress(TopicPoliciesWithheld):
            await self.late.do(topic, look, self.patience_s)

    async def _follow(self) -> None:
        """Read on wherever something is new."""
        async for names in self._logs.stirred():
            await asyncio.gather(*(self._read_on(topic) for name in names if (topic := self._topics.get(name))))

    async def _read_on(self, topic: PolicyTopic) -> None:
        if not topic.is_open:
            return
        try:
            await self.late.do(topic, partial(self.bring_up, topic), self.patience_s)
        except SyncerError as exc:
            log.debug("topic_policies_not_followed", namespace=topic.namespace, code=exc.code, cause=exc.message)
        except Exception:
            log.exception("topic_policies_not_followed", namespace=topic.namespace)  # the others are followed
