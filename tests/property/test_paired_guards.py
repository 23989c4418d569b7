"""Topic policies and their namespace, in any order and at any moment: a region never holds a pair that deletes a topic.

A driver over a store that answers late: changes of a namespace and of two of its topic policies come from another
region, reads are answered by what stood there when they were asked, and writes land while other changes come.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.cluster_names.left_out import deleted_by, served_by
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, Region, Revision, Stamp
from syncer.paths import resource_at
from syncer.replication.driver import Driver
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.local.observe import ReadPlan
from syncer.replication.local.write_queue import Batch
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import Entry, Put, Write, Written
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import CAPABILITIES, T0

HERE: Final = frozenset({"east"})
BELOW: Final = "/admin/topic-policies/global"
SPACE: Final = MetaPath("/admin/policies/acme/orders")
TOPICS: Final = (
    MetaPath(f"{BELOW}/acme/orders/persistent/one"),
    MetaPath(f"{BELOW}/persistent/acme/orders/two"),
)
SCOPE: Final = Scope([Rule("/admin/policies/*/*", Direction.BOTH), Rule(f"{BELOW}/**", Direction.BOTH)])
LISTS: Final[tuple[list[str] | None, ...]] = (None, [], ["east"], ["west"], ["west"], ["east", "west"])
STEPS: Final = 60


class Place:
    """A region's driver and its store."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.entries: dict[MetaPath, Entry] = {}
        self.number = self.said = 0
        self.now = T0 + 1_000
        self.meant: dict[MetaPath, dict[str, Any] | None] = {}
        state = MemoryState(MemoryDatabase(Region("east"), "db-east"))
        state.activate()
        with state.transaction() as tx:
            tx.set_identity(first_scan_done=True)
        self.driver = Driver(Replica(Settings(region=Region("east"), clusters=HERE)), SCOPE, state, CAPABILITIES)
        raised = self.driver.raise_fence(None, "store-east", T0)
        self.driver.activated(raised, self.write(raised)[0], T0)
        self.driver.armed()
        self.local = parts_of(self.driver).local
        self.local.clusters.know(("east", "west"))
        self.local.watch.scanned = True
        self.reading: list[tuple[ReadPlan, dict[MetaPath, Entry | None]]] = []
        self.sent: tuple[Batch, tuple[Written, ...]] | None = None

    # -- the store

    def write(self, *writes: Write) -> tuple[Written, ...]:
        """One transaction lands; brokers look at what stands there then."""
        self.number += 1
        answers = []
        for each in writes:
            held = self.entries.get(each.path)
            assert each.expected == (held.revision if held is not None else None)
            revision = None
            if isinstance(each, Put):
                revision = Revision(f"{self.number}.{each.path}")
                self.entries[each.path] = Entry(
                    path=each.path, value=each.value, revision=revision, modified_at_ms=Millis(self.now)
                )
            else:
                self.entries.pop(each.path)
            answers.append(Written(path=each.path, revision=revision))
        for topic in TOPICS:
            assert not deleted_by(self.document(topic), self.document(SPACE), HERE), topic
        return tuple(answers)

    def document(self, path: MetaPath) -> dict[str, Any] | None:
        entry = self.entries.get(path)
        return None if entry is None else dict(json.loads(entry.value))

    # -- what happens

    def change(self) -> None:
        """Somebody in the other region changes a path, who has seen all before."""
        path = self.rng.choice((SPACE, *TOPICS))
        if path == SPACE:
            allowed = self.rng.choice(LISTS)
            value: dict[str, Any] = {"replication_clusters": ["east", "west"], "allowed_clusters": allowed or []}
        else:
            value = {"isGlobal": True, "replicationClusters": self.rng.choice(LISTS)}
        gone = path != SPACE and self.meant.get(path) is not None and self.rng.random() < 0.2
        self.said += 1
        self.meant[path] = None if gone else {**value, "maxConsumersPerTopic": self.said}
        by, time = Settings(region=Region("west")).by, Millis(T0 + self.said)
        resource = resource_at(path)
        event = MetadataChangeEvent(
            type=EventType.DELETED if gone else EventType.MODIFIED,
            resource=resource.kind,
            resource_name=resource.name,
            path=path,
            value=None if gone else json.dumps(self.meant[path]).encode(),
            stamp=Stamp(time, Region("west")),
            by=by,
            seen={by: time},
            sender="db-west",
            sequence=self.said,
        )
        self.driver.consume([Arrived(message=event, position=str(self.said))], Millis(self.now))

    def ask(self) -> None:
        """A read is sent, and the store answers at once; the answer is under way."""
        plan = self.driver.plan_reads(self.rng.randint(1, 3))
        if plan is not None:
            self.reading.append((plan, {path: self.entries.get(path) for path in plan.paths}))

    def take(self) -> None:
        """An answer arrives, or is lost."""
        if self.reading:
            plan, answers = self.reading.pop(self.rng.randrange(len(self.reading)))
            if self.rng.random() < 0.1:
                self.driver.give_up(plan)
            else:
                self.driver.take_answers(plan, answers, Millis(self.now))

    def send(self) -> None:
        """A transaction lands; the answer is under way."""
        if self.sent is None and (found := self.driver.next_transaction()) is not None:
            self.sent = found[0], self.write(*found[1])

    def land(self) -> None:
        """The answer to a transaction arrives."""
        if self.sent is not None:
            (batch, answers), self.sent = self.sent, None
            self.driver.landed([self.driver.answered(batch, answers)], Millis(self.now))

    def tick(self) -> None:
        """Time passes."""
        self.now += self.rng.choice((100, 1_000, 20_000))
        self.driver.tick(Millis(self.now))

    def play(self) -> None:
        """Whatever happens, happens in any order; then all that is under way arrives."""
        moves: tuple[Callable[[], None], ...] = (self.change, self.ask, self.take, self.send, self.land, self.tick)
        for _ in range(STEPS):
            self.rng.choice(moves)()
        for _ in range(12):
            for move in (self.tick, self.ask, self.ask, self.take, self.take, self.take, self.send, self.land):
                move()


@given(st.integers(min_value=0, max_value=2**32))
def test_no_region_ever_holds_a_pair_that_deletes_a_topic(seed: int) -> None:
    Place(Random(seed)).play()


@given(st.integers(min_value=0, max_value=2**32))
def test_what_is_harmless_together_is_written_without_an_operator(seed: int) -> None:
    place = Place(Random(seed))
    place.play()
    if SPACE not in place.meant or not served_by(place.meant[SPACE]) >= HERE:
        return
    for topic in TOPICS:
        if deleted_by(place.meant.get(topic), place.meant[SPACE], HERE):
            return
    for path, wanted in place.meant.items():
        found = place.document(path)
        assert (found is None) == (wanted is None), path
        assert wanted is None or {each: (found or {}).get(each) for each in wanted} == wanted
