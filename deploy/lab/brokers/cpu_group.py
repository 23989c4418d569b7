"""A group of processes with a share of the CPU, and a usage that is counted for them alone (Linux, cgroup v1).

A broker asks its own group for its limit and its usage. In one group with all others it reports the whole machine's.
Version 2 has files of other names, and takes no groups beside processes, so it counts as none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

_CPU: Final = "cpu"
_USAGE: Final = "cpuacct"
_CONTROLLERS: Final = (_CPU, _USAGE)
_PREFIX: Final = "pulsar-syncer-lab"
_PERIOD_US: Final = 100_000
_NO_QUOTA: Final = -1
_NS_PER_S: Final = 1_000_000_000

# Joins every group named before "--", and becomes the program after it; the Java machine looks at its group once.
_JOIN: Final = 'set -e; until [ "$1" = -- ]; do echo $$ > "$1/cgroup.procs"; shift; done; shift; exec "$@"'


class CpuGroup:
    """One group. It may be made again after it was removed.

    Args:
        name: Tells it from this program's other groups.
    """

    def __init__(self, name: str) -> None:
        here = hierarchies(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
        self._places = {each: here[each] / f"{_PREFIX}-{os.getpid()}-{name}" for each in _CONTROLLERS}

    def make(self) -> None:
        """Make it, and take away those that programs have left behind which were killed."""
        for place in self._places.values():
            _sweep(place.parent)
            place.mkdir(exist_ok=True)

    def entering(self, words: Sequence[str]) -> tuple[str, ...]:
        """A command that runs another one in the group."""
        places = dict.fromkeys(str(place) for place in self._places.values())
        return ("/bin/sh", "-c", _JOIN, "sh", *places, "--", *words)

    def limit(self, percent: int | None) -> None:
        """Give it so many hundredths of one core; ``None`` takes the limit away."""
        quota_us = _NO_QUOTA if percent is None else _PERIOD_US * percent // 100
        (self._places[_CPU] / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (self._places[_CPU] / "cpu.cfs_quota_us").write_text(str(quota_us))

    def used_s(self) -> float:
        """Seconds of one core that its processes have used since it was made."""
        return int((self._places[_USAGE] / "cpuacct.usage").read_text()) / _NS_PER_S

    def remove(self) -> None:
        """Take it away; its processes have ended."""
        for place in self._places.values():
            with suppress(FileNotFoundError):
                place.rmdir()


@cache
def why_no_groups() -> str:
    """Say why this program can make no such groups; empty where it can."""
    try:
        probe = CpuGroup("probe")
        probe.make()
        try:
            probe.limit(100)
            probe.used_s()
        finally:
            probe.remove()
    except KeyError as exc:
        return f"the controller {exc} is not mounted as cgroup v1"
    except OSError as exc:
        return f"a cgroup cannot be made: {exc}"
    return ""


def hierarchies(groups: str, mounts: str) -> dict[str, Path]:
    """Find where a process may make groups, by controller.

    Args:
        groups: Its ``/proc/self/cgroup``.
        mounts: Its ``/proc/self/mountinfo``.
    """
    own = {}
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), PurePosixPath(path)))
    found = {}
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        root, point = left.split()[3:5]
        for controller in set(options.split(",")) & own.keys() if kind == "cgroup" else ():
            inside = own[controller].is_relative_to(root)
            found[controller] = Path(point) / (own[controller].relative_to(root) if inside else "")
    return found


def _sweep(folder: Path) -> None:
    """Take away the groups of programs that run no more; one that still holds a process stays."""
    for place in _of_ended(folder.glob(f"{_PREFIX}-*")):
        with suppress(OSError):
            place.rmdir()


def _of_ended(places: Iterable[Path]) -> Iterable[Path]:
    for place in places:
        pid = place.name.removeprefix(f"{_PREFIX}-").partition("-")[0]
        if not Path(f"/proc/{pid}").exists():
            yield place
