"""Inquiries: questions about clusters, answered by processes apart from the daemon, few at a time and each in its time.

A look at a cluster may take many seconds, an answer about its ledgers minutes. Who asks while one is made shares it, as
do those who ask soon after it; each answer says when its picture was taken.

Units: seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio

from syncer.errors import InquiriesFull, NotInTime, SyncerError
from syncer.inspection import host_places
from syncer.inspection.balancing.questions import name_of
from syncer.inspection.inquiries.child import AnswerTask, LedgersTask, LookTask, performed
from syncer.inspection.ledgers.questions import ledgers_question_name

if TYPE_CHECKING:
    from syncer.config.model import Config
    from syncer.inspection.balancing.questions import LookWish, Question
    from syncer.inspection.inquiries.child import Task
    from syncer.inspection.ledgers.questions import LedgersQuestion
    from syncer.inspection.ledgers.reading import LedgersWish

MAX_PROCESSES: Final = 2
MAX_AUDITS: Final = 1
"""Processes that read ledgers, beside the others: each holds a cluster's in memory."""
MAX_ASKING: Final = 8
"""Who is waited for at a time; others are sent away."""
LOOK_S: Final = 120.0
"""A look that is shared takes no longer, beside the time that it listens."""
LEDGERS_S: Final = 1800.0
"""An answer about ledgers that is shared takes no longer."""
KEPT_S: Final = 30.0
"""For so long after it was made a look, or an answer about ledgers, is shared."""
MAX_KEPT: Final = 4


@dataclass(slots=True)
class _Shared:
    """A look, or an answer, that is made or was made."""

    task: asyncio.Task[bytes]
    made_s: float | None = None


class Inquiries:
    """Answers questions about clusters. For one event loop.

    Args:
        look_s: A look takes no longer.
        kept_s: For so long after it was made a look is shared.
        most: Who is waited for at a time.
        clock_s: Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        *,
        look_s: float = LOOK_S,
        kept_s: float = KEPT_S,
        most: int = MAX_ASKING,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_s, self._kept_s, self._most, self._clock_s = look_s, kept_s, most, clock_s
        self._room = anyio.CapacityLimiter(MAX_PROCESSES)
        self._audit_room = anyio.CapacityLimiter(MAX_AUDITS)
        self._made: dict[Hashable, _Shared] = {}
        self._asking = 0
        self.asked: Counter[str] = Counter()
        """By question: how often it was asked."""
        self.failed: Counter[str] = Counter()
        """By code: how often there was no answer."""

    async def ask(self, config: Config, wish: LookWish, question: Question, within_s: float) -> bytes:
        """Answer a question.

        Args:
            config: Of the region.
            wish: How the cluster is looked at.
            question: What is asked.
            within_s: How long the answer is waited for.

        Raises:
            InquiriesFull: Too many are waited for.
            NotInTime: There was none.
            SyncerError: What looking and answering raise.
        """
        self.asked[name_of(question)] += 1
        with self._told(f"cluster.{wish.table}", within_s, "see which broker hangs"):
            look = await self._shared(wish, lambda: self._look(config, wish))
            return await self._performed(AnswerTask(look=look, question=question), within_s, self._room)

    async def ask_of_ledgers(
        self, config: Config, wish: LedgersWish, question: LedgersQuestion, within_s: float
    ) -> bytes:
        """Answer a question about ledgers; raises as :meth:`ask` does.

        Args:
            config: Of the region.
            wish: Which ledgers are read.
            question: What is asked.
            within_s: How long the answer is waited for.
        """
        self.asked[ledgers_question_name(question)] += 1

        async def answer() -> bytes:
            task = LedgersTask(config=config, wish=wish, question=question)
            return await self._performed(task, LEDGERS_S, self._audit_room)

        with self._told(f"the ledgers of cluster.{wish.table}", within_s, "see how its store fares"):
            return await self._shared((wish, question), answer)

    @contextmanager
    def _told(self, what: str, within_s: float, otherwise: str) -> Iterator[None]:
        """Count who waits and what fails, and name no place of this host."""
        try:
            with self._counted(), anyio.fail_after(within_s):
                yield
        except TimeoutError:
            self.failed[NotInTime.code] += 1
            raise NotInTime(
                f"{what} could not be looked at and judged within {within_s:g} s",
                hint=f"Ask again: a look goes on. Give it longer ('within'), or {otherwise}.",
            ) from None
        except SyncerError as exc:
            self.failed[exc.code] += 1
            raise type(exc)(host_places.beyond(exc.message), hint=host_places.beyond(exc.hint)) from exc

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._asking >= self._most:
            raise InquiriesFull(f"{self._asking} questions about clusters are waited for already")
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1

    async def _shared(self, wanted: Hashable, make: Callable[[], Coroutine[Any, Any, bytes]]) -> bytes:
        """What is made of it, or was made just before; a new one else."""
        self._forget()
        found = self._made.get(wanted)
        if found is None:
            begun = sum(each.made_s is None for each in self._made.values())
            if begun >= self._most:  # who asks and goes away leaves them behind
                raise InquiriesFull(f"{begun} looks at clusters are begun already")
            found = self._made[wanted] = _Shared(asyncio.create_task(make()))
            found.task.add_done_callback(lambda task: self._over(wanted, task))
        return await asyncio.shield(found.task)  # who goes away leaves it to the others

    async def _look(self, config: Config, wish: LookWish) -> bytes:
        return await self._performed(LookTask(config=config, wish=wish), self._look_s + wish.listen_s, self._room)

    def _over(self, wanted: Hashable, task: asyncio.Task[bytes]) -> None:
        if task.cancelled() or task.exception() is not None:
            del self._made[wanted]
        else:
            self._made[wanted].made_s = self._clock_s()

    def _forget(self) -> None:
        made = {wanted: each.made_s for wanted, each in self._made.items() if each.made_s is not None}
        for number, wanted in enumerate(sorted(made, key=made.__getitem__)):
            if made[wanted] + self._kept_s <= self._clock_s() or len(made) - number >= MAX_KEPT:
                del self._made[wanted]

    async def _performed(self, task: Task, within_s: float, room: anyio.CapacityLimiter) -> bytes:
        with anyio.fail_after(within_s):
            async with room:
                return await performed(task, within_s)
