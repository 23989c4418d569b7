"""Steering: the way from planned to closed, what waits for whom, and every command in every phase."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from syncer.errors import IllegalTransition, PreconditionFailed
from syncer.migration.course import MigrationCommand, MigrationRun, MigrationStop, StopCode, WaveVerdict
from syncer.migration.phases import MigrationPhase, MigrationStanding
from syncer.migration.scope import MigrationScope
from syncer.migration.steering import DONE, TRIES, WAITING, StepEnd, StepKind, StepResult, after, asked, next_step
from syncer.model import Millis
from syncer.replacing import replace

SCOPE = MigrationScope(canary=("a/canary",), waves=(("a/one", "a/two"),))
WHOLE = MigrationScope(canary=("a/canary",), whole_cluster=True)
NOW = Millis(1_000)
STOP = MigrationStop(code=StopCode.NOT_MOVED, words="no", hint="see")
STOPPED = StepResult(end=StepEnd.STOPPED, stop=STOP)
GO, AUTO, PAUSE, RESUME = MigrationCommand.GO, MigrationCommand.AUTO, MigrationCommand.PAUSE, MigrationCommand.RESUME
ABORT, ROLLBACK, CLOSE = MigrationCommand.ABORT, MigrationCommand.ROLLBACK, MigrationCommand.CLOSE


def run(phase: MigrationPhase = MigrationPhase.PLANNED, wave: int = 0, **changes: Any) -> MigrationRun:
    return replace(MigrationRun(standing=MigrationStanding(phase=phase, wave=wave), since_ms=Millis(0)), **changes)


def ask(given: MigrationRun, command: MigrationCommand, scope: MigrationScope = SCOPE) -> MigrationRun:
    return asked(given, command, scope, NOW)


def taken(given: MigrationRun, scope: MigrationScope, result: StepResult = DONE) -> MigrationRun:
    return after(given, next_step(given, scope), result, NOW)


def story(given: MigrationRun, scope: MigrationScope, commands: Iterable[MigrationCommand] = ()) -> list[str]:
    """Every step until the end; where something is waited for, the next command is given."""
    met, waiting = [], iter(commands)
    while (due := next_step(given, scope)).kind is not StepKind.OVER:
        if due.kind is StepKind.WAIT:
            command = next(waiting)
            assert command in due.waits_for
            met.append(command.value)
            given = ask(given, command, scope)
        else:
            met.append(due.kind.value)
            given = taken(given, scope)
    return [*met, given.standing.phase.value]


def test_each_wave_waits_for_a_go() -> None:
    assert " ".join(story(run(), SCOPE, (GO, GO, CLOSE))) == (
        "preflight prepare guard go advance move go advance move advance drain verify advance soak close close closed"
    )


def test_the_cluster_s_own_mark_waits_for_one_too() -> None:
    assert " ".join(story(run(), WHOLE, (GO, GO, CLOSE))) == (
        "preflight prepare guard go advance move advance drain go mark-cluster verify advance soak close close closed"
    )


def test_an_automatic_run_waits_for_nobody() -> None:
    assert "go" not in story(run(auto=True), SCOPE)
    assert story(run(auto=True), WHOLE)[-1] == "closed"
    assert story(run(), SCOPE, (AUTO,))[-1] == "closed"


def test_before_a_wave_it_is_said_what_cannot_be_undone() -> None:
    due = next_step(run(MigrationPhase.GUARDED), SCOPE)
    assert "a/canary" in due.words
    assert "stay closed" in due.words
    assert due.waits_for == (GO, AUTO, ABORT)
    moving = next_step(run(MigrationPhase.WAVE, 1, moved=1), SCOPE)
    assert (moving.namespaces, moving.rollback.value) == (("a/one", "a/two"), "partly")
    assert moving.undone


def test_what_takes_long_is_looked_at_again() -> None:
    draining = run(MigrationPhase.DRAINING, moved=2, attempts=1)
    assert taken(draining, SCOPE, WAITING) == replace(draining, attempts=0)
    drained = taken(draining, SCOPE)
    assert drained.drained
    assert not taken(drained, SCOPE, StepResult(end=StepEnd.BACK)).drained


def test_a_step_is_tried_a_few_times_before_it_stops_the_run() -> None:
    moving = run(MigrationPhase.CANARY, auto=True)
    again = replace(STOPPED, again=True)
    for number in range(1, TRIES):
        moving = taken(moving, SCOPE, again)
        assert (moving.attempts, moving.stop) == (number, None)
    moving = taken(moving, SCOPE, again)
    assert moving.standing == MigrationStanding(phase=MigrationPhase.PAUSED, stopped_in=MigrationPhase.CANARY)
    assert (moving.stop, moving.attempts, moving.auto) == (STOP, 0, False)


def test_what_cannot_help_is_not_tried_again() -> None:
    assert taken(run(MigrationPhase.PREFLIGHT), SCOPE, STOPPED).standing.phase is MigrationPhase.PAUSED


def test_before_anything_was_begun_it_stays_where_it_is_until_a_go() -> None:
    stays = taken(run(), SCOPE, STOPPED)
    assert (stays.standing.phase, stays.stop) == (MigrationPhase.PLANNED, STOP)
    due = next_step(stays, SCOPE)
    assert (due.kind, due.waits_for) == (StepKind.WAIT, (GO, ABORT))
    assert ask(stays, GO) == run()


def test_a_broken_rule_fails_the_migration() -> None:
    fatal = StepResult(end=StepEnd.STOPPED, stop=replace(STOP, fatal=True))
    failed = taken(run(MigrationPhase.DRAINING, moved=2, drained=True, marked=True), SCOPE, fatal)
    assert failed.standing.phase is MigrationPhase.FAILED
    assert next_step(failed, SCOPE).waits_for == (RESUME, ROLLBACK)
    assert taken(run(MigrationPhase.ABORTING), SCOPE, STOPPED).standing.phase is MigrationPhase.FAILED
    assert taken(run(), SCOPE, fatal).standing.phase is MigrationPhase.FAILED


def test_past_a_bound_only_an_automatic_run_pauses() -> None:
    past = StepResult(end=StepEnd.DONE, stop=STOP)
    for given, phase in (
        (run(MigrationPhase.CANARY, auto=True), MigrationPhase.PAUSED),
        (run(MigrationPhase.CANARY), MigrationPhase.CANARY),
        (run(MigrationPhase.CANARY, auto=True, accepted=(STOP.code,)), MigrationPhase.CANARY),
    ):
        ended = taken(given, SCOPE, past)
        assert (ended.standing.phase, ended.moved) == (phase, 1)
    waiting = taken(run(MigrationPhase.DRAINING, auto=True), SCOPE, replace(past, end=StepEnd.WAITING))
    assert waiting.standing.phase is MigrationPhase.PAUSED


def test_verdicts_are_kept_and_what_was_refused_has_no_mark() -> None:
    moving = run(MigrationPhase.CANARY, marked=True)
    refused = taken(moving, SCOPE, replace(STOPPED, again=True, verdict=WaveVerdict(wave=0, outcome="refused")))
    assert (refused.marked, len(refused.verdicts)) == (False, 1)
    slow = WaveVerdict(wave=0, outcome="migrated", closing_s=3.5)
    moved = taken(replace(refused, marked=True), SCOPE, replace(DONE, verdict=slow))
    assert (moved.marked, moved.verdicts, moved.closing_s) == (True, (slow,), 3.5)
    second_refused = replace(STOPPED, again=True, verdict=WaveVerdict(wave=1, outcome="refused"))
    second = taken(replace(moved, standing=MigrationStanding(phase=MigrationPhase.WAVE, wave=1)), SCOPE, second_refused)
    assert (second.marked, len(second.verdicts)) == (True, 2)


def followed(phase: MigrationPhase) -> set[MigrationCommand]:
    """Commands that a run in a phase follows; nothing was marked."""
    match phase:
        case MigrationPhase.PAUSED | MigrationPhase.FAILED:
            return {RESUME, ABORT, ROLLBACK}
        case MigrationPhase.ABORTING | MigrationPhase.CLOSED | MigrationPhase.ROLLED_BACK:
            return set()
        case MigrationPhase.GUARDED:
            return {GO, AUTO, PAUSE, ABORT, ROLLBACK}
        case _:
            return {AUTO, PAUSE, ABORT, ROLLBACK}


@pytest.mark.parametrize("phase", MigrationPhase)
@pytest.mark.parametrize("command", MigrationCommand)
def test_every_command_is_followed_or_refused(phase: MigrationPhase, command: MigrationCommand) -> None:
    stopped_in = MigrationPhase.WAVE if phase in {"paused", "failed"} else None
    given = replace(run(phase, 1, moved=1), standing=MigrationStanding(phase=phase, wave=1, stopped_in=stopped_in))
    if stopped_in is not None:
        given = replace(given, stop=STOP)
    if command in followed(phase):
        assert ask(given, command) != given
    else:
        with pytest.raises((IllegalTransition, PreconditionFailed)):
            ask(given, command)


def test_a_go_without_anything_that_waits_is_refused() -> None:
    with pytest.raises(IllegalTransition, match="nothing waits"):
        ask(run(), GO)
    with pytest.raises(IllegalTransition, match="paused"):
        ask(ask(run(MigrationPhase.WAVE, 1), PAUSE), GO)
    for phase in (MigrationPhase.ABORTING, MigrationPhase.CLOSED):
        with pytest.raises(IllegalTransition):
            ask(run(phase), AUTO)


def test_a_pause_ends_an_automatic_run_and_a_resume_accepts_what_it_was_for() -> None:
    paused = ask(run(MigrationPhase.WAVE, 1, moved=1, auto=True), PAUSE)
    assert (paused.standing.phase, paused.auto) == (MigrationPhase.PAUSED, False)
    resumed = ask(paused, RESUME)
    assert (resumed.standing.phase, resumed.stop, resumed.accepted) == (MigrationPhase.WAVE, None, (StopCode.ASKED,))
    assert ask(replace(paused, stop=None), RESUME).accepted == ()


def test_an_abort_is_for_what_was_never_marked() -> None:
    assert ask(run(MigrationPhase.GUARDED), ABORT).standing.phase is MigrationPhase.ABORTING
    marked = run(MigrationPhase.WAVE, 1, marked=True)
    with pytest.raises(PreconditionFailed, match="were marked"):
        ask(marked, ABORT)
    assert story(ask(marked, ROLLBACK), SCOPE) == ["undo", "rolled-back"]


def test_it_is_closed_when_the_soak_is_over() -> None:
    with pytest.raises(IllegalTransition, match="cannot be closed"):
        ask(run(MigrationPhase.DRAINING), CLOSE)
    with pytest.raises(PreconditionFailed, match="soak is not over"):
        ask(run(MigrationPhase.SOAKING), CLOSE)
    assert ask(run(MigrationPhase.SOAKING, soaked=True), CLOSE).closing
