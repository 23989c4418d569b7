"""From a broken schedule to a short one that breaks in the same way: parts of it are left out as long as it does.

What chance drew is written down part by part, so that a part can be left out without changing what chance draws for the
others. A part is a whole action of the schedule, then one of its pieces: a write from outside, a fault, a move.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from syncer.model import Region
from tests.simulation.disk import Disk
from tests.simulation.faults import MODES
from tests.simulation.world import Part, World

ATTEMPTS: Final = 600
SECONDS: Final = 60.0
"""However long it is then, it is short enough."""

Drawn = tuple[int, float]
"""How many bits were drawn (0: a fraction), and what came."""


class Tape(Random):
    """Chance that writes down what it draws, or draws again what was written down.

    Args:
        seed: Of everything that is not on the tape.
        written: What was drawn for each part before.
        without: Parts that are left out.
    """

    def __init__(
        self, seed: int, written: dict[Part, list[Drawn]] | None = None, without: frozenset[Part] = frozenset()
    ) -> None:
        super().__init__(seed)
        self._former = written
        self._without = without
        self._left: list[Drawn] = []
        self.written: dict[Part, list[Drawn]] = {}
        self.part((-1, "begin"))

    def part(self, part: Part) -> bool:
        """A part begins; whether it takes place."""
        if part in self._without:
            return False
        self._now = self.written.setdefault(part, [])
        if self._former is not None:
            self._left = list(reversed(self._former.get(part, ())))
            super().seed(f"{part}")  # for what is drawn beyond the tape
        return True

    def random(self) -> float:
        """A fraction."""
        return self._drawn(0, super().random)

    def getrandbits(self, k: int, /) -> int:
        """Some bits."""
        return int(self._drawn(k, lambda: super(Tape, self).getrandbits(k)))

    def _drawn(self, bits: int, fresh: Callable[[], float]) -> float:
        value = fresh()
        if self._left and self._left[-1][0] == bits:
            value = self._left.pop()[1]
        else:
            self._left.clear()
        self._now.append((bits, value))
        return value


@dataclass(frozen=True, slots=True)
class Short:
    """A broken schedule, shrunk: how it breaks, how much happened in it, how much still does, and what."""

    error: str
    events: int
    left: int
    story: str

    def __str__(self) -> str:
        shrunk = f"shrunk from {self.events} events to {self.left}; what is left about this path:"
        return f"{self.error}\n{shrunk}\n{self.story}"


def shrink(
    mode: str,
    seed: int,
    disks: Callable[[Region], Disk] = Disk,
    *,
    coded: bool = False,
    attempts: int = ATTEMPTS,
    seconds: float = SECONDS,
) -> Short | None:
    """Shrink a schedule that breaks, within so many attempts and seconds; ``None``: it does not break."""
    first = _attempt(mode, disks, Tape(seed), coded=coded)
    if first is None:
        return None
    tape, error, _ = first
    written, deadline, tried = tape.written, time.monotonic() + seconds, 0

    def breaks(without: frozenset[Part]) -> tuple[Tape, Exception, World] | None:
        nonlocal tried
        tried += 1
        if tried > attempts or time.monotonic() > deadline:
            return None
        found = _attempt(mode, disks, Tape(seed, written, without), coded=coded)
        return found if found is not None and _kind(found[1]) == _kind(error) else None

    whole = breaks(frozenset()) or first
    without: frozenset[Part] = frozenset()
    for pieces in (False, True):
        parts = [part for part in whole[0].written if part[0] >= 0 and (part[1] != "action") == pieces]
        parts = [part for part in parts if part[1] not in {"site", "moves"}]
        without, whole = _fewer(parts, without, whole, breaks)
    _, error, world = whole
    path = getattr(error, "path", "")
    told = f"{type(error).__name__}: {error}"
    return Short(told, len(first[2].story.rows), len(world.story.rows), world.story.about(path, 200))


_Found = tuple[Tape, Exception, World]


def _fewer(
    parts: Sequence[Part],
    without: frozenset[Part],
    whole: _Found,
    breaks: Callable[[frozenset[Part]], _Found | None],
) -> tuple[frozenset[Part], _Found]:
    """Leave out stretches of parts, long ones first, as long as it still breaks."""
    kept = list(parts)
    size = len(kept)
    while size:
        at = 0
        while at < len(kept):
            found = breaks(without | set(kept[at : at + size]))
            if found is None:
                at += size
            else:
                whole, without = found, without | set(kept[at : at + size])
                del kept[at : at + size]
        size //= 2
    return without, whole


def _attempt(mode: str, disks: Callable[[Region], Disk], tape: Tape, *, coded: bool) -> _Found | None:
    world = World(MODES[mode], disks=disks, coded=coded, tape=tape)
    try:
        world.run()
        for site in world.everywhere:
            site.disk.compare()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is to be told shortly
        return tape, error, world
    finally:
        for site in world.everywhere:
            site.disk.close()
    return None


def _kind(error: Exception) -> str:
    return getattr(error, "rule", type(error).__name__)
