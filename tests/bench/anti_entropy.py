"""The bench ``anti-entropy``: two regions that differ in 100 of 1,000,000 paths, against sending all of them.

Two drivers on real sidecar databases, each with its own store, on a bus in memory that counts every message in the form
that it has on the topic. The differences are what lost messages leave: newer values on either side, paths that one side
never heard of, and a delete.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import orjson

from syncer.bus.contract import Outgoing
from syncer.bus.limits import message_bytes
from syncer.bus.trust.signing import UNSIGNED
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Control, Heartbeat, TreeMessage
from syncer.conflict.guards import Topics
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Region, Revision, Stamp, Version, counter_of
from syncer.paths import classify
from syncer.replication.driver import Driver
from syncer.replication.inbound.arrived import arrived_of
from syncer.replication.local.observe import state_event
from syncer.state.sql.database import SqlState
from syncer.stores.contract import Capabilities, Entry, Put, Written
from tests.bench.result import Bar, Result
from tests.support.parts import parts_of

FULL_PATHS: Final = 1_000_000
QUICK_PATHS: Final = 100_000
ONE_DIFFERS_OF: Final = 10_000
BAR_PERCENT: Final = 0.2
TOPICS_PER_NAMESPACE: Final = 100
T0: Final = Millis(1_700_000_000_000)
BEAT_MS: Final = 10_000
DEADLINE_BEATS: Final = 30
SAVE_BATCH: Final = 10_000

EAST, WEST = Region("east"), Region("west")
BY: Final = counter_of(EAST, 1)

_POLICIES: Final = {
    "auth_policies": {"namespace_auth": {"app": ["consume", "produce"]}, "destination_auth": {}},
    "replication_clusters": ["east", "west"],
    "bundles": {"boundaries": ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"], "numBundles": 4},
    "backlog_quota_map": {"destination_storage": {"limitSize": 10737418240, "policy": "producer_exception"}},
    "message_ttl_in_seconds": 86400,
    "retention_policies": {"retentionTimeInMinutes": 1440, "retentionSizeInMB": 10240},
    "schema_compatibility_strategy": "UNDEFINED",
    "deleted": False,
}


def path_of(number: int) -> MetaPath:
    """Paths in order: of each hundred, one is a namespace, the others are its topics."""
    namespace, topic = divmod(number, TOPICS_PER_NAMESPACE)
    if topic == 0:
        return MetaPath(f"/admin/policies/tenant-{namespace // 50:03}/namespace-{namespace:05}")
    place = f"tenant-{namespace // 50:03}/namespace-{namespace:05}"
    return MetaPath(f"/admin/partitioned-topics/{place}/persistent/topic-{topic:02}")


def value_of(path: MetaPath, edition: int = 0) -> bytes:
    """A value as brokers write it; editions differ."""
    if path.startswith("/admin/policies/"):
        return orjson.dumps({**_POLICIES, "message_ttl_in_seconds": 86_400 + edition})
    return orjson.dumps({"partitions": 8 + edition})


def version(path: MetaPath, edition: int = 0, *, region: Region = EAST, dead: bool = False) -> Version:
    """A version of a path; editions follow each other."""
    resource = classify(path)
    assert resource is not None
    time_ms = Millis(T0 + edition)
    by = counter_of(region, 1)
    seen = {BY: T0, by: time_ms}
    digest: Digest | None = None if dead else PROJECTIONS[resource.kind].digest(value_of(path, edition))
    return Version(stamp=Stamp(time_ms, region), by=by, seen=seen, digest=digest)


def stored(path: MetaPath, known: Version) -> Register:
    """A register whose store holds what is known."""
    return Register(path=path, known=known).sit(known, Revision("1") if known.alive else None)


@dataclass(slots=True)
class Traffic:
    """What went over the bus."""

    messages: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)

    def count(self, kind: str, sent: Outgoing) -> None:
        """Take a message."""
        self.messages[kind] += 1
        self.sizes[kind] += message_bytes(sent)


class Place:
    """One region: its database, its driver, its store (what differs from the first edition), its side of the bus."""

    def __init__(self, region: Region, state: SqlState, traffic: Traffic) -> None:
        self.region = region
        self.inbox: deque[Outgoing] = deque()
        self.peer: Place | None = None
        self._traffic = traffic
        self._entries: dict[MetaPath, Entry | None] = {}
        self._writes = 0
        self._state = state
        capabilities = Capabilities(
            modified_times=False,
            real_parents=False,
            transactions=True,
            max_batch_writes=50,
            max_batch_bytes=32_768,
            max_value_bytes=1_000_000,
        )
        state.activate()
        with state.transaction() as tx:
            tx.set_identity(first_scan_done=True)
        self.driver = Driver(Replica(Settings(region=region)), Scope(), state, capabilities)
        raised = self.driver.raise_fence(None, f"store-{region}", T0)
        self.driver.activated(raised, self._put(raised), T0)
        self.driver.armed()

    def differ(self, path: MetaPath, edition: int | None) -> None:
        """What the store holds at a path that differs."""
        entry = None
        if edition is not None:
            entry = Entry(path=path, value=value_of(path, edition), revision=Revision("1"), modified_at_ms=None)
        self._entries[path] = entry

    def read(self, path: MetaPath) -> Entry | None:
        """Read the store."""
        if path in self._entries:
            return self._entries[path]
        return Entry(path=path, value=value_of(path), revision=Revision("1"), modified_at_ms=None)

    def _put(self, write: Put) -> Written:
        self._writes += 1
        revision = Revision(f"w{self._writes}")
        self._entries[write.path] = Entry(path=write.path, value=write.value, revision=revision, modified_at_ms=None)
        return Written(path=write.path, revision=revision)

    def say(self, *messages: MetadataChangeEvent | Heartbeat | Control | TreeMessage) -> None:
        """Publish."""
        assert self.peer is not None
        for message in messages:
            sent = encode(message)
            kind = message.step if isinstance(message, TreeMessage) else type(message).__name__
            self._traffic.count(kind, sent)
            self.peer.inbox.append(sent)
            if isinstance(message, Heartbeat):
                self.inbox.append(sent)  # it comes back to who sent it

    def step(self, now: Millis) -> bool:
        """Do all that can be done now; whether there was anything."""
        driver, busy = self.driver, False
        if self.inbox:
            arrived = [arrived_of(sent.payload, sent.properties, str(n), UNSIGNED) for n, sent in enumerate(self.inbox)]
            self.inbox.clear()
            driver.consume(arrived, now)
            busy = True
        while driver.comparing:
            self.say(*driver.compare(now))
            busy = True
        self.say(*driver.compare(now))
        while (plan := driver.plan_reads()) is not None:
            driver.take_answers(plan, {path: self.read(path) for path in plan.paths}, now)
            busy = True
        for path in driver.questions():
            driver.answer_topics(path, Topics.NONE, now)
            busy = True
        while (found := driver.next_transaction()) is not None:
            batch, writes = found
            answers: list[Written] = []
            for write in writes:
                if isinstance(write, Put):
                    answers.append(self._put(write))
                else:
                    self._entries[write.path] = None
                    answers.append(Written(path=write.path, revision=None))
            driver.landed([driver.answered(batch, answers)], now)
            busy = True
        while rows := driver.outbox(500):
            self.say(*(row.event for row in rows))
            driver.published(rows, now)
            busy = True
        return busy

    @property
    def root(self) -> int | None:
        """Root of its tree."""
        tree = parts_of(self.driver).antientropy.tree_state.tree
        return tree.root if tree is not None else None

    def known(self, path: MetaPath) -> Digest | None:
        """Digest of what is known of a path."""
        with self._state.transaction() as tx:
            register = tx.registers([path]).get(path)
        return register.known.digest if register is not None and register.known is not None else None

    def holds(self, path: MetaPath) -> Digest | None:
        """Digest of what the store holds."""
        entry, resource = self.read(path), classify(path)
        assert resource is not None
        return PROJECTIONS[resource.kind].digest(entry.value) if entry is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One path as each side has it: an edition, ``None``: never heard of; ``dead``: the greater one is a delete."""

    path: MetaPath
    east: int | None
    west: int | None
    dead: bool = False


