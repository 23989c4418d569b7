"""Many schedules, on as many processes as are given: what they came to, by profile."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Final

import anyio

from tests.migration.schedules.judging import Outcome
from tests.migration.schedules.schedule import Schedule

CHUNK: Final = 20
"""Schedules per errand of a process: a few seconds' work."""
SUMS: Final = ("published", "delivered", "lost", "doubled", "excused", "out-of-order", "dead", "not-sent")
"""What is added up; excused is what came again for a reason, not-sent what an application was told that it is not."""
Errand = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenSchedule:
    """A schedule that did not end as it has to."""

    profile: str
    seed: int
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        return f"FAIL profile {self.profile}, seed {self.seed}: {'; '.join(self.wrong)}"


@dataclass(slots=True)
class ProfileTally:
    """What the schedules of one profile came to.

    Attributes:
        ends: Phase → schedules that have ended in it.
        sums: Of messages and clients, by ``SUMS``.
    """

    played: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    sums: Counter[str] = field(default_factory=Counter)
    longest_gap_ms: int = 0

    def count(self, outcome: Outcome) -> None:
        """Take one schedule."""
        verdict = outcome.verdict
        self.ends[outcome.ends.value] += 1
        self.longest_gap_ms = max(self.longest_gap_ms, *verdict.gaps_ms.values(), 0)
        doubled = verdict.doubled - outcome.excused
        found = verdict.published, verdict.delivered, verdict.lost, doubled, outcome.excused, verdict.disordered
        self.sums.update(dict(zip(SUMS, (*found, len(verdict.dead), verdict.failed), strict=True)))

    def add(self, other: ProfileTally) -> None:
        """Take what another process has counted."""
        self.played += other.played
        self.ends.update(other.ends)
        self.sums.update(other.sums)
        self.longest_gap_ms = max(self.longest_gap_ms, other.longest_gap_ms)


@dataclass(slots=True)
class Campaign:
    """What came out of schedules.

    Attributes:
        met: Trouble → schedules in which it has happened.
    """

    tallies: dict[str, ProfileTally] = field(default_factory=dict)
    met: Counter[str] = field(default_factory=Counter)
    broken: list[BrokenSchedule] = field(default_factory=list)

    @property
    def played(self) -> int:
        """How many schedules were played."""
        return sum(each.played for each in self.tallies.values())

    def add(self, other: Campaign) -> None:
        """Take what another process has counted."""
        self.met.update(other.met)
        self.broken += other.broken
        for name, tally in other.tallies.items():
            self.tallies.setdefault(name, ProfileTally()).add(tally)


def errands(profiles: Sequence[str], start: int, schedules: int) -> Iterator[Errand]:
    """Seeds from ``start`` on, dealt out to the profiles in turn."""
    dealt = [(profiles[seed % len(profiles)], seed) for seed in range(start, start + schedules)]
    for number in range(0, len(dealt), CHUNK):
        yield tuple(dealt[number : number + CHUNK])


def play(profile: str, seed: int) -> tuple[Outcome, Schedule]:
    """Play one schedule."""
    schedule = Schedule(profile, seed)
    return anyio.run(schedule.run), schedule


def perform(errand: Errand) -> Campaign:
    """Play the schedules of one errand."""
    found = Campaign()
    for profile, seed in errand:
        tally = found.tallies.setdefault(profile, ProfileTally())
        tally.played += 1
        try:
            outcome, _ = play(profile, seed)
        except Exception as error:  # noqa: BLE001 - whatever else it ends with, the schedule is broken
            where = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{type(error).__name__}: {error} ({where.name})"
            found.broken.append(BrokenSchedule(profile=profile, seed=seed, wrong=(words,)))
            continue
        tally.count(outcome)
        found.met.update(outcome.met)
        if outcome.wrong:
            found.broken.append(BrokenSchedule(profile=profile, seed=seed, wrong=outcome.wrong))
    return found


def run(work: Iterator[Errand], *, processes: int, keep_going: bool) -> Campaign:
    """Perform errands until there are none, or something broke."""
    whole = Campaign()
    found: Iterator[Campaign]
    with ExitStack() as stack:
        if processes == 1:
            found = map(perform, work)
        else:
            pool = stack.enter_context(ProcessPoolExecutor(processes, mp_context=get_context("spawn")))
            stack.callback(pool.shutdown, cancel_futures=True)
            found = pool.map(perform, work)
        for each in found:
            whole.add(each)
            if whole.broken and not keep_going:
                break
    return whole
