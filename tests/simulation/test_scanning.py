"""A scan is over when all that it has found is decided: until then a value found is no change."""

from __future__ import annotations

import pytest

from syncer.conflict.acts import Decision
from syncer.model import Region
from tests.simulation.script import ETCD, ZOOKEEPER, Script
from tests.simulation.store import StoreKind
from tests.simulation.world import LONE
from tests.support.parts import parts_of

P = LONE
STOOD, NEWER = 1, 2

both_stores = pytest.mark.parametrize("kind", [ZOOKEEPER, ETCD])


def overtaken(w: Script, region: str) -> None:
    """The region scans; while a page is under way a change of a path on it is folded, so that it is read again."""
    daemon = w.daemon(region)
    daemon.arm()
    daemon.take_signals()
    daemon.scan_on()
    assert daemon.page is not None
    assert P in daemon.page.contents
    w.deliver(region, w.bus.events[-1])
    while daemon.scan is not None and not daemon.scan.finished:
        daemon.scan_on()
    daemon.scan_on()


@both_stores
def test_a_rebuild_is_not_over_before_what_its_scan_has_found_is_decided(kind: StoreKind) -> None:
    """It would take for a change what this region had written itself before its database was lost."""
    w = Script(kind, kind)
    w.everybody_has(P, STOOD)
    w.wipe(w.sites[Region("b")], None)
    w.restart("b")
    while w.daemon("b").driver.hearing:
        w.daemon("b").tick()
        w.drain(w.sites[Region("a")])
        while w.bus.waiting[Region("b")]:
            w.daemon("b").receive()
            w.daemon("b").acknowledge()
    w.write("a", P, NEWER)
    w.tell("a")
    overtaken(w, "b")
    assert w.daemon("b").driver.rebuilding is not None
    w.learn("b")
    assert w.decisions("b", Decision.UNKNOWN_PROVENANCE) == 1
    w.end()
    w.holds(P, NEWER)
    assert w.lost_values("b", P) == [w.value(P, STOOD)]
    assert w.daemon("b").driver.rebuilding is None


@both_stores
def test_a_first_scan_is_not_over_before_what_it_has_found_is_decided(kind: StoreKind) -> None:
    """It would take what stood there for a change, which would win over what the group has."""
    w = Script(kind, kind, started=False)
    parts_of(w.start("a").driver).recovery.quiet_ms = 0
    w.drain(w.sites[Region("a")])
    w.at(2_000)
    w.drain(w.sites[Region("a")])
    w.write("a", P, NEWER)
    w.tell("a")
    w.at(60_000)
    w.write("b", P, STOOD)
    w.restart("b")
    overtaken(w, "b")
    assert not parts_of(w.daemon("b").driver).core.first_scan_done
    w.learn("b")
    stored = w.sites[Region("b")].disk.tables.registers[P].stored
    assert stored is not None
    assert stored.stamp.is_baseline
    assert w.lost_values("b", P) == [w.value(P, STOOD)]
    w.daemon("b").scan_on()
    assert parts_of(w.daemon("b").driver).core.first_scan_done
