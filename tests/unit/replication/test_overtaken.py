"""A store that keeps topic policies in system topics: what it withholds, refuses late, and could not put back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import ParkReason, Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.errors import ParentMissing, RevisionMismatch
from syncer.model import Counter, MetaPath, Millis, Region, ResourceKind, Revision, Stamp, Version
from syncer.replication.driver import Driver
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.part import OwnStore
from syncer.replication.overtaken import OVERTAKEN, REPLICATED, WITHHELD
from syncer.state.contract.conflicts import ConflictRow
from syncer.state.memory.database import MemoryDatabase
from syncer.state.memory.state import MemoryState
from syncer.stores.contract import BatchRefused, Capabilities, Entry, Put, Written
from syncer.stores.topic_policies import OvertakenPolicies, TopicPoliciesStanding
from tests.support.parts import parts_of

HERE, NOW = Region("east"), Millis(1_700_000_000_000)
BASE = "/admin/topic-policies/global"
PATH, SPACE = MetaPath(f"{BASE}/acme/orders/persistent/a"), MetaPath("/admin/policies/acme/orders")
ONE, TWO = b'{"isGlobal":true,"maxConsumerPerTopic":1}', b'{"isGlobal":true,"maxConsumerPerTopic":2}'
CAPABILITIES = Capabilities(
    modified_times=True, real_parents=False, transactions=True, max_batch_writes=50, max_batch_bytes=32_768,
    max_value_bytes=1_000_000, alone=lambda path: path.startswith(BASE),
)  # fmt: skip
LOST = OvertakenPolicies(
    path=PATH, lost_id="0:5", value=TWO, unreadable=False, lost_at_ms=Millis(NOW - 20), by_at_ms=Millis(NOW - 10)
)


@pytest.fixture
def state() -> MemoryState:
    found = MemoryState(MemoryDatabase(HERE, "db"))
    found.activate()
    with found.transaction() as tx:
        tx.set_identity(first_scan_done=True)
    return found


@pytest.fixture
def driver(state: MemoryState) -> Driver:
    scope = Scope([*DEFAULT_RULES, Rule(f"{BASE}/**", Direction.BOTH)])
    found = Driver(Replica(Settings(region=HERE)), scope, state, CAPABILITIES)
    raised = found.raise_fence(None, "store", NOW)
    found.activated(raised, Written(path=raised.path, revision=Revision("f1")), NOW)
    found.armed()
    return found


def local_of(driver: Driver) -> OwnStore:
    return parts_of(driver).local


def fence_of(driver: Driver, revision: str = "f1") -> Entry:
    held = local_of(driver).core.fence
    assert held is not None
    return Entry(path=driver.fence_path, value=held.fence.encode(), revision=Revision(revision), modified_at_ms=None)


def known(value: bytes, at: int, region: str = "west") -> Version:
    digest = PROJECTIONS[ResourceKind.TOPIC_POLICY].digest(value)
    by = Counter(f"{region}#1")
    return Version(stamp=Stamp(Millis(at), Region(region)), by=by, seen={by: Millis(at)}, digest=digest, value=value)


def stands(state: MemoryState, value: bytes = ONE, revision: str = "0:1") -> None:
    """This value is known, and stands."""
    version = known(value, NOW - 1000)
    with state.transaction() as tx:
        tx.save([Register(path=PATH, known=replace(version, value=None), own=NOW).sit(version, Revision(revision))])


def register_of(state: MemoryState, path: MetaPath = PATH) -> Register:
    with state.transaction() as tx:
        return tx.registers([path])[path]


def conflicts(state: MemoryState) -> list[ConflictRow]:
    with state.transaction() as tx:
        return [row for number in range(1, 5) if (row := tx.conflict_row(number)) is not None]


def test_what_could_not_be_put_back_is_a_conflict_with_its_whole_value(state: MemoryState, driver: Driver) -> None:
    stands(state)
    driver.keep_overtaken([LOST], NOW)
    driver.keep_overtaken([LOST], NOW)
    (row,) = conflicts(state)
    assert (row.path, row.value, row.reason) == (PATH, TWO, OVERTAKEN)
    assert (row.loser, row.winner) == (Stamp(LOST.lost_at_ms, HERE), Stamp(LOST.by_at_ms, HERE))


def test_what_the_group_knows_anyway_is_no_loss(state: MemoryState, driver: Driver) -> None:
    stands(state)
    driver.keep_overtaken([replace(LOST, value=ONE)], NOW)
    driver.keep_overtaken([replace(LOST, path=MetaPath("/admin/flags/x"))], NOW)
    assert conflicts(state) == []


def test_a_removal_and_what_cannot_be_read_are_kept_without_a_value(state: MemoryState, driver: Driver) -> None:
    driver.keep_overtaken([replace(LOST, value=None), replace(LOST, value=b"{", lost_at_ms=Millis(1))], NOW)
    assert [(row.loser_digest, row.value) for row in conflicts(state)] == [(None, None), (None, b"{")]


def test_a_path_that_is_withheld_is_left_as_it_is_and_holds_nothing_up(state: MemoryState, driver: Driver) -> None:
    stands(state)
    local = local_of(driver)
    local.dirty.add((PATH, SPACE), ReadCause.SCAN)
    plan = driver.plan_reads()
    assert plan is not None
    assert set(plan.paths) == {PATH, SPACE, driver.fence_path}
    driver.take_answers(plan, {SPACE: None, driver.fence_path: fence_of(driver)}, NOW)
    assert register_of(state).stored_alive
    assert not local.dirty.from_scan
    assert driver.outbox(10) == []
    assert driver.plan_reads() is None


def due(state: MemoryState, driver: Driver) -> None:
    """A peer's value is known, and is to be written; its namespace stands."""
    space = known(b"{}", NOW - 5000)
    digest, before = PROJECTIONS[ResourceKind.NAMESPACE].digest(b"{}"), register_of(state)
    with state.transaction() as tx:
        tx.save([Register(path=SPACE, known=replace(space, digest=digest), own=NOW).sit(
            replace(space, digest=digest), Revision("n1"))])  # fmt: skip
        tx.save([replace(before, known=known(TWO, NOW - 500))])
    local_of(driver).dirty.add((PATH,), ReadCause.DUE)
    local_of(driver).watch.scanned = True
    plan = driver.plan_reads()
    assert plan is not None
    entry = Entry(path=PATH, value=ONE, revision=Revision("0:1"), modified_at_ms=Millis(NOW - 1000))
    driver.take_answers(plan, {PATH: entry, driver.fence_path: fence_of(driver)}, NOW)


