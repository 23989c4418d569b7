"""What becomes of a version that an old picture tells again: told, or not, and why."""

from __future__ import annotations

import pytest

from syncer.conflict.acts import Journal, Outcome
from syncer.conflict.register import Hold, HoldReason, Register
from syncer.conflict.settings import Settings
from syncer.model import MetadataChangeEvent, Millis
from syncer.repair.rules import DETAILS, Bounds, Why, retell
from syncer.replacing import replace
from tests.property.strategies import NOW, TENANT
from tests.unit.registers import HERE, SKEW, THERE, X, Y, at, event, register, stored, version

SETTINGS = Settings(region=HERE)
NEVER = Bounds(floor_ms=Millis(0), knows_all=True)
OLD, LATER = at(-2_000, THERE), at(-1_000, THERE)


def verdict(
    known: Register, told: MetadataChangeEvent, bounds: Bounds = NEVER, settings: Settings = SETTINGS
) -> Outcome | Why:
    return retell(settings, known, told, Millis(NOW), bounds)


def test_a_version_that_nobody_here_knows_is_folded_and_told() -> None:
    found = verdict(register(), event(X, OLD))
    assert isinstance(found, Outcome)
    assert found.register.known is not None
    assert (found.register.known.stamp, found.register.known.value) == (OLD, X)
    assert found.register.due


@pytest.mark.parametrize("value", [X, None])
def test_what_is_known_already_is_told_again_and_changes_nothing(value: bytes | None) -> None:
    known = register(known=version(value, OLD, kept=False), stored=stored(value, OLD))
    assert verdict(known, event(value, OLD)) == Outcome(known)


def test_a_value_that_lacks_here_is_filled() -> None:
    found = verdict(register(known=version(X, OLD, kept=False)), event(X, OLD))
    assert isinstance(found, Outcome)
    assert found.register.known is not None
    assert found.register.known.value == X


@pytest.mark.parametrize("value", [X, None])
def test_what_is_outgrown_here_is_never_told(value: bytes | None) -> None:
    known = register(known=version(value, LATER), stored=stored(value, LATER))
    assert verdict(known, event(Y, OLD)) is Why.SUPERSEDED


def test_a_later_version_wins_over_what_is_known() -> None:
    known = register(known=version(X, OLD, kept=False), stored=stored(X, OLD))
    found = verdict(known, event(None, LATER, OLD))
    assert isinstance(found, Outcome)
    assert found.register.known == version(None, LATER, OLD)


@pytest.mark.parametrize(("floor", "expected"), [(-1, None), (0, Why.FORGOTTEN), (1, Why.FORGOTTEN)])
def test_what_may_have_been_deleted_and_forgotten_is_not_raised(floor: int, expected: Why | None) -> None:
    bounds = Bounds(floor_ms=Millis(OLD.updated_at_ms + floor), knows_all=True)
    found = verdict(register(), event(X, OLD), bounds)
    assert found is expected or (expected is None and isinstance(found, Outcome))
    known = register(known=version(X, OLD))
    assert isinstance(verdict(known, event(X, OLD), bounds), Outcome), "what is known was not forgotten"


def test_a_database_that_is_younger_than_the_snapshot_tells_only_what_it_knows() -> None:
    young = Bounds(floor_ms=Millis(0), knows_all=False)
    assert verdict(register(), event(X, OLD), young) is Why.YOUNG_DATABASE
    assert isinstance(verdict(register(known=version(Y, OLD)), event(X, LATER), young), Outcome)


@pytest.mark.parametrize(
    ("since", "expected"), [(0, None), (OLD.updated_at_ms - SKEW - 1, None), (OLD.updated_at_ms - SKEW, Why.CAME_IN)]
)
def test_what_may_have_been_deleted_before_the_path_came_in_is_not_raised(since: int, expected: Why | None) -> None:
    bounds = Bounds(floor_ms=Millis(0), knows_all=True, carried_since_ms=Millis(since))
    found = verdict(register(), event(X, OLD), bounds)
    assert found is expected or (expected is None and isinstance(found, Outcome))
    known = register(known=version(X, OLD))
    assert isinstance(verdict(known, event(X, OLD), bounds), Outcome), "what is known was not forgotten"


def test_what_was_known_before_the_path_came_in_counts_for_nothing_until_the_store_was_read() -> None:
    unmet = Bounds(floor_ms=Millis(0), knows_all=True, met=False)
    for stamp in (OLD, LATER):
        assert verdict(register(known=version(X, OLD)), event(X, stamp), unmet) is Why.CAME_IN


def test_one_stamp_with_two_values_is_told_by_nobody() -> None:
    assert verdict(register(known=version(X, OLD)), event(Y, OLD)) is Why.TWO_VALUES


def test_a_change_that_is_held_back_here_is_not_told() -> None:
    hold = Hold(reason=HoldReason.MASS_DELETE, stamp=at(0), since_ms=Millis(NOW), detail="", local=True)
    known = register(known=version(None, at(0)), hold=hold)
    assert verdict(known, event(None, at(0))) is Why.HELD
    waiting = register(known=version(X, OLD), hold=replace(hold, local=False))
    assert isinstance(verdict(waiting, event(X, OLD)), Outcome), "only its write waits here"


def test_what_cannot_be_read_or_concerns_the_bus_itself_is_not_told() -> None:
    assert verdict(register(), event(b"{", OLD)) is Why.UNREADABLE
    assert verdict(register(), event(b'{"adminRoles":5}', OLD)) is Why.UNREADABLE
    assert verdict(register(), event(X, OLD), settings=Settings(region=HERE, bus_paths=frozenset({TENANT}))) is (
        Why.BUS_RESOURCE
    )


def test_what_is_stamped_too_far_ahead_is_not_told() -> None:
    assert verdict(register(), event(X, at(SKEW + 1, THERE))) is Why.FROM_THE_FUTURE
    assert isinstance(verdict(register(), event(X, at(SKEW, THERE))), Outcome)


def test_a_value_without_a_read_stays_out_of_the_journal_when_nothing_is_new() -> None:
    known = register(known=version(X, OLD, kept=False), stored=stored(X, OLD))
    found = verdict(known, event(X, OLD))
    assert isinstance(found, Outcome)
    assert not [act for act in found.acts if isinstance(act, Journal)]


def test_every_reason_is_said_in_words() -> None:
    assert DETAILS.keys() == set(Why)
