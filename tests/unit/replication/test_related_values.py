"""Related values: which are read with a path, what a read tells of them, and when the guards look again."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.conflict.guards import Related
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.reads import ReadLedger
from syncer.conflict.register import Hold, HoldReason, Intent, Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.model import Counter, MetaPath, Millis, Region, ResourceKind, Revision, Stamp, Version
from syncer.replacing import replace
from syncer.replication import related_values
from syncer.replication.core import Core
from syncer.replication.related_values import (
    AGAIN_MS,
    KEPT,
    RelatedReads,
    related_now,
    related_paths,
    related_read,
)
from syncer.replication.telemetry import Telemetry
from syncer.replication.unit_of_work import UnitOfWork, UnitsOfWork
from syncer.state.contract.transaction import Transaction
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import Entry

NOW = Millis(1_700_000_000_000)
SPACE = MetaPath("/admin/policies/acme/orders")
BELOW = "/admin/topic-policies/global"
ONE, TWO = MetaPath(f"{BELOW}/acme/orders/persistent/one"), MetaPath(f"{BELOW}/non-persistent/acme/orders/two")
OTHER = MetaPath(f"{BELOW}/acme/orders2/persistent/one")
GONE = MetaPath(f"{BELOW}/acme/orders/persistent/gone")
VALUE = b'{"replicationClusters":["east"]}'


def version(value: bytes | None = VALUE) -> Version:
    by = Counter("west#1")
    digest = PROJECTIONS[ResourceKind.TOPIC_POLICY].digest(value) if value is not None else None
    return Version(stamp=Stamp(NOW, Region("west")), by=by, seen={by: NOW}, digest=digest)


def stored(path: MetaPath, value: bytes | None = VALUE) -> Register:
    return Register(path=path, known=version(value)).sit(version(value), Revision("1") if value is not None else None)


def writing(path: MetaPath) -> Register:
    return Register(path=path, known=version(), intent=Intent(batch="1.1", version=version(), expected=None))


def entry(path: MetaPath, value: bytes = VALUE) -> Entry:
    return Entry(path=path, value=value, revision=Revision("1"), modified_at_ms=None)


@pytest.fixture
def state() -> MemoryState:
    state = MemoryState(MemoryDatabase(Region("east"), "db-east"))
    state.activate()
    return state


class Call:
    """What a guard's question leads to."""

    def __init__(self) -> None:
        self.waited: list[MetaPath] = []
        self.asked: list[tuple[MetaPath, ...]] = []

    def __call__(self, unit: UnitOfWork, paths: tuple[MetaPath, ...], read: Related | None) -> Related | None:
        return related_now(unit, paths, read, wait=self.waited.append, ask=self.asked.append)


def unit_over(state: MemoryState, tx: Transaction) -> UnitOfWork:
    replica = Replica(Settings(region=Region("east")))
    core = Core(replica=replica, scope=Scope(), state=state, identity=tx.identity())
    return UnitsOfWork(core, Telemetry()).begin(tx, NOW)


def test_a_namespace_counts_for_its_topic_policy_and_they_for_it(state: MemoryState) -> None:
    with state.transaction() as tx:
        tx.save([stored(ONE), writing(TWO), stored(OTHER), stored(GONE, None), stored(SPACE)])
    with state.transaction() as tx:
        unit = unit_over(state, tx)
        assert related_paths(unit, tx, ONE) == (SPACE,)
        assert set(related_paths(unit, tx, SPACE)) == {ONE, TWO}
        born = MetaPath(f"{BELOW}/acme/orders/persistent/born")
        unit.load((born,))
        unit.replace(stored(born))
        assert set(related_paths(unit, tx, SPACE)) == {ONE, TWO, born}
        assert related_paths(unit, tx, MetaPath("/admin/policies/acme")) == ()


def test_neither_half_is_decided_while_the_other_is_written(state: MemoryState) -> None:
    with state.transaction() as tx:
        tx.save([stored(ONE), writing(TWO)])
    read = Related(documents={ONE: {}, TWO: {}})
    with state.transaction() as tx:
        unit, call = unit_over(state, tx), Call()
        assert call(unit, related_paths(unit, tx, SPACE), read) is None
        assert (call.waited, call.asked) == ([TWO], [])


def test_what_was_not_read_or_was_written_meanwhile_is_read_first(state: MemoryState) -> None:
    with state.transaction() as tx:
        tx.save([stored(ONE), stored(TWO)])
    with state.transaction() as tx:
        unit, call = unit_over(state, tx), Call()
        paths = related_paths(unit, tx, SPACE)
        for read in (None, Related(), Related(documents={ONE: {}})):
            assert call(unit, paths, read) is None
            assert call.asked.pop() == paths
        for whole in (Related(documents={ONE: {}, TWO: None}), Related(documents={ONE: {}}, untold={TWO: "why"})):
            assert call(unit, paths, whole) is whole
        assert call(unit, (), None) == Related()
        assert (call.waited, call.asked) == ([], [])


def test_too_many_to_read_are_left_to_an_operator(state: MemoryState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(related_values, "MOST", 1)
    with state.transaction() as tx:
        tx.save([stored(ONE), stored(TWO)])
    with state.transaction() as tx:
        unit, call = unit_over(state, tx), Call()
        paths = related_paths(unit, tx, SPACE)
        assert call(unit, paths, None) == Related(untold={min(paths): "more than 1 are too many to read"})


def test_a_read_tells_of_what_was_not_written_meanwhile() -> None:
    ledger = ReadLedger()
    ledger.arm()
    ticket = ledger.issue()
    ledger.changed([TWO])
    answers: dict[MetaPath, Any] = {ONE: entry(ONE), TWO: entry(TWO), SPACE: None, OTHER: entry(OTHER, b"no json")}
    asked = {SPACE: (ONE, TWO, OTHER, GONE), ONE: (SPACE,)}
    assert related_read(asked, answers, ledger, ticket) == {
        SPACE: Related(
            documents={ONE: {"replicationClusters": ["east"]}},
            untold={OTHER: "its value is no JSON object", GONE: "the store does not tell of it now"},
        ),
        ONE: Related(documents={SPACE: None}),
    }


def held(path: MetaPath, detail: str = "") -> Register:
    hold = Hold(reason=HoldReason.LEAVES_CLUSTER_OUT, stamp=Stamp(NOW, Region("west")), since_ms=NOW, detail=detail)
    return replace(stored(path), hold=hold)


def test_what_is_held_by_related_values_is_looked_at_again() -> None:
    reads, due = RelatedReads(), [held(ONE), held(SPACE, "brokers of east would delete its topics"), stored(TWO)]
    assert reads.choose(due, Millis(NOW + AGAIN_MS - 1)) == []
    assert reads.choose(due, Millis(NOW + AGAIN_MS)) == [ONE]
    assert reads.choose(due, Millis(NOW + 2 * AGAIN_MS - 1)) == []
    assert reads.choose(due, Millis(NOW - 1)) == [ONE], "a clock that was set back keeps nothing waiting"


def test_what_is_wanted_is_read_once_and_memory_is_bounded() -> None:
    reads = RelatedReads()
    reads.want(ONE, (SPACE,))
    assert reads.take((TWO, ONE)) == {ONE: (SPACE,)}
    assert reads.take((ONE,)) == {}
    for number in range(KEPT + 1):
        reads.want(MetaPath(f"{ONE}{number}"), (SPACE,))
    assert len(reads.wanted) == 1
    reads.clear()
    assert not reads.wanted
