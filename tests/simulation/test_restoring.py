"""Conflicts that a person restores, where the store holds what nobody has read yet."""

from __future__ import annotations

import pytest

from syncer.conflict.register import HoldReason
from syncer.model import Region
from tests.simulation.script import ETCD, ZOOKEEPER, Script
from tests.simulation.store import StoreKind
from tests.simulation.world import LONE
from tests.support.parts import parts_of

P = LONE
LOST, WON, UNREAD, LATER = 1, 2, 3, 4

both_stores = pytest.mark.parametrize("kind", [ZOOKEEPER, ETCD])


def restored_over_unread(kind: StoreKind) -> Script:
    """A knows two values that are concurrent, and has written neither; its store holds a third one that it never read.

    The loser is restored there, and its restoring has reached B.
    """
    w = Script(kind, kind, kind)
    w.at(10)
    w.write("c", P, LOST)
    lost = w.tell("c")
    w.at(20)
    w.write("b", P, WON)
    w.deliver("a", w.tell("b"), lost)
    w.at(30)
    w.write("a", P, UNREAD)
    w.ask("a", "restore", w.look_at_conflict("a"))
    w.at(40)
    w.daemon("a").operate()
    w.publish("a")
    w.deliver("b", w.bus.events[-1])
    w.apply("b")
    w.holds(P, LOST, "b")
    return w


@both_stores
def test_who_restores_has_not_seen_what_stands_in_the_store_unread(kind: StoreKind) -> None:
    """So a change over what was restored, and the unread value, are concurrent: a true conflict, in every region."""
    w = restored_over_unread(kind)
    w.at(60)
    w.write("b", P, LATER)
    later = w.tell("b")
    w.at(70)
    w.apply("a")  # refused
    unread = w.tell("a")
    assert unread.value == w.value(P, UNREAD)
    w.deliver("b", unread)
    assert {later.stamp, unread.stamp} in [{row.loser, row.winner} for row in w.conflicts("b")]
    w.end()


@both_stores
def test_what_was_restored_is_kept_when_somebody_has_written_there_unseen(kind: StoreKind) -> None:
    """One region stamps both with one counter, so the others take the one for the other's successor."""
    w = restored_over_unread(kind)
    restored = w.bus.events[-1]
    w.apply("a")  # refused
    unread = w.tell("a")
    assert [row.value for row in w.conflicts("a") if row.loser == restored.stamp] == [w.value(P, LOST)]
    w.deliver("b", unread)
    w.apply("b")
    w.end()
    w.holds(P, UNREAD)


@both_stores
def test_nothing_is_restored_over_a_store_that_was_never_read(kind: StoreKind) -> None:
    """What stood there would be no first contact any more: the region's own counter is on what was restored."""
    w = Script(kind, kind, kind, started=False)
    for region in ("b", "c"):
        parts_of(w.start(region).driver).recovery.quiet_ms = 0
        w.drain(w.sites[Region(region)])
    w.at(2_000)
    for region in ("b", "c"):
        w.drain(w.sites[Region(region)])
    w.write("c", P, LOST)
    lost = w.tell("c")
    w.at(2_010)
    w.write("b", P, WON)
    won = w.tell("b")
    w.write("a", P, UNREAD)
    w.restart("a")
    w.deliver("a", won, lost)
    a = w.sites[Region("a")].disk
    w.ask("a", "restore", w.look_at_conflict("a"))
    w.daemon("a").operate()
    (operation,) = a.tables.operations.values()
    assert (operation.state, operation.code) == ("failed", "precondition-failed")
    w.settle(operated=False)
    hold = a.tables.registers[P].hold
    assert hold is not None
    assert hold.reason is HoldReason.FIRST_CONTACT
    assert w.value(P, UNREAD) in w.lost_values("a", P)
    w.end()
