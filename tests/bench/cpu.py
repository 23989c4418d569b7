"""CPU time of process trees, user and system, as the kernel counts it.

A process counts with its own time and with that of the children that it has waited for; children that live count for
themselves. So nothing is counted twice, and what has ended is not lost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Stat:
    """What the kernel tells of one process. Units: the kernel's ticks."""

    parent: int
    ticks: int

    @classmethod
    def parsed(cls, line: str) -> Self:
        """Parse a line of ``/proc/PID/stat``; the name in it may hold spaces and brackets."""
        fields = line.rpartition(")")[2].split()
        return cls(int(fields[1]), sum(map(int, fields[11:15])))


@dataclass(frozen=True, slots=True)
class Used:
    """CPU time that some process trees had used at a time. Units: seconds."""

    at_s: float
    cpu_s: float

    @classmethod
    def by(cls, roots: Iterable[int]) -> Self:
        """Read it of the trees below these processes."""
        stats = _stats()
        ticks = sum(stats[pid].ticks for pid in below(roots, stats) if pid in stats)
        return cls(time.monotonic(), ticks / TICKS_PER_S)

    def per_s(self, since: Used) -> float:
        """CPU time for each second that has passed since."""
        return (self.cpu_s - since.cpu_s) / (self.at_s - since.at_s)

    def per_event_us(self, since: Used, *, events: int, at_rest: float) -> float:
        """Microseconds for each event since, less what the same processes use ``at_rest`` in as much time."""
        worked_s = self.cpu_s - since.cpu_s - at_rest * (self.at_s - since.at_s)
        return worked_s / events * 1e6


@dataclass(frozen=True, slots=True)
class Meter:
    """What events cost some processes beyond what these use at rest.

    Args:
        read: Reads what they have used so far.
        at_rest: CPU time that they use in a second in which nothing changes; 0 while that is not known yet.
    """

    read: Callable[[], Used]
    at_rest: float = 0.0

    @classmethod
    def at_rest_for(cls, seconds: float, *reads: Callable[[], Used]) -> list[Self]:
        """Look for some seconds at what each group uses while nothing changes."""
        before = [read() for read in reads]
        time.sleep(seconds)
        return [cls(read, read().per_s(since)) for read, since in zip(reads, before, strict=True)]

    def per_event_us(self, since: Used, events: int) -> float:
        """Microseconds for each event since."""
        return self.read().per_event_us(since, events=events, at_rest=self.at_rest)


def below(roots: Iterable[int], stats: Mapping[int, Stat]) -> set[int]:
    """These processes and all that descend from them."""
    found = set(roots)
    while more := {pid for pid, stat in stats.items() if stat.parent in found} - found:
        found |= more
    return found


def living(root: int) -> set[int]:
    """A process and all that descend from it now."""
    return below([root], _stats())


def _stats() -> dict[int, Stat]:
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            found[int(file.parent.name)] = Stat.parsed(file.read_text())
    return found
