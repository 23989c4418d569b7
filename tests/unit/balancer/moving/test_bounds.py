"""Bounds of a run: hours, brokers, namespaces, and equal ranges."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.balancer.moving.bounds import HOUR_MS, QuietHours, RunBounds
from syncer.errors import PlanInvalid
from syncer.model import Millis

DAY_MS = 24 * HOUR_MS
MIDNIGHT = 20_000 * DAY_MS


def at(hour: float) -> Millis:
    return Millis(int(MIDNIGHT + hour * HOUR_MS))


@pytest.mark.parametrize(
    ("first", "end", "now", "opens"),
    [
        (60, 180, 0.5, 1),
        (60, 180, 1, 1),
        (60, 180, 2.99, 2.99),
        (60, 180, 3, 25),
        (1380, 120, 22, 23),
        (1380, 120, 23.5, 23.5),
        (1380, 120, 1, 1),
        (1380, 120, 2, 23),
    ],
)
def test_quiet_hours_may_reach_over_midnight(first: int, end: int, now: float, opens: float) -> None:
    assert QuietHours(first=first, end=end).opens_ms(at(now)) == at(opens)


def test_what_never_lets_anything_move_is_refused() -> None:
    for first, end in ((0, 0), (-1, 5), (0, 1440)):
        with pytest.raises(PlanInvalid):
            QuietHours(first=first, end=end)
    for name in ("per_broker", "per_namespace", "per_hour"):
        bound: dict[str, Any] = {name: 0}
        with pytest.raises(PlanInvalid, match=name):
            RunBounds(**bound)


def test_an_hour_holds_so_many_unloads_and_then_the_oldest_makes_room() -> None:
    bounds = RunBounds(per_hour=2)
    assert bounds.opens_ms([at(1)], at(1.5)) == at(1.5)
    assert bounds.opens_ms([at(1.2), at(1)], at(1.5)) == at(2)
    assert bounds.opens_ms([at(1), at(1.2), at(0)], at(2)) == at(2)
    quiet = RunBounds(per_hour=1, quiet=QuietHours(first=0, end=90))
    assert quiet.opens_ms([at(1)], at(1.1)) == at(24)


def test_equal_ranges_busy_brokers_and_busy_namespaces_have_to_wait() -> None:
    bounds = RunBounds(per_broker=2, per_namespace=2)
    low, high = "0x00000000_0x80000000", "0x80000000_0xffffffff"
    one = (f"t/n/{low}", ("a", "b"))
    assert bounds.leaves_room(f"t/m/{high}", ("a", "b"), [one])
    assert not bounds.leaves_room(f"t/m/{low}", ("c", "d"), [one])
    assert not bounds.leaves_room(f"t/m/{high}", ("c", "b"), [one, ("t/o/0x0_0x1", ("d", "b"))])
    assert not bounds.leaves_room(f"t/n/{high}", ("c", "d"), [one, ("t/n/0x0_0x1", ("e", "f"))])
    assert bounds.leaves_room(f"t/n/{high}", ("a", "b"), [])
