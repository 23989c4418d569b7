"""Progress of a job as shown: a line of bars on a terminal, a line of JSON for the daemon."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from spark_snapshot.runtime.progress import Progress, Report, silent


class Form(StrEnum):
    """How progress is shown."""

    AUTO = "auto"
    """On a terminal as bars, else not at all."""
    BARS = "bars"
    JSON = "json"
    NONE = "none"


def line(progress: Progress) -> str:
    """A progress as one line of JSON. Fields may be added; none changes its meaning.

    ``phase``; ``rows`` read so far; ``rate`` in rows per second; ``eta_s`` seconds that are left of the phase, null
    while nothing can be said; ``done`` of ``total`` tasks; ``ended``, whether the phase is over.
    """
    return json.dumps(
        {
            "phase": progress.phase,
            "rows": progress.rows,
            "rate": round(progress.rate, 1),
            "eta_s": None if progress.eta_s is None else round(progress.eta_s, 1),
            "done": progress.done,
            "total": progress.total,
            "ended": progress.ended,
        }
    )


@contextlib.contextmanager
def reporting(form: Form, *, lines: TextIO | None = None, recovery: TextIO | None = None) -> Iterator[Report]:
    """Show progress while the block runs.

    Args:
        form: How.
        lines: Where lines of JSON go; stdout when not given.
        recovery: Where bars go; stderr when not given.
    """
    to, terminal = lines or sys.stdout, recovery or sys.stderr
    if form is Form.AUTO:
        form = Form.BARS if terminal.isatty() else Form.NONE
    match form:
        case Form.JSON:
            yield lambda progress: print(line(progress), file=to, flush=True)
        case Form.BARS:
            with _bars(terminal) as report:
                yield report
        case _:
            yield silent


@contextlib.contextmanager
def _bars(terminal: TextIO) -> Iterator[Report]:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        _Left(),
    )
    with Bars(*columns, console=Console(file=terminal), transient=False) as bars:
        tasks = {}

        def report(progress: Progress) -> None:
            if progress.phase not in tasks:
                tasks[progress.phase] = bars.add_task(progress.phase, total=None, rows=0, rate=0.0, eta_s=None)
            share = _share(progress)
            bars.update(
                tasks[progress.phase],
                total=None if share is None else 1.0,
                completed=share or 0.0,
                rows=progress.rows,
                rate=progress.rate,
                eta_s=progress.eta_s,
            )

        yield report


class _Left(ProgressColumn):
    """Time that is left."""

    def render(self, task: Task) -> Text:
        left = task.fields["eta_s"]
        return Text("" if left is None or task.finished else f"{left:.0f} s left")


def _share(progress: Progress) -> float | None:
    if progress.ended:
        return 1.0
    if progress.total:
        return min(progress.done / progress.total, 1.0)
    return None
