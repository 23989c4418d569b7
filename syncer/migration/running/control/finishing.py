"""The end of a migration, forwards or back: the soak, closing, and undoing; nothing stays set that it has set."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from syncer.migration.course import MigrationRun
from syncer.migration.running.control.beginning import SLOWEST, marking_of, tell_of, tenant_of
from syncer.migration.running.control.ending import Ending
from syncer.migration.running.control.moving import HELD, LAST
from syncer.migration.running.control.soaking import Soaking
from syncer.migration.running.control.tallying import Tally
from syncer.migration.running.control.task import MigrationTask
from syncer.migration.running.control.undoing import Undoable, Undoing
from syncer.migration.running.control.watching import Watching
from syncer.migration.running.flip import Flip
from syncer.migration.running.former import FormerValues
from syncer.migration.running.guard import Guard
from syncer.migration.running.healing import UNMARKED
from syncer.migration.running.look_ahead import LookAhead
from syncer.migration.running.looking import Looking
from syncer.migration.running.rolls import ROLL, SENT, Rolls
from syncer.migration.running.warm_up import SCRATCH, WarmUp
from syncer.migration.steering import DONE, WAITING, StepEnd, StepResult
from syncer.migration.topics import Rollback
from syncer.replacing import replace

Move = Callable[[Sequence[str]], Awaitable[StepResult]]


class Finishing:
    """Takes the steps of a migration that end it.

    Attributes:
        undoable: What was said last of what can be taken back.
    """

    def __init__(self, task: MigrationTask, watch: Watching) -> None:
        plan, blue, green, clock, journal = task.plan, task.blue, task.green, task.clock, task.journal
        self._plan = plan
        self._namespaces = plan.scope.namespaces
        self._claim = task.claim
        self._tell = task.tell
        here, there = Looking(blue.calls, clock), Looking(green.calls, clock)
        tally = Tally(here, there, clock, journal)
        self._soaking = Soaking(there, clock, journal, watch, tally, task.tell)
        self._former = FormerValues(blue.calls, clock, journal)
        self._former_green = FormerValues(green.calls, clock, journal, cluster="green")
        self._guard = Guard(blue.calls, clock, self._former)
        self._look_ahead = LookAhead(green.calls, clock, self._former_green)
        marking = marking_of(blue.calls, clock, journal)
        self._warm_up = WarmUp(blue.calls, green.calls, clock, journal, marking)
        self._ending = Ending(green.calls, clock, journal, plan.bounds)
        rolls = Rolls(here, there, clock, journal)
        self._undoing = Undoing(blue.calls, green.calls, clock, marking, watch, rolls)
        self._flip = Flip(blue.calls, green.calls, clock, journal, SLOWEST)
        self.undoable: tuple[Undoable, ...] = ()

    async def soak(self, run: MigrationRun) -> StepResult:
        """Look once after blue; when the time is over, stop where a subscription of green stands still."""
        return await self._soaking.soak(run, self._namespaces, self._plan.bounds.soak_s)

    async def close(self) -> StepResult:
        """Set back what was set for the migration: at green, then at blue."""
        await self._ending.carry_out(self._namespaces, partial(tell_of, self._tell))
        await self._let_loose()
        return DONE

    async def foresee_undo(self) -> tuple[Undoable, ...]:
        """Say what can be taken back."""
        self.undoable = await self._undoing.foresee(self._namespaces)
        return self.undoable

    async def undo(self, run: MigrationRun, move: Move) -> StepResult:
        """Take back what can be taken back; what stays at green is brought to its end there.

        Where this migration has marked nothing, a mark is somebody else's, and left alone.

        Args:
            run: The run as it is.
            move: Moves namespaces whose mark is off, though their clients stand at green.
        """
        await self._flip.recover(self._namespaces if run.marked else ())
        await self._warm_up.clean(f"{tenant_of(self._plan)}/{SCRATCH}")
        if run.marked and not await self._undoing.settled(self._namespaces):
            return WAITING
        found = await self.foresee_undo() if run.marked else ()
        if again := await self._undoing.to_mark_again(found):
            await self._tell("mark-missing", namespaces=list(again))
            moved = await move(again)
            return replace(moved, verdict=None) if moved.end is StepEnd.STOPPED else WAITING
        ended = await self._undoing.undo(found)
        if ended.end is not StepEnd.DONE:
            return ended
        staying = [each.namespace for each in found if each.rollback is Rollback.NO]
        await self._tell("undone", stays={each.namespace: each.words for each in found if each.words})
        report = partial(tell_of, self._tell)
        await self._ending.carry_out(staying, report)
        await self._ending.give_back((each for each in self._namespaces if each not in staying), report)
        await self._let_loose()
        return DONE

    async def _let_loose(self) -> None:
        """Let brokers do as before, give the namespaces back, and forget all that is no former value."""
        await self._former.load()
        await self._former_green.load()
        await self._guard.release()
        await self._look_ahead.release()
        await self._tell("released", acts=[*self._former.acts(), *self._former_green.acts()])
        await self._claim.release(self._namespaces)
        await self._ending.forget((HELD, LAST, ROLL, SENT, UNMARKED))
