"""How much may be gone: a share and a number, both."""

from __future__ import annotations

import pytest

from syncer.plan.losses import LossBounds


@pytest.mark.parametrize(
    ("held", "left", "asked"),
    [
        (1_000, 1_000, False),
        (1_000, 2_000, False),
        (1_000, 500, False),
        (1_000, 499, True),
        (1_000, 0, True),
        (40, 20, False),
        (39, 19, True),
        (20, 1, False),
        (20, 0, True),
        (0, 0, False),
    ],
)
def test_both_bounds_must_be_exceeded(held: int, left: int, asked: bool) -> None:
    assert LossBounds().exceeded(held, left) is asked


def test_bounds_are_an_operators() -> None:
    never, strict = LossBounds(max_fraction=1.0), LossBounds(max_fraction=0.0, min_lost=1)
    assert not never.exceeded(1_000, 0)
    assert strict.exceeded(1_000, 999)
    assert str(LossBounds()) == "more than 50% of them, and 20 or more"
