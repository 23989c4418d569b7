"""The base of hubs: one task that looks for all who follow a stream, while somebody does.

Followers pull: a hub keeps nothing for any of them, waits for none, and wakes all when there is something new.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

import structlog

from syncer.errors import SyncerError

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPace:
    """How often a stream does what.

    Args:
        look_s: Between two looks of a hub.
        heartbeat_s: After so long without an event a comment is sent.
        recheck_s: Between two looks at the rights of who follows.
        write_s: Time that a client may take to read on, when nothing more can be written to it.
    """

    look_s: float = 0.5
    heartbeat_s: float = 15.0
    recheck_s: float = 5.0
    write_s: float = 10.0


class Follower(Protocol):
    """One reader of a stream."""

    @property
    def number(self) -> str:
        """Id from which it resumes that has been told nothing more."""
        ...

    async def take(self) -> bytes:
        """Frames that are to be sent next; empty: there is nothing new now.

        Raises:
            StreamTooSlow: It was left behind.
            SyncerError: The sidecar database cannot be read.
        """
        ...


class Hub(ABC):
    """What is looked at for all followers.

    Args:
        pace: How often.

    Attributes:
        name: Of the stream, the last part of its path.
        trouble: Why it cannot look any more; its followers end.
    """

    def __init__(self, name: str, pace: StreamPace) -> None:
        self.name = name
        self.pace = pace
        self.trouble: SyncerError | None = None
        self._followers = 0
        self._news = asyncio.Event()
        self._begun: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def joined(self) -> AsyncIterator[None]:
        """Have it look until left.

        Raises:
            SyncerError: The sidecar database cannot be read.
        """
        self._followers += 1
        try:
            if self._task is None or self._task.done():
                self._begun = asyncio.get_running_loop().create_future()
                self._task = asyncio.create_task(self._run(self._begun))
            if self._begun is not None:
                await asyncio.shield(self._begun)
            yield
        finally:
            self._followers -= 1
            if not self._followers and self._task is not None:
                self._task.cancel()
                self._task = None

    def news(self) -> asyncio.Event:
        """An event that is set when there is something new; to be asked for before :meth:`Follower.take`."""
        return self._news

    def notify(self) -> None:
        """Wake all who wait."""
        self._news.set()
        self._news = asyncio.Event()

    async def _run(self, begun: asyncio.Future[None]) -> None:
        self.trouble = None
        try:
            await self._begin()
            begun.set_result(None)
            while True:
                await asyncio.sleep(self.pace.look_s)
                if await self._look():
                    self.notify()
        except SyncerError as exc:
            log.warning("stream_ended", stream=self.name, code=exc.code, cause=exc.message)
            self.trouble = exc
            if not begun.done():
                begun.set_exception(exc)
            self.notify()
        finally:
            if not begun.done():
                begun.cancel()

    @abstractmethod
    async def follow(self, last_event_id: str) -> Follower:
        """Begin to follow; empty: from now on.

        Raises:
            RequestInvalid: That is no id of an event.
            SyncerError: The sidecar database cannot be read.
        """

    @abstractmethod
    async def _begin(self) -> None:
        """Look for the first time."""

    @abstractmethod
    async def _look(self) -> bool:
        """Look again; whether there is something new."""
