"""Since when a path is carried, by the scopes that a database has kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.classes.periods import (
    NO_PERIODS,
    PERIODS_KEPT,
    UNDATED,
    WITH_THE_DATABASE,
    ScopePeriod,
    ScopePeriods,
)
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath, Millis

P, Q = MetaPath("/admin/policies/p"), MetaPath("/admin/policies/q")
WIDE = Scope()
NARROW, APPLYING, PUBLISHING = (
    Scope((Rule(P, direction), *DEFAULT_RULES)) for direction in (Direction.IGNORE, Direction.APPLY, Direction.PUBLISH)
)
NOTHING = Scope(())


def after(*scopes: Scope) -> ScopePeriods:
    """A new database under one scope after another: at 100, 200 and so on."""
    periods = NO_PERIODS
    for number, scope in enumerate(scopes, 1):
        periods = periods.under(scope).dated(Millis(100 * number))
    return periods


def test_what_was_carried_all_the_time_is_carried_since_the_database_was_made() -> None:
    assert after(WIDE).since(P) == WITH_THE_DATABASE
    assert after(WIDE, NARROW, WIDE).since(Q) == WITH_THE_DATABASE


def test_a_path_that_came_in_is_carried_since_then() -> None:
    assert after(NARROW, WIDE).since(P) == 200
    assert after(WIDE, NARROW, WIDE).since(P) == 300, "what was known before it had left does not count"
    assert after(NARROW, WIDE, PUBLISHING).since(P) == 200, "one scope follows another one, and both carry it"


def test_a_direction_that_changes_lets_nothing_in() -> None:
    assert after(APPLYING, WIDE, PUBLISHING, APPLYING, WIDE).since(P) == WITH_THE_DATABASE


def test_what_is_not_carried_is_carried_since_never() -> None:
    assert after(WIDE, NARROW).since(P) == UNDATED
    assert NO_PERIODS.since(P) == UNDATED


def test_the_same_scope_begins_nothing() -> None:
    periods = after(NARROW, WIDE)
    assert periods.under(Scope()) is periods
    assert periods.dated(Millis(999)) is periods


def test_of_the_time_before_a_database_that_kept_no_scopes_nothing_is_known() -> None:
    periods = ScopePeriods((ScopePeriod(WITH_THE_DATABASE, ""),)).under(WIDE)
    assert periods.since(P) == UNDATED, "while its daemon is not the writer"
    assert periods.dated(Millis(500)).since(P) == 500


def test_a_daemon_that_has_only_observed_leaves_the_beginning_to_the_next_one() -> None:
    observed = after(NARROW).under(WIDE)
    assert observed.since(P) == UNDATED
    assert observed.under(WIDE).dated(Millis(700)).since(P) == 700


def test_a_clock_that_goes_back_begins_no_period_before_the_last() -> None:
    periods = after(NARROW, NOTHING).under(WIDE).dated(Millis(50))
    assert [each.began_ms for each in periods.kept] == [WITH_THE_DATABASE, 200, 200]


def test_only_the_latest_periods_are_kept_and_the_first_of_them_is_the_beginning() -> None:
    periods = after(*[WIDE, APPLYING] * PERIODS_KEPT)
    assert len(periods.kept) == PERIODS_KEPT
    assert periods.since(P) == periods.kept[0].began_ms == 100 * (PERIODS_KEPT + 1)


def test_rules_that_this_version_cannot_read_tell_nothing() -> None:
    kept = (ScopePeriod(WITH_THE_DATABASE, "perhaps /admin/policies/**"), ScopePeriod(Millis(200), WIDE.text))
    assert ScopePeriods(kept).since(P) == 200
    assert ScopePeriods(kept).after(NARROW)[1] is None


def test_scopes_since_one_are_those_of_all_periods_after_it() -> None:
    periods = after(WIDE, NARROW, APPLYING)
    assert [scope and scope.text for scope in periods.after(WIDE)] == [APPLYING.text, NARROW.text]
    assert periods.after(APPLYING) == ()
    assert len(periods.after(PUBLISHING)) == 3


def test_another_scope_in_any_period_is_seen() -> None:
    assert not NO_PERIODS.other_than(WIDE)
    assert not after(WIDE).other_than(WIDE)
    assert after(NARROW, WIDE).other_than(WIDE)
    assert [scope and scope.text for scope in after(NARROW, WIDE).scopes] == [NARROW.text, WIDE.text]


@given(st.lists(st.sampled_from([WIDE, NARROW, APPLYING, PUBLISHING, NOTHING]), min_size=1, max_size=40))
def test_a_path_was_carried_in_every_period_since_then_and_not_in_the_one_before(scopes: list[Scope]) -> None:
    periods = after(*scopes)
    for path in (P, Q):
        since = periods.since(path)
        if not scopes[-1].contains(path):
            assert since == UNDATED
            continue
        first = 0 if since == WITH_THE_DATABASE else since // 100 - 1
        assert all(scope.contains(path) for scope in scopes[first:])
        if since == WITH_THE_DATABASE:
            assert all(scope.contains(path) for scope in scopes)
        elif since > periods.kept[0].began_ms:
            assert not scopes[first - 1].contains(path)
