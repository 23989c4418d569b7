"""Laws of notices: whatever happens, and whatever a wall clock does, none comes too often and nothing stays untold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.notices.rules import (
    NOTHING_TOLD,
    NoticeEvent,
    NoticeKind,
    NoticeTerms,
    Outstanding,
    due,
    id_of,
    lessened,
    restored,
    taken,
)

TERMS = NoticeTerms(interval_ms=60_000, reminder_ms=86_400_000)
STEP_MS = 1_000

standings = st.builds(Outstanding, count=st.integers(0, 5), newest=st.integers(0, 50))
gaps = st.one_of(st.integers(1, 5), st.integers(1, 200), st.integers(1, 200_000))
skews = st.integers(-(10**9), 10**9)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, Outstanding, int | None]]:
    """Steps of time, what stands then, and, where the daemon is started anew, how far the wall clock is off."""
    length = draw(st.integers(1, 40))
    return [(draw(gaps), draw(standings), draw(st.none() | skews)) for _ in range(length)]


@given(histories())
def test_nothing_is_told_twice_within_the_interval_and_what_lasts_is_told(
    history: list[tuple[int, Outstanding, int | None]],
) -> None:
    told, now, at = NOTHING_TOLD, 0, None
    for gap, standing, skew in history:
        now += gap * STEP_MS
        if skew is not None and told.at_ms is not None:
            wall = told.at_ms + skew
            told = restored(told, told.at_ms, wall, now)
        told = lessened(told, standing)
        event = due(told, standing, now, TERMS)
        if event is None:
            continue
        if at is not None and skew is None and told.at_ms == at:
            assert now - at >= TERMS.interval_ms
        assert (event is NoticeEvent.CLEARED) == (standing.count == 0)
        assert (event is NoticeEvent.RAISED) == (not told.open)
        told, at = taken(told, standing, now), now
        assert due(told, standing, now, TERMS) is None
        assert due(told, standing, now + TERMS.interval_ms, TERMS) is None


@given(histories(), standings)
def test_whatever_came_before_a_receiver_learns_within_the_interval_that_something_stands_or_is_over(
    history: list[tuple[int, Outstanding, int | None]], last: Outstanding
) -> None:
    told, now = NOTHING_TOLD, 0
    for gap, standing, skew in history:
        now += gap * STEP_MS
        if skew is not None and told.at_ms is not None:
            told = restored(told, told.at_ms, told.at_ms + skew, now)
        told = lessened(told, standing)
        if due(told, standing, now, TERMS) is not None:
            told = taken(told, standing, now)
    told = lessened(told, last)
    if due(told, last, now + TERMS.interval_ms, TERMS) is not None:
        told = taken(told, last, now + TERMS.interval_ms)
    assert told.open == bool(last.count)
    if told.open:
        assert told.count == last.count
        assert told.newest >= last.newest
        reminder = due(told, last, now + TERMS.interval_ms + TERMS.reminder_ms, TERMS)
        assert reminder is NoticeEvent.REMINDER


@given(standings, st.integers(0, 10**12), skews)
def test_a_wall_clock_that_is_off_at_a_restart_delays_by_no_more_than_the_interval(
    standing: Outstanding, at: int, skew: int
) -> None:
    told = taken(NOTHING_TOLD, Outstanding(count=1), at)
    kept = restored(told, at, at + skew, 5_000)
    assert kept.at_ms is not None
    assert kept.at_ms <= 5_000
    assert (due(kept, standing, 5_000 + TERMS.interval_ms, TERMS) is not None) or standing.count == 1


@given(standings, standings)
def test_an_id_is_the_same_as_long_as_the_same_is_to_be_told(one: Outstanding, other: Outstanding) -> None:
    told = taken(NOTHING_TOLD, Outstanding(count=1), 0)

    def made(standing: Outstanding, number: int = 0) -> str:
        known = told if not number else taken(told, Outstanding(count=1), 0)
        return id_of("east/1", "ops", NoticeKind.HOLDS, known, NoticeEvent.MORE, standing)

    assert made(one) == made(one)
    assert (made(one) == made(other)) == ((one.count, one.newest) == (other.count, other.newest))
    assert made(one) != made(one, 1)
    assert "." not in made(one)