def test_a_write_that_lost_a_race_is_decided_again_under_the_fence_as_it_stands(
    state: MemoryState, driver: Driver
) -> None:
    stands(state)
    due(state, driver)
    found = driver.next_transaction()
    assert found is not None
    batch, writes = found
    assert [each.path for each in writes] == [driver.fence_path, PATH]
    guard = Written(path=driver.fence_path, revision=Revision("f2"))
    driver.refused(batch, BatchRefused(1, RevisionMismatch("a broker was faster"), guard), NOW)
    held = local_of(driver).core.fence
    assert held is not None
    assert (held.revision, held.fence.landed) == ("f2", ())
    assert register_of(state).intent is None
    assert PATH in local_of(driver).dirty


def test_a_write_that_waits_for_its_topic_is_parked(state: MemoryState, driver: Driver) -> None:
    stands(state)
    due(state, driver)
    found = driver.next_transaction()
    assert found is not None
    driver.refused(found[0], BatchRefused(1, ParentMissing("the topic does not exist here yet")), NOW)
    parked = register_of(state).parked
    assert parked is not None
    assert (parked.reason, parked.detail) == (ParkReason.PARENT_MISSING, "the topic does not exist here yet")


def test_what_is_kept_in_a_topic_shares_its_batch_with_nothing(driver: Driver) -> None:
    packer = local_of(driver).packer()
    assert packer.number
    puts = {path: Put(path=path, value=ONE, expected=None) for path in (PATH, SPACE)}
    assert packer.fits(puts[PATH])
    packer.add(puts[PATH])
    assert not packer.fits(puts[SPACE])
    assert packer.begin()
    packer.add(puts[SPACE])
    assert not packer.fits(puts[PATH])


def test_the_status_says_what_is_not_answered_and_what_pulsar_carries(driver: Driver) -> None:
    standing = TopicPoliciesStanding(
        namespaces=3, followed=1, unread=0, replicated=("acme/far",), withheld={"acme/shut": "403"},
        counts={"opened": 4, "overtaken": 1},
    )  # fmt: skip
    driver.note_topic_policies(standing)
    driver.report(NOW)
    assert {each for each in local_of(driver).telemetry.conditions if each.startswith("topic-policies")} == {
        WITHHELD, REPLICATED,
    }  # fmt: skip
    assert local_of(driver).telemetry.tally["topic_policies", "opened"] == 4
    driver.note_topic_policies(None)
    assert not {WITHHELD, REPLICATED} & local_of(driver).telemetry.conditions.keys()
