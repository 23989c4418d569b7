"""What is said of regions that keep deletes from being forgotten: when, and what a person may do about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.conflict.register import Hold, HoldReason
from syncer.conflict.tombstones import Cause, Wait
from syncer.model import Millis, Region
from syncer.replication.gc.state import HINTS, TombstoneGc, Tombstones
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import T0, path_of, version
from tests.unit.replication.gc.test_gap_fill import FORGETTING, pair_with

WEST = Region("west")


def test_nobody_holds_up_what_is_not_there() -> None:
    pair = pair_with(replace(FORGETTING, grace_ms=Millis(7 * 86_400_000)))
    east = pair.east.driver
    parts_of(east).group.expected = frozenset({WEST})
    east.tick(Millis(pair.now))
    state = parts_of(east).gc.tombstones
    assert state.holding[WEST][1].cause is Cause.UNHEARD
    pair.beat(3)
    assert not state.holding
    assert not state.conditions(Millis(pair.now + 10**9))


def test_a_held_delete_that_keeps_all_others_is_shown() -> None:
    pair = pair_with(replace(FORGETTING, grace_ms=Millis(1)))
    pair.beat(2)
    path = path_of(0)
    known = version(path, None, 40, "east")
    with pair.west.state.transaction() as tx:
        hold = Hold(reason=HoldReason.FIRST_CONTACT, stamp=known.stamp, since_ms=T0, detail="")
        tx.save([replace(tx.registers([path])[path], known=known, hold=hold)])
    pair.east.has(path, None, 40, "east")
    for site in (pair.east, pair.west):
        site.has(path_of("other"), None, 100, "east")
    pair.beat(6)
    assert pair.east.known(path_of("other")) is not None
    (condition,) = parts_of(pair.east.driver).gc.tombstones.conditions(Millis(pair.now + 10**9))
    assert "it has 1 deletes to seat" in condition[1]
    assert "syncer holds list" in condition[1]
    assert "regions forget" not in condition[1]


@pytest.mark.parametrize(
    ("cause", "hint"),
    [
        (Cause.BEHIND, "'syncer regions forget west'"),
        (Cause.UNSEATED, "'syncer holds list'"),
        (Cause.UNFOLDED, "'syncer quarantine list'"),
        (Cause.UNEQUAL, "See what differs"),
        (Cause.UNHEARD, "peers.expected"),
        (Cause.OUTDATED, "Upgrade"),
        (Cause.UNLIKE, "the same as here"),
        (Cause.NAMELESS, "peers.expected"),
        (Cause.DISPUTED, "in all regions"),
    ],
)
def test_the_hint_fits_the_cause_and_forgetting_is_the_last_resort(cause: Cause, hint: str) -> None:
    state = Tombstones(TombstoneGc(), holding={WEST: (Millis(0), Wait(cause=cause, text="has a cause"))})
    ((code, message),) = state.conditions(Millis(10**9))
    assert code == "tombstones-kept"
    assert "west keeps" in message
    assert "it has a cause. " in message
    assert hint in message
    assert ("regions forget" in message) is (cause in {Cause.BEHIND, Cause.NAMELESS, Cause.DISPUTED})


def test_every_cause_has_a_hint() -> None:
    assert set(HINTS) == set(Cause)
