"""Processes of tests that every wait needs, as long as a block lasts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.lab.process import last_lines
from syncer.waiting import LIVING


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedProcess:
    """A child with its log.

    Args:
        name: For messages.
        process: The child.
        log: Takes what it says.
    """

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def ended(self) -> str | None:
        """Return how it ended, with the end of its log; ``None`` while it runs."""
        status = self.process.poll()
        return None if status is None else f"status {status}; its log ({self.log}):\n{self.last_words()}"

    def last_words(self) -> str:
        """Return the last lines of its log."""
        return last_lines(self.log)


@contextmanager
def living(process: subprocess.Popen[bytes], log: Path, name: str) -> Iterator[None]:
    """End each wait inside the block when the process has ended."""
    child = LoggedProcess(name=name, process=process, log=log)
    LIVING.add(child)
    try:
        yield
    finally:
        LIVING.let_go(child)
