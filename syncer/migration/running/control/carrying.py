"""Carrying out the steps of a migration: each can be taken again at any time, and says how it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from syncer.admin.calls import AdminCalls
from syncer.migration.brake import FlipTiming
from syncer.migration.checks import Result, passed
from syncer.migration.checks.brokers import slowest_period_s
from syncer.migration.checks.finding import CheckStage
from syncer.migration.course import MigrationRun, MigrationStop, StopCode, shown
from syncer.migration.running.control.beginning import WINDOW_S, Beginning, blocked, marking_of
from syncer.migration.running.control.finishing import Finishing
from syncer.migration.running.control.moving import Moving, not_moved
from syncer.migration.running.control.tallying import Tally
from syncer.migration.running.control.task import MigrationTask
from syncer.migration.running.control.undoing import Undoable
from syncer.migration.running.control.verifying import Verifying
from syncer.migration.running.control.watching import Watched, Watching, deadlock_of
from syncer.migration.running.flip import Flip
from syncer.migration.running.healing import Healing
from syncer.migration.running.insisting import insist
from syncer.migration.running.looking import Looking
from syncer.migration.running.report import FlipOutcome
from syncer.migration.running.rolls import Rolls
from syncer.migration.steering import DONE, WAITING, StepEnd, StepKind, StepResult, steps_of

_WHOLE: Final = ("whole-cluster", "own-bus")
"""Checks that the cluster's own mark depends on."""
_GIVEN: Final = 10
"""How often a wave is given what green lacks of it, while clients make topics: each time it may be others."""


