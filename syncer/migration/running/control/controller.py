"""The controller: it carries one migration from planned to closed, or back.

    load the record ─▶ follow what operators ask ─▶ the step that is due ─▶ take it ─▶ save, and note ─▶ again

What is due is decided by :mod:`syncer.migration.steering`; every step can be taken again, so that a controller that
was killed at any moment is made anew with the same journal and record, and goes on: what the clusters show counts, and
what the journal has left is put back first. A step that fails is tried again a few times, then the migration is paused
with a code and a hint; credentials that are not taken pause it at once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import anyio

from syncer.admin.calls import AdminRefused
from syncer.errors import AdminDenied, AdminError, NotFound, PlanError, PreconditionFailed, SyncerError
from syncer.migration.broker_health import BrokerHealth, blamed, may_blame
from syncer.migration.checks import Result
from syncer.migration.course import MigrationAsk, MigrationCommand, MigrationRun, MigrationStop
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.reading.addresses import dead_addresses
from syncer.migration.reading.pair import MigrationSide
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.calls import RecordedCalls
from syncer.migration.running.control.carrying import Carrying
from syncer.migration.running.control.claiming import Claim
from syncer.migration.running.control.examining import BrokerExamination
from syncer.migration.running.control.record import MigrationRecord
from syncer.migration.running.control.surveying import Probe, Survey
from syncer.migration.running.control.task import MigrationTask
from syncer.migration.running.control.undoing import Undoable
from syncer.migration.running.control.watching import Watched
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.steering import DueStep, StepEnd, StepKind, StepResult, after, asked, next_step
from syncer.migration.topics import Rollback
from syncer.model import Millis
from syncer.replacing import replace

POLL_S: Final = 1.0
"""How soon a command is followed where nothing is being done."""
_WATCH_S: Final = 10
"""Between looks at what is marked, while something is waited for."""
_AGAIN_S: Final = {StepKind.DRAIN: 2, StepKind.SOAK: 15, StepKind.UNDO: 2}
_AFTER_FAILURE_S: Final = 5
_DENIED: Final = frozenset({401, 403})
_HALTS: Final = frozenset({MigrationCommand.PAUSE, MigrationCommand.ABORT, MigrationCommand.ROLLBACK})


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationState:
    """A running migration, as an operator sees it.

    Attributes:
        run: How far it is, its stop and its verdicts.
        due: What it does, or waits for.
        blocking: Checks of the last preflight that do not hold.
        watched: What was seen of blue last.
        undoable: What was said last of what can be taken back.
        ill: Brokers of both clusters that were not well when they were asked last.
        turned_ms: When something was noted last, or it was seen that something is waited for.
    """

    run: MigrationRun
    due: DueStep
    blocking: tuple[Result, ...]
    watched: Watched
    undoable: tuple[Undoable, ...]
    ill: tuple[BrokerHealth, ...]
    turned_ms: Millis


class Controller:
    """Carries one migration out.

    ``run()`` returns when the migration is closed or rolled back; it is cancelled at any time, and run anew by another
    controller with the same journal and record. ``ask()`` is called beside it, by whoever an operator speaks to.
    ``status()`` tells what was seen last, and asks nobody.
    """

    def __init__(
        self,
        plan: MigrationPlan,
        blue: MigrationSide,
        green: MigrationSide,
        clock: Clock,
        journal: MigrationJournal,
        record: MigrationRecord,
        *,
        own_topics: frozenset[str] = frozenset(),
        probe: Probe = dead_addresses,
    ) -> None:
        """Make a controller; nothing is asked yet.

        Args:
            plan: What an operator has approved.
            blue: The cluster that is left.
            green: The cluster that clients go to.
            clock: The time, and waiting.
            journal: Former values and events of this migration.
            record: How far it is, and its id.
            own_topics: Of the daemons' own bus.
            probe: Asks whether somebody answers at green's addresses.
        """
        self._plan = plan
        self._clock = clock
        self._journal = journal
        self._record = record
        self._examinations = {
            cluster: BrokerExamination(cluster, planned.name, side.calls, clock, self._tell)
            for cluster, planned, side in (("blue", plan.blue, blue), ("green", plan.green, green))
        }
        self._calls = {
            cluster: RecordedCalls(side.calls, clock, self._examinations[cluster].waited_in_vain)
            for cluster, side in (("blue", blue), ("green", green))
        }
        here, there = replace(blue, calls=self._calls["blue"]), replace(green, calls=self._calls["green"])
        survey = Survey(plan, here, there, clock, own_topics=own_topics, probe=probe, claim=record.migration)
        claim = Claim({blue.table: here.calls, green.table: there.calls}, clock, record.migration)
        self._carrying = Carrying(
            MigrationTask(
                plan=plan,
                blue=here,
                green=there,
                clock=clock,
                journal=journal,
                survey=survey,
                claim=claim,
                examination=self._examinations["blue"],
                tell=self._tell,
            )
        )
        self._run: MigrationRun | None = None
        self._saving = anyio.Lock()
        self._told: tuple[StepKind, int] | None = None
        self._looked_ms = 0
        self._turned_ms = clock.now_ms()

    def status(self) -> MigrationState:
        """The migration as it was seen last.

        Raises:
            PreconditionFailed: It was not loaded yet.
        """
        run = self._loaded()
        carrying = self._carrying
        return MigrationState(
            run=run,
            due=next_step(run, self._plan.scope),
            blocking=carrying.blocking,
            watched=carrying.watched,
            undoable=carrying.undoable,
            ill=self._ill(),
            turned_ms=self._turned_ms,
        )

    async def ask(self, command: MigrationCommand, who: str, why: str) -> tuple[Undoable, ...]:
        """Give a command; it is kept, and followed between two steps.

        Returns:
            Of a rollback, what of each namespace can be taken back, and what cannot.

        Raises:
            IllegalTransition: The migration has nothing to follow it with.
            PreconditionFailed: It may not follow it now.
            AdminError: What can be taken back could not be read.
        """
        run, now_ms = self._loaded(), self._clock.now_ms()
        for each in run.asked:
            run = asked(run, each.command, self._plan.scope, now_ms)
        asked(run, command, self._plan.scope, now_ms)
        found: tuple[Undoable, ...] = ()
        if command is MigrationCommand.ROLLBACK:
            found = await self._carrying.foresee_undo()
            if all(each.rollback is Rollback.NO for each in found):
                raise PreconditionFailed(
                    "nothing can be taken back any more: green holds messages of every namespace that blue lacks",
                    hint="Go on, or move the clients back by a plan of its own, from green to blue.",
                )
        given = MigrationAsk(command=command, who=who, why=why, at_ms=now_ms)
        await self._tell("asked", command=command.value, who=who, why=why)
        run = self._loaded()
        await self._save(replace(run, asked=(*run.asked, given)))
        return found

    async def foresee_undo(self) -> tuple[Undoable, ...]:
        """Say of each namespace what a rollback could take back; nothing is set.

        Raises:
            AdminError: It could not be read.
        """
        return await self._carrying.foresee_undo()

    async def load(self) -> None:
        """Take up what is recorded, so that commands can be given before ``run()``.

        Raises:
            StateError: The record cannot be read.
        """
        if self._run is None:
            self._run = await self._record.load()
        if self._run is None:
            await self._save(MigrationRun(since_ms=self._clock.now_ms()))

    async def run(self) -> None:
        """Carry the migration on until it has ended.

        Raises:
            StateError: The journal or the record cannot be written: nothing is done that could not be kept.
        """
        await self.load()
        while True:
            self._turned_ms = self._clock.now_ms()
            await self._follow()
            for each in self._examinations.values():
                await each.follow()
            due = next_step(self._loaded(), self._plan.scope)
            match due.kind:
                case StepKind.OVER:
                    return
                case StepKind.WAIT:
                    await self._wait()
                case StepKind.ADVANCE:
                    await self._ended(due, StepResult(end=StepEnd.DONE))
                case _:
                    await self._take(due)

    # Commands

    async def _follow(self) -> None:
        """Follow what was asked; what can no longer be followed is noted."""
        while asks := self._loaded().asked:
            run, refused = self._loaded(), ""
            try:
                run = asked(run, asks[0].command, self._plan.scope, self._clock.now_ms())
            except SyncerError as error:
                refused = error.message
            await self._save(replace(run, asked=asks[1:]))
            if refused:
                await self._tell("not-followed", command=asks[0].command.value, why=refused)

    def _halted(self) -> bool:
        return any(each.command in _HALTS for each in self._loaded().asked)

    async def _wait(self) -> None:
        """Wait a little; what is marked is looked after meanwhile."""
        if self._loaded().marked and self._clock.now_ms() - self._looked_ms >= _WATCH_S * 1000:
            try:
                await self._carrying.watch(self._loaded(), self._begun())
            except AdminError as error:
                await self._tell("not-watched", why=error.message)
            await self._flush("watch")
            self._looked_ms = self._clock.now_ms()
        await self._clock.sleep(POLL_S)

    async def _sleep(self, seconds: int) -> None:
        for _ in range(seconds):
            if self._loaded().asked:
                return
            await self._clock.sleep(POLL_S)

    # Steps

    async def _take(self, due: DueStep) -> None:
        run = self._loaded()
        if self._told != (due.kind, run.standing.wave):
            self._told = (due.kind, run.standing.wave)
            await self._tell("step-begins", step=due.kind.value, words=due.words, wave=run.standing.wave)
        if due.kind is StepKind.MOVE and not run.marked:
            await self._save(replace(self._loaded(), marked=True))
        result = await self._outcome(due)
        await self._flush(due.kind.value)
        await self._ended(due, result)
        if result.end is StepEnd.STOPPED:
            await self._sleep(_AFTER_FAILURE_S)
        elif result.end is StepEnd.WAITING:
            await self._sleep(_AGAIN_S.get(due.kind, 1))

    async def _outcome(self, due: DueStep) -> StepResult:
        for calls in self._calls.values():
            calls.denied.clear()
        try:
            result = await self._carrying.take(due.kind, self._loaded(), self._halted)
        except (AdminError, NotFound, PlanError, PreconditionFailed) as error:
            stop = MigrationStop(code=_code(error), words=error.message, hint=error.hint)
            result = StepResult(end=StepEnd.STOPPED, stop=stop, again=isinstance(error, AdminError))
        denied = [each for calls in self._calls.values() for each in calls.denied]
        if result.end is StepEnd.STOPPED and denied:
            stop = MigrationStop(code=AdminDenied.code, words=denied[0].message, hint=AdminDenied.default_hint)
            return replace(result, stop=stop, again=False)
        if may_blame(result):
            for each in self._examinations.values():
                await each.look()
        return blamed(result, self._ill())

    def _ill(self) -> tuple[BrokerHealth, ...]:
        return tuple(health for each in self._examinations.values() for health in each.ill.values())

    async def _ended(self, due: DueStep, result: StepResult) -> None:
        before = self._loaded()
        run = after(before, due, result, self._clock.now_ms())
        if run != before:
            self._told = None
            await self._tell(
                "step-ends",
                step=due.kind.value,
                end=result.end.value,
                phase=run.standing.phase.value,
                wave=run.standing.wave,
                stop=None if run.stop is None else {"code": run.stop.code, "words": run.stop.words},
                verdict=None if result.verdict is None else asdict(result.verdict),
            )
            await self._save(replace(run, asked=self._loaded().asked))

    # The record

    def _loaded(self) -> MigrationRun:
        if self._run is None:
            raise PreconditionFailed("the migration was not loaded yet", hint="Wait until the daemon has begun it.")
        return self._run

    async def _save(self, run: MigrationRun) -> None:
        """Keep the run; of several that are saved at once the newest is kept last."""
        self._run = run
        async with self._saving:
            await self._record.save(self._run)

    async def _tell(self, event: str, **what: object) -> None:
        self._turned_ms = self._clock.now_ms()
        await self._journal.note({"event": event, "at_ms": self._clock.now_ms(), **what})

    async def _flush(self, step: str) -> None:
        """Note what was asked of both clusters, and what they answered."""
        for cluster, calls in self._calls.items():
            if writes := calls.taken():
                await self._tell("calls", cluster=cluster, step=step, writes=writes)

    def _begun(self) -> tuple[str, ...]:
        """Namespaces of the waves that were begun."""
        scope, run = self._plan.scope, self._loaded()
        return tuple(name for names in (scope.canary, *scope.waves)[: run.moved] for name in names)


def _code(error: SyncerError) -> str:
    denied = isinstance(error, AdminRefused) and error.status in _DENIED
    return AdminDenied.code if denied else error.code
