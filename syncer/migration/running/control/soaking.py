"""The soak: blue goes on to send late clients away, and green is looked at twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from syncer.migration.course import MigrationRun, MigrationStop, StopCode, shown
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.moving import HELD
from syncer.migration.running.control.tallying import Tally
from syncer.migration.running.control.watching import Watching, deadlock_of
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.looking import Looking
from syncer.migration.soak import GreenLook, green_look, silent, standing
from syncer.migration.steering import DONE, WAITING, StepEnd, StepResult
from syncer.migration.topics import TopicState
from syncer.model import Millis

_APART_S: Final = 60
"""Between the two looks at green, or as long as the soak if that is shorter: also of a daemon that was started anew."""


class Soaking:
    """Waits for the end of the soak, and tells what has not moved meanwhile."""

    def __init__(
        self,
        there: Looking,
        clock: Clock,
        journal: MigrationJournal,
        watch: Watching,
        tally: Tally,
        tell: Callable[..., Awaitable[None]],
    ) -> None:
        self._there = there
        self._clock = clock
        self._journal = journal
        self._watch = watch
        self._tally = tally
        self._tell = tell
        self._first: GreenLook | None = None
        self._first_ms = Millis(0)

    async def soak(self, run: MigrationRun, namespaces: Sequence[str], soak_s: float) -> StepResult:
        """Look once after blue; when the time is over, stop where a subscription of green stands still.

        Args:
            run: The run as it is.
            namespaces: That were moved.
            soak_s: How long the soak is.

        Raises:
            AdminError: A call was refused or not answered.
        """
        watched = await self._watch.look(namespaces)
        if deadlock := deadlock_of(watched):
            return deadlock
        if StopCode.NOT_READ in run.accepted:  # the soak was over when it was told
            return DONE
        if self._first is None:
            self._first, self._first_ms = await self._look(), self._clock.now_ms()
        now = self._clock.now_ms()
        if now - run.since_ms < soak_s * 1000 or now - self._first_ms < min(soak_s, _APART_S) * 1000:
            return WAITING
        then = await self._look()
        not_read = [f"{name} of {topic}" for topic, name in standing(self._first, then)]
        at_blue = sorted(name for name, state in watched.states.items() if state is TopicState.DRAINED)
        await self._tell("soaked", still=list(silent(self._first, then)), at_blue=at_blue, not_read=not_read)
        await self._tally.note(namespaces, watched)
        self._first = None
        return StepResult(end=StepEnd.STOPPED, stop=_stands(not_read)) if not_read else DONE

    async def _look(self) -> GreenLook:
        kept = await self._journal.recall(HELD)
        held = [name for value in kept.values() if isinstance(value, dict) for name in value]
        return green_look((await self._there.topics(held)).values())


def _stands(not_read: Sequence[str]) -> MigrationStop:
    return MigrationStop(
        code=StopCode.NOT_READ,
        words=f"consumers at green were given nothing while messages waited for them: {shown(tuple(not_read))}",
        hint="A consumer that takes nothing has no permits: see its application. Else unload the topic at green, or "
        "restart a consumer. Resume to go on as it is.",
    )
