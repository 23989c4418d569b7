"""The error of predictions."""

from __future__ import annotations

import pytest

from syncer.balancer.history.outcomes import MoveOutcome, prediction_ratio


def outcome(predicted_s: float | None, earliest_s: float = 0.4, latest_s: float = 0.6) -> MoveOutcome:
    return MoveOutcome(
        bundle="b", asked_ms=1, predicted_s=predicted_s, usual_s=None, earliest_s=earliest_s, latest_s=latest_s
    )


@pytest.mark.parametrize(
    ("predicted_s", "ratio"), [(0.5, 1.0), (0.4, 1.0), (0.2, 2.0), (1.2, 0.5), (None, None), (0.0, None)]
)
def test_what_lies_between_two_looks_is_no_error(predicted_s: float | None, ratio: float | None) -> None:
    found = outcome(predicted_s)
    assert found.ratio_to(found.predicted_s) == (None if ratio is None else pytest.approx(ratio))


def test_the_error_of_all_is_the_median_of_those_that_are_known() -> None:
    assert prediction_ratio([]) is None
    assert prediction_ratio([outcome(None)]) is None
    assert prediction_ratio([outcome(0.2), outcome(0.5), outcome(None), outcome(0.05)]) == pytest.approx(2.0)
