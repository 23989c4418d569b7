"""A world without chance: a test says, step by step, what happens."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from syncer.bus.wire.messages import Message
from syncer.conflict.acts import Decision
from syncer.conflict.settings import Limits
from syncer.errors import PayloadInvalid
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region
from syncer.state.contract.conflicts import ConflictRow
from syncer.state.contract.operations import Operation
from tests.simulation.bus import Delivery
from tests.simulation.faults import MODES
from tests.simulation.looking import Look, at_conflict, at_event, at_hold
from tests.simulation.region import Daemon, Reading, Request
from tests.simulation.store import StoreKind, digest_of
from tests.simulation.world import BEGINNING_MS, World
from tests.support.parts import parts_of

ZOOKEEPER = StoreKind.ZOOKEEPER
ETCD = StoreKind.ETCD
ABA = StoreKind.ZOOKEEPER_ABA


class _Straight(Random):
    """Chance that never chooses: whole stretches at once, in order."""

    def random(self) -> float:
        return 0.5

    def randint(self, a: int, b: int) -> int:
        return b

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return 0 if stop is None else start


class Script(World):
    """A scripted group. Times are milliseconds after the beginning; values are told apart by their tag."""

    def __init__(
        self,
        *kinds: StoreKind,
        limits: Limits | None = None,
        started: bool = True,
        forgets: bool = False,
        compares: bool = False,
    ) -> None:
        mode = replace(MODES["calm"], skew_ms=0, found=0.0, late=0.0, reorder=1, forgets=forgets, compares=compares)
        super().__init__(mode if limits is None else replace(mode, limits=limits), kinds=kinds)
        self.rng = _Straight(0)
        if started:
            for region in self.sites:
                parts_of(
                    self.start(region).driver
                ).recovery.quiet_ms = 0  # nobody was there before who could know of it
            self.settle()
            self._back_to(BEGINNING_MS)
            self.heard = len(self.bus.log)

    # -- what happens

    def at(self, milliseconds: int) -> None:
        """Let time pass until then."""
        self.story.now = BEGINNING_MS + milliseconds

    def daemon(self, region: str) -> Daemon:
        """The region's daemon."""
        return self.sites[Region(region)].daemon

    def write(self, region: str, path: MetaPath, tag: int, local: int = 4) -> None:
        """Somebody writes."""
        assert self.put(region, path, self.value(path, tag, local)) is not None

    def remove(self, region: str, path: MetaPath) -> None:
        """Somebody deletes."""
        assert self.delete(region, path) is not None

    def notice(self, region: str) -> None:
        """The watch tells all that it has to tell."""
        daemon = self.daemon(region)
        while daemon.watch is not None and daemon.watch.signals:
            daemon.take_signals()

    def issue(self, region: str) -> Reading:
        """Reads of all that the watch has told are sent, and the store has answered; the answer is under way."""
        self.notice(region)
        return self.issue_now(region)

    def issue_now(self, region: str) -> Reading:
        """Likewise, of what it knows already that it has to read; the watch tells nothing."""
        reading = self._issue(self.daemon(region))
        assert reading is not None, "nothing to read"
        return reading

    @staticmethod
    def _issue(daemon: Daemon) -> Reading | None:
        daemon.plan()
        if not daemon.readings:
            return None
        reading = daemon.readings.pop()
        daemon.fetch(reading, all_of_it=True)
        return reading

    def forget(self, region: str) -> None:
        """The region's daemon remembers no value: what it writes over is read first."""
        parts_of(self.daemon(region).driver).local.entry_cache.clear()

    def answer(self, region: str, reading: Reading) -> None:
        """The answer of a read arrives."""
        self.daemon(region).take_answers(reading)

    def learn(self, region: str) -> None:
        """Everything that is due to be read is read and decided."""
        self.notice(region)
        while (reading := self._issue(self.daemon(region))) is not None:
            self.answer(region, reading)

    def publish(self, region: str) -> None:
        """The outbox is published and acknowledged."""
        daemon = self.daemon(region)
        daemon.publish()
        publishing = daemon.publishing
        assert publishing is not None, "nothing to publish"
        while not publishing.done:
            self.bus.land(publishing)
        daemon.take_published()

    def tell(self, region: str) -> MetadataChangeEvent:
        """A local change is read, stamped and published; its event."""
        self.learn(region)
        self.publish(region)
        return self.bus.events[-1]

    def deliver(self, region: str, *events: Message | PayloadInvalid) -> None:
        """These events reach the region, in this order, and are folded."""
        daemon = self.daemon(region)
        for event in events:
            number = max(at for at, message in enumerate(self.bus.log) if message == event)
            waiting = self.bus.waiting[Region(region)]
            if number in waiting:
                waiting.remove(number)
            daemon.fold(Delivery(Region(region), ((number, event),)))
            daemon.acknowledge()

    def beat(self, region: str, *hearers: str) -> None:
        """The region tells how it is, and these hear it at once."""
        self.daemon(region).beat_heart()
        beat = self.bus.log[-1]
        for hearer in hearers:
            self.deliver(hearer, beat)

    def send(self, region: str) -> Request:
        """What is due is read, and its transaction sent."""
        self.learn(region)
        daemon = self.daemon(region)
        daemon.send()
        assert daemon.request is not None, "nothing to write"
        return daemon.request

    def land(self, region: str, request: Request) -> None:
        """A transaction reaches the store."""
        self.sites[Region(region)].land(request)

    def apply(self, region: str) -> None:
        """What is due is written, and the answer taken."""
        self.land(region, self.send(region))
        self.daemon(region).take_written(and_store=True)

    def everybody_has(self, path: MetaPath, tag: int) -> None:
        """Write a value and let it reach everybody."""
        self.write(next(iter(self.sites)), path, tag)
        now = self.story.now
        self.settle()
        self._back_to(now)

    def _back_to(self, now: int) -> None:
        """Nothing of the preparation counts as time."""
        self.story.now = now
        for site in self.sites.values():
            for daemon in site.daemons:
                daemon.last_tick = now
                parts_of(daemon.driver).local.watch.alive_until = Millis(
                    min(parts_of(daemon.driver).local.watch.alive_until, now)
                )

    def restart(self, region: str) -> None:
        """A new daemon starts and becomes active; it has not looked at the store yet."""
        daemon = self.start(region)
        daemon.read_fence()
        assert daemon.request is not None
        self.land(region, daemon.request)
        daemon.take_written()
        parts_of(daemon.driver).recovery.progress.unheard.clear()

    # -- how it ends

    def look(self, region: str, path: MetaPath) -> Look:
        """An operator looks at what is held at a path."""
        site = self.sites[Region(region)]
        register = site.disk.tables.registers[path]
        assert register.hold is not None, "nothing is held"
        return at_hold(site, self.history, register, register.hold)

    def look_at_conflict(self, region: str) -> Look:
        """An operator looks at the region's only conflict."""
        site = self.sites[Region(region)]
        (row,) = site.disk.conflicts()
        return at_conflict(site, self.history, row)

    def release(self, region: str, path: MetaPath) -> None:
        """An operator looks at the oldest event from the future of a path, and lets it count."""
        site = self.sites[Region(region)]
        event = min(
            (each for each in site.disk.tables.future.values() if each.path == path),
            key=lambda each: each.stamp.updated_at_ms,
        )
        self.ask(region, "release", at_event(site, event))

    def ask(self, region: str, kind: str, look: Look) -> int:
        """An operator asks for something, by what he was shown; the operation's number."""
        self.decide(self.sites[Region(region)], look.only(kind))
        return len(self.sites[Region(region)].disk.tables.operations)

    def answer_of(self, region: str, number: int) -> Operation:
        """What has become of an operation."""
        return self.sites[Region(region)].disk.tables.operations[number]

    def end(self) -> None:
        """Everything is delivered and drained, and the referee agrees."""
        self.finish()

    def holds(self, path: MetaPath, tag: int | None, *regions: str) -> None:
        """Every store (or these) holds the value of this tag, or nothing."""
        expected = None if tag is None else digest_of(path, self.value(path, tag))
        for region in regions or tuple(self.sites):
            node = self.sites[Region(region)].store.nodes.get(path)
            found = digest_of(path, node.value) if node is not None else None
            assert found == expected, f"{region} holds {node.value if node else None!r}"

    def conflicts(self, region: str) -> list[ConflictRow]:
        """The region's conflict records."""
        return self.sites[Region(region)].disk.conflicts()

    def lost_values(self, region: str, path: MetaPath) -> list[bytes | None]:
        """Values that the region's conflict records keep."""
        return [row.value for row in self.conflicts(region) if row.path == path]

    def held_for_later(self, region: str) -> list[MetaPath]:
        """Paths of the events from the future that a region holds."""
        return [path for path, _ in self.sites[Region(region)].disk.tables.future]

    def no_conflicts(self) -> None:
        """Nobody has recorded a conflict."""
        for region in self.sites:
            assert self.conflicts(region) == []

    def events_of(self, region: str) -> list[MetadataChangeEvent]:
        """Change events that a region's database has put on the bus since the group came to rest."""
        since = self.bus.log[self.heard :]
        events = [message for message in since if isinstance(message, MetadataChangeEvent)]
        return [event for event in events if event.sender == f"db-{region}"]

    def decisions(self, region: str, decision: Decision) -> int:
        """How many journal rows tell of a decision."""
        return sum(row.decision is decision for row in self.sites[Region(region)].disk.tables.journal)

    heard: int = 0


def second(milliseconds: int) -> Millis:
    """A time of the script as the stores' clocks show it."""
    return Millis(BEGINNING_MS + milliseconds)
