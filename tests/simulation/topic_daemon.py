"""A region's daemon whose store has system topics beside it: the product's own source and writer, step by step.

The store that the daemon is given is the product's: :class:`syncer.system_topics.store.SystemTopicStore` over a
:class:`syncer.system_topics.source.SystemTopics`. Their tasks run in the world's event loop, whose time is that of the
world; each exchange with the store or a broker is a step that waits until chance lets it go on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from syncer.errors import StoreUnavailable, SyncerError, TopicPoliciesWithheld
from syncer.model import MetaPath, Millis, Stamp
from syncer.paths import is_under
from syncer.replication.inbound.prefetch import Prefetched
from syncer.replication.local.full_scan import PageTicket
from syncer.stores.contract import (
    BatchRefused,
    Capabilities,
    Entry,
    Gap,
    PartlyRead,
    WatchSignal,
    Write,
    Written,
)
from syncer.system_topics.contract import FoundTopics, TopicLog
from syncer.system_topics.log import LogMessage, WriterClaim
from syncer.system_topics.namespace import PolicyTopic
from syncer.system_topics.policies import namespace_of, path_of, topic_of
from syncer.system_topics.source import SystemTopics
from syncer.system_topics.source_bounds import SourceBounds
from syncer.system_topics.store import with_system_topics
from tests.simulation.history import Content, Violation
from tests.simulation.region import Daemon, Move, Page, Purpose, Reading, Request
from tests.simulation.store import Watch
from tests.simulation.topic_store import POLICIES, Appending, TopicStore, number_of
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from tests.simulation.topics import TopicWorld
    from tests.simulation.world import Site, World

_Answer = TypeVar("_Answer")

_EXCHANGES: Final = 3
"""So many times as likely as any other move is it that exchanges go on, where there are more than one."""
AGAIN_MS: Final = 700
"""So long a question waits that was not answered."""
BOUNDS: Final = SourceBounds(
    openings_per_s=float("inf"), look_every=timedelta(seconds=30), renew_every=timedelta(seconds=90)
)


@dataclass(slots=True)
class Seen:
    """What an exchange has read: contents of the store's paths, and how far each topic was taken."""

    contents: dict[MetaPath, Content] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    answered: dict[str, int] = field(default_factory=dict)
    """How far that was when what was asked was answered."""


@dataclass(eq=False, slots=True)
class Step:
    """An exchange that waits to go on."""

    goes_on: asyncio.Future[None]
    ready: Callable[[], bool]
    fails: Callable[[], Exception] | None
    forsake: Callable[[], None]
    about: Appending | None = None


_SEEN: ContextVar[Seen | None] = ContextVar("seen", default=None)
_SENDS: ContextVar[tuple[Purpose, Mapping[MetaPath, Stamp]]] = ContextVar("sends")


def _unavailable() -> Exception:
    return StoreUnavailable("simulated")


def _withheld() -> Exception:
    return TopicPoliciesWithheld("simulated")


def _nothing() -> None:
    """Nobody else waits."""


class RawWatch(Watch):
    """The watch of the store itself."""

    def __init__(self) -> None:
        super().__init__()
        self.wakes = asyncio.Event()

    def notice(self, path: MetaPath, mark: str) -> None:
        """A path changed."""
        super().notice(path, mark)
        self.wakes.set()

    def tear(self) -> None:
        """What was not taken yet is lost."""
        super().tear()
        self.wakes.set()


class JoinedWatch(Watch):
    """What the product makes of the watch of the store and of notices of topics."""

    def __init__(self) -> None:
        super().__init__(signals=deque())

    def notice(self, path: MetaPath, mark: str) -> None:
        """The watch below is told."""


