"""A store that Pulsar migrates is read, and not written to; what is unclear counts as a migration."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from syncer.admin.topic_probe import BOOKKEEPER_NODES
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import AccessDenied
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, ResourceKind, Revision
from syncer.paths import GLOBAL_TOPIC_POLICIES
from syncer.replication.control.report import report
from syncer.replication.core import NamedStore
from syncer.replication.fence import BETWEEN, Fence, moved, policies_moved, raised
from syncer.replication.local.store_migration import (
    FLAG,
    IN_MIGRATION,
    LOOKED_AT,
    MIGRATED,
    UNCLEAR,
    StoreMigration,
    StorePhase,
)
from syncer.stores.contract import Entry
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import T0, Pair, Site, both_have, path_of, value_of, version

NOW = Millis(T0 + 2_000_000)
WRITTEN = {StorePhase.NOT_STARTED, StorePhase.FAILED}


def entry(path: MetaPath, value: bytes) -> Entry:
    return Entry(path=path, value=value, revision=Revision("1"), modified_at_ms=None)


def read(value: bytes | None, *, own: bool = True) -> dict[MetaPath, Entry | None]:
    layout = entry(BOOKKEEPER_NODES[0], b"x") if own else None
    flag = entry(FLAG, value) if value is not None else None
    return {FLAG: flag, BOOKKEEPER_NODES[0]: layout, BOOKKEEPER_NODES[1]: None}


def flag(phase: str, target: str | None = "oxia://new:6648/pulsar") -> bytes:
    return json.dumps({"phase": phase, "targetUrl": target}).encode()


def conditions(site: Site) -> dict[str, str]:
    found = report(parts_of(site.driver).control, NOW)["conditions"]
    return {each["code"]: each["message"] for each in found}  # type: ignore[attr-defined]


@pytest.mark.parametrize("phase", StorePhase)
def test_only_before_a_migration_and_after_a_failed_one_the_store_is_written_to(phase: StorePhase) -> None:
    found = StoreMigration()
    found.take(read(flag(phase)))
    assert found.holds is (phase not in WRITTEN)
    assert {code for code, _ in found.conditions()} == (
        {MIGRATED} if phase is StorePhase.COMPLETED else {IN_MIGRATION} if found.holds else set()
    )
    assert found.report() == f"{phase}, to oxia://new:6648/pulsar"
    for _, message in found.conditions():
        assert "oxia://new:6648/pulsar, a kind of store that this program does not know" in message


def test_no_flag_is_no_migration_and_a_configuration_store_says_that_it_sees_none() -> None:
    found = StoreMigration()
    assert found.report() is None
    found.take(read(None))
    assert (found.holds, found.report()) == (False, "NOT_STARTED")
    found.take(read(None, own=False))
    assert not found.holds
    assert "not seen from here" in (found.report() or "")
    found.take(read(None, own=False), embedded=True)
    assert found.report() == "NOT_STARTED"


@pytest.mark.parametrize("value", [b"", b"not json", b"[]", b"7", b"{}", flag("LATER"), b'{"phase":["COPYING"]}'])
def test_what_is_not_understood_holds_every_write_until_it_is(value: bytes) -> None:
    found = StoreMigration()
    found.take(read(value))
    assert found.holds
    ((code, message),) = found.conditions()
    assert code == UNCLEAR
    assert FLAG in message
    assert found.report() == "unclear"
    found.take(read(flag("NOT_STARTED", None)))
    assert not found.holds


def test_what_may_not_be_read_holds_every_write_too() -> None:
    found = StoreMigration()
    found.denied(AccessDenied("no permission").message)
    assert found.holds
    assert "no permission" in next(found.conditions())[1]
    found.take(read(None))
    assert not found.holds
    assert set(LOOKED_AT) == set(read(None))


def test_during_a_migration_changes_are_told_and_folded_and_writes_wait_and_are_counted() -> None:
    pair = Pair()
    both_have(pair, 3)
    east, path = pair.east, path_of(1)
    east.driver.note_store_migration(read(flag("COPYING")))
    told = version(path, 9, 1_999_000, "west")
    event = MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=ResourceKind.RESOURCE_GROUP,
        resource_name=path.rpartition("/")[2],
        path=path,
        value=value_of(9),
        stamp=told.stamp,
        by=told.by,
        seen=told.seen,
        sender="db-west",
        sequence=1,
    )
    east.hear([event], NOW)
    east.put(path_of(2), value_of(5))
    east.driver.noticed([path_of(2)], NOW)
    east.driver.tick(NOW)
    east.work(NOW)
    east.driver.tick(NOW)
    assert east.driver.next_transaction() is None
    assert east.known(path) == replace(told, value=east.known(path).value)  # type: ignore[union-attr]
    assert [said.path for said in east.said if isinstance(said, MetadataChangeEvent)] == [path_of(2)]
    assert "1 write waits" in conditions(east)[IN_MIGRATION]
    assert not east.driver.rollback_counter_due(Millis(NOW + 10**9))
    east.driver.note_store_migration(read(flag("FAILED")))
    east.driver.tick(NOW)
    east.work(NOW)
    assert east.entries[path].value == value_of(9)
    assert IN_MIGRATION not in conditions(east)


def test_what_was_decided_and_not_sent_is_taken_back() -> None:
    pair = Pair()
    both_have(pair, 3)
    east, path = pair.east, path_of(1)
    known = version(path, 9, 1_999_000, "west")
    with east.state.transaction() as tx:
        tx.save([replace(tx.registers([path])[path], known=replace(known, value=value_of(9)))])
    east.driver.tick(NOW)
    plan = east.driver.plan_reads()
    assert plan is not None
    east.driver.take_answers(plan, {each: east.entries.get(each) for each in plan.paths}, NOW)
    assert east.driver.writes_waiting
    east.driver.note_store_migration(read(flag("PREPARATION")))
    assert east.driver.withdraw(NOW) == 1
    assert east.driver.withdraw(NOW) == 0
    assert not east.driver.writes_waiting
    with east.state.transaction() as tx:
        assert tx.registers([path])[path].intent is None
    east.work(NOW)
    assert not east.driver.writes_waiting, "nothing is decided meanwhile"
    east.driver.note_store_migration(read(flag("FAILED")))
    east.driver.tick(NOW)
    east.work(NOW)
    assert east.entries[path].value == value_of(9)


# -- a copy of the store at another address


def test_a_fence_that_was_brought_from_elsewhere_is_known_by_its_address() -> None:
    fence = Fence(number=1, database_id="d", generation=1, store_id="s", at="here")
    assert Fence.decode(fence.encode()) == fence
    assert moved(fence, "there")
    assert not moved(fence, "here")
    assert not moved(fence, "")
    assert not moved(replace(fence, at=""), "there"), "one of an earlier version says nothing"
    assert not moved(None, "there")
    assert b'"at"' not in replace(fence, at="").encode()


def scanned(site: Site, now: Millis) -> None:
    driver, fence = site.driver, parts_of(site.driver).core.fence_path
    scan = driver.armed()
    page = [each for path, each in site.entries.items() if path != fence]
    driver.take_page(scan, driver.issue_page(), page, site.entries[fence], now)
    driver.end_scan(scan)
    site.work(now)
    assert driver.scan_complete(scan, now)


class Moving(Site):
    """A region whose store may be given another address."""

    at = "one"

    def begin(self) -> None:
        super().begin()
        parts = parts_of(self.driver)
        parts.core.place = NamedStore("zookeeper", self.at)
        raised = self.driver.raise_fence(self.entries.get(parts.core.fence_path), "store", T0)
        self.driver.activated(raised, self.put(raised.path, raised.value), T0)
        self.driver.armed()

    def fence(self) -> Fence:
        return Fence.decode(self.entries[parts_of(self.driver).core.fence_path].value)

    def mark(self) -> None:
        written = self.driver.mark(NOW)
        assert written is not None
        self.driver.marked(written, self.put(written.path, written.value), NOW)


def test_at_another_address_equal_revisions_say_nothing_and_what_lacks_is_held() -> None:
    site = Moving("east")
    for number in range(30):
        site.has(path_of(number), 0, 1)
    scanned(site, NOW)
    site.mark()
    assert site.fence().at == "one"
    site.at = "two"
    site.begin()
    core = parts_of(site.driver).core
    assert core.uncompared.place
    with site.state.transaction() as tx:
        assert all(each.stored is not None and each.stored.revision is None for each in tx.page(100))
    changed, lacks = path_of(3), path_of(4)
    former = site.entries[changed]
    site.entries[changed] = replace(former, value=value_of(8))  # another value at the very revision that was known
    del site.entries[lacks]
    scanned(site, NOW)
    assert [said.path for said in site.said if isinstance(said, MetadataChangeEvent)] == [changed]
    with site.state.transaction() as tx:
        held = tx.registers([lacks])[lacks].hold
    assert held is not None
    assert held.local
    assert "in place of its former one" in held.detail
    assert not core.uncompared.place
    site.mark()
    assert site.fence().at == "two"
    site.begin()
    assert not parts_of(site.driver).core.uncompared.place


def test_a_store_is_compared_although_its_former_address_came_back_before_it_was() -> None:
    """As where a table of cluster names is changed and taken back: the store is the same one, and so is its fence."""
    site = Moving("east")
    site.has(path_of(1), 0, 1)
    scanned(site, NOW)
    site.mark()
    site.at = "two"
    site.begin()
    assert site.fence().at == BETWEEN
    scanned(site, NOW)  # and ends before a mark says so
    site.at = "one"
    site.begin()
    assert parts_of(site.driver).core.uncompared.place
    with site.state.transaction() as tx:
        assert all(each.stored is not None and each.stored.revision is None for each in tx.page(100))


def test_the_first_fence_of_a_store_says_by_which_address_it_is_read() -> None:
    identity = replace(parts_of(Moving("east").driver).core.identity, store_id=None)
    first = raised(None, identity, "store", T0, rebuilding=False, at="one")
    assert first.at == "one"
    assert moved(first, "two"), "and is compared by another one, though it was never compared whole"


def test_where_topic_policies_are_read_is_told_apart_from_where_the_store_is() -> None:
    fence = Fence(number=1, database_id="d", generation=1, store_id="s", at="here+topics")
    assert policies_moved(fence, "here")
    assert policies_moved(fence, "here+others")
    assert policies_moved(replace(fence, at=BETWEEN), "here"), "nobody knows by which ones it was begun"
    assert not policies_moved(fence, "there+topics")
    assert not policies_moved(fence, "here+topics")
    assert not policies_moved(replace(fence, at="here"), "there")
    assert not policies_moved(None, "here")


@pytest.mark.parametrize(("after", "counts"), [("one+topics", False), ("two", True)])
def test_policies_that_brokers_kept_elsewhere_before_are_met_and_win_over_nothing(after: str, *, counts: bool) -> None:
    """What is found at the other place may be of any age: it is a baseline. In a copied store it is an edit."""
    policy = MetaPath(f"{GLOBAL_TOPIC_POLICIES}/acme/orders/persistent/one")
    site = Moving("east", Scope([*DEFAULT_RULES, Rule(f"{GLOBAL_TOPIC_POLICIES}/**", Direction.BOTH)]))
    site.has(policy, 7, 1)
    scanned(site, NOW)
    site.mark()
    site.at = after
    site.begin()
    site.put(policy, value_of(8))
    scanned(site, NOW)
    changes = [said for said in site.said if isinstance(said, MetadataChangeEvent)]
    assert [said.stamp.updated_at_ms >= T0 for said in changes] == [counts]
    with site.state.transaction() as tx:
        known = tx.registers([policy])[policy].known
    assert known is not None
    assert (known.seen.get(version(policy, 7, 1, "east").by) is not None) is counts


@pytest.mark.parametrize("found", [value_of(7), b"no JSON"])
def test_a_policy_that_is_at_its_new_place_as_the_group_knows_it_is_not_met(found: bytes) -> None:
    """Else a change by who has not heard of the baseline yet would wait for a person."""
    policy = MetaPath(f"{GLOBAL_TOPIC_POLICIES}/acme/orders/persistent/one")
    site = Moving("east", Scope([*DEFAULT_RULES, Rule(f"{GLOBAL_TOPIC_POLICIES}/**", Direction.BOTH)]))
    site.has(policy, 7, 1)
    scanned(site, NOW)
    site.mark()
    site.at = "one+topics"
    site.begin()
    site.put(policy, found)
    scanned(site, NOW)
    assert not [said for said in site.said if isinstance(said, MetadataChangeEvent)]
    assert site.known(policy) == version(policy, 7, 1, "east") or found == b"no JSON"