class Carrying:
    """Takes the steps of one migration."""

    def __init__(self, task: MigrationTask) -> None:
        plan, blue, green, clock, journal = task.plan, task.blue, task.green, task.clock, task.journal
        self._plan = plan
        self._namespaces = plan.scope.namespaces
        self._blue: AdminCalls = blue.calls
        self._green: AdminCalls = green.calls
        self._target = green.urls
        self._clock = clock
        self._journal = journal
        self._survey = task.survey
        self._claim = task.claim
        self._tell = task.tell
        here, there = Looking(blue.calls, clock), Looking(green.calls, clock)
        self._marking = marking_of(blue.calls, clock, journal)
        self._moving = Moving(blue.calls, green.calls, plan.green.name, clock, journal, plan.bounds)
        self._healing = Healing(blue.calls, clock, journal, here, self._marking, window_s=WINDOW_S)
        self._watch = Watching(task.examination, clock, self._healing)
        tally = Tally(here, there, clock, journal)
        self._verifying = Verifying(here, there, journal, self._watch, Rolls(here, there, clock, journal), tally)
        self._beginning = Beginning(task)
        self._finishing = Finishing(task, self._watch)
        self._period_s: float | None = None

    @property
    def blocking(self) -> tuple[Result, ...]:
        """Checks of the last preflight that do not hold."""
        return self._beginning.blocking

    @property
    def watched(self) -> Watched:
        """What was seen of blue last."""
        return self._watch.last

    @property
    def undoable(self) -> tuple[Undoable, ...]:
        """What was said last of what can be taken back."""
        return self._finishing.undoable

    async def foresee_undo(self) -> tuple[Undoable, ...]:
        """Say what can be taken back."""
        return await self._finishing.foresee_undo()

    async def watch(self, run: MigrationRun, namespaces: Iterable[str]) -> Watched:
        """Look once at namespaces that were marked; what is ill is healed."""
        self._learn(run)
        found = await self._watch.look(tuple(namespaces))
        if found.read or found.emptied:
            await self._tell("drained", topics=list(found.read), subscriptions=[list(each) for each in found.emptied])
        return found

    async def take(self, kind: StepKind, run: MigrationRun, halt: Callable[[], bool]) -> StepResult:
        """Take a step once.

        Args:
            kind: Which one.
            run: The run as it is.
            halt: Whether an operator has asked for something else: a long step ends early then.

        Raises:
            SyncerError: It could not be taken.
        """
        self._learn(run)
        match kind:
            case StepKind.PREFLIGHT:
                return await self._beginning.preflight()
            case StepKind.PREPARE:
                return await self._beginning.prepare(halt)
            case StepKind.GUARD:
                return await self._beginning.guard()
            case StepKind.MOVE:
                return await self._move_wave(run)
            case StepKind.DRAIN:
                return await self._drain(run)
            case StepKind.MARK_CLUSTER:
                return await self._mark_cluster()
            case StepKind.VERIFY:
                if not all([await self._marking.is_marked(each) for each in self._namespaces]):
                    return StepResult(end=StepEnd.BACK)
                return await self._verifying.verify(
                    self._namespaces, missing=self._plan.bounds.missing_clients, accepted=run.accepted
                )
            case StepKind.SOAK:
                return await self._mark_missing(run) or await self._finishing.soak(run)
            case StepKind.CLOSE:
                return await self._mark_missing(run) or await self._finishing.close()
            case _:
                return await self._finishing.undo(run, lambda names: self._move(run, run.standing.wave, names))

    async def _move_wave(self, run: MigrationRun) -> StepResult:
        """Move the wave that was begun; what green has come to lack is prepared first."""
        wave = run.standing.wave
        namespaces = steps_of(self._plan.scope)[wave]
        await self._claim.take(namespaces)
        return await self._move(run, wave, namespaces)

    async def _drain(self, run: MigrationRun) -> StepResult:
        """Look once whether nothing is left at blue; what is open there again is moved again."""
        moved = await self._mark_missing(run)
        if moved is not None:
            return moved
        watched = await self.watch(run, self._namespaces)
        if watched.drained:
            return DONE
        if deadlock := deadlock_of(watched):
            return deadlock
        if self._clock.now_ms() - run.since_ms <= self._plan.bounds.drain_s * 1000:
            return WAITING
        left = {f"{each.topic}, {each.subscription}": each for each in watched.drains}
        words = f"{shown({**left, **watched.to_send}) or shown(watched.states)} have yet to be read"
        hint = "See in the status who holds it up; start that consumer, or skip its backlog."
        return StepResult(end=StepEnd.WAITING, stop=MigrationStop(code=StopCode.DRAIN, words=words, hint=hint))

    async def _mark_missing(self, run: MigrationRun) -> StepResult | None:
        """Move what is open at blue again; answers why it cannot be moved.

        That is a namespace whose mark somebody took off, or one in which a topic was opened by being healed.
        """
        for wave, namespaces in enumerate(steps_of(self._plan.scope)):
            open_ones = [each for each in namespaces if not await self._marking.is_marked(each)]
            if not open_ones:
                continue
            watched = await self.watch(run, open_ones)
            if deadlock := deadlock_of(watched):
                return deadlock
            healing = watched.healing
            if gone := [each for each in open_ones if each not in healing or not await self._healing.unread([each])]:
                await self._tell("mark-missing", namespaces=gone)
                moved = await self._move(run, wave, gone)
                if moved.end is StepEnd.STOPPED:
                    return moved
        return None

    async def _mark_cluster(self) -> StepResult:
        """Set the cluster's own mark, once nothing is left that it would harm."""
        results = [each for each in await self._survey.findings(CheckStage.BEFORE) if each.check.name in _WHOLE]
        if not passed(results):
            return StepResult(end=StepEnd.STOPPED, stop=blocked(results))
        if left := await self._survey.left_out():
            words = f"{shown(left)} have topics, whose clients would be sent away while they publish"
            hint = "Move them by a plan of their own first, or delete what nobody uses."
            return StepResult(end=StepEnd.STOPPED, stop=MigrationStop(code=StopCode.NOT_ALL, words=words, hint=hint))
        name, target = self._plan.blue.name, self._target.named
        await insist(self._clock, lambda: self._blue.set_migration_mark(name, target, migrated=True))
        return DONE

    async def _move(self, run: MigrationRun, wave: int, namespaces: Iterable[str]) -> StepResult:
        names = tuple(namespaces)
        flip = await self._flip(run)
        verdict = await self._moving.move(flip, wave, names, accepted=run.accepted)
        for _ in range(_GIVEN):
            if not self._moving.lacking:
                break
            await self._beginning.give(names, lambda: False, only=self._moving.lacking)
            verdict = await self._moving.move(flip, wave, names, accepted=run.accepted)
        self._watch.pass_over(self._moving.left)
        if verdict.outcome != FlipOutcome.MIGRATED:
            return StepResult(end=StepEnd.STOPPED, stop=not_moved(verdict), again=True, verdict=verdict)
        return StepResult(end=StepEnd.DONE, stop=verdict.past(self._plan.bounds), verdict=verdict)

    def _learn(self, run: MigrationRun) -> None:
        """Take no ledger for fenced sooner than the slowest wave of this migration took to be closed."""
        self._healing.window_s = max(WINDOW_S, run.closing_s)

    async def _flip(self, run: MigrationRun) -> Flip:
        """By the slowest broker's period, and the longest window that was seen in this migration.

        Where a wave could not be moved by that and an operator resumes, what was seen counts no more: a broker that was
        started anew just then, or a call that hung, may have made it look longer than it is.
        """
        if self._period_s is None:
            brokers = await insist(self._clock, partial(self._blue.brokers, self._plan.blue.name))
            told = [await insist(self._clock, self._blue.at(each).configuration) for each in brokers]
            self._period_s = slowest_period_s(told)
        seen_s = 0.0 if StopCode.NOT_MOVED in run.accepted else run.closing_s - self._period_s
        window_s = max(WINDOW_S, seen_s)
        timing = FlipTiming(check_period_s=self._period_s, window_s=window_s)
        return Flip(self._blue, self._green, self._clock, self._journal, timing)
