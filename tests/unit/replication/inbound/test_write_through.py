"""A change is written by the transaction that folds it: by memory, or by a read ahead; own notices cost no read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.errors import StateUnavailable
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind, Revision, Stamp
from syncer.replication.driver import Driver
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.inbound.prefetch import Prefetch, Prefetched
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.own_writes import KEPT, OwnWrites
from syncer.replication.local.write_queue import Batch
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import Entry, Put, Written
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import CAPABILITIES, T0, path_of, value_of

P, Q = path_of("p"), path_of("q")
NOW = Millis(T0 + 1_000)


@dataclass
class Store:
    """Entries by path; a transaction is named by its number. ``distinct``: see the contract of stores."""

    distinct: bool = True
    names: bool = True
    entries: dict[MetaPath, Entry] = field(default_factory=dict)
    number: int = 0

    def write(self, *writes: Put) -> tuple[Written, ...]:
        """One transaction."""
        self.number += 1
        mark = str(self.number) if self.names else ""
        answers = []
        for write in writes:
            held = self.entries.get(write.path)
            assert write.expected == (held.revision if held is not None else None), write
            revision = Revision(f"{self.number}.{write.path}")
            self.entries[write.path] = Entry(
                path=write.path, value=write.value, revision=revision, modified_at_ms=NOW, distinct=self.distinct
            )
            answers.append(Written(path=write.path, revision=revision, mark=mark, distinct=self.distinct))
        return tuple(answers)

    def outside(self, path: MetaPath, value: bytes) -> str:
        """Somebody else writes; the name of that transaction."""
        held = self.entries.get(path)
        self.write(Put(path=path, value=value, expected=held.revision if held is not None else None))
        return str(self.number)


class Site:
    """A driver between a store and what a peer says."""

    def __init__(self, *, distinct: bool = True, names: bool = True) -> None:
        self.store = Store(distinct, names)
        self.state = MemoryState(MemoryDatabase(Region("east"), "db-east"))
        self.state.activate()
        with self.state.transaction() as tx:
            tx.set_identity(first_scan_done=True)
        self.driver = Driver(Replica(Settings(region=Region("east"))), Scope(), self.state, CAPABILITIES)
        raised = self.driver.raise_fence(None, "store-east", T0)
        self.driver.activated(raised, self.store.write(raised)[0], T0)
        self.arm()
        self.said = 0

    def arm(self) -> None:
        self.driver.armed()
        plan = self.driver.plan_reads()
        if plan is not None:
            self.driver.take_answers(plan, self.read(plan.paths), NOW)

    def read(self, paths: Iterable[MetaPath]) -> dict[MetaPath, Entry | None]:
        return {path: self.store.entries.get(path) for path in paths}

    def event(self, path: MetaPath, edition: int) -> Arrived:
        """The next edition of a path, by somebody who has seen all before."""
        self.said += 1
        by = Settings(region=Region("west")).by
        time = Millis(T0 + 10 * edition)
        event = MetadataChangeEvent(
            type=EventType.CREATED if edition == 1 else EventType.MODIFIED,
            resource=ResourceKind.RESOURCE_GROUP,
            resource_name=path.rpartition("/")[2],
            path=path,
            value=value_of(edition),
            stamp=Stamp(time, Region("west")),
            by=by,
            seen={by: time},
            sender="db-west",
            sequence=self.said,
        )
        return Arrived(message=event, position=str(self.said))

    def consume(self, *arrived: Arrived) -> tuple[MetaPath, ...]:
        """As the pump does; what was read ahead."""
        ahead = self.driver.prefetch(arrived)
        seen = None if ahead is None else Prefetched(ahead, self.read(ahead.paths))
        self.driver.consume(arrived, NOW, seen)
        return ahead.paths if ahead is not None else ()

    def send(self) -> tuple[Batch, tuple[Written, ...]]:
        """The next transaction lands; its answer is under way."""
        found = self.driver.next_transaction()
        assert found is not None
        batch, writes = found
        assert all(isinstance(write, Put) for write in writes)
        return batch, self.store.write(*(write for write in writes if isinstance(write, Put)))

    def land(self, batch: Batch, answers: tuple[Written, ...]) -> None:
        """The answer arrives, and is stored."""
        self.driver.landed([self.driver.answered(batch, answers)], NOW)

    def reads(self) -> tuple[MetaPath, ...]:
        """What would be read now."""
        plan = self.driver.plan_reads()
        if plan is None:
            return ()
        self.driver.take_answers(plan, self.read(plan.paths), NOW)
        return tuple(plan.origins)

    @property
    def pending(self) -> tuple[MetaPath, ...]:
        """Paths with a write that was decided."""
        return tuple(parts_of(self.driver).local.writes.in_flight)

    def has(self, path: MetaPath, edition: int) -> None:
        """A peer's edition is written, and the notice of it has come."""
        self.consume(self.event(path, edition))
        batch, answers = self.send()
        self.notice(path, mark=answers[0].mark)
        self.land(batch, answers)
        self.reads()

    def notice(self, *paths: MetaPath, mark: str) -> None:
        assert self.driver.noticed(paths, NOW, [mark] * len(paths))