def differences(paths: int) -> Iterator[Difference]:
    """Topics spread over all paths: newer in one region, unknown in the other, deleted in one."""
    for number in range(paths // ONE_DIFFERS_OF):
        path = path_of(number * ONE_DIFFERS_OF + 1 + number % (TOPICS_PER_NAMESPACE - 1))
        kind = number % 10
        if kind < 4:
            yield Difference(path=path, east=1, west=0)
        elif kind < 7:
            yield Difference(path=path, east=0, west=1)
        elif kind == 7:
            yield Difference(path=path, east=0, west=None)
        elif kind == 8:
            yield Difference(path=path, east=None, west=0)
        else:
            yield Difference(path=path, east=1, west=0, dead=True)


def run(out: Path, *, quick: bool) -> bool:
    """Measure, print the table, keep it as JSON; whether the bars hold."""
    paths = QUICK_PATHS if quick else FULL_PATHS
    load = os.getloadavg()
    print(f"load before the run: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}, processors: {os.cpu_count()}\n", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="syncer-bench-"))
    try:
        return _run(directory, paths).show(("", "anti-entropy", "sending all"), out)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run(directory: Path, paths: int) -> Result:
    traffic = Traffic()
    differing = {each.path: each for each in differences(paths)}
    with (
        closing(SqlState.open(f"sqlite:///{directory / 'east.db'}", EAST, synchronous="NORMAL")) as east_state,
        closing(SqlState.open(f"sqlite:///{directory / 'west.db'}", WEST, synchronous="NORMAL")) as west_state,
    ):
        _say(f"two databases of {paths} paths are made")
        all_bytes = _make(paths, differing, east_state, west_state)
        east, west = Place(EAST, east_state, traffic), Place(WEST, west_state, traffic)
        east.peer, west.peer = west, east
        for each in differing.values():
            east.differ(each.path, None if each.dead else each.east)
            west.differ(each.path, each.west)
        _say("both trees are summed for the first time")
        begun = time.perf_counter()
        while east.driver.comparing or west.driver.comparing:
            east.driver.compare(T0)
            west.driver.compare(T0)
        summed_s = (time.perf_counter() - begun) / 2
        _say("they compare")
        begun, cpu = time.perf_counter(), time.process_time()
        beats = _converge(east, west)
        took_s, cpu_s = time.perf_counter() - begun, time.process_time() - cpu
        wrong = [each for each in differing.values() if not _right(each, east, west)]
        for each in wrong:
            _say(f"wrong: {each}")
    result = Result(name="anti-entropy")
    messages, size = sum(traffic.messages.values()), sum(traffic.sizes.values())
    result.rows += [
        ("paths / differing", f"{paths} / {len(differing)}", ""),
        ("messages", str(messages), str(paths)),
        ("bytes", str(size), str(all_bytes)),
        *((f"  {kind}", f"{count} ({traffic.sizes[kind]} bytes)", "") for kind, count in traffic.messages.items()),
        ("first sums of one region, s", f"{summed_s:.1f}", ""),
        ("both regions' work until equal, s of wall / CPU", f"{took_s:.1f} / {cpu_s:.1f}", ""),
        ("heartbeats of each region until equal", str(beats), ""),
        ("differing paths that came out wrong", str(len(wrong)), ""),
    ]
    result.figures |= {
        "paths": paths,
        "differing": len(differing),
        "messages": dict(traffic.messages),
        "bytes": dict(traffic.sizes),
        "all_bytes": all_bytes,
        "first_sums_s": summed_s,
        "work_s": took_s,
        "work_cpu_s": cpu_s,
        "heartbeats": beats,
    }
    result.bars = bars(messages / paths, size / all_bytes, len(wrong))
    return result


