"""The pace: never more reads in any stretch of time than the rate allows, and one request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.wanted.pace import ReadPace

REQUESTS = st.lists(st.tuples(st.integers(0, 50), st.floats(0, 3)), max_size=40)


@given(per_s=st.integers(1, 100), requests=REQUESTS)
def test_no_stretch_of_time_holds_more_reads_than_the_rate_and_one_request(
    per_s: int, requests: list[tuple[int, float]]
) -> None:
    pace, now_s = ReadPace(per_s), 0.0
    made: list[tuple[float, int]] = []
    for reads, idle_s in requests:
        now_s += idle_s
        now_s += pace.wait_s(now_s)
        assert pace.wait_s(now_s) == pytest.approx(0, abs=1e-9)
        made.append((now_s, reads))
        pace.took(reads, now_s)
    for first in range(len(made)):
        for last in range(first, len(made)):
            before_the_last = sum(reads for _, reads in made[first:last])
            assert before_the_last <= per_s * (made[last][0] - made[first][0]) + 1e-6


def test_who_never_waits_is_told_how_far_he_is_ahead() -> None:
    pace = ReadPace(10)
    pace.took(5, 0.0)
    pace.took(5, 0.0)
    assert pace.wait_s(0.25) == pytest.approx(0.75)


@pytest.mark.parametrize(("per_s", "most"), [(10_000, 2_000), (10, 2), (1, 1), (0.1, 1)])
def test_a_request_is_of_a_slice_of_a_second_and_never_of_nothing(per_s: float, most: int) -> None:
    assert ReadPace(per_s).most == most