@pytest.fixture
def region() -> Site:
    """On a store that tells everything."""
    return Site()


@pytest.fixture
def blurred() -> Site:
    """On a store that cannot tell what is there from what is made in its place."""
    return Site(distinct=False)


# -- own notices


@pytest.mark.parametrize("early", [True, False])
def test_the_notice_of_an_own_write_costs_no_read(region: Site, *, early: bool) -> None:
    region.consume(region.event(P, 1))
    batch, answers = region.send()
    if early:
        region.notice(P, mark=answers[0].mark)
        assert region.reads() == (), "a write of the path is in flight"
    region.land(batch, answers)
    if not early:
        region.notice(P, mark=answers[0].mark)
    assert region.reads() == ()
    assert region.consume(region.event(P, 2)) == (), "what was written is remembered"
    assert region.pending == (P,)


@pytest.mark.parametrize("early", [True, False])
def test_a_store_that_names_nothing_is_read_for_every_notice(*, early: bool) -> None:
    region = Site(names=False)
    region.consume(region.event(P, 1))
    batch, answers = region.send()
    if early:
        region.notice(P, mark="")
    region.land(batch, answers)
    if not early:
        region.notice(P, mark="")
    assert region.reads() == (P,)


@pytest.mark.parametrize("order", ["own first", "foreign first", "together"])
@pytest.mark.parametrize("early", [True, False])
def test_what_somebody_else_writes_beside_an_own_write_is_read(region: Site, order: str, *, early: bool) -> None:
    region.consume(region.event(P, 1))
    batch, answers = region.send()
    foreign = region.store.outside(P, value_of(7))
    marks = {"own first": [answers[0].mark, foreign], "foreign first": [foreign, answers[0].mark], "together": [""]}
    if not early:
        region.land(batch, answers)
    for mark in marks[order]:
        region.notice(P, mark=mark)
    if early:
        region.land(batch, answers)
    assert region.reads() == (P,)
    assert [row.event.value for row in region.driver.outbox(10)] == [value_of(7)]


def test_a_path_that_is_to_be_read_for_another_reason_is_read_in_spite_of_an_own_notice(region: Site) -> None:
    region.consume(region.event(P, 1))
    batch, answers = region.send()
    parts_of(region.driver).local.dirty.add([P], ReadCause.SCAN)
    region.notice(P, mark=answers[0].mark)
    region.land(batch, answers)
    assert region.reads() == (P,)


def test_names_are_forgotten_with_a_gap_since_they_may_be_given_out_again(region: Site) -> None:
    region.consume(region.event(P, 1))
    batch, answers = region.send()
    region.land(batch, answers)
    region.driver.gap()
    region.arm()
    region.store.outside(P, value_of(7))
    region.notice(P, mark=answers[0].mark)
    assert region.reads() == (P,)


def test_the_name_of_a_write_that_is_answered_after_a_gap_is_not_trusted(region: Site) -> None:
    region.consume(region.event(P, 1))
    batch, answers = region.send()
    region.driver.gap()
    region.arm()
    region.land(batch, answers)
    region.notice(P, mark=answers[0].mark)
    assert region.reads() == (P,)


def test_few_names_are_kept() -> None:
    own = OwnWrites()
    for number in range(KEPT + 1):
        assert own.applied(str(number), own.stretch)
    assert "0" not in own
    assert all(str(number) in own for number in range(1, KEPT + 1))
    assert not own.applied("", own.stretch)
    assert "" not in own


# -- reading ahead


def test_an_update_of_what_cannot_be_remembered_is_written_behind_a_read_ahead(blurred: Site) -> None:
    blurred.has(P, 1)
    assert blurred.consume(blurred.event(P, 2)) == (P,)
    assert blurred.pending == (P,)
    assert blurred.reads() == ()
    _, answers = blurred.send()
    assert [answer.path for answer in answers[1:]] == [P]
    assert blurred.store.entries[P].value == value_of(2)


