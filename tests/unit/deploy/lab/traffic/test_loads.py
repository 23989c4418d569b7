"""Uneven loads share a rate out, most of it to the first topic."""

from __future__ import annotations

import pytest

from deploy.lab.traffic.loads import uneven


def test_the_rate_is_shared_out_and_the_first_has_most() -> None:
    rates = [load.publishers[0].per_s for load in uneven(["a", "b", "c", "d"], 250)]
    assert sum(rates) == pytest.approx(250)
    assert rates[0] == pytest.approx(2 * rates[1]) == pytest.approx(4 * rates[3])
