"""The beginning of a migration: checks, preparing green, and guarding blue; clients notice nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from syncer.admin.calls import AdminCalls
from syncer.migration.brake import FlipTiming
from syncer.migration.checks import Result, passed
from syncer.migration.checks.brokers import LONGEST_PERIOD_S
from syncer.migration.checks.finding import CheckStage, ClusterPair
from syncer.migration.course import MigrationStop, StopCode, shown
from syncer.migration.evidence import base_of
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.ending import Ending
from syncer.migration.running.control.task import MigrationTask, Tell
from syncer.migration.running.former import FormerValues
from syncer.migration.running.guard import Guard
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.look_ahead import LookAhead
from syncer.migration.running.looking import Looking
from syncer.migration.running.marking import Marking
from syncer.migration.running.preparing import StepReport, prepare_green
from syncer.migration.running.warm_up import WarmUp
from syncer.migration.steering import DONE, WAITING, StepEnd, StepResult

WINDOW_S: Final = 1.4
"""The longest that a broker was seen to take from a closed ledger to a finished mark."""
SLOWEST: Final = FlipTiming(check_period_s=LONGEST_PERIOD_S, window_s=WINDOW_S)
"""By which it is waited where no pause depends on it."""
SHOWN: Final = 20
"""Of what blue was given meanwhile, so many are named."""


class Beginning:
    """Takes the steps of a migration before the first mark.

    Attributes:
        blocking: Checks of the last preflight that do not hold.
    """

    def __init__(self, task: MigrationTask) -> None:
        plan, blue, green, clock, journal = task.plan, task.blue, task.green, task.clock, task.journal
        self._plan = plan
        self._namespaces = plan.scope.namespaces
        self._green = green
        self._clock = clock
        self._survey = task.survey
        self._claim = task.claim
        self._tell = task.tell
        self._former = FormerValues(blue.calls, clock, journal)
        self._former_green = FormerValues(green.calls, clock, journal, cluster="green")
        self._guard = Guard(blue.calls, clock, self._former)
        self._look_ahead = (
            LookAhead(blue.calls, clock, self._former),
            LookAhead(green.calls, clock, self._former_green),
        )
        self._warm_up = WarmUp(blue.calls, green.calls, clock, journal, marking_of(blue.calls, clock, journal))
        self._ending = Ending(green.calls, clock, journal, plan.bounds)
        self.blocking: tuple[Result, ...] = ()

    async def preflight(self) -> StepResult:
        """Make the checks of the beginning, and claim the namespaces."""
        await self._claim.free(self._namespaces)
        checked = await self._check(CheckStage.BEFORE)
        if checked.end is StepEnd.DONE:
            await self._claim.take(self._namespaces)
        return checked

    async def prepare(self, halt: Callable[[], bool]) -> StepResult:
        """Give green what it lacks; between two calls it can be halted."""
        await self._claim.take(self._namespaces)
        try:
            await self.give(self._namespaces, halt)
            return await self._check_given(CheckStage.PREPARED, halt)
        except _Halted:
            return WAITING

    async def guard(self) -> StepResult:
        """Freeze balancing, load all topics, say where clients will go, and warm the brokers up."""
        await self._claim.take(self._namespaces)
        await self._former.load()
        await self._former_green.load()
        guarded = await self._guard.guard(self._plan.blue.name, self._green.urls, self._namespaces)
        for each in self._look_ahead:
            await each.hold()
        acts = [*self._former.acts(), *self._former_green.acts()]
        await self._tell("guarded", frozen=list(guarded.frozen), loaded=len(guarded.loaded), acts=acts)
        if not guarded.holds:
            words = f"{shown(guarded.unloaded)} cannot be loaded"
            hint = "See why in the broker's log: marked as they are they could not be read any more."
            stop = MigrationStop(code=StopCode.NOT_LOADED, words=words, hint=hint)
            return StepResult(end=StepEnd.STOPPED, stop=stop, again=True)
        warmed = await self._warm_up.run(self._plan.blue.name, tenant_of(self._plan))
        await self._tell("warmed-up", topics=dict(warmed.topics), cold=list(warmed.cold), took_s=warmed.took_s)
        return await self._check_given(CheckStage.GUARDED, lambda: False)

    async def give(
        self, namespaces: tuple[str, ...], halt: Callable[[], bool], *, only: Collection[str] | None = None
    ) -> None:
        """Give green what it lacks of some namespaces, and keep what it gets at the end.

        Args:
            namespaces: Which ones.
            halt: Whether to end early.
            only: Of these topics, by their names without partitions; ``None``: of all.

        Raises:
            AdminError: A call was refused or not answered for too long.
        """

        async def report(news: StepReport) -> None:
            await tell_of(self._tell, news)
            if halt():
                raise _Halted

        pairs: list[ClusterPair] = []

        async def read() -> ClusterPair:
            pairs[:] = [await self._survey.pair(namespaces, load=True, only=only)]
            await self._ending.keep(pairs[0])
            return pairs[0]

        preparation = await prepare_green(
            self._green.calls,
            read,
            clock=self._clock,
            bounds=self._plan.bounds,
            report=report,
        )
        left = [f"{each.subject}: {each.why}" for each in preparation.unprepared]
        await self._tell("prepared", namespaces=list(namespaces), unprepared=left)
        await self._ending.plan(pairs[0], more=only is not None)

    async def _check_given(self, stage: CheckStage, halt: Callable[[], bool]) -> StepResult:
        """Check, and give green what blue was given meanwhile.

        Clients may make topics faster than clusters are read. Once green has all that it lacked at the check before,
        the rest is newer than that: every wave is given what it lacks before it is moved.
        """
        lacked: frozenset[str] | None = None
        while True:
            checked = await self._check(stage)
            lacks = frozenset(found.subject for each in self.blocking for found in each.findings)
            given = all(each.check.stage is CheckStage.PREPARED for each in self.blocking)
            if checked.end is StepEnd.DONE or not given or (lacked is not None and lacks & lacked):
                return checked
            if lacked is not None:
                self.blocking = ()
                await self._tell("made-since", subjects=sorted(lacks)[:SHOWN], more=max(0, len(lacks) - SHOWN))
                return DONE
            lacked = lacks
            topics = frozenset(base_of(subject.partition(", ")[0]) for subject in lacks if "://" in subject)
            await self.give(self._namespaces, halt, only=topics if all("://" in subject for subject in lacks) else None)

    async def _check(self, stage: CheckStage) -> StepResult:
        results = await self._survey.findings(stage, fresh=stage is CheckStage.BEFORE)
        self.blocking = tuple(each for each in results if each.blocks)
        await self._tell("checked", stage=stage.value, blocking=[each.check.name for each in self.blocking])
        return DONE if passed(results) else StepResult(end=StepEnd.STOPPED, stop=blocked(results))


def marking_of(blue: AdminCalls, clock: Clock, journal: MigrationJournal) -> Marking:
    """What marks namespaces outside of a flip, and gives brokers the time that the slowest of them needs."""
    return Marking(blue, clock, FormerValues(blue, clock, journal), Looking(blue, clock), SLOWEST)


def tenant_of(plan: MigrationPlan) -> str:
    """The tenant in which brokers are warmed up."""
    return plan.scope.canary[0].partition("/")[0]


async def tell_of(tell: Tell, news: StepReport) -> None:
    """Note news of a step of preparing, or of ending."""
    await tell(f"preparation-{news.outcome}", kind=news.step.kind.value, subject=news.step.subject, answer=news.answer)


def blocked(results: Iterable[Result]) -> MigrationStop:
    """The stop of checks that do not hold."""
    first = [each for each in results if each.blocks]
    found = tuple(f"{each.check.name}: {each.findings[0].subject}: {each.findings[0].evidence}" for each in first)
    return MigrationStop(
        code=StopCode.BLOCKED,
        words=f"checks do not hold: {shown(found)}",
        hint=f"First: {first[0].findings[0].remedy}. See all findings in the preflight.",
    )


class _Halted(Exception):
    """An operator has asked for something else."""