def bars(messages: float, size: float, wrong: int) -> list[Bar]:
    """What decides: shares of the messages and bytes of sending all, and how many paths came out wrong."""
    return [
        Bar(name="messages, %", peer="sending all", ratio=100 * messages, bar=BAR_PERCENT, at_least=False),
        Bar(name="bytes, %", peer="sending all", ratio=100 * size, bar=BAR_PERCENT, at_least=False),
        Bar(name="differing paths that came out wrong", peer="(a count)", ratio=wrong, bar=0.0, at_least=False),
    ]


def _make(paths: int, differing: dict[MetaPath, Difference], east: SqlState, west: SqlState) -> int:
    """Fill both databases; how many bytes all registers would have as messages."""
    east.activate()
    west.activate()
    all_bytes = 0
    ours: list[Register] = []
    theirs: list[Register] = []
    for number in range(paths):
        path = path_of(number)
        common = stored(path, version(path))
        event = state_event(common, value_of(path))
        assert event is not None
        all_bytes += message_bytes(encode(replace(event, sender="d" * 32, sequence=number + 1)))
        each = differing.get(path)
        if each is None:
            ours.append(common)
            theirs.append(common)
        else:
            if each.east is not None:
                ours.append(stored(path, version(path, each.east, region=EAST, dead=each.dead)))
            if each.west is not None:
                theirs.append(stored(path, version(path, each.west, region=WEST if each.west else EAST)))
        if len(ours) >= SAVE_BATCH or number == paths - 1:
            for state, registers in ((east, ours), (west, theirs)):
                with state.transaction() as tx:
                    tx.save(registers)
            ours, theirs = [], []
    return all_bytes


def _converge(east: Place, west: Place) -> int:
    """Let time pass until both trees are equal; after how many heartbeats that was."""
    for beat in range(1, DEADLINE_BEATS + 1):
        now = Millis(T0 + 1_000_000 + beat * BEAT_MS)
        for place in (east, west):
            place.driver.tick(now)
            place.say(place.driver.heartbeat(now, "bench"))
        while east.step(now) | west.step(now):
            pass
        if east.root == west.root:
            return beat
    raise AssertionError("the regions do not become equal")


def _right(each: Difference, east: Place, west: Place) -> bool:
    editions = [edition for edition in (each.east, each.west) if edition is not None]
    expected = None if each.dead else version(each.path, max(editions)).digest
    return all(
        found == expected for place in (east, west) for found in (place.known(each.path), place.holds(each.path))
    )


def _say(phase: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {phase}", file=sys.stderr, flush=True)
