"""Inquiries: questions about clusters, answered by processes apart from the daemon, few at a time and each in its time.

A look at a cluster may take many seconds. Who asks while one is made shares it, and so do those who ask soon after it;
each answer says when its picture was taken.

Units: seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from syncer.errors import InquiriesFull, NotInTime, SyncerError
from syncer.inspection import host_places
from syncer.inspection.balancing.child import AnswerTask, LookTask, command, packed, unpacked
from syncer.inspection.balancing.questions import name_of

if TYPE_CHECKING:
    from syncer.config.model import Config
    from syncer.inspection.balancing.child import Task
    from syncer.inspection.balancing.questions import LookWish, Question

MAX_PROCESSES: Final = 2
MAX_ASKING: Final = 8
"""Who is waited for at a time; others are sent away."""
LOOK_S: Final = 120.0
"""A look that is shared takes no longer, beside the time that it listens."""
KEPT_S: Final = 30.0
"""For so long after it was made a look is shared."""
MAX_KEPT: Final = 4


@dataclass(slots=True)
class _SharedLook:
    """A look that is made or was made."""

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
        self._looks: dict[LookWish, _SharedLook] = {}
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
        try:
            with self._counted(), anyio.fail_after(within_s):
                look = await self._shared(config, wish)
                return await self._performed(AnswerTask(look=look, question=question), within_s)
        except TimeoutError:
            self.failed[NotInTime.code] += 1
            raise NotInTime(
                f"cluster.{wish.table} could not be looked at and judged within {within_s:g} s",
                hint="Ask again: a look goes on. Give it longer ('within'), or see which broker hangs.",
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

    async def _shared(self, config: Config, wish: LookWish) -> bytes:
        """The look that is made, or was made just before; a new one else."""
        self._forget()
        found = self._looks.get(wish)
        if found is None:
            found = self._looks[wish] = _SharedLook(asyncio.create_task(self._look(config, wish)))
            found.task.add_done_callback(lambda task: self._over(wish, task))
        return await asyncio.shield(found.task)  # who goes away leaves it to the others

    async def _look(self, config: Config, wish: LookWish) -> bytes:
        within_s = self._look_s + wish.listen_s
        with anyio.fail_after(within_s):
            return await self._performed(LookTask(config=config, wish=wish), within_s)

    def _over(self, wish: LookWish, task: asyncio.Task[bytes]) -> None:
        if task.cancelled() or task.exception() is not None:
            del self._looks[wish]
        else:
            self._looks[wish].made_s = self._clock_s()

    def _forget(self) -> None:
        made = {wish: each.made_s for wish, each in self._looks.items() if each.made_s is not None}
        for number, wish in enumerate(sorted(made, key=made.__getitem__)):
            if made[wish] + self._kept_s <= self._clock_s() or len(made) - number >= MAX_KEPT:
                del self._looks[wish]

    async def _performed(self, task: Task, within_s: float) -> bytes:
        words, environment = command()
        async with self._room:
            sent = await anyio.to_thread.run_sync(packed, task, within_s)
            found = await anyio.run_process(words, input=sent, stderr=None, check=False, env=environment)
        return unpacked(found.stdout)