def test_a_create_is_not_read_ahead(blurred: Site) -> None:
    assert blurred.consume(blurred.event(P, 1)) == ()
    assert blurred.pending == (P,)


def looked(region: Site, arrived: Arrived) -> Prefetch:
    ahead = region.driver.prefetch([arrived])
    assert ahead is not None
    return ahead


@pytest.mark.parametrize("noticed", [True, False])
def test_a_read_ahead_that_shows_a_local_change_writes_nothing(blurred: Site, *, noticed: bool) -> None:
    blurred.has(P, 1)
    update = blurred.event(P, 2)
    ahead = looked(blurred, update)
    mark = blurred.store.outside(P, value_of(7))
    seen = Prefetched(ahead, blurred.read(ahead.paths))
    if noticed:
        blurred.notice(P, mark=mark)
    blurred.driver.consume([update], NOW, seen)
    assert blurred.pending == ()
    assert blurred.reads() == (P,)
    assert [row.event.value for row in blurred.driver.outbox(10)] == [value_of(7)]


def test_a_read_ahead_that_a_notice_has_overtaken_writes_nothing(blurred: Site) -> None:
    blurred.has(P, 1)
    update = blurred.event(P, 2)
    ahead = looked(blurred, update)
    seen = Prefetched(ahead, blurred.read(ahead.paths))
    blurred.notice(P, mark=blurred.store.outside(P, value_of(7)))
    blurred.driver.consume([update], NOW, seen)
    assert blurred.pending == ()


@pytest.mark.parametrize("armed", [True, False])
def test_a_read_ahead_from_before_a_gap_decides_nothing(blurred: Site, *, armed: bool) -> None:
    blurred.has(P, 1)
    update = blurred.event(P, 2)
    ahead = looked(blurred, update)
    seen = Prefetched(ahead, blurred.read(ahead.paths))
    blurred.driver.gap()
    if armed:
        blurred.driver.armed()
    blurred.driver.consume([update], NOW, seen)
    assert blurred.pending == ()


def test_a_read_ahead_serves_one_fold_only(blurred: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    blurred.has(P, 1)
    update = blurred.event(P, 2)
    ahead = looked(blurred, update)
    seen = Prefetched(ahead, blurred.read(ahead.paths))
    with monkeypatch.context() as broken:

        def fails(*_: object) -> None:
            raise StateUnavailable("the disk is full")

        broken.setattr("syncer.state.memory.transaction.MemoryTransaction.save", fails)
        with pytest.raises(StateUnavailable):
            blurred.driver.consume([update], NOW, seen)
    blurred.driver.consume([update], NOW, seen)
    assert blurred.pending == ()
    assert parts_of(blurred.driver).local.watch.ledger.idle


def test_what_is_given_up_leaves_no_read_open(blurred: Site) -> None:
    blurred.has(P, 1)
    update = blurred.event(P, 2)
    blurred.driver.give_up_prefetch(looked(blurred, update))
    assert parts_of(blurred.driver).local.watch.ledger.idle
    blurred.driver.consume([update], NOW)
    assert not blurred.pending
    assert blurred.reads() == (P,)
    assert blurred.pending == (P,)


@pytest.mark.parametrize("why", ["paused", "gap", "own", "remembered", "dirty"])
def test_nothing_is_read_ahead_in_vain(why: str) -> None:
    region = Site(distinct=why == "remembered")
    region.has(P, 1)
    update = region.event(P, 2)
    match why:
        case "paused":
            parts_of(region.driver).group.paused = "by hand"
        case "gap":
            region.driver.gap()
        case "own":
            assert isinstance(update.message, MetadataChangeEvent)
            update = replace(update, message=replace(update.message, sender="db-east"))
        case "dirty":
            region.notice(P, mark=region.store.outside(P, value_of(7)))
        case _:
            pass
    assert region.driver.prefetch([update]) is None
    assert parts_of(region.driver).local.watch.ledger.idle


def test_no_more_is_read_ahead_than_writes_have_room(blurred: Site) -> None:
    paths = [path_of(number) for number in range(400)]
    arrived = [blurred.event(path, 2) for path in paths]
    ahead = blurred.driver.prefetch(arrived)
    assert ahead is not None
    assert ahead.paths == tuple(paths[: parts_of(blurred.driver).local.writes.vacancy])
