"""Figures carry their basis, and one that is unknown makes all that rests on it unknown."""

from __future__ import annotations

import math

import pytest

from syncer.balancer.cost.estimate import UNKNOWN, Basis, Estimate, assumed, known, total
from syncer.errors import LoadDataInvalid


def test_a_sum_rests_on_its_weakest_part() -> None:
    assert total([known(1), known(2)]) == known(3)
    assert total([known(1), assumed(2)]) == assumed(3)
    assert total([known(1), UNKNOWN]) == UNKNOWN
    assert total([]) == known(0)


def test_a_product_rests_on_its_weakest_part() -> None:
    assert known(2).times(assumed(3)) == assumed(6)
    assert known(0).times(UNKNOWN) == UNKNOWN.times(known(0)) == UNKNOWN


@pytest.mark.parametrize(
    ("value", "basis"),
    [
        (None, Basis.KNOWN),
        (0.0, Basis.UNKNOWN),
        (-1.0, Basis.KNOWN),
        (math.nan, Basis.KNOWN),
        (math.inf, Basis.ASSUMED),
    ],
)
def test_a_figure_that_cannot_be_true_is_refused(value: float | None, basis: Basis) -> None:
    with pytest.raises(LoadDataInvalid, match="a figure of"):
        Estimate(value, basis)
