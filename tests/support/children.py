"""Processes that this one has started, as the kernel lists them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def children_with(word: str) -> list[int]:
    """Ids of this process's children whose command line holds a word."""
    return [pid for pid in children() if word.encode() in _command_of(pid)]


def children() -> list[int]:
    """Ids of all children. A thread that ends meanwhile leaves its children to another one, so all are listed anew."""
    while True:
        with suppress(FileNotFoundError, ProcessLookupError):
            found = [each.read_text().split() for each in Path("/proc/self/task").glob("*/children")]
            return [int(pid) for pids in found for pid in pids]


def _command_of(pid: int) -> bytes:
    """Command line of a process; empty: it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