class StoreClient:
    """Implements :class:`syncer.stores.contract.MetadataStore` of one process over the region's simulated store."""

    def __init__(self, daemon: TopicDaemon) -> None:
        self._daemon = daemon
        self._store = daemon.topics

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store."""
        return self._store.capabilities

    async def open(self) -> None:
        """Nothing is to be done."""

    async def close(self) -> None:
        """Nothing is to be done."""

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        """Read one path after the other, often several at once."""
        found: dict[MetaPath, Entry | None] = {}
        seen = _SEEN.get()
        for path in paths:
            if not found or self._daemon.world.rng.random() < 0.3:
                await self._daemon.step()
            found[path] = self._store.entry(path)
            if seen is not None:
                seen.contents[path] = self._store.content(path)
        return found

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Send a transaction, and wait for its answer."""
        purpose, meaning = _SENDS.get()
        daemon = self._daemon
        request = Request(daemon, purpose, tuple(writes), dict(meaning))
        daemon.site.network.append(request)

        def forsake() -> None:
            request.forsaken = not request.done

        await daemon.step(ready=lambda: request.done, forsake=forsake)
        if request.refusal is not None:
            raise request.refusal
        assert request.answers is not None
        return request.answers

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        """Stream pages."""
        listed = [path for path in self._store.listing() if is_under(path, prefix)]
        while listed:
            await self._daemon.step()
            count = self._daemon.world.rng.randint(1, 4)
            asked, listed = listed[:count], listed[count:]
            seen = _SEEN.get()
            page = [entry for path in asked if (entry := self._store.entry(path)) is not None]
            if seen is not None:
                seen.contents.update({entry.path: self._store.content(entry.path) for entry in page})
            yield tuple(page)

    async def watch(self, prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        """Report what the store tells, until it has missed something."""
        assert prefixes
        watch = self._daemon.raw = RawWatch()
        self._store.watches.append(watch)
        try:
            while True:
                while not watch.signals:
                    watch.wakes.clear()
                    await watch.wakes.wait()
                await self._daemon.step()
                signal = watch.signals.popleft()
                yield signal
                if isinstance(signal, Gap):
                    return
        finally:
            if watch in self._store.watches:
                self._store.watches.remove(watch)


class SimTopicLogs:
    """Implements :class:`syncer.system_topics.contract.TopicLogs` of one process."""

    def __init__(self, daemon: TopicDaemon) -> None:
        self.daemon = daemon
        self.store = daemon.topics
        self.opened: dict[str, SimTopicLog] = {}
        self.pushes = asyncio.Event()
        self.reached: dict[str, int] = {}
        """How far each topic was read last, whoever had asked."""

    async def open(self) -> None:
        """Nothing is to be done."""

    async def close(self) -> None:
        """End all that is open."""
        for each in list(self.opened.values()):
            await each.close()

    async def check_service(self) -> bool:
        """Its brokers keep all in topics."""
        return False

    def check(self, namespace: str) -> None:
        """Raise where a topic cannot be read for a while."""
        if self.store.withheld_until.get(namespace, 0) > self.daemon.world.story.now:
            raise _withheld()

    def note(self, namespace: str) -> None:
        """All that a topic holds is read by now."""
        self.reached[namespace] = self.store.number
        seen = _SEEN.get()
        if seen is not None:
            seen.numbers[namespace] = self.store.number

    async def foresee(self, namespaces: Sequence[str]) -> None:
        """Each is asked for by itself."""

    async def find(self, namespace: str) -> FoundTopics:
        """List a namespace."""
        await self.daemon.step(fails=_withheld)
        self.check(namespace)
        there = namespace in self.store.messages
        if not there:
            self.note(namespace)
        return FoundTopics(
            system_topics=(f"persistent://{namespace}/__change_events",) if there else (),
            topics=frozenset(
                topic_of(path) for path in POLICIES if namespace_of(path) == namespace and path not in self.store.gone
            ),
        )

    async def log(self, namespace: str, system_topics: Collection[str]) -> TopicLog:
        """Open a topic."""
        assert system_topics
        await self.daemon.step(fails=_withheld)
        self.check(namespace)
        log = self.opened[namespace] = SimTopicLog(self, namespace)
        self.store.opened.append(log)
        return log

    async def make(self, topic: str) -> None:
        """Make the topic of policies of a topic's namespace."""
        namespace = topic.partition("://")[2].rpartition("/")[0]
        await self.daemon.step(fails=_withheld)
        self.check(namespace)
        self.store.messages.setdefault(namespace, [])

    async def stirred(self) -> AsyncIterator[Collection[str]]:
        """Tell what brokers have pushed, some time later; again, where nobody has read it, when time has passed."""
        while True:
            names = self._untold()
            if names:
                await self.daemon.step(fails=None)
                for name in names:
                    if name in self.opened:
                        self.opened[name].told_at = Millis(self.daemon.world.story.now)
                yield names
            elif any(each.behind for each in self.opened.values()):
                await self.daemon.step(ready=lambda: bool(self._untold()), fails=None)
            else:
                self.pushes.clear()
                await self.pushes.wait()

    def _untold(self) -> list[str]:
        now = self.daemon.world.story.now
        return [name for name, each in self.opened.items() if each.behind and each.told_at != now]


class SimTopicLog:
    """Implements :class:`syncer.system_topics.contract.TopicLog`."""

    at_end = True

    def __init__(self, logs: SimTopicLogs, namespace: str) -> None:
        self._logs = logs
        self.namespace = namespace
        self.taken = 0
        self.behind = True
        self.told_at: Millis | None = None
        """When it was told last that there is something to be read; since then nothing has come."""

    def pushed(self) -> None:
        """Something has come."""
        self.behind, self.told_at = True, None
        self._logs.pushes.set()

    def _take(self) -> list[LogMessage]:
        store, before = self._logs.store, self.taken
        self.taken, self.behind = store.number, False
        return [each for each in store.messages[self.namespace] if number_of(each.id) > before]

    async def read_on(self) -> Sequence[LogMessage]:
        """Read to the end; who does not wait for it any more leaves a client that has taken it."""
        self._logs.check(self.namespace)
        try:
            await self._logs.daemon.step(fails=_withheld)
        except asyncio.CancelledError:
            self._take()
            raise
        self._logs.check(self.namespace)
        self._logs.note(self.namespace)
        return self._take()

    async def prepare(self, path: MetaPath, value: bytes | None) -> bytes:
        """Any value has its place."""
        assert namespace_of(path) == self.namespace
        await self._logs.daemon.step(fails=_withheld)
        return value if value is not None else b""

    async def append(self, key: str, payload: bytes, claim: WriterClaim) -> str:
        """Send a message, and wait until it has arrived."""
        path = path_of(key)
        assert path is not None
        self._logs.check(self.namespace)
        purpose_and_meaning = _SENDS.get(None)
        stamp = None if claim.restores or purpose_and_meaning is None else purpose_and_meaning[1].get(path)
        sent = Appending(self.namespace, key, payload or None, claim, stamp)
        self._logs.store.under_way.append(sent)

        def forsake() -> None:
            sent.forsaken = not sent.id

        await self._logs.daemon.step(ready=lambda: bool(sent.id), fails=_unavailable, forsake=forsake, about=sent)
        return sent.id

    async def close(self) -> None:
        """Let it go."""
        if self._logs.opened.get(self.namespace) is self:
            del self._logs.opened[self.namespace]
        if self in self._logs.store.opened:
            self._logs.store.opened.remove(self)


class SeenTopics(SystemTopics):
    """The product's source; whoever asks notes how far the topics were read for the answer."""

    def __init__(self, store: StoreClient, logs: SimTopicLogs) -> None:
        super().__init__(["t/*"], store, logs, BOUNDS)
        self._reached = logs.reached

    async def reach(self, topic: PolicyTopic) -> None:
        """Read a topic, or take it as it was just read too late for who had asked."""
        counts = topic.was_late
        await super().reach(topic)
        seen = _SEEN.get()
        if seen is not None and counts:
            seen.numbers[topic.namespace] = self._reached[topic.namespace]

    async def read(self, paths: Sequence[MetaPath], *, waits: bool = False) -> PartlyRead:
        """What stands at paths that are kept in topics."""
        told = await super().read(paths, waits=waits)
        seen = _SEEN.get()
        if seen is not None:
            seen.answered.update(seen.numbers)
        return told


class TopicDaemon(Daemon):
    """One process, over a store with system topics beside it."""

    def __init__(self, world: World, site: Site) -> None:
        assert world.topics is not None
        assert isinstance(site.store, TopicStore)
        self.loop: TopicWorld = world.topics
        self.topics: TopicStore = site.store
        self.steps: list[Step] = []
        self.dead = False
        self.raw: RawWatch | None = None
        self._spawned: list[asyncio.Task[Any]] = []
        self.source = SeenTopics(StoreClient(self), SimTopicLogs(self))
        self.joined = with_system_topics(StoreClient(self), self.source, site.region, writes=True)
        super().__init__(world, site)
        self._asking: asyncio.Task[Mapping[MetaPath, Entry | None]] | None = None
        self._asks_again_at = 0
        self._applying: asyncio.Task[tuple[Written, ...]] | None = None
        self._reads: dict[int, tuple[asyncio.Task[PartlyRead], Seen]] = {}
        self._ahead: asyncio.Task[PartlyRead] | None = None
        self._pump: asyncio.Task[None] | None = None
        self._pages: AsyncIterator[tuple[Entry, ...]] | None = None
        self._paging: tuple[asyncio.Task[tuple[tuple[Entry, ...], Entry | None] | None], Seen, PageTicket] | None = None
        self._spawn(self.source.begin())

    def _capabilities(self) -> Capabilities:
        return self.joined.capabilities

    # -- steps

    async def step(
        self,
        ready: Callable[[], bool] = lambda: True,
        fails: Callable[[], Exception] | None = _unavailable,
        forsake: Callable[[], None] = _nothing,
        about: Appending | None = None,
    ) -> None:
        """Wait until this exchange may go on."""
        if self.dead:
            raise asyncio.CancelledError
        step = Step(asyncio.get_running_loop().create_future(), ready, fails, forsake, about)
        self.steps.append(step)
        try:
            await step.goes_on
        except BaseException:
            forsake()
            raise
        finally:
            self.steps.remove(step)

    def _spawn(
        self,
        work: Coroutine[Any, Any, _Answer],
        seen: Seen | None = None,
        sends: tuple[Purpose, Mapping[MetaPath, Stamp]] | None = None,
    ) -> asyncio.Task[_Answer]:
        context = copy_context()
        context.run(_SEEN.set, seen)
        if sends is not None:
            context.run(_SENDS.set, sends)
        task = self.loop.create_task(work, context)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._spawned = [each for each in self._spawned if not each.done()]
        self._spawned.append(task)
        self._run()
        return task

    def _run(self) -> None:
        self.loop.run()
        self._take_applied()

    @property
    def _ready(self) -> list[Step]:
        return [each for each in self.steps if each.ready() and not each.goes_on.done()]

    def go_on(self) -> None:
        """Let some of the exchanges go on."""
        for _ in range(self.world.rng.randint(1, 5)):
            ready = self._ready
            if not ready:
                return
            step = ready[self.world.rng.randrange(len(ready)) if len(ready) > 1 else 0]
            step.goes_on.set_result(None)
            self._run()

    def _give_up_task(self, task: asyncio.Task[Any]) -> None:
        task.cancel()
        self._run()

    def lose_answer(self) -> None:
        """The connection breaks: whether what is under way lands, or will, is not known."""
        steps = [(each, each.fails) for each in self.steps if each.fails is not None and not each.goes_on.done()]
        if not steps:
            return
        self.tell("loses an answer")
        step, fails = steps[self.world.rng.randrange(len(steps))]
        step.forsake()
        step.goes_on.set_exception(fails())
        self._run()

    def lose_message(self, sent: Appending) -> None:
        """Nobody tells whether a message has arrived, or will."""
        for step in self.steps:
            if step.about is sent and not step.goes_on.done():
                self.tell("is not told of its message")
                self.world.met["left open"] += 1
                step.forsake()
                step.goes_on.set_exception(_unavailable())
                self._run()
                return

    # -- moves

    def moves(self) -> list[Move]:
        """As of every daemon; what waits for an exchange waits until that has gone on."""
        if self.frozen or self.sleeps_until > self.world.story.now:
            return []
        self._run()
        idle: set[Move] = set()
        if self.world.story.now < self._asks_again_at:
            idle |= {self.read_fence, self.probe, self.probe_rollback_counter, self.arm, self.plan}
        elif self._asking is not None and not self._asking.done():
            idle |= {self.read_fence, self.probe, self.probe_rollback_counter}
        if not any(task.done() for task, _ in self._reads.values()):
            idle.add(self.read_on)
        if self._ahead is not None and not self._ahead.done():
            idle.add(self.look_on)
        if self._paging is not None and not self._paging[0].done():
            idle.add(self.scan_on)
        found = super().moves()
        moves = [move for move in found if move not in idle]
        if self.raised and (not moves or moves[0] not in {self.beat, self.scan_on}):
            moves.insert(0, self.beat)
        if self.raised and self.source.overtaken:
            moves.append(self.keep)
        return moves + [self.go_on] * min(len(self._ready), _EXCHANGES)

    def keep(self) -> None:
        """Keep what could not be put back."""
        overtaken = self.joined.take_overtaken()
        self.world.met["overtaken policies"] += 1
        if not self._call(lambda: self.driver.keep_overtaken(overtaken, self.now)):
            self.joined.put_back(overtaken)

    def end(self) -> None:
        """The process is gone; what it has sent is still under way."""
        if not self.alive:
            return
        super().end()
        self.dead = True
        for task in (*self._spawned, *self.source._tasks):
            task.cancel()
        self.source.late.end()
        self.loop.run()
        self.topics.opened = [each for each in self.topics.opened if each._logs.daemon is not self]
        if self.raw is not None and self.raw in self.topics.watches:
            self.topics.watches.remove(self.raw)

    # -- the fence

    def _fence_as_read(self) -> tuple[Entry | None] | None:
        """Ask for the fence; the answer, once it is there."""
        path = parts_of(self.driver).core.fence_path
        if self._asking is None:
            self._asking = self._spawn(self.joined.read([path]))
            return None
        task, self._asking = self._asking, None
        try:
            return (task.result()[path],)
        except SyncerError as exc:
            self.tell("is not told the fence", None, exc.message)
            self._asks_again_at = self.world.story.now + AGAIN_MS
            return None

    def read_fence(self) -> None:
        """Read the fence and ask for it to be raised."""
        if (found := self._fence_as_read()) is not None:
            self.raise_fence(found[0])

    def probe(self) -> None:
        """Find out what became of a transaction whose answer was lost."""
        if (found := self._fence_as_read()) is not None:
            self.probe_by(found[0])

    def probe_rollback_counter(self) -> None:
        """Find out what became of a mark."""
        if (found := self._fence_as_read()) is not None:
            self.probe_rollback_counter_by(found[0])

    # -- writes

    def _send(self, purpose: Purpose, writes: tuple[Write, ...], meaning: dict[MetaPath, Stamp]) -> None:
        self.request = Request(self, purpose, writes, meaning)
        self._applying = self._spawn(self.joined.apply(writes), sends=(purpose, meaning))

    def _take_applied(self) -> None:
        task, request = self._applying, self.request
        if task is None or request is None or not task.done() or not self.alive:
            return
        self._applying = None
        try:
            request.answers = task.result()
        except BatchRefused as refusal:
            request.refusal = refusal
        except StoreUnavailable:
            super().lose_answer()

    # -- reads

    def plan(self) -> None:
        """Issue reads."""
        plan = self.driver.plan_reads(self.world.rng.randint(1, 4))
        if plan is not None:
            reading, seen = Reading(plan), Seen()
            self.readings.append(reading)
            self._reads[id(reading)] = self._spawn(self.joined.read_partly(plan.paths), seen), seen

    def read_on(self) -> None:
        """Take the answers of a reading."""
        reading = next(each for each in self.readings if self._reads[id(each)][0].done())
        task, seen = self._reads.pop(id(reading))
        self.readings.remove(reading)
        try:
            answers, withheld, undecided = task.result()
        except SyncerError:
            self._asks_again_at = self.world.story.now + AGAIN_MS
            self._call(lambda: self.driver.give_up(reading.plan))
            return
        self.world.met["policies withheld"] += bool(withheld)
        contents = self._contents(answers, seen)
        contents = {path: content for path, content in contents.items() if path in reading.plan.origins}
        for path, content in contents.items():
            self.tell("reads", path, content)
        self._call(lambda: self.driver.take_answers(reading.plan, answers, self.now, undecided), contents)

    def _contents(self, answers: Mapping[MetaPath, Entry | None], seen: Seen) -> dict[MetaPath, Content]:
        contents = {}
        for path, entry in answers.items():
            namespace = namespace_of(path)
            if namespace is None:
                contents[path] = seen.contents[path]
            elif namespace in seen.answered:
                contents[path] = self.topics.read_as(path, entry, seen.answered[namespace])
            else:
                raise Violation("wrong standing", path, f"{self.site.region} was told without that its topic was read")
        return contents

    def give_up(self) -> None:
        """Nobody waits for a reading any more."""
        reading = self.readings.pop(0)
        task, _ = self._reads.pop(id(reading))
        self._give_up_task(task)
        self._call(lambda: self.driver.give_up(reading.plan))

    def look_on(self) -> None:
        """Let the reading ahead go on."""
        looking = self.looking
        assert looking is not None
        if self._ahead is None:
            self._ahead = self._spawn(self.joined.read_partly(looking.ahead.paths))
            return
        task, self._ahead = self._ahead, None
        try:
            answers = task.result().answers
        except SyncerError:
            self.stop_looking()
            return
        self.looking = None
        self.world.met["read ahead"] += 1
        self.fold(looking.delivery, Prefetched(looking.ahead, answers))

    # -- watch and scan

    def arm(self) -> None:
        """Arm the watch."""
        if self._pump is not None:
            self._give_up_task(self._pump)
        watch = self.watch = JoinedWatch()
        self.topics.watches.append(watch)
        self._pump = self._spawn(self._pump_into(watch))

    async def _pump_into(self, watch: JoinedWatch) -> None:
        signals = cast("AsyncGenerator[WatchSignal, None]", self.joined.watch(self.driver.prefixes))
        try:
            async with aclosing(signals):
                async for signal in signals:
                    if not watch.whole:
                        return
                    watch.signals.append(signal)
                    watch.whole = not isinstance(signal, Gap)
        except SyncerError:
            watch.tear()

    def beat(self) -> None:
        """The watch is whole and has nothing to say."""
        if self.raw is None or not self.raw.signals:
            super().beat()

    def _begin_scan(self) -> None:
        super()._begin_scan()
        self.scanned = []

        async def pages() -> AsyncIterator[tuple[Entry, ...]]:
            for prefix in self.driver.prefixes:
                async for page in self.joined.scan(prefix):
                    yield page

        self._pages = pages()

    def _give_up_scan(self) -> None:
        if self._paging is not None:
            task, _, ticket = self._paging
            self._paging = None
            self._give_up_task(task)
            self.driver.give_up_page(ticket)
        super()._give_up_scan()

    def scan_on(self) -> None:
        """The next stretch of the scan."""
        scan = self.scan
        assert scan is not None
        if scan.finished:
            self._call(lambda: self._complete(scan))
        elif self._paging is None:
            ticket, seen = self.driver.issue_page(), Seen()
            self._paging = self._spawn(self._next_page(), seen), seen, ticket
        else:
            (task, seen, ticket), self._paging = self._paging, None
            try:
                found = task.result()
            except SyncerError:
                self._asks_again_at = self.world.story.now + AGAIN_MS
                self.driver.give_up_page(ticket)
                self._scan_again()
                return
            if found is None:
                self.driver.give_up_page(ticket)
                if not self._call(lambda: self.driver.end_scan(scan)):
                    self._scan_again()
                return
            self.page = Page(ticket, list(found[0]), self._met(found[0], seen), found[1], fenced=True)
            super().scan_on()

    async def _next_page(self) -> tuple[tuple[Entry, ...], Entry | None] | None:
        assert self._pages is not None
        try:
            page = await anext(self._pages)
        except StopAsyncIteration:
            return None
        fence = parts_of(self.driver).core.fence_path
        return page, (await self.joined.read([fence]))[fence]

    def _met(self, page: Sequence[Entry], seen: Seen) -> dict[MetaPath, Content]:
        return {
            entry.path: seen.contents[entry.path] if namespace_of(entry.path) is None else self.topics.written_by(entry)
            for entry in page
        }
