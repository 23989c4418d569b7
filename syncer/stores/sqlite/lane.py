"""One thread with one connection: what a store, or one watch of it, makes its calls on."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from syncer.errors import AccessDenied, StoreError, StoreUnavailable, ValueRefused
from syncer.stores.sqlite.config import SqliteConfig
from syncer.stores.sqlite.file import File
from syncer.waiting.deadline import answered_within, longest_s

P = ParamSpec("P")
T = TypeVar("T")


class Lane:
    """One thread with one connection: what a store, or one watch of it, makes its calls on."""

    def __init__(self, config: SqliteConfig, name: str) -> None:
        self._config = config
        self._file = File(config)
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._turn = asyncio.Lock()
        self._closed = False
        self.stopping = threading.Event()
        """Set when the lane closes; calls that wait end then."""

    async def run(self, call: Callable[Concatenate[File, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run one call on the thread, one at a time.

        Raises:
            StoreUnavailable: No result before the deadline, or the file cannot be used now.
            AccessDenied: The file may not be read or written.
        """
        timeout_s = self._config.timeout.total_seconds()
        running = False
        try:
            await self._take_turn(timeout_s)
            try:
                if self._closed:
                    raise StoreUnavailable(f"the SQLite store {self._config.path} is closed")
                async with answered_within(timeout_s):
                    loop, running = asyncio.get_running_loop(), True
                    return await loop.run_in_executor(self._executor, lambda: call(self._file, *args, **kwargs))
            finally:
                self._turn.release()
        except TimeoutError as exc:
            if running:  # else it is another caller's statement
                self._file.interrupt()
            raise StoreUnavailable(f"the SQLite store {self._config.path} did not answer in {timeout_s:g} s") from exc
        except sqlite3.Error as exc:
            raise translated(exc, self._config.path) from exc
        except OSError as exc:
            raise StoreUnavailable(f"the SQLite store {self._config.path} cannot be used: {exc}") from exc

    async def _take_turn(self, timeout_s: float) -> None:
        """Wait for the calls of other callers: each has a deadline of its own, which is no part of this one's.

        Raises:
            TimeoutError: They take longer than one call may at most.
        """
        if not self._turn.locked():
            await self._turn.acquire()
            return
        async with asyncio.timeout(longest_s(timeout_s)):
            await self._turn.acquire()

    async def close(self) -> None:
        """Stop what runs, close the connection, end the thread."""
        if self._closed:
            return
        self._closed = True
        self.stopping.set()
        self._file.interrupt()
        self._executor.submit(self._file.close)
        await asyncio.get_running_loop().run_in_executor(None, self._executor.shutdown)


def translated(exc: sqlite3.Error, path: Path) -> StoreError:
    """The product's error for one of SQLite's."""
    name = getattr(exc, "sqlite_errorname", "") or type(exc).__name__
    message = f"the SQLite store {path}: {exc} ({name})"
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        return AccessDenied(message)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return StoreError(message, hint="The file is damaged or no SQLite file: restore it, or correct 'store.path'.")
    if name.startswith("SQLITE_TOOBIG"):
        return ValueRefused(message)
    if name.startswith("SQLITE_FULL"):
        return StoreUnavailable(message, hint="The disk is full: make room; the daemon keeps trying.")
    return StoreUnavailable(message)
