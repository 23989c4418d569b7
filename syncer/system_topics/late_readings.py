"""Waiting for a topic, but not for long: one whose broker hangs holds up nobody but who asks for it.

asked ──▶ its lock, and what is to be done ──▶ in time: the lock is the asker's
                                           └─▶ late: it goes on by itself; who asks meanwhile is refused at once
                                                 └──▶ done: all who have asked in vain are told
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import structlog

from syncer.errors import TopicPoliciesWithheld
from syncer.stores.contract import BatchRefused
from syncer.system_topics.namespace import MovedPolicies, PolicyTopic

log = structlog.get_logger()
_Answer = TypeVar("_Answer")


class LateReadings:
    """Has things done to topics, and has them go on when nobody waits any more: of each namespace one at most.

    Args:
        at_once: So much is done at the same time.
        tell: Takes what is to be told when something has ended late.
    """

    def __init__(self, at_once: int, tell: Callable[[MovedPolicies], None]) -> None:
        self._gate = asyncio.Semaphore(at_once)
        self._tell = tell
        self._late: dict[str, asyncio.Task[Any]] = {}
        self._left: set[asyncio.Task[Any]] = set()
        self._ended = False

    def is_late(self, topic: PolicyTopic) -> bool:
        """Whether something goes on there for which nobody waits any more."""
        return topic.namespace in self._late

    async def do(
        self,
        topic: PolicyTopic,
        job: Callable[[], Awaitable[_Answer]],
        within_s: float | None,
        *,
        holding: bool = False,
    ) -> _Answer:
        """Do something that needs a topic's lock.

        Args:
            topic: The topic.
            job: What is done; it goes on where this takes too long, and ends where the caller is cancelled.
            within_s: How long is waited; ``None``: for as long as it takes.
            holding: The caller has the lock afterwards, unless this raises.

        Raises:
            TopicPoliciesWithheld: It takes too long. Who is told so has to ask in vain before anything else goes on.
        """
        if self.is_late(topic) and within_s is not None:
            raise _still_read(topic)
        task = asyncio.create_task(self._do(topic, job, holding=holding))
        leave = partial(self._leave, topic, task, holding=holding)
        try:
            await asyncio.wait({task}, timeout=within_s)
        except asyncio.CancelledError:
            leave(given_up=True)
            raise
        if not task.done():
            leave(given_up=self.is_late(topic))  # that one tells all who have asked in vain
            raise _still_read(topic)
        return task.result()

    def end(self) -> None:
        """Give up what goes on, and leave nothing to itself from now on."""
        self._ended = True
        for each in self._left:
            each.cancel()

    async def close(self) -> None:
        """The same, until all of that has ended."""
        self.end()
        await asyncio.gather(*self._left, return_exceptions=True)

    async def _do(self, topic: PolicyTopic, job: Callable[[], Awaitable[_Answer]], *, holding: bool) -> _Answer:
        async with self._gate:
            await topic.lock.acquire()
            keeps = False
            try:
                answer = await job()
                keeps = holding
            finally:
                if not keeps:
                    topic.lock.release()
            return answer

    def _leave(self, topic: PolicyTopic, task: asyncio.Task[Any], *, holding: bool, given_up: bool) -> None:
        if given_up or self._ended:
            task.cancel()
        else:
            self._late[topic.namespace] = task
        self._left.add(task)
        task.add_done_callback(partial(self._has_ended, topic, holding))

    def _has_ended(self, topic: PolicyTopic, holding: bool, task: asyncio.Task[Any]) -> None:  # noqa: FBT001
        self._left.discard(task)
        if self._late.get(topic.namespace) is task:
            del self._late[topic.namespace]
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            if holding:
                topic.lock.release()
            topic.note_late()
        elif not isinstance(error, BatchRefused | TopicPoliciesWithheld):  # else nobody would try again
            log.warning("topic_policies_not_read", namespace=topic.namespace, cause=repr(error))
            topic.withhold(TopicPoliciesWithheld(f"{topic.namespace}: {type(error).__name__}: {error}"))
        if topic.trouble is None:
            self._tell(topic.take_asked())


def _still_read(topic: PolicyTopic) -> TopicPoliciesWithheld:
    return TopicPoliciesWithheld(f"{topic.namespace}: its topic of policies is still being read")
