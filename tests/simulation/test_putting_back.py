"""Stores that were put back from backups: they give revisions out again, and what they hold is no change."""

from __future__ import annotations

import pytest

from syncer.model import Region
from syncer.paths import fence_path
from tests.simulation.region import Daemon
from tests.simulation.script import ETCD, ZOOKEEPER, Script
from tests.simulation.store import StoreKind
from tests.simulation.world import LONE
from tests.support.parts import parts_of

P = LONE
FIRST, OLD, NEW = 1, 2, 3
B = Region("b")
FENCE = fence_path(B)

both_stores = pytest.mark.parametrize("kind", [ZOOKEEPER, ETCD])


def rebuilt(w: Script) -> Daemon:
    """B's database is rebuilt, and its store read; nothing is written into it but the fence, once."""
    w.restart("b")
    daemon = w.daemon("b")
    while daemon.driver.hearing:
        daemon.tick()
        w.drain(w.sites[Region("a")])
        while w.bus.waiting[B]:
            daemon.receive()
            daemon.acknowledge()
    daemon.arm()
    daemon.take_signals()
    while daemon.scan is not None:
        daemon.scan_on()
    return daemon


@both_stores
def test_a_fence_at_the_revision_of_ours_is_not_ours(kind: StoreKind) -> None:
    """Put back twice, the store holds a former database's fence where the present one has written its own."""
    w = Script(kind, kind)
    w.everybody_has(P, FIRST)
    b = w.sites[B]
    before = b.store.copy()
    w.write("b", P, OLD)
    w.daemon("b").mark()
    w.land("b", b.network[0])
    w.daemon("b").take_written()
    backup = b.store.copy()
    w.put_back(b, before)
    w.wipe(b, None)
    w.write("b", P, NEW)
    daemon = rebuilt(w)
    ours = b.store.entry(FENCE)
    w.put_back(b, backup)
    theirs = b.store.entry(FENCE)
    assert ours is not None
    assert theirs is not None
    assert (theirs.revision, theirs.value == ours.value) == (ours.revision, False)
    daemon.driver.noticed([P], daemon.now)
    w.answer("b", w.issue_now("b"))
    assert b.daemons == []
    assert w.events_of(parts_of(daemon.driver).core.identity.database_id.removeprefix("db-")) == []
    w.end()
    w.holds(P, FIRST)
    assert w.value(P, OLD) in w.lost_values("b", P)


@both_stores
def test_what_was_sent_to_a_store_that_was_put_back_comes_too_late(kind: StoreKind) -> None:
    """Its server was started anew: what a daemon sends before it is connected again never lands there."""
    w = Script(kind, kind)
    w.everybody_has(P, FIRST)
    b = w.sites[B]
    backup = b.store.copy()
    w.at(10)
    w.write("a", P, NEW)
    w.deliver("b", w.tell("a"))
    w.apply("b")
    w.put_back(b, backup)
    w.daemon("b").mark()
    assert b.network == []
    w.daemon("b").take_written()
    w.daemon("b").probe_rollback_counter()
    assert b.daemons == []
    w.end()
    w.holds(P, NEW)


@both_stores
def test_a_generation_that_a_former_database_had_is_given_up_when_a_peer_tells_so(kind: StoreKind) -> None:
    """No fence, a clock that went back to the very second of a former birth, and peers that are silent at first.

    What such a database stamps looks to all as if it had been seen long ago.
    """
    w = Script(kind, kind, compares=True)
    w.everybody_has(P, FIRST)
    w.at(50_000)
    w.write("b", P, OLD)
    w.deliver("a", w.tell("b"))
    w.apply("a")
    w.beat("b", "a")
    b = w.sites[B]
    del b.store.nodes[FENCE]
    w.wipe(b, None)
    b.skew_ms = -40_000
    w.at(60_000)
    w.restart("b")
    daemon = w.daemon("b")
    daemon.arm()
    daemon.take_signals()
    while daemon.scan is not None:
        daemon.scan_on()
    assert parts_of(daemon.driver).core.identity.generation == 1
    w.write("b", P, NEW)
    w.tell("b")
    w.beat("a", "b")
    w.end()
    w.holds(P, OLD)
    assert w.value(P, NEW) in w.lost_values("b", P)
    assert b.disk.tables.identity.generation == 2
