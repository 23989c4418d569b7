"""Prices that follow from moves that were observed."""

from __future__ import annotations

import pytest

from syncer.balancer.cost.calibration import LEAST_COUNT, Calibration, calibrated, calibration
from syncer.balancer.cost.estimate import UNKNOWN, Basis, Estimate
from syncer.balancer.cost.tariff import UnloadTimes
from syncer.balancer.history.outcomes import MoveOutcome


def outcome(number: int, usual_s: float | None = 0.1) -> MoveOutcome:
    return MoveOutcome(
        bundle="b",
        asked_ms=number,
        predicted_s=None,
        usual_s=usual_s,
        earliest_s=0.1 * number,
        latest_s=0.1 * number + 0.05,
    )


def test_too_few_moves_are_no_factor() -> None:
    few = [outcome(number) for number in range(1, LEAST_COUNT)]
    assert calibration(few) is None
    assert calibration([*few, outcome(1, None)]) is None
    assert calibration([*few, outcome(LEAST_COUNT)]) is not None


def test_the_factor_is_the_median_with_its_basis() -> None:
    found = calibration([outcome(number) for number in range(1, LEAST_COUNT + 2)])
    assert found is not None
    assert found.ratio == pytest.approx(6.0)
    assert (found.count, found.since_ms, found.until_ms) == (11, 1, 11)


def test_calibrated_seconds_say_so_and_unknown_ones_stay() -> None:
    found = Calibration(ratio=2.0, count=10, since_ms=1, until_ms=2)
    times = calibrated(UnloadTimes(close=Estimate(0.5, Basis.ASSUMED), load=UNKNOWN), found)
    assert times.close == Estimate(1.0, Basis.CALIBRATED)
    assert times.load == UNKNOWN
    assert calibrated(UnloadTimes(), None) == UnloadTimes()
