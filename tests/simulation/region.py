"""A region's daemon as its pumps would run it: each pending piece of work is one move, which chance or a test picks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from syncer.bus.contract import Outgoing
from syncer.bus.wire.codec import decode
from syncer.bus.wire.messages import Control, Message, TreeMessage
from syncer.conflict.guards import Topics
from syncer.conflict.rebuilding import Answer
from syncer.errors import Fenced, PreconditionFailed, StateUnavailable
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Stamp
from syncer.replication.antientropy.exchanges import Pace
from syncer.replication.control.effects import Wanted
from syncer.replication.control.repair import Turn, may_tell
from syncer.replication.core import NamedStore, Peculiarities
from syncer.replication.driver import Driver
from syncer.replication.gc.state import TombstoneGc
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.inbound.prefetch import Prefetch, Prefetched
from syncer.replication.local.apply import Landing
from syncer.replication.local.full_scan import PageTicket, Scan
from syncer.replication.local.observe import ReadPlan
from syncer.replication.local.write_queue import Batch
from syncer.state.contract.outbox import OutboxRow
from syncer.stores.contract import Armed, BatchRefused, Capabilities, Changed, Entry, Gap, Put, Write, Written
from tests.simulation.bus import Delivery, Publishing
from tests.simulation.cluster_names import KNOWN
from tests.simulation.collecting import CollectionQuestions
from tests.simulation.disk import Crash
from tests.simulation.history import Content, Violation
from tests.simulation.name_disputes import told_by
from tests.simulation.store import Watch
from tests.simulation.version_questions import VersionQuestions
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from tests.simulation.world import Site, World

Contents = Mapping[MetaPath, Content]
Move = Callable[[], None]

TICK_MS: Final = 1_000
STARVED_MS: Final = 40_000
"""Pause between two ticks of a starved daemon: longer than two heartbeats of the others."""
HEARTBEAT_MS: Final = 30_000
COMPARING_HEARTBEAT_MS: Final = 10_000
PACE: Final = Pace(pause_ms=2_000, longest_ms=15_000, patience_ms=60_000)
OFTEN_MS: Final = 1_000
HASTY: Final = 0.2
"""How often, where deletes are forgotten, a heartbeat overtakes everything."""
FORGETTING: Final = TombstoneGc(
    grace_ms=Millis(1),
    pause_ms=Millis(1),
    patience_ms=Millis(120_000),
    gap_patience_ms=Millis(15_000),
    gap_longest_ms=Millis(30_000),
    nameless_ms=Millis(200_000),
    gathered=2,
    per_step=2,
)
COMPARING: Final = TombstoneGc(gap_patience_ms=Millis(10**12))
"""Where nothing is forgotten, no delete is told again either: comparing has to be enough."""
QUIET_MS: Final = 60_000
SILENCE_MS: Final = 20_000
LONGEST_MOVE_MS: Final = 10_000
HELD_BACK_MS: Final = 60_000
"""How long a lie may keep a daemon from publishing, in all its life."""
MARK_MS: Final = 3_000
PUT_BACK: Final = "the store was put back"
REFUSALS: Final = ("the store is older", "the store does not hold this region's fence", "the store answers empty")
"""What a daemon may say of a store that was put back."""
_PLANS: Final = 3
_DELIVERIES: Final = 3


class Purpose(Enum):
    """Why a transaction was sent."""

    RAISE = auto()
    BATCH = auto()
    PROBE = auto()
    MARK = auto()


@dataclass(eq=False, slots=True)
class Request:
    """A transaction on its way to a store. Exactly one of ``answers`` and ``refusal`` is set once it was applied."""

    author: Daemon
    purpose: Purpose
    writes: tuple[Write, ...]
    meaning: dict[MetaPath, Stamp]
    answers: tuple[Written, ...] | None = None
    refusal: BatchRefused | None = None
    forsaken: bool = False

    @property
    def done(self) -> bool:
        """Whether the store has decided it."""
        return self.answers is not None or self.refusal is not None


@dataclass(eq=False, slots=True)
class Reading:
    """A plan of reads on its way: the paths are read one after the other, the fence last."""

    plan: ReadPlan
    answers: dict[MetaPath, Entry | None] = field(default_factory=dict)
    contents: dict[MetaPath, Content] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether everything was read."""
        return len(self.answers) == len(self.plan.paths)


