"""One thread for a blocking client: jobs run on it in order, and between jobs it does its rounds."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import structlog

from syncer.errors import BusUnavailable, SyncerError
from syncer.waiting.deadline import answered_within

_Answer = TypeVar("_Answer")
_log = structlog.get_logger(__name__)

MAX_JOBS: Final = 64
"""Jobs that may wait; one more is refused with BusUnavailable."""
JOIN_S: Final = 10.0
"""How long ``stop`` waits for the thread to end."""


class ClientThread:
    """Runs blocking calls of a client on one thread, so that the client needs no locks and the event loop never waits.

    Args:
        name: Name of the thread.
        rounds: Called on the thread between jobs; answers in how many seconds it wants to be called again. Its errors
            of the product's tree are logged and it is called again a second later.
    """

    def __init__(self, name: str, rounds: Callable[[], float] | None = None) -> None:
        self._rounds = rounds
        self._jobs: queue.Queue[tuple[Future[Any], Callable[[], Any]] | None] = queue.Queue(MAX_JOBS)
        self._stopping = threading.Event()
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def call(self, job: Callable[[], _Answer], *, timeout_s: float) -> _Answer:
        """Run a job on the thread and wait for its answer.

        A job that has begun is not interrupted when the deadline passes or the caller is cancelled; one that has not is
        dropped.

        Raises:
            BusUnavailable: The thread is not running, too many jobs wait, or the deadline passed. After that last
                one the outcome is unknown.
        """
        if self._stopping.is_set() or not self._thread.is_alive():
            raise BusUnavailable(f"{self._thread.name} is closed")
        answer: Future[_Answer] = Future()

        try:
            self._jobs.put_nowait((answer, job))
        except queue.Full:
            raise BusUnavailable(f"{self._thread.name} has {MAX_JOBS} calls waiting") from None
        try:
            async with answered_within(timeout_s):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            raise BusUnavailable(f"{self._thread.name} did not answer within {timeout_s:g} s") from None

    def post(self, job: Callable[[], None]) -> None:
        """Run a job on the thread without waiting for it, from any thread; dropped when the thread ends or is full."""
        with contextlib.suppress(queue.Full):
            self._jobs.put_nowait((Future(), job))

    async def stop(self, last: Callable[[], None] | None = None) -> None:
        """End the thread after the job it is at; ``last`` runs on it before it ends. Waiting jobs are refused.

        No round follows ``last``: what that has closed is not used again.
        """
        if self._stopping.is_set() or not self._thread.is_alive():
            return
        if last is not None:
            with contextlib.suppress(BusUnavailable):
                await self.call(lambda: self._end_by(last), timeout_s=JOIN_S)
        self._stopping.set()
        with contextlib.suppress(queue.Full):
            self._jobs.put_nowait(None)  # wakes it; a full queue means that it is awake
        try:
            async with answered_within(JOIN_S):
                await asyncio.shield(asyncio.wrap_future(self._ended))
        except TimeoutError:
            _log.error("bus_thread_stuck", thread=self._thread.name, waited_s=JOIN_S)
        else:
            self._thread.join()  # nothing is left to do in it

    def _end_by(self, last: Callable[[], None]) -> None:
        try:
            last()
        finally:
            self._stopping.set()

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self._refuse_waiting()
            self._ended.set_result(None)

    def _work(self) -> None:
        next_round = time.monotonic()
        while not self._stopping.is_set():
            if self._rounds is not None and time.monotonic() >= next_round:
                try:
                    next_round = time.monotonic() + self._rounds()
                except SyncerError as exc:
                    _log.warning("bus_round_failed", thread=self._thread.name, error=exc.code, message=exc.message)
                    next_round = time.monotonic() + 1.0
            wait_s = None if self._rounds is None else max(0.0, next_round - time.monotonic())
            try:
                job = self._jobs.get(timeout=wait_s)
            except queue.Empty:
                continue
            if job is not None:
                _run_job(*job)

    def _refuse_waiting(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None and job[0].set_running_or_notify_cancel():
                    job[0].set_exception(BusUnavailable(f"{self._thread.name} is closed"))


def _run_job(answer: Future[Any], job: Callable[[], Any]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(job())
    except BaseException as exc:  # noqa: BLE001 - handed to the caller
        answer.set_exception(exc)
