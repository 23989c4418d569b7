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

from syncer.errors import InvariantBroken, SyncerError

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


@dataclass(slots=True)
class HubRun:
    """A hub's looking from when somebody followed until nobody did, or it failed: who has joined ends with it.

    Args:
        begun: Done once it has looked for the first time.
        trouble: Why it cannot look any more.
    """

    begun: asyncio.Future[None]
    trouble: SyncerError | None = None


class Hub(ABC):
    """The part of a stream that is there once for all followers.

    Args:
        name: Of the stream, the last part of its path.
        pace: How often it looks.
    """

    def __init__(self, name: str, pace: StreamPace) -> None:
        self.name = name
        self.pace = pace
        self._followers = 0
        self._news = asyncio.Event()
        self._run: HubRun | None = None
        self._task: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def joined(self) -> AsyncIterator[HubRun]:
        """Have it look until left.

        Raises:
            SyncerError: The sidecar database cannot be read.
        """
        self._followers += 1
        try:
            if self._run is None or self._run.trouble is not None:
                self._run = HubRun(asyncio.get_running_loop().create_future())
                self._task = asyncio.create_task(self._look_on(self._run))
            run = self._run
            await asyncio.shield(run.begun)
            if run.trouble is not None:
                raise run.trouble
            yield run
        finally:
            self._followers -= 1
            if not self._followers and self._task is not None:
                self._task.cancel()
                self._task = self._run = None

    def news(self) -> asyncio.Event:
        """An event that is set when there is something new; to be asked for before :meth:`Follower.take`."""
        return self._news

    def notify(self) -> None:
        """Wake all who wait."""
        self._news.set()
        self._news = asyncio.Event()

    async def _look_on(self, run: HubRun) -> None:
        try:
            await self._begin()
            run.begun.set_result(None)
            while True:
                await asyncio.sleep(self.pace.look_s)
                if await self._look():
                    self.notify()
        except SyncerError as exc:
            run.trouble = exc
            log.warning("stream_not_looked_at", stream=self.name, code=exc.code, cause=exc.message)
        except Exception:
            run.trouble = InvariantBroken(f"the stream of {self.name} broke", hint="Keep the log, and report it.")
            log.exception("stream_broke", stream=self.name)
        finally:
            if not run.begun.done():
                run.begun.set_result(None)
            self.notify()

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