@dataclass(eq=False, slots=True)
class Looking:
    """A delivery that is folded once the store was read ahead of it: the paths are read one after the other."""

    delivery: Delivery
    ahead: Prefetch
    answers: dict[MetaPath, Entry | None] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether everything was read."""
        return len(self.answers) == len(self.ahead.paths)


@dataclass(eq=False, slots=True)
class Page:
    """A page of a scan on its way."""

    ticket: PageTicket
    entries: list[Entry]
    contents: dict[MetaPath, Content]
    fence: Entry | None = None
    fenced: bool = False


class Daemon:
    """One process. After a crash, or once it is fenced, it is gone; another is made."""

    def __init__(self, world: World, site: Site) -> None:
        self.world = world
        self.site = site
        self.alive = True
        self.frozen = False
        self.cut = False
        """The store was put back, and this daemon is connected to what was there before."""
        self.sleeps_until = 0
        forgets = world.mode.forgets
        self.scope = site.scope or world.scope
        self.driver = Driver(
            site.replica,
            self.scope,
            site.disk.open(),
            self._capabilities(),
            expected=world.expected_by(site.region),
            forgetting=FORGETTING if forgets else COMPARING,
        )
        parts_of(self.driver).antientropy.exchanges.pace = PACE
        parts_of(self.driver).recovery.quiet_ms = QUIET_MS
        parts_of(self.driver).local.rollback_counter.interval_ms = MARK_MS
        parts_of(self.driver).group.evidence.silence_ms = SILENCE_MS
        parts_of(self.driver).core.going_over.rest_ms = Millis(0)
        names = site.store.names
        self.driver.know_clusters(KNOWN if names is None else names.known())
        if names is not None:
            parts_of(self.driver).core.place = NamedStore("simulated", names.place)
            if world.mode.disputes:
                parts_of(self.driver).core.peculiar = Peculiarities(names.for_others())
        if world.mode.claims:
            parts_of(self.driver).core.peculiar = Peculiarities(told_by(site))
        self.raised = False
        self.raising: Put | None = None
        self.request: Request | None = None
        self.batch: Batch | None = None
        self.landings: list[Landing] = []
        self.meanings: dict[str, dict[MetaPath, Stamp]] = {}
        self.probing = False
        self.rollback_counter: Put | None = None
        self.watch: Watch | None = None
        self.scan: Scan | None = None
        self.scanned: list[MetaPath] = []
        self.page: Page | None = None
        self.readings: list[Reading] = []
        self.publishing: Publishing | None = None
        self.rows: list[OutboxRow] = []
        self.looking: Looking | None = None
        self.deliveries: list[Delivery] = []
        self.questions: list[MetaPath] = []
        self.versions = VersionQuestions(self, site.brokers) if site.brokers is not None else None
        self.collecting = CollectionQuestions(self, site.collectors) if site.collectors is not None else None
        self.last_tick = 0
        starved = world.starves > 0 and world.rng.random() < world.starves
        self.tick_ms = STARVED_MS if starved else TICK_MS
        world.met["starved"] += starved
        self.doubted = False
        self.held_back_ms = 0
        """How long it has published nothing, since something was said of its database."""
        self.last_heartbeat = 0

    def _capabilities(self) -> Capabilities:
        """What the store can do that it writes to."""
        return self.site.store.capabilities

    # -- what can be done now

    def moves(self) -> list[Move]:  # noqa: C901, PLR0912 - one line per kind of work
        """Every piece of work that is due; each is one call of the driver, or one exchange with the outside.

        The first one alone may be idle: a beat of the watch, or waiting for what a scan has found.
        """
        request = self.request
        if self.frozen or self.sleeps_until > self.world.story.now:
            return []
        if self.sleeps_until:
            self.sleeps_until = 0
            self.tell("wakes up")
        if not self.raised:
            if request is None:
                return [self.read_fence]
            return [self.take_written] if request.done else []
        moves: list[Move] = [self.beat if self.scan is None else self.scan_on]
        if self.driver.hearing:
            moves = [self.beat]
        elif self.watch is None:
            moves = [self.arm]
        elif self.watch.signals:
            moves.append(self.take_signals)
        wanted = parts_of(self.driver).local.dirty.readable or (
            parts_of(self.driver).core.fence_unverified and not self.readings
        )
        if len(self.readings) < _PLANS and wanted and parts_of(self.driver).local.watch.ledger.armed:
            moves.append(self.plan)
        moves.extend([self.read_on] * (len(self.readings) > 0))
        if self.probing:
            moves.append(self.probe)
        elif request is None:
            if self.rollback_counter is not None:
                moves.append(self.probe_rollback_counter)
            elif parts_of(self.driver).local.writes.head is not None and self.writes_now:
                moves.append(self.send)
            elif self.driver.rollback_counter_due(self.now):
                moves.append(self.mark)
        elif request.done:
            moves.append(self.take_written)
        tables = self.site.disk.tables
        moves.extend([self.land] * (len(self.landings) > 0))
        if self.publishing is None:
            parts = parts_of(self.driver)
            if (
                tables.outbox
                and parts.group.paused is None
                and parts.recovery.progress.lost is None
                and not self.driver.starting
                and not self.driver.in_doubt
            ):
                moves.append(self.publish)
        elif self.publishing.done:
            moves.append(self.take_published)
        reached = not self.world.cut_off(self.site.region)
        if self.looking is not None:
            moves.append(self.look_on)
        elif reached and self.world.bus.waiting[self.site.region] and len(self.deliveries) < _DELIVERIES:
            moves.append(self.take_delivery)
        if self.deliveries:
            moves.append(self.acknowledge)
        if self.world.story.now - self.last_tick > self.tick_ms:
            moves.append(self.tick)
        if self.world.mode.compares and self.driver.comparing:
            moves.append(self.compare)
        if may_tell(parts_of(self.driver).control) and any(each.state == "running" for each in tables.repairs.values()):
            moves.append(self.repair)
        if tables.operations and any(operation.state == "pending" for operation in tables.operations.values()):
            moves.append(self.operate)
        if self.corresponds:
            moves.append(self.correspond)
        if parts_of(self.driver).local.topics.asking:
            moves.append(self.answer_questions)
        if self.versions is not None:
            moves += self.versions.moves()
        elif self.driver.rescan_due:
            moves.append(self.scan_anew)
        if self.collecting is not None:
            moves += self.collecting.moves()
        return moves

    @property
    def writes_now(self) -> bool:
        """Whether anything is written at all."""
        parts = parts_of(self.driver)
        return parts.group.paused is None and not parts.core.fence_unverified

    # -- calls of the driver

    def _call(self, call: Callable[[], None], contents: Contents | None = None) -> bool:
        """One step of the driver; the referee sees what it stamped. ``False``: the process has not got through it."""
        site = self.site
        before = site.disk.tables
        try:
            call()
        except Fenced:
            self.world.met["fenced"] += 1
            self.tell("steps back: fenced")
            self.end()
            return False
        except PreconditionFailed as refusal:
            if not any(words in refusal.message for words in REFUSALS):
                raise
            self.tell("refuses its store")
            self.end()
            self.world.refused(self.site)
            return False
        except StateUnavailable:
            self.tell("its database failed")
            return False
        except Crash as crash:
            self.tell(f"crashes {crash}")
            self.end()
            return False
        finally:
            self.world.referee.stamped(site, before, contents or {})
        if site.disk.tables.registers is not before.registers:
            self._keep_meanings()
        return True

    def call(self, call: Callable[[], None]) -> bool:
        """One step of the driver, of another part of the simulator; ``False``: the process has not got through it."""
        return self._call(call)

    def _keep_meanings(self) -> None:
        """Which versions a batch carries is known while its intents stand; a later writer may have settled them."""
        registers = self.site.disk.tables.registers
        for batch in parts_of(self.driver).local.writes.waiting:
            if batch.number not in self.meanings:
                intents = {path: registers[path].intent for path in batch.paths}
                assert all(intents.values()), f"{batch.number}: a write without an intent"
                self.meanings[batch.number] = {
                    path: intent.version.stamp for path, intent in intents.items() if intent is not None
                }

    def tell(self, what: str, path: MetaPath | None = None, *details: object) -> None:
        """Keep a row of the story."""
        self.world.story.tell(self.site.region, what, path, *details)

    def end(self) -> None:
        """The process is gone; what it has sent is still under way."""
        if not self.alive:
            return
        self.alive = False
        self.site.daemons.remove(self)
        if self.watch is not None:
            self.site.store.watches.remove(self.watch)
        if self.looking is not None:
            self.world.bus.again(self.looking.delivery)
        for delivery in self.deliveries:
            self.world.bus.again(delivery)
        if self.request is not None and not self.request.done:
            self.request.forsaken = True
        if self.publishing is not None and not self.publishing.done:
            self.world.forsaken.append(self.publishing)

    def crash(self) -> None:
        """Kill the process between two steps."""
        self.tell("crashes")
        self.end()

    @property
    def now(self) -> Millis:
        """The region's clock."""
        return self.site.clock()

    # -- becoming the writer

    def read_fence(self) -> None:
        """Read the fence and ask for it to be raised."""
        store, self.cut = self.site.store, False
        self.raise_fence(store.entry(parts_of(self.driver).core.fence_path))

    def raise_fence(self, entry: Entry | None) -> None:
        """Ask for the fence to be raised, as it was read."""
        raised: list[Put] = []
        if not self._call(lambda: raised.append(self.driver.raise_fence(entry, f"store-{self.site.region}", self.now))):
            return
        self.raising = raised[0]
        self._send(Purpose.RAISE, (self.raising,), {})

    def _send(self, purpose: Purpose, writes: tuple[Write, ...], meaning: dict[MetaPath, Stamp]) -> None:
        self.request = Request(self, purpose, writes, meaning)
        self.site.network.append(self.request)
        if self.cut:
            self.site.comes_too_late(self.request)

    def take_written(self, *, and_store: bool = False) -> None:
        """The store's answer to a transaction has come; what it wrote may be stored later."""
        request = self.request
        assert request is not None
        match request.purpose:
            case Purpose.RAISE:
                self._take_raised(request)
            case Purpose.BATCH:
                self._take_batch(request)
            case Purpose.PROBE:
                self._take_probed(request)
            case Purpose.MARK:
                self._take_marked(request)
        while and_store and self.alive and self.landings:
            self.land()

    def _take_raised(self, request: Request) -> None:
        if request.answers is None:
            self.request = None
            return
        written, put = request.answers[0], request.writes[0]
        assert isinstance(put, Put)
        if self._call(lambda: self._activated(put, written)):
            self.raised = True
            self.request = None
            self.site.let_go |= self.site.leaving
            self.tell("is active")

    def _activated(self, put: Put, written: Written) -> None:
        self.driver.activated(put, written, self.now)

    def _take_batch(self, request: Request) -> None:
        driver, batch, now = self.driver, self.batch, self.now
        assert batch is not None
        if request.answers is not None:
            self.landings.append(driver.answered(batch, request.answers))
            done = True
        else:
            refusal = request.refusal
            assert refusal is not None
            self.world.met["refused"] += 1
            self.tell("is refused", None if refusal.index == 0 else batch.paths[refusal.index - 1], refusal.cause)
            done = self._call(lambda: driver.refused(batch, refusal, now))
        if done:
            self.request = self.batch = None

    def land(self) -> None:
        """Store the answers of some of the transactions that were applied, the oldest first."""
        count = self.world.rng.randint(1, len(self.landings))
        landings = self.landings[:count]
        if self._call(lambda: self.driver.landed(landings, self.now)):
            del self.landings[:count]

    def lose_answer(self) -> None:
        """The connection breaks while a transaction is under way: whether it landed, or will, is not known."""
        request = self.request
        assert request is not None
        self.tell("loses the answer of its transaction")
        if not request.done:
            request.forsaken = True
        self.request = None
        self.probing = request.purpose in {Purpose.BATCH, Purpose.PROBE}

    def probe(self) -> None:
        """Find out what became of a transaction whose answer was lost."""
        self.probe_by(self.site.store.entry(parts_of(self.driver).core.fence_path))

    def probe_by(self, entry: Entry | None) -> None:
        """Likewise, by the fence as it was read."""
        batch = self.batch
        assert batch is not None
        found: list[Put | None] = []
        if not self._call(lambda: found.append(self.driver.probe_lost(entry))):
            return
        put = found[0]
        if put is not None:
            self.probing = False
            self._send(Purpose.PROBE, (put,), {})
        elif self._call(lambda: self.driver.lost(batch, None, self.now)):
            self.probing = False
            self.batch = None

    def _take_probed(self, request: Request) -> None:
        batch = self.batch
        assert batch is not None
        if request.answers is None:
            self.request = None
            self.probing = True
            return
        written = request.answers[0]
        if self._call(lambda: self.driver.lost(batch, written, self.now)):
            self.request = self.batch = None

    # -- marks

    def mark(self) -> None:
        """Give a mark out and send it."""
        given: list[Put | None] = []
        if self._call(lambda: given.append(self.driver.mark(self.now))) and given[0] is not None:
            self._send_rollback_counter(given[0])

    def _send_rollback_counter(self, put: Put) -> None:
        self.rollback_counter = put
        self._send(Purpose.MARK, (put,), {})

    def _take_marked(self, request: Request) -> None:
        put = self.rollback_counter
        if request.answers is None:
            self.request = None
        elif self._call(lambda: self.driver.marked(put, request.answers[0] if request.answers else None, self.now)):
            self.request = self.rollback_counter = None

    def probe_rollback_counter(self) -> None:
        """Find out what became of a mark whose answer was lost, or that was refused."""
        self.probe_rollback_counter_by(self.site.store.entry(parts_of(self.driver).core.fence_path))

    def probe_rollback_counter_by(self, entry: Entry | None) -> None:
        """Likewise, by the fence as it was read."""
        found: list[Put | None] = []
        if not self._call(lambda: found.append(self.driver.probe_rollback_counter(entry))):
            return
        if found[0] is not None:
            self._send_rollback_counter(found[0])
        elif self._call(lambda: self.driver.marked(None, None, self.now)):
            self.rollback_counter = None

    # -- watch and scan

    def arm(self) -> None:
        """Connect, if need be, and arm the watch."""
        self.cut = False
        self.watch = self.site.store.watch()

    def take_signals(self) -> None:
        """Take what the watch has to say, up to its next change of state."""
        watch = self.watch
        assert watch is not None
        signal = watch.signals.popleft()
        match signal:
            case Armed():
                self.tell("watches; scans")
                if not self._call(self._begin_scan):
                    self._scan_again()
            case Changed(paths=paths, marks=marks):
                gathered, named = list(paths), list(marks or ("",) * len(paths))
                while watch.signals and isinstance(watch.signals[0], Changed) and self.world.rng.random() < 0.7:
                    more = watch.signals.popleft()
                    assert isinstance(more, Changed)
                    gathered.extend(more.paths)
                    named.extend(more.marks or ("",) * len(more.paths))
                self.world.met["own notice"] += any(mark in parts_of(self.driver).local.own_writes for mark in named)
                self._call(lambda: self._noticed(gathered, named))
            case Gap():
                self.tell("its watch has a gap")
                self._give_up_scan()
                self._call(self.driver.gap)
                self.site.store.watches.remove(watch)
                self.watch = None
            case _:
                raise TypeError(signal)

    def scan_anew(self) -> None:
        """Read all again, as after a gap, under the watch that is armed."""
        self._give_up_scan()
        if not (self._call(self.driver.gap) and self._call(self._begin_scan)):
            self._scan_again()

    def _begin_scan(self) -> None:
        self._give_up_scan()
        self.scan = self.driver.armed()
        self.scanned = self.site.store.listing()

    def _give_up_scan(self) -> None:
        if self.page is not None:
            self.driver.give_up_page(self.page.ticket)
        self.page = self.scan = None

    def _noticed(self, paths: list[MetaPath], marks: list[str]) -> None:
        assert self.driver.noticed(paths, self.now, marks)

    def beat(self) -> None:
        """The watch is whole and has nothing to say."""
        self.driver.beat(self.now)

    def scan_on(self) -> None:
        """The next stretch of the scan: ask for a page, read the fence, take the page; at the end wait for reads."""
        scan, page = self.scan, self.page
        assert scan is not None
        now = self.now
        if page is not None and not page.fenced:
            page.fence = self.site.store.entry(parts_of(self.driver).core.fence_path)
            page.fenced = True
        elif page is not None:
            self.page = None
            entries, ticket, fence = page.entries, page.ticket, page.fence
            if not self._call(lambda: self.driver.take_page(scan, ticket, entries, fence, now), page.contents):
                self._scan_again()
        elif self.scanned:
            count = self.world.rng.randint(1, 4)
            asked, self.scanned = self.scanned[:count], self.scanned[count:]
            ticket = self.driver.issue_page()
            store = self.site.store
            entries = [entry for path in asked if (entry := store.entry(path)) is not None]
            self.page = Page(ticket, entries, {entry.path: store.content(entry.path) for entry in entries})
        elif not scan.finished:
            if not self._call(lambda: self.driver.end_scan(scan)):
                self._scan_again()
        else:
            self._call(lambda: self._complete(scan))

    def _scan_again(self) -> None:
        self._give_up_scan()
        if self.alive and self.watch is not None:
            self.watch.tear()

    def _complete(self, scan: Scan) -> None:
        if self.driver.scan_complete(scan, self.now):
            self.tell("has scanned")
            self.scan = None

    # -- reads

    def plan(self) -> None:
        """Issue reads."""
        plan = self.driver.plan_reads(self.world.rng.randint(1, 4))
        if plan is not None:
            self.readings.append(Reading(plan))

    def read_on(self) -> None:
        """Let one of the readings go on: the store answers for the next path, or the whole answer arrives."""
        readings = self.readings
        at = self.world.rng.randrange(len(readings)) if len(readings) > 1 else 0
        if readings[at].done:
            self.take_answers(readings.pop(at))
        else:
            self.fetch(readings[at])

    def fetch(self, reading: Reading, *, all_of_it: bool = False) -> None:
        """The store answers for the next path, often for several."""
        store = self.site.store
        for path in reading.plan.paths[len(reading.answers) :]:
            reading.answers[path] = store.entry(path)
            if path in reading.plan.origins:
                reading.contents[path] = content = store.content(path)
                self.tell("reads", path, content)
            if not all_of_it and self.world.rng.random() < 0.3:
                return

    def take_answers(self, reading: Reading) -> None:
        """The answers arrive."""
        self._call(lambda: self.driver.take_answers(reading.plan, reading.answers, self.now), reading.contents)

    def give_up(self) -> None:
        """The store does not answer a reading."""
        reading = self.readings.pop(0)
        self._call(lambda: self.driver.give_up(reading.plan))

    def lose_answers(self) -> None:
        """Nothing that was asked of the store is answered any more."""
        while self.readings:
            self.give_up()
        self.stop_looking()
        if self.page is not None:
            self.driver.give_up_page(self.page.ticket)
            self.page = None

    def answer_questions(self) -> None:
        """The broker says whether topics exist."""
        now = self.now
        for path in self.driver.questions():
            if path not in self.site.topics:
                some = bool(self.world.mode.topics) and self.world.rng.random() < self.world.mode.topics
                self.site.topics[path] = Topics.SOME if some else Topics.NONE
            self.driver.answer_topics(path, self.site.topics[path], now)

    # -- writes

    def send(self) -> None:
        """Send the next transaction."""
        found = self.driver.next_transaction()
        if found is None:
            return
        self.batch, writes = found
        meaning = self.meanings[self.batch.number]
        for path, stamp in meaning.items():
            self.tell("sends", path, stamp)
        self._send(Purpose.BATCH, writes, meaning)

    # -- the bus

    def publish(self) -> None:
        """Send the outbox."""
        rows: list[OutboxRow] = []
        if self._call(lambda: rows.extend(self.driver.outbox(self.world.rng.randint(1, 4)))) and rows:
            self.rows = rows
            self.world.referee.sent(self.site, [row.event for row in rows])
            self.publishing = self.world.bus.send(self.site.region, tuple(row.event for row in rows))

    def take_published(self) -> None:
        """The bus has acknowledged."""
        if self._call(lambda: self.driver.published(self.rows, self.now)):
            self.publishing = None

    def lose_acknowledgement(self) -> None:
        """The bus's acknowledgement is lost; the rows are published again."""
        if self.publishing is not None:
            self.tell("loses the acknowledgement of the bus")
            if not self.publishing.done:
                self.world.forsaken.append(self.publishing)
            self.publishing = None

    def receive(self) -> None:
        """Take a delivery and fold it, nothing coming between."""
        self.take_delivery()
        while self.looking is not None:
            self.look_on()

    def take_delivery(self) -> None:
        """Take a delivery and fold it, or begin to read ahead of it; it is acknowledged later."""
        rng = self.world.rng
        delivery = None
        if self.world.mode.forgets and rng.random() < HASTY:
            delivery = self.world.bus.overtake(self.site.region)
        delivery = delivery or self.world.bus.deliver(self.site.region, rng.randint(1, 4), rng)
        if delivery is None:
            return
        ahead = self.driver.prefetch(self._arrived(delivery))
        if ahead is None:
            self.fold(delivery)
        else:
            self.looking = Looking(delivery, ahead)

    def _arrived(self, delivery: Delivery) -> list[Arrived]:
        return [self.world.bus.arrived(number, message) for number, message in delivery.messages]

    def look_on(self) -> None:
        """Let the reading ahead go on: the store answers for the next path, often for several, or all has arrived."""
        looking = self.looking
        assert looking is not None
        if looking.done:
            self.looking = None
            self.world.met["read ahead"] += 1
            self.fold(looking.delivery, Prefetched(looking.ahead, looking.answers))
            return
        for path in looking.ahead.paths[len(looking.answers) :]:
            looking.answers[path] = self.site.store.entry(path)
            self.tell("reads ahead", path, self.site.store.content(path))
            if self.world.rng.random() < 0.3:
                return

    def stop_looking(self) -> None:
        """The store does not answer what is read ahead: the delivery is folded without."""
        looking, self.looking = self.looking, None
        if looking is not None:
            self.driver.give_up_prefetch(looking.ahead)
            self.fold(looking.delivery)

    def fold(self, delivery: Delivery, seen: Prefetched | None = None) -> None:
        """Fold a delivery."""
        arrived = self._arrived(delivery)
        for _, message in delivery.messages:
            if isinstance(message, MetadataChangeEvent):
                self.tell("folds", message.path, message.stamp, "delete" if message.value is None else "")
                if self.site.let_go.get(message.path) == message.stamp:
                    del self.site.let_go[message.path]
        self.deliveries.append(delivery)

        def take() -> None:
            left = self.driver.consume(arrived, self.now, seen)
            while left:
                left = self.driver.consume(left, self.now)

        disputes = self.world.referee.disputes
        if disputes is not None:
            disputes.arrives(self.site, [message for _, message in delivery.messages])
        taken = self._call(take)
        if disputes is not None:
            disputes.taken(self.site, whole=taken)
        if not taken and self.alive:
            self.deliveries.remove(delivery)
            self.world.bus.again(delivery)

    def acknowledge(self) -> None:
        """Acknowledge the oldest delivery."""
        self.deliveries.pop(0)

    # -- upkeep

    def tick(self) -> None:
        """Look at what waits; tell the peers."""
        self._note_doubt(self.world.story.now - self.last_tick)
        self.last_tick = self.world.story.now
        now = self.now
        if not self._call(lambda: self.driver.tick(now)):
            return
        self._call(self._correspond)
        compares = self.world.mode.compares
        interval = COMPARING_HEARTBEAT_MS if compares else HEARTBEAT_MS
        interval = OFTEN_MS if self.world.mode.forgets else interval
        asked = self.driver.starting or self.driver.answer_greeting()
        if self.alive and (asked or self.last_tick - self.last_heartbeat >= interval):
            self.last_heartbeat = self.last_tick
            self.beat_heart()
        if compares and self.alive:
            self.compare()
        elif self.world.mode.forgets and self.alive:
            self._call(self._sum_up)

    def _sum_up(self) -> None:
        """Keep the digest tree, which forgetting looks at, although nothing is compared."""
        sums = parts_of(self.driver).antientropy.tree_state
        while sums.busy:
            sums.work(parts_of(self.driver).core.state)

    def _note_doubt(self, passed_ms: int) -> None:
        """Nobody keeps a daemon from publishing for longer than a minute by what is said of its database."""
        if not self.driver.in_doubt:
            return
        if self.doubted:
            self.held_back_ms += min(passed_ms, LONGEST_MOVE_MS)  # whoever has no turn for longer is not kept by this
        self.doubted = True
        self.world.met["in doubt"] += 1
        if self.held_back_ms > HELD_BACK_MS:
            raise Violation("held back", "", f"{self.site.region} has published nothing for {self.held_back_ms} ms")

    def beat_heart(self) -> None:
        """Tell the peers how this region is."""
        self._call(lambda: self._say(self.driver.heartbeat(self.now, "simulated")))

    def _say(self, message: Message) -> None:
        """Send what may be lost; while the bus cannot be reached, it is."""
        if not self.world.cut_off(self.site.region):
            self.world.bus.arrive(message)

    def _say_again(self, sent: Outgoing) -> None:
        """Send what a peer has sent, as it was; if it was a lie, it is one again."""
        message = decode(sent.payload, sent.properties)
        assert isinstance(message, MetadataChangeEvent)
        bus = self.world.bus
        if any(bus.log[number] == message for number in bus.lies):
            bus.lie(message)
        else:
            self._say(message)

    def compare(self) -> None:
        """Do a piece of anti-entropy."""
        messages: list[Message] = []
        self._call(lambda: messages.extend(self.driver.compare(self.now)))
        for message in messages:
            what = f"compares: {message.step}" if isinstance(message, TreeMessage) else "asks for registers"
            self.tell(what)
            self._say(message)

    @property
    def corresponds(self) -> bool:
        """Whether there is something to ask or to tell about a lost database."""
        parts = parts_of(self.driver)
        if self.driver.hearing:
            return any(
                member.asked_at_ms is None and member.answer in {Answer.SILENT, Answer.TELLING}
                for member in parts.recovery.progress.members.values()
            ) or bool(parts.recovery.progress.owed)
        doubts, originals = parts.recovery.doubts, parts.recovery.originals
        if doubts.by.keys() - doubts.asked_at_ms.keys() or (originals is not None and originals.owed):
            return True
        return bool(parts.recovery.values.wanting) or (
            bool(parts.recovery.progress.owed) and parts.core.first_scan_done and not parts.core.uncompared.rules
        )

    def correspond(self) -> None:
        """Ask and tell what a lost database is rebuilt from."""
        self._call(self._correspond)

    def _correspond(self) -> None:
        hearing = self.driver.hearing
        for message in self.driver.correspond(self.now):
            if self.world.rng.random() >= self.world.mislays:
                self._say_again(message) if isinstance(message, Outgoing) else self._say(message)
            else:
                self.world.met["mislaid"] += 1
        if hearing and not self.driver.hearing:
            self.tell("has heard its peers")

    def repair(self) -> None:
        """Tell the next portion of what is to be told again."""
        turns: list[Turn] = []
        if self._call(lambda: turns.append(self.driver.repair(self.now))):
            self.world.met["told again"] += Turn.MORE in turns

    def operate(self) -> None:
        """Perform the next thing that a person asked for; the referee judges each by what was known before it."""
        messages: list[Message] = []
        contents = {path: self.site.store.content(path) for path in self.site.store.nodes}

        def perform() -> None:
            messages.extend(
                Control(
                    region=self.site.region,
                    sender=self.site.disk.tables.identity.database_id,
                    action=effect.action,
                    paths=effect.paths,
                    reason=effect.reason,
                    sent_at_ms=self.now,
                    number=effect.number,
                )
                for effect in self.driver.operate(self.now, 1)
                if isinstance(effect, Wanted)
            )

        self._call(perform, contents)
        if messages:
            publishing = self.world.bus.send(self.site.region, tuple(messages))
            while not publishing.done:
                self.world.bus.land(publishing)
