"""Resources at paths that cannot be replicated: seen by their own region, and by nobody else."""

from __future__ import annotations

from syncer.model import Millis
from syncer.paths import MAX_PATH_BYTES
from syncer.replication import misfits
from syncer.replication.misfits import COUNTED, MISFIT, MISFITS, Misfits
from syncer.replication.reporting import report
from syncer.stores.contract import Entry
from tests.unit.test_antientropy import T0, Site, path_of

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
    fence = site.entries[site.driver.context.fence_path]
    scan = site.driver.armed()
    site.driver.take_page(scan, site.driver.issue_page(), entries, fence, NOW)
    site.driver.end_scan(scan)
    site.work(NOW)
    site.driver.tick(NOW)
    assert site.known(FINE) is not None
    assert {(origin, code) for origin, code, _ in rows(site)} == {("store", MISFIT)}
    assert len(rows(site)) == 2
    assert all(len(detail) < 500 for *_, detail in rows(site))
    found = {each["code"]: each["message"] for each in report(site.driver.context, NOW)["conditions"]}  # type: ignore[attr-defined]
    assert "2 resources" in found[MISFITS]
    assert not [said for said in site.said if getattr(said, "path", FINE) != FINE]
    site.driver.tick(NOW)
    assert len(rows(site)) == 2


def test_they_are_counted_anew_by_each_scan_and_bounded() -> None:
    met = Misfits()
    assert met.condition() is None
    for number in range(misfits.KEPT + 5):
        met.look_at(f"/admin/resourcegroups/{number}\0")
        met.look_at(f"/admin/resourcegroups/{number}")
        met.look_at(f"/elsewhere/{number}\0")
    assert len(met.news) == misfits.KEPT
    assert f"{misfits.KEPT + 5} resources" in (met.condition() or ("", ""))[1]
    met.begin_scan()
    assert met.condition() is None
    assert COUNTED > misfits.KEPT
