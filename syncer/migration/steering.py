"""Steering a migration: which step is next, what it waits for, and what an operator's commands do to it.

    phase       the step that it takes                          what lets it begin
    planned     checks of blue and green                        at once
    preflight   green is prepared                               at once
    prepared    blue is guarded                                 at once
    guarded     -                                               go, or auto
    canary      its namespaces are moved                        at once; then go, or auto
    wave        the same                                        the same
    draining    until nothing is left at blue                   at once
                the cluster's own mark, where the plan has it   go, or auto
                everything is verified                          at once
    verified    -                                               at once
    soaking     until its time is over                          then close, or auto
    aborting    what can be put back is put back                at once

Phases change by the one table in :mod:`~syncer.migration.phases` alone. A step is taken whole: pauses lie between
steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncer.errors import IllegalTransition, PreconditionFailed
from syncer.migration.course import MigrationCommand, MigrationRun, MigrationStop, StopCode, WaveVerdict
from syncer.migration.phases import ENDED, MigrationPhase, Trigger, step
from syncer.migration.scope import MigrationScope
from syncer.migration.topics import Rollback
from syncer.model import Millis
from syncer.replacing import replace

TRIES: Final = 3
"""How often a step is tried before it stops the migration."""
_STAYS: Final = "ledgers that are closed stay closed: clients come back only by a migration the other way"


class StepKind(StrEnum):
    """Steps of a migration."""

    PREFLIGHT = "preflight"
    PREPARE = "prepare"
    GUARD = "guard"
    MOVE = "move"
    DRAIN = "drain"
    MARK_CLUSTER = "mark-cluster"
    VERIFY = "verify"
    SOAK = "soak"
    CLOSE = "close"
    UNDO = "undo"
    ADVANCE = "advance"
    """Only the phase changes."""
    WAIT = "wait"
    OVER = "over"


class StepEnd(StrEnum):
    """How a step has ended."""

    DONE = "done"
    WAITING = "waiting"
    """It is not done yet, and is taken again after a while."""
    STOPPED = "stopped"
    """It cannot be done, or not now."""
    BACK = "back"
    """What was drained has turned out not to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueStep:
    """The step that is due.

    Attributes:
        words: What it does, or what is waited for.
        namespaces: Whose clients it moves.
        trigger: The transition that it ends with.
        rollback: Whether it can be taken back.
        undone: What of it cannot, in words; empty: all can.
        waits_for: Commands that end the wait.
    """

    kind: StepKind
    words: str
    namespaces: tuple[str, ...] = ()
    trigger: Trigger | None = None
    rollback: Rollback = Rollback.YES
    undone: str = ""
    waits_for: tuple[MigrationCommand, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """How a step has ended, and what of it counts for the next one.

    Attributes:
        stop: Why it has stopped, or why an automatic run stops after it.
        again: Whether it may help to try again.
        verdict: On the wave that was moved.
    """

    end: StepEnd
    stop: MigrationStop | None = None
    again: bool = False
    verdict: WaveVerdict | None = None


DONE: Final = StepResult(end=StepEnd.DONE)
WAITING: Final = StepResult(end=StepEnd.WAITING)


def steps_of(scope: MigrationScope) -> tuple[tuple[str, ...], ...]:
    """The namespaces of each step: of the canary, and of each wave."""
    return (scope.canary, *scope.waves)


def next_step(run: MigrationRun, scope: MigrationScope) -> DueStep:
    """The step that is due, or what is waited for."""
    phase = run.standing.phase
    if phase in ENDED:
        return DueStep(kind=StepKind.OVER, words=f"the migration is {phase}")
    if phase is MigrationPhase.ABORTING:
        return DueStep(kind=StepKind.UNDO, words="put back what can be put back", trigger=Trigger.UNDONE)
    if run.stop is not None:
        waits_for = (MigrationCommand.RESUME,) if run.standing.stopped_in is not None else (MigrationCommand.GO,)
        return _wait(f"stopped ({run.stop.code}): {run.stop.words}", *waits_for, *_ways_back(run))
    match phase:
        case MigrationPhase.PLANNED:
            return DueStep(kind=StepKind.PREFLIGHT, words="check blue and green", trigger=Trigger.CHECK)
        case MigrationPhase.PREFLIGHT:
            return DueStep(kind=StepKind.PREPARE, words="prepare green", trigger=Trigger.PREPARE)
        case MigrationPhase.PREPARED:
            return DueStep(kind=StepKind.GUARD, words="guard blue", trigger=Trigger.GUARD)
        case MigrationPhase.GUARDED | MigrationPhase.CANARY | MigrationPhase.WAVE:
            return _moving(run, scope)
        case MigrationPhase.DRAINING:
            return _draining(run, scope)
        case MigrationPhase.VERIFIED:
            return DueStep(kind=StepKind.ADVANCE, words="let it soak", trigger=Trigger.SOAK)
        case _:
            return _soaking(run)


def _moving(run: MigrationRun, scope: MigrationScope) -> DueStep:
    steps = steps_of(scope)
    begun = run.standing.phase is not MigrationPhase.GUARDED
    number = run.standing.wave
    if begun and run.moved <= number:
        return DueStep(
            kind=StepKind.MOVE,
            words=f"move the clients of {', '.join(steps[number])}",
            namespaces=steps[number],
            rollback=Rollback.PARTLY,
            undone=_STAYS,
        )
    due = number + 1 if begun else 0
    if due == len(steps):
        return DueStep(kind=StepKind.ADVANCE, words="drain what is left at blue", trigger=Trigger.LAST)
    if run.go or run.auto:
        return DueStep(kind=StepKind.ADVANCE, words=f"begin {_name(due)}", trigger=Trigger.GO)
    words = f"{_name(due)} waits for a go: it moves the clients of {', '.join(steps[due])}; {_STAYS}"
    return _wait(words, MigrationCommand.GO, MigrationCommand.AUTO, *_ways_back(run))


def _draining(run: MigrationRun, scope: MigrationScope) -> DueStep:
    if not run.drained:
        return DueStep(kind=StepKind.DRAIN, words="wait until nothing is left at blue")
    if not scope.whole_cluster or run.cluster_marked:
        return DueStep(kind=StepKind.VERIFY, words="verify that nothing stayed behind", trigger=Trigger.VERIFY)
    if run.go or run.auto:
        return DueStep(kind=StepKind.MARK_CLUSTER, words="set the cluster's own mark", rollback=Rollback.PARTLY)
    words = "the cluster's own mark waits for a go: from then on blue loads no topic any more"
    return _wait(words, MigrationCommand.GO, MigrationCommand.AUTO, *_ways_back(run))


def _soaking(run: MigrationRun) -> DueStep:
    if not run.soaked:
        return DueStep(kind=StepKind.SOAK, words="blue answers who comes with its old address")
    if run.closing or run.auto:
        words = "close: what was set for the migration is set back"
        return DueStep(kind=StepKind.CLOSE, words=words, trigger=Trigger.CLOSE)
    return _wait("the soak is over: it waits to be closed", MigrationCommand.CLOSE, *_ways_back(run))


def _wait(words: str, *waits_for: MigrationCommand) -> DueStep:
    return DueStep(kind=StepKind.WAIT, words=words, waits_for=waits_for)


def _ways_back(run: MigrationRun) -> tuple[MigrationCommand, ...]:
    return (MigrationCommand.ROLLBACK,) if run.marked else (MigrationCommand.ABORT,)


def _name(number: int) -> str:
    return f"wave {number}" if number else "the canary"


# What comes of a step


def after(run: MigrationRun, taken: DueStep, result: StepResult, now_ms: Millis) -> MigrationRun:
    """The run when a step of it has ended."""
    if result.verdict is not None:
        others = (each for each in run.verdicts if each.wave != result.verdict.wave)
        untouched = run.moved == 0 and result.verdict.nothing_marked
        run = replace(run, verdicts=(*others, result.verdict), marked=run.marked and not untouched)
    if result.end is StepEnd.STOPPED and result.stop is not None:
        if result.again and run.attempts + 1 < TRIES:
            return replace(run, attempts=run.attempts + 1)
        return stopped(run, result.stop, now_ms)
    if result.end is StepEnd.DONE:
        ended = _done(run, taken, now_ms)
    else:
        ended = replace(run, attempts=0, drained=run.drained and result.end is not StepEnd.BACK)
    if result.stop is not None and run.auto and result.stop.code not in run.accepted:
        return stopped(ended, result.stop, now_ms)
    return ended


def _done(run: MigrationRun, taken: DueStep, now_ms: Millis) -> MigrationRun:
    run = replace(run, attempts=0, accepted=())
    match taken.kind:
        case StepKind.MOVE:
            took_s = max((each.closing_s or 0.0 for each in run.verdicts), default=0.0)
            run = replace(run, moved=run.standing.wave + 1, closing_s=max(run.closing_s, took_s))
        case StepKind.DRAIN:
            run = replace(run, drained=True)
        case StepKind.MARK_CLUSTER:
            run = replace(run, cluster_marked=True, go=False)
        case StepKind.SOAK:
            run = replace(run, soaked=True)
        case _:
            pass
    if taken.trigger is None:
        return run
    return replace(run, standing=step(run.standing, taken.trigger), since_ms=now_ms, go=False)


def stopped(run: MigrationRun, stop: MigrationStop, now_ms: Millis) -> MigrationRun:
    """The run when something has stopped it: paused, failed, or, where nothing was begun yet, where it is."""
    phase, auto = run.standing.phase, False
    if phase is MigrationPhase.PLANNED and not stop.fatal:
        return replace(run, stop=stop, go=False, auto=auto, attempts=0)
    trigger = Trigger.FAIL if stop.fatal or phase is MigrationPhase.ABORTING else Trigger.PAUSE
    standing = step(run.standing, trigger)
    return replace(run, standing=standing, stop=stop, since_ms=now_ms, go=False, auto=auto, attempts=0)


# What an operator asks


def asked(run: MigrationRun, command: MigrationCommand, scope: MigrationScope, now_ms: Millis) -> MigrationRun:
    """The run when it follows a command.

    Raises:
        IllegalTransition: It has nothing to follow it with; nothing is changed.
        PreconditionFailed: It may not follow it now.
    """
    match command:
        case MigrationCommand.GO | MigrationCommand.AUTO:
            return _let_go(run, command, scope)
        case MigrationCommand.PAUSE:
            stop = MigrationStop(
                code=StopCode.ASKED, words="an operator has paused it", hint="Resume it when it suits."
            )
            standing = step(run.standing, Trigger.PAUSE)
            return replace(run, standing=standing, stop=stop, since_ms=now_ms, go=False, auto=False)
        case MigrationCommand.RESUME:
            standing = step(run.standing, Trigger.RESUME)
            codes = (run.stop.code,) if run.stop is not None else ()
            return replace(run, standing=standing, stop=None, since_ms=now_ms, accepted=(*run.accepted, *codes))
        case MigrationCommand.ABORT | MigrationCommand.ROLLBACK:
            if command is MigrationCommand.ABORT and run.marked:
                raise PreconditionFailed(
                    "namespaces were marked: an abort could not put everything back",
                    hint="Ask for a rollback; it says first what it cannot undo.",
                )
            return replace(run, standing=step(run.standing, Trigger.ABORT), stop=None, since_ms=now_ms, go=False)
        case _:
            if run.standing.phase is not MigrationPhase.SOAKING:
                raise IllegalTransition(f"a migration that is {run.standing.phase} cannot be closed")
            if not run.soaked:
                raise PreconditionFailed(
                    "clients may still come to blue with its old address: the soak is not over",
                    hint="See in the status how long it lasts.",
                )
            return replace(run, closing=True)


def _let_go(run: MigrationRun, command: MigrationCommand, scope: MigrationScope) -> MigrationRun:
    due = next_step(run, scope)
    waits = MigrationCommand.GO in due.waits_for
    if run.standing.stopped_in is not None or due.kind is StepKind.OVER or due.kind is StepKind.UNDO:
        raise IllegalTransition(
            f"a migration that is {run.standing.phase} has no {command!r}", hint="Where it is paused, resume it first."
        )
    if command is MigrationCommand.GO and not waits:
        raise IllegalTransition("nothing waits for a go", hint="See in the status what it does now.")
    go = waits and run.stop is None
    return replace(run, go=go, auto=run.auto or command is MigrationCommand.AUTO, stop=None)
