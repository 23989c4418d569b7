"""Phases of a job on Spark: named, watched, cancellable, with errors of the product.

    with listening() as cancel, session.opened(settings) as spark:
        take(Job(spark, report, cancel), …)

A signal only asks. The thread that watches has Spark cancel what runs; the call in the main thread then fails, and the
job ends as :class:`JobCancelled` after whatever it was writing has been cleared away.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Final

from spark_snapshot.runtime.progress import ProgressWatch, Report, silent
from syncer.errors import JobCancelled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Cancel:
    """Whether a job is to stop."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self.takes_signals = False

    def take_signals(self) -> None:
        """Take the signals that end a process as a wish; the next one of its kind ends the process at once."""
        self.takes_signals = True
        for number in _SIGNALS:
            signal.signal(number, self._signalled)

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self.ask()
        signal.signal(number, signal.SIG_DFL)

    def ask(self) -> None:
        """Ask the job to stop."""
        self._asked.set()

    @property
    def asked(self) -> bool:
        """Whether it is to stop."""
        return self._asked.is_set()

    def check(self) -> None:
        """Go on only if nobody has asked.

        Raises:
            JobCancelled: Somebody has.
        """
        if self.asked:
            raise JobCancelled("the job was asked to stop")


class Job:
    """One job on a session.

    Args:
        session: Where the work is done.
        report: Told how far it has come.
        cancel: Asked before and during each phase.
    """

    def __init__(self, session: SparkSession, report: Report = silent, cancel: Cancel | None = None) -> None:
        self.session = session
        self.report = report
        self.cancel = cancel or Cancel()
        if self.cancel.takes_signals:
            self.cancel.take_signals()  # Spark has put a handler of its own in place when it started

    @contextlib.contextmanager
    def phase(self, name: str, description: str, *, expected_rows: int | None = None) -> Iterator[None]:
        """Name, watch and guard all actions of the block.

        Args:
            name: A constant word, for programs.
            description: For people, in Spark's own pages and in errors.
            expected_rows: How many rows will be read, where that can be said.

        Raises:
            JobCancelled: It was asked to stop.
            SyncerError: What a worker has raised; a ``JobError`` for what Spark says.
        """
        from spark_snapshot.runtime.faults import translated  # noqa: PLC0415 - needs PySpark

        self.cancel.check()
        context = self.session.sparkContext
        group = f"pulsar-syncer-{name}-{time.monotonic_ns()}"
        context.setJobGroup(group, description, interruptOnCancel=True)
        watch = ProgressWatch(
            self.session, group, name, self.report, expected_rows=expected_rows, asked_to_stop=lambda: self.cancel.asked
        )
        watch.start()
        try:
            with translated(description):
                yield
        except BaseException as exc:
            watch.stop()
            watch.cancel()
            if self.cancel.asked and isinstance(exc, Exception):
                raise JobCancelled(f"{description}: asked to stop") from exc
            raise
        watch.stop()
        self.cancel.check()
        watch.end()


@contextlib.contextmanager
def listening() -> Iterator[Cancel]:
    """Take the signals that end a process as a wish to cancel; at the end they mean what they meant before."""
    cancel = Cancel()
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    cancel.take_signals()
    try:
        yield cancel
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
