"""Phases of a migration: the one table, and the way through it."""

from __future__ import annotations

import pytest

from syncer.errors import IllegalTransition
from syncer.migration.phases import ENDED, TRANSITIONS, MigrationPhase, MigrationStanding, Trigger, step

WHOLE = (
    Trigger.CHECK,
    Trigger.PREPARE,
    Trigger.GUARD,
    Trigger.GO,
    Trigger.GO,
    Trigger.GO,
    Trigger.LAST,
    Trigger.VERIFY,
    Trigger.SOAK,
    Trigger.CLOSE,
)


def test_a_migration_goes_from_planned_to_closed() -> None:
    standing, met = MigrationStanding(), [MigrationPhase.PLANNED]
    for trigger in WHOLE:
        standing = step(standing, trigger)
        met.append(standing.phase)
    assert met == [
        MigrationPhase.PLANNED,
        MigrationPhase.PREFLIGHT,
        MigrationPhase.PREPARED,
        MigrationPhase.GUARDED,
        MigrationPhase.CANARY,
        MigrationPhase.WAVE,
        MigrationPhase.WAVE,
        MigrationPhase.DRAINING,
        MigrationPhase.VERIFIED,
        MigrationPhase.SOAKING,
        MigrationPhase.CLOSED,
    ]
    assert standing.wave == 2


def test_a_plan_of_a_canary_alone_has_no_wave() -> None:
    standing = MigrationStanding(phase=MigrationPhase.CANARY)
    assert step(standing, Trigger.LAST) == MigrationStanding(phase=MigrationPhase.DRAINING)


@pytest.mark.parametrize("phase", [each for each, trigger in TRANSITIONS if trigger is Trigger.PAUSE])
def test_what_was_paused_goes_on_where_it_stood(phase: MigrationPhase) -> None:
    standing = MigrationStanding(phase=phase, wave=3)
    paused = step(standing, Trigger.PAUSE)
    assert (paused.phase, paused.stopped_in, paused.wave) == (MigrationPhase.PAUSED, phase, 3)
    assert step(paused, Trigger.RESUME) == standing


@pytest.mark.parametrize("phase", [each for each, trigger in TRANSITIONS if trigger is Trigger.FAIL])
def test_what_has_failed_is_tried_again_or_aborted(phase: MigrationPhase) -> None:
    failed = step(MigrationStanding(phase=phase, wave=1), Trigger.FAIL)
    assert failed.phase is MigrationPhase.FAILED
    assert step(failed, Trigger.RESUME) == MigrationStanding(phase=phase, wave=1)
    aborting = step(failed, Trigger.ABORT)
    assert step(aborting, Trigger.UNDONE) == MigrationStanding(phase=MigrationPhase.ROLLED_BACK, wave=1)


@pytest.mark.parametrize("phase", MigrationPhase)
@pytest.mark.parametrize("trigger", Trigger)
def test_what_the_table_does_not_have_changes_nothing(phase: MigrationPhase, trigger: Trigger) -> None:
    standing = MigrationStanding(phase=phase, stopped_in=MigrationPhase.WAVE)
    if (phase, trigger) in TRANSITIONS:
        assert step(standing, trigger).phase in MigrationPhase
        return
    with pytest.raises(IllegalTransition, match=f"{phase}.*{trigger}"):
        step(standing, trigger)


def test_nothing_leaves_what_has_ended_and_all_else_can_be_left() -> None:
    assert {phase for phase, _ in TRANSITIONS} == set(MigrationPhase) - ENDED


def test_every_phase_that_has_not_ended_can_be_aborted() -> None:
    assert {phase for phase, trigger in TRANSITIONS if trigger is Trigger.ABORT} == set(MigrationPhase) - ENDED - {
        MigrationPhase.ABORTING
    }


def test_a_paused_one_that_does_not_say_where_is_not_resumed() -> None:
    with pytest.raises(IllegalTransition, match="in which phase"):
        step(MigrationStanding(phase=MigrationPhase.PAUSED), Trigger.RESUME)
