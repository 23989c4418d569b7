"""Conflicts of the channel: which message changes what is known of a bundle."""

from __future__ import annotations

import pytest

from syncer.balancer.decoding.conflicts import FOLLOWING, UnitRecord, UnitState, stands

OWNED = UnitRecord(state=UnitState.OWNED, target="a", source="z", version=5)


def after(
    known: UnitRecord, state: UnitState, *, version: int = 1, forced: bool = False, **brokers: str | None
) -> UnitRecord:
    names = {"target": known.target, "source": known.source, **brokers}
    return UnitRecord(
        state=state, version=known.version + version, forced=forced, target=names["target"], source=names["source"]
    )


def in_state(state: UnitState) -> UnitRecord:
    return UnitRecord(state=state, target="a", source="b", version=5)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("forced", [False, True])
def test_an_old_version_changes_nothing_not_even_by_force(version: int, forced: bool) -> None:
    assert stands(OWNED, UnitRecord(state=UnitState.FREE, version=version, forced=forced))


def test_a_gap_of_versions_is_what_compaction_leaves() -> None:
    assert not stands(OWNED, after(OWNED, UnitState.OWNED, version=2, target="b"))
    assert stands(OWNED, after(OWNED, UnitState.OWNED, version=1, target="b"))


def test_force_wins_over_the_transitions() -> None:
    assert not stands(OWNED, after(OWNED, UnitState.OWNED, forced=True, target="b"))


@pytest.mark.parametrize("state", sorted(set(UnitState) - {UnitState.INIT}))
def test_of_a_bundle_that_is_not_known_any_state_may_come(state: UnitState) -> None:
    assert not stands(None, UnitRecord(state=state, version=7))


def test_a_bundle_that_is_not_known_does_not_begin_anew() -> None:
    assert stands(None, UnitRecord(state=UnitState.INIT, version=1))


@pytest.mark.parametrize("before", UnitState)
def test_only_the_following_states_are_believed(before: UnitState) -> None:
    known = in_state(before)
    believed = set()
    for state in UnitState:
        tries = [
            after(known, state, target=target, source=source)
            for target in ("a", "c", None)
            for source in ("a", "b", None)
        ]
        if any(not stands(known, new) for new in tries):
            believed.add(state)
    assert believed == FOLLOWING[before]


@pytest.mark.parametrize(
    ("before", "state", "target", "source", "believed"),
    [
        (UnitState.OWNED, UnitState.SPLITTING, None, "a", True),
        (UnitState.OWNED, UnitState.SPLITTING, "c", "a", False),
        (UnitState.OWNED, UnitState.SPLITTING, None, "c", False),
        (UnitState.OWNED, UnitState.RELEASING, "c", "a", True),
        (UnitState.OWNED, UnitState.RELEASING, None, "a", True),
        (UnitState.OWNED, UnitState.RELEASING, "c", None, False),
        (UnitState.OWNED, UnitState.RELEASING, "c", "b", False),
        (UnitState.OWNED, UnitState.RELEASING, "a", "a", False),
        (UnitState.ASSIGNING, UnitState.OWNED, "a", "b", True),
        (UnitState.ASSIGNING, UnitState.OWNED, "c", "b", False),
        (UnitState.RELEASING, UnitState.ASSIGNING, "a", "b", True),
        (UnitState.RELEASING, UnitState.ASSIGNING, None, "b", False),
        (UnitState.RELEASING, UnitState.FREE, "a", "b", True),
        (UnitState.RELEASING, UnitState.FREE, None, "b", False),
        (UnitState.SPLITTING, UnitState.DELETED, "a", "b", True),
        (UnitState.SPLITTING, UnitState.DELETED, "c", "b", False),
        (UnitState.FREE, UnitState.ASSIGNING, "c", None, True),
        (UnitState.FREE, UnitState.ASSIGNING, "c", "b", False),
        (UnitState.FREE, UnitState.ASSIGNING, None, None, False),
        (UnitState.DELETED, UnitState.INIT, None, None, True),
    ],
)
def test_a_message_counts_if_its_brokers_may_write_it(
    before: UnitState, state: UnitState, target: str | None, source: str | None, believed: bool
) -> None:
    known = in_state(before)
    assert stands(known, after(known, state, target=target, source=source)) is not believed
