"""Many schedules on every core: deals seeds out to processes, counts what they met, and keeps what broke."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count, islice
from multiprocessing import get_context
from typing import Final

from tests.simulation.shrinking import Short, shrink
from tests.simulation.sidecar import play_on_sqlite, shrink_on_sqlite
from tests.simulation.world import World, play

CHUNK: Final = 20
"""Schedules per errand of a process: about a second's work."""


class Tier(StrEnum):
    """On what a schedule is played."""

    CORE = "core"
    """Decisions and steps on plain tables in memory, which survive a crash: quick."""

    SHELL = "shell"
    """The same with the real sidecar code on SQLite, and messages as the bytes of the topic."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A schedule that ended otherwise than the rules demand."""

    tier: Tier
    mode: str
    seed: int
    error: str
    story: str

    def shrunk(self) -> str:
        """A short story of how it breaks, in words."""
        short = SHRINKS[self.tier](self.mode, self.seed)
        return str(short) if short is not None else self.story

    def __str__(self) -> str:
        return f"BROKEN tier {self.tier}, mode {self.mode}, seed {self.seed}: {self.error}"


@dataclass(slots=True)
class Tally:
    """What came out of schedules."""

    played: Counter[tuple[Tier, str]] = field(default_factory=Counter)
    met: dict[Tier, Counter[str]] = field(default_factory=lambda: {tier: Counter() for tier in Tier})
    """In how many schedules of a tier there was something, however often."""
    broken: list[Broken] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take what another process has counted."""
        self.played.update(other.played)
        self.broken += other.broken
        for tier, met in other.met.items():
            self.met[tier].update(met)

    def schedules(self, tier: Tier | None = None) -> int:
        """How many schedules were played."""
        return sum(number for (of, _), number in self.played.items() if tier in {None, of})

    @property
    def met_anywhere(self) -> Counter[str]:
        """In how many schedules of all tiers there was something."""
        return sum(self.met.values(), Counter())


PLAYS: Final[dict[Tier, Callable[[str, int], World]]] = {Tier.CORE: play, Tier.SHELL: play_on_sqlite}

SHRINKS: Final[dict[Tier, Callable[[str, int], Short | None]]] = {Tier.CORE: shrink, Tier.SHELL: shrink_on_sqlite}

Errand = tuple[Tier, tuple[tuple[str, int], ...]]


def errands(tier: Tier, modes: Sequence[str], start: int, schedules: int | None) -> Iterator[Errand]:
    """Seeds from ``start`` on, dealt out to the modes in turn; ``None``: without end."""
    seeds = count(start) if schedules is None else iter(range(start, start + schedules))
    while chunk := tuple((modes[seed % len(modes)], seed) for seed in islice(seeds, CHUNK)):
        yield tier, chunk


def perform(errand: Errand) -> Tally:
    """Play the schedules of one errand."""
    tier, chunk = errand
    tally = Tally()
    for mode, seed in chunk:
        tally.played[tier, mode] += 1
        try:
            world = PLAYS[tier](mode, seed)
        except Exception as error:  # noqa: BLE001 - whatever else it ends with, the schedule is broken
            notes = "\n".join(getattr(error, "__notes__", []))
            tally.broken.append(Broken(tier, mode, seed, f"{type(error).__name__}: {error}", notes))
        else:
            tally.met[tier].update(name for name, times in world.met.items() if times)
    return tally


def run(
    work: Iterator[Errand],
    *,
    processes: int,
    deadline: float | None = None,
    keep_going: bool = True,
    told: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Perform errands on some processes until there are none, or no time, or something broke.

    Args:
        work: Taken one by one, as processes become free.
        processes: How many; 1: this one.
        deadline: Of ``time.monotonic``; no errand begins after it.
        keep_going: Whether to go on after a schedule broke.
        told: Called with the whole after each errand.
    """
    whole = Tally()

    def over() -> bool:
        late = deadline is not None and time.monotonic() >= deadline
        return late or (bool(whole.broken) and not keep_going)

    if processes == 1:
        while not over() and (errand := next(work, None)) is not None:
            whole.add(perform(errand))
            told(whole)
        return whole
    with ExitStack() as stack:
        pool = stack.enter_context(ProcessPoolExecutor(processes, mp_context=get_context("spawn")))
        running: set[Future[Tally]] = set()
        while True:
            while len(running) < 2 * processes and not over() and (errand := next(work, None)) is not None:
                running.add(pool.submit(perform, errand))
            if not running:
                return whole
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                whole.add(future.result())
                told(whole)
