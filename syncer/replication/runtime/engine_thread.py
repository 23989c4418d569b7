"""The engine thread: the driver's calls run on it, one after the other, so that no step meets another half done.

A step that only touches memory may run where its caller is, as long as the thread is idle: two changes of thread cost
more than most of these steps, and a single change passes through a dozen of them on its way.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

import anyio

P = ParamSpec("P")
T = TypeVar("T")


class DriverThread:
    """Runs plain calls in a thread of its own, one at a time. One hop per batch, never per event."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="driver")

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the call and wait for it, even when the waiting task is cancelled: no transaction is half observed."""
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._pool, functools.partial(self._run, function, *args, **kwargs))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):  # a cancelled scope cancels every wait in it, again and again
                await asyncio.wait([future])
            if not future.cancelled():
                future.exception()  # who waited is gone: a failure is the next call's to meet
            raise

    async def quick(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that only touches memory: at once when the thread is idle, else in its turn."""
        if not self._turn.acquire(blocking=False):
            return await self.call(function, *args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            self._turn.release()

    def _run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._turn:
            return function(*args, **kwargs)

    def close(self) -> None:
        """Wait for the running call and end the thread."""
        self._pool.shutdown(wait=True)
