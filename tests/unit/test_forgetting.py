"""What is said of regions that keep deletes from being forgotten: when, and what a person may do about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.conflict.register import Hold, HoldReason
from syncer.model import Millis, Region
from syncer.replication.forgetting import Forgetting, Tombstones
from tests.unit.test_antientropy import T0, path_of, version
from tests.unit.test_retelling import FORGETTING, pair_with

WEST = Region("west")


def test_nobody_holds_up_what_is_not_there() -> None:
    pair = pair_with(replace(FORGETTING, grace_ms=Millis(7 * 86_400_000)))
    east = pair.east.driver
    east.context.expected = frozenset({WEST})
    east.tick(Millis(pair.now))
    state = east.context.tombstones
    assert state.holding[WEST][1] == "was never heard"
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
    (condition,) = pair.east.driver.context.tombstones.conditions(Millis(pair.now + 10**9))
    assert "it has 1 deletes to seat" in condition[1]
    assert "syncer holds list" in condition[1]
    assert "regions forget" not in condition[1]


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        ("has consumed 4 of the first 5 changes of database x", "'syncer regions forget west'"),
        ("has 3 messages in quarantine that it could not fold", "'syncer quarantine list'"),
        ("was not found equal to this region since", "See what differs"),
        ("was never heard", "peers.expected"),
        ("runs a version that does not tell what it has seated", "Upgrade"),
        ("carries other paths than this region, or compares their values in another way", "the same as here"),
        ("has consumed changes of database x, which never told its region", "peers.expected"),
    ],
)
def test_the_hint_fits_the_reason_and_forgetting_is_the_last_resort(reason: str, hint: str) -> None:
    state = Tombstones(Forgetting(), holding={WEST: (Millis(0), reason)})
    ((code, message),) = state.conditions(Millis(10**9))
    assert code == "tombstones-kept"
    assert hint in message
    assert ("regions forget" in message) is ("regions forget" in hint)
