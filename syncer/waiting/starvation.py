"""Measure how much of the time a program wanted a processor and did not get one.

Three sources, and the greatest share counts: the pressure stall information of the kernel (``/proc/pressure/cpu``: some
task of the machine waited), the run delay of the calling thread (``/proc/thread-self/schedstat``), and, where neither
file exists, how late this program's own sleeps ended.

Source: the Linux kernel's documentation, accounting/psi.rst and scheduler/sched-stats.rst.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PRESSURE: Final = Path("/proc/pressure/cpu")
SCHEDULER: Final = Path("/proc/thread-self/schedstat")
THREADS: Final = Path("/proc/self/task")
STARVED_PRESSURE: Final = 0.5
"""The machine starves its programs when some task waited for a processor in this share of the time."""
STARVED_DELAY: Final = 0.1
"""A thread is starved when it waited for a processor itself in this share of the time."""
MOST_PATIENCE: Final = 10.0
PROBE_S: Final = 0.005
PROBES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Counters at one moment; two of them bound a stretch of time.

    Args:
        at_s: The monotonic clock.
        pressed_s: Time so far in which some task of the machine waited for a processor; ``None``: not told here.
        delayed_s: Time so far for which this thread waited for one; ``None``: not told here.
    """

    at_s: float
    pressed_s: float | None
    delayed_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Starvation:
    """Shares of a stretch of time, each from 0 to 1.

    Args:
        pressure: Some task of the machine waited for a processor; ``None``: not told here.
        delay: The thread waited itself, or its sleeps ended late.
    """

    pressure: float | None
    delay: float

    @property
    def starved(self) -> bool:
        """Whether a deadline that ran out in this time says more of the machine than of what was waited for."""
        return (self.pressure or 0.0) >= STARVED_PRESSURE or self.delay >= STARVED_DELAY

    def __str__(self) -> str:
        told = "not told" if self.pressure is None else f"{self.pressure:.0%}"
        return f"processor pressure {told}, own delay {self.delay:.0%}"


def read() -> Counters:
    """Read the counters now."""
    return Counters(at_s=time.monotonic(), pressed_s=_pressed_s(), delayed_s=_delayed_s())


def since(before: Counters, *, late_s: float = 0.0) -> Starvation:
    """Return what a stretch of time was like that began with a reading and ends now.

    Args:
        before: At its beginning, read by the same thread.
        late_s: By how much the thread's sleeps ended late in all; counts where the kernel does not tell the delay.
    """
    now = read()
    wall_s = max(now.at_s - before.at_s, 1e-9)
    pressure = None
    if now.pressed_s is not None and before.pressed_s is not None:
        pressure = _share(now.pressed_s - before.pressed_s, wall_s)
    delayed_s = late_s
    if now.delayed_s is not None and before.delayed_s is not None:
        delayed_s = now.delayed_s - before.delayed_s
    return Starvation(pressure=pressure, delay=_share(delayed_s, wall_s))


def delayed_s() -> float:
    """Return for how long the threads of this process that live now have waited for a processor, all together.

    0 where the kernel does not tell it.
    """
    try:
        threads = list(THREADS.iterdir())
    except OSError:
        return 0.0
    return sum(_delay_in(each / "schedstat") or 0.0 for each in threads)


def patience() -> float:
    """Return by what a deadline is to be multiplied on this machine now: 1 when it is idle, at most 10."""
    pressed = _pressed_share()
    share = _probed_share() if pressed is None else pressed
    return min(1.0 / max(1.0 - share, 1e-9), MOST_PATIENCE)


def _share(part_s: float, wall_s: float) -> float:
    return min(max(part_s / wall_s, 0.0), 1.0)


def _fields(line: str) -> dict[str, str]:
    return dict(field.split("=", 1) for field in line.split()[1:])


def _some() -> dict[str, str] | None:
    """Return the fields of the line ``some`` of the pressure file; ``None`` where the kernel keeps none."""
    try:
        lines = PRESSURE.read_text(encoding="ascii").splitlines()
        return next(_fields(line) for line in lines if line.startswith("some "))
    except (OSError, StopIteration, ValueError):
        return None


def _pressed_s() -> float | None:
    fields = _some()
    return None if fields is None else int(fields["total"]) / 1e6


def _pressed_share() -> float | None:
    fields = _some()
    return None if fields is None else max(float(fields["avg10"]), float(fields["avg60"])) / 100


def _delayed_s() -> float | None:
    return _delay_in(SCHEDULER)


def _delay_in(file: Path) -> float | None:
    try:
        return int(file.read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return None


def _probed_share() -> float:
    """Return by what share of their time a few short sleeps were late."""
    began = time.monotonic()
    for _ in range(PROBES):
        time.sleep(PROBE_S)
    took_s = time.monotonic() - began
    return _share(took_s - PROBES * PROBE_S, took_s)
