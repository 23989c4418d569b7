"""What was measured of C++ clients is their library's rule: delays that double, to a minute."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest

from syncer.balancer.cost.estimate import known
from syncer.balancer.cost.measured import CPP_STEPS, OTHER_STEPS
from syncer.balancer.cost.price import MovedBundle, MoveKind, price

MAX_MS = 60_000


def test_delays_double_to_a_minute() -> None:
    latest = [0, *(step.latest_ms for step in islice(CPP_STEPS.steps(), 13))]
    delays = [after - before for before, after in pairwise(latest)]
    assert delays == [min(100 << attempt, MAX_MS) for attempt in range(13)]


def test_python_clients_have_a_price() -> None:
    move = MovedBundle(
        kind=MoveKind.UNLOAD,
        close=known(0.07),
        load=known(0.45),
        producers={"Pulsar-CPP-v4.2.0": 100},
        consumers={},
    )
    assert price(move, OTHER_STEPS).client_seconds.value == pytest.approx(55)
