"""Resources at paths that cannot be replicated: seen by their own region, and by nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

from syncer.conflict.register import Register
from syncer.conflict.replica import Replica
from syncer.errors import InvariantBroken
from syncer.model import MetaPath, Millis
from syncer.paths import MAX_PATH_BYTES
from syncer.replication.control.report import report
from syncer.replication.local import misfits
from syncer.replication.local.misfits import COUNTED, FIRST_FORM, MISFIT, MISFITS, Misfits
from syncer.state.memory.transaction import MemoryTransaction
from syncer.stores.contract import Entry
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import T0, Site, path_of

NOW = Millis(T0 + 1_000)
LONG = path_of("x" * MAX_PATH_BYTES)
ODD = path_of("a\0b")
FINE = path_of("fine")


def rows(site: Site) -> list[tuple[str, str, str]]:
    return [
        (each.poison.origin, each.poison.code, each.poison.detail) for each in site.state.database.quarantine.values()
    ]


def test_what_a_notice_and_a_scan_meet_is_set_aside_and_the_rest_goes_on() -> None:
    site = Site("east")
    site.put(FINE, b'{"edition":1}')
    site.driver.noticed([LONG, FINE, LONG], NOW)
    entries = [
        Entry(path=path, value=b"{}", revision=site.entries[FINE].revision, modified_at_ms=None) for path in (ODD, LONG)
    ]
    fence = site.entries[parts_of(site.driver).core.fence_path]
    scan = site.driver.armed()
    site.driver.take_page(scan, site.driver.issue_page(), entries, fence, NOW)
    site.driver.end_scan(scan)
    site.work(NOW)
    site.driver.tick(NOW)
    assert site.known(FINE) is not None
    assert {(origin, code) for origin, code, _ in rows(site)} == {("store", MISFIT)}
    assert len(rows(site)) == 2
    assert all(len(detail) < 500 for *_, detail in rows(site))
    found = {each["code"]: each["message"] for each in report(parts_of(site.driver).control, NOW)["conditions"]}  # type: ignore[attr-defined]
    assert "2 resources" in found[MISFITS]
    assert not [said for said in site.said if getattr(said, "path", FINE) != FINE]
    site.driver.tick(NOW)
    assert len(rows(site)) == 2


def test_they_are_counted_anew_by_each_scan_and_bounded() -> None:
    met = Misfits()
    assert met.conditions() == []
    for number in range(misfits.KEPT + 5):
        met.look_at(f"/admin/resourcegroups/{number}\0")
        met.look_at(f"/admin/resourcegroups/{number}")
        met.look_at(f"/elsewhere/{number}\0")
    assert len(met.news) == misfits.KEPT
    assert f"{misfits.KEPT + 5} resources" in dict(met.conditions())[MISFITS]
    met.begin_scan()
    assert met.conditions() == []
    assert COUNTED > misfits.KEPT


def test_a_path_of_which_nothing_can_be_taken_is_left_alone_and_the_others_of_its_batch_are_decided() -> None:
    """A database may refuse to keep it, or this program be at fault: what a tenant names ends nothing."""
    site = Site("east")
    paths = [path_of(number) for number in range(20)]
    for path in paths:
        site.put(path, b'{"edition":1}')
    real = Replica.observe

    def breaking(replica: Replica, register: Register, *rest: Any, **named: Any) -> Any:
        if register.path == paths[7]:
            raise InvariantBroken("the sidecar database refused a statement")
        return real(replica, register, *rest, **named)

    with mock.patch.object(Replica, "observe", breaking):
        site.driver.noticed(paths, NOW)
        site.work(NOW)
        site.driver.noticed([paths[7]], NOW)
        site.work(NOW)
    assert [site.known(path) is not None for path in paths] == [number != 7 for number in range(20)]
    site.driver.tick(NOW)
    assert [code for _, code, _ in rows(site)] == [MISFIT]
    assert len(parts_of(site.driver).local.dirty) == 0
    assert parts_of(site.driver).local.watch.ledger.idle
    scan = site.driver.armed()  # the next scan looks at it again
    fence = site.entries[parts_of(site.driver).core.fence_path]
    site.driver.take_page(scan, site.driver.issue_page(), [site.entries[path] for path in paths], fence, NOW)
    assert site.known(paths[7]) is not None


def test_a_page_of_a_scan_is_taken_without_what_the_database_cannot_keep() -> None:
    site = Site("east")
    paths = [path_of(number) for number in range(9)]
    for path in paths:
        site.put(path, b'{"edition":1}')
    real = MemoryTransaction.met

    def refusing(work: MemoryTransaction, met: Sequence[MetaPath]) -> None:
        if paths[4] in met:
            raise InvariantBroken("the sidecar database refused a statement")
        real(work, met)

    fence = site.entries[parts_of(site.driver).core.fence_path]
    with mock.patch.object(MemoryTransaction, "met", refusing):
        scan = site.driver.armed()
        site.driver.take_page(scan, site.driver.issue_page(), [site.entries[path] for path in paths], fence, NOW)
        site.driver.end_scan(scan)
        assert site.driver.scan_complete(scan, NOW)
    assert [site.known(path) is not None for path in paths] == [number != 4 for number in range(9)]
    assert parts_of(site.driver).local.misfits.blocked == {paths[4]}


def test_namespaces_of_the_first_form_are_counted_and_named() -> None:
    site = Site("east")
    site.put(FINE, b'{"edition":1}')
    met = parts_of(site.driver).local.misfits
    names = [f"prop/us-east/n{number}" for number in range(5)]
    first = [MetaPath(f"/admin/policies/{name}") for name in names]
    entries = [
        Entry(path=path, value=b"{}", revision=site.entries[FINE].revision, modified_at_ms=None) for path in first
    ]
    fence = site.entries[parts_of(site.driver).core.fence_path]
    scan = site.driver.armed()
    site.driver.take_page(scan, site.driver.issue_page(), entries, fence, NOW)
    site.driver.end_scan(scan)
    site.driver.noticed([first[0], FINE], NOW)
    site.work(NOW)
    found = dict(met.conditions())
    assert set(found) == {FIRST_FORM}
    assert ": 5, among them 'prop/us-east/n0', 'prop/us-east/n1', 'prop/us-east/n2'" in found[FIRST_FORM]
    assert not [said for said in site.said if getattr(said, "path", FINE) != FINE], "they are told to nobody"
    assert rows(site) == [], "and are no trouble"
    met.begin_scan()
    assert met.conditions() == []


def test_the_count_of_the_first_form_is_bounded() -> None:
    met = Misfits()
    for number in range(COUNTED + 5):
        met.look_at(f"/admin/policies/p/c/n{number}")
    assert f"{COUNTED} or more" in dict(met.conditions())[FIRST_FORM]
