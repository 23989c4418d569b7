"""One schedule: a migration of clusters that a seed decides, on a night of some profile, from its plan to its end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Final

import anyio

from syncer.errors import AdminError, IllegalTransition, PreconditionFailed, StateUnavailable
from syncer.migration.course import StopCode
from syncer.migration.draining import HeldUp
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.phases import ENDED, MigrationPhase
from syncer.migration.running.control.controller import Controller, MigrationState
from syncer.migration.scope import MigrationBounds
from tests.migration.clusters.process import Library
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.clusters.timeline import BEGINNING_MS
from tests.migration.controllers import Control, HeardJournal, patient
from tests.migration.flips import Killed
from tests.migration.schedules.clients import KINDS, ScheduledPlay
from tests.migration.schedules.judging import Outcome, judged
from tests.migration.schedules.profiles import PROFILES, Planned, drawn

BOUNDS: Final = MigrationBounds(drain_s=60, soak_s=3, longest_gap_s=26)
ENDLESS_MS: Final = 15 * 60_000
_FIRST_CALLS: Final = 500
"""Within so many calls to a cluster a controller may be killed."""
_FIRST_ENTRIES: Final = 150
_DRAINS_MS: Final = 70_000
"""After so long an operator sees to backlogs that nobody reads."""
_DOWN_MS: Final = (0, 4_000)
_FIRST_OF_A_STEP: Final = "step-begins"


class Endless(Exception):
    """A migration does not end."""


class ScheduledJournal(HeardJournal):
    """A journal behind whose events troubles happen, and which may take nothing more from some entry on."""

    def __init__(self, control: Control, play: ScheduledPlay, planned: list[Planned], chance: Random) -> None:
        super().__init__(control)
        self.full_at: int | None = None
        self._play = play
        self._planned = planned
        self._chance = chance
        self._times: Counter[str] = Counter()
        self._written = 0

    async def remember(self, key: str, value: object) -> None:
        """Keep a value."""
        self._write()
        await super().remember(key, value)

    async def forget(self, key: str) -> None:
        """Keep it no longer."""
        self._write()
        await super().forget(key)

    async def note(self, event: Mapping[str, object]) -> None:
        """Keep an event; what was planned for behind it happens soon."""
        self._write()
        name = str(event["step"] if event["event"] == _FIRST_OF_A_STEP else event["event"])
        self._times[name] += 1
        for each in self._planned:
            if (each.behind, each.times) == (name, self._times[name]):
                self._play.timeline.after(each.delay_ms, self._happen, each)
        await super().note(event)

    def fill_within(self, entries: int) -> None:
        """Take nothing more behind so many entries, until it is emptied."""
        self.full_at = self._written + entries

    def _write(self) -> None:
        if self.full_at is not None and self._written >= self.full_at:
            raise StateUnavailable("the disk is full")
        self._written += 1

    def _happen(self, planned: Planned) -> None:
        self._play.happen(planned.trouble.__name__)
        planned.trouble(self._play, self._chance)


class Schedule:
    """A migration that is carried out, however often it has to be begun anew."""

    def __init__(self, name: str, seed: int) -> None:
        profile = self._profile = PROFILES[name]
        play = self._play = ScheduledPlay(seed, batches=profile.batches, deadlocks=profile.deadlocks)
        chance = self._chance = Random(f"{name} {seed}")
        self._waves = play.waves()
        for trouble in profile.first:
            play.happen(trouble.__name__)
            trouble(play, chance)
        play.timeline.run(500)
        planned = drawn(profile, len(self._waves), chance)
        self.control = Control(play, faults=profile.faults, seed=seed)
        self.control.operator = self._operator
        self._killed: tuple[int | None, bool] = (None, False)
        self.control.journal = self._journal = ScheduledJournal(self.control, play, planned, chance)
        play.asked = lambda: len(self.control.blue.made)

    async def run(self) -> Outcome:
        """Carry it to its end, and judge.

        Raises:
            Endless: It does not end.
        """
        plan = await self.control.plan(*self._waves, bounds=BOUNDS)
        ends = [self._kill] * self._profile.kills + [self._fill] * self._profile.full_disks
        for end in self._chance.sample(ends, self._chance.randint(1, len(ends)) if ends else 0):
            end()
            if await self._carried(plan):
                break
        while not await self._carried(plan):
            pass
        return judged(self.control, self._play)

    async def _carried(self, plan: MigrationPlan) -> bool:
        """Whether a controller has come to the end; otherwise the next one can begin."""
        kill_at, at_green = self._killed
        controller = self.control.begin(plan, kill_at=kill_at, at_green=at_green)
        try:
            with anyio.CancelScope() as scope:
                self._play.cancel = scope.cancel
                await controller.run()
                return True
        except* (Killed, StateUnavailable):
            self._play.happen("ended")
        self.control.controller = None
        self._killed, self._journal.full_at = (None, False), None
        self._play.timeline.run(self._chance.randint(*_DOWN_MS))
        return False

    def _kill(self) -> None:
        """Have the next controller killed at one of its calls, before it or after it."""
        chance = self._chance
        self.control.blue.after = self.control.green.after = chance.random() < 0.5
        at_green = chance.random() < 0.3
        self._killed = chance.randint(1, _FIRST_CALLS // 2 if at_green else _FIRST_CALLS), at_green

    def _fill(self) -> None:
        """Have the next controller's database take nothing more from some entry on."""
        self._journal.fill_within(self._chance.randint(1, _FIRST_ENTRIES))

    async def _operator(self, controller: Controller, state: MigrationState) -> None:
        """Let everything go on, restart what is deadlocked, have backlogs read, and do what operators wish.

        A wave that is refused since a consumer has gone to green without its topic says that somebody has to read here.
        """
        play, run = self._play, state.run
        if play.timeline.now > ENDLESS_MS:
            raise Endless(f"{run.standing.phase}, {run.stop}")
        if run.stop is not None and run.stop.code == StopCode.DEADLOCKED and not run.asked:
            for broker in play.blue.brokers:
                if broker.deadlocked:
                    broker.restart(500)
        if (
            run.standing.phase is MigrationPhase.DRAINING
            and BEGINNING_MS + play.timeline.now - run.since_ms > _DRAINS_MS
        ):
            for drain in state.watched.drains:
                if drain.held_up is HeldUp.NOBODY:
                    self._start_reader(drain.topic, drain.subscription)
        if run.stop is not None and run.stop.code == StopCode.NOT_MOVED:
            for topic, subscription in _DESERTED.findall(run.stop.words):
                self._start_reader(topic, subscription)
        if play.wishes and not run.asked and run.standing.phase not in ENDED:
            with suppress(PreconditionFailed, IllegalTransition, AdminError):
                await controller.ask(play.wishes.pop(0), "bob", "it has to be")
            return
        await _PATIENT(controller, state)

    def _start_reader(self, topic: str, name: str) -> None:
        """Have somebody read a subscription at blue, whose consumers were sent to green, or have never been there."""
        at_blue = [each for each in self._play.consumers if each.url == self._play.blue.urls.pulsar]
        if not any((each.topic, each.subscription) == (topic, name) for each in at_blue):
            self._play.rescued.add(topic)
            kind = SubscriptionKind(name) if name in KINDS else SubscriptionKind.SHARED
            self._play.read(topic, kind, library=Library.JAVA, subscription=name)


_PATIENT: Final = patient()
_DESERTED: Final = re.compile(r"(persistent://\S+): nobody reads (\S+) here any more")
