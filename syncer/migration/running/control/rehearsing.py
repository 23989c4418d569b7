"""The rehearsal of a migration: both clusters read, and all that would happen said beforehand, with nothing set.

    read ─▶ every check ─▶ what green would be given ─▶ of each wave: look ─▶ what its flip foresees ─▶ look again

Topics are asked for their statistics, which loads those that are not loaded; nothing else changes at either cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from syncer.errors import InvariantBroken
from syncer.migration.brake import FlipTiming
from syncer.migration.checks import Result, passed
from syncer.migration.checks.brokers import slowest_period_s
from syncer.migration.checks.finding import CheckStage
from syncer.migration.cure import Cure
from syncer.migration.draining import Drain, Sending, drains_foreseen, sending_foreseen, slowest_s
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.preparing import prepare
from syncer.migration.preparing.step import Preparation
from syncer.migration.reading.addresses import dead_addresses
from syncer.migration.reading.pair import MigrationSide
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.beginning import WINDOW_S
from syncer.migration.running.control.calls import ReadOnlyCalls
from syncer.migration.running.control.moving import past_backlog, past_gap
from syncer.migration.running.control.surveying import Probe, Survey
from syncer.migration.running.flip import Flip
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.looking import Looking
from syncer.migration.running.report import Foreseen
from syncer.migration.scope import MigrationBounds
from syncer.migration.steering import steps_of
from syncer.replacing import replace

_WATCHED_S: Final = 5.0
"""For how long backlogs of a wave are watched at least, to tell how fast they fall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedWave:
    """What would come of a wave.

    Attributes:
        wave: Its number; 0: the canary.
        foreseen: What its flip would do to clients.
        drains: Subscriptions that are not empty: what is left, how long that takes, who holds it up.
        sending: Topics that have yet to replicate something.
        stops: Code → why it would stop before anything is set, though no topic is refused.
    """

    wave: int
    namespaces: tuple[str, ...]
    foreseen: Foreseen
    drains: tuple[Drain, ...]
    sending: tuple[Sending, ...]
    stops: Mapping[str, str]

    @property
    def refused(self) -> dict[str, str]:
        """Topics that cannot be moved as they are → why."""
        return {each.topic: str(each.why) for each in self.foreseen.cures if each.cure is Cure.REFUSED}

    @property
    def drained_s(self) -> float | None:
        """Until all is read and sent, if everybody goes on as now; ``None``: something is not known to fall."""
        return slowest_s((*self.drains, *self.sending))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What would come of a migration.

    Attributes:
        results: Of every check; what is not due yet is what preparing green or guarding blue would see to.
        preparation: What green would be given, and what it lacks that nothing gives it.
    """

    results: tuple[Result, ...]
    preparation: Preparation
    waves: tuple[RehearsedWave, ...]

    @property
    def may_begin(self) -> bool:
        """Whether checks would let it begin."""
        return passed(self.results)


async def rehearse(
    plan: MigrationPlan,
    blue: MigrationSide,
    green: MigrationSide,
    clock: Clock,
    *,
    own_topics: frozenset[str] = frozenset(),
    probe: Probe = dead_addresses,
) -> Rehearsal:
    """Say all that a migration would do; not one write is asked of either cluster.

    Args:
        plan: The migration's.
        blue: The cluster that would be left.
        green: The cluster that clients would go to.
        clock: The time, and waiting: every wave takes five seconds or more.
        own_topics: Of the daemons' own bus.
        probe: Asks whether somebody answers at green's addresses.

    Raises:
        PlanStale: Something has changed since the plan was made.
        AdminError: A cluster does not answer, or not as it should.
    """
    blue, green = (replace(side, calls=ReadOnlyCalls(side.calls)) for side in (blue, green))
    survey = Survey(plan, blue, green, clock, own_topics=own_topics, probe=probe, claim="")
    pair = await survey.pair(load=True)
    plan.require_fresh(pair.blue, pair.green)
    results = await survey.examined(pair, CheckStage.BEFORE)
    period_s = slowest_period_s(broker.settings for broker in pair.blue.brokers)
    waves = _Waves(blue, green, clock, FlipTiming(check_period_s=period_s, window_s=WINDOW_S), plan.bounds)
    steps = enumerate(steps_of(plan.scope))
    return Rehearsal(
        results=results,
        preparation=prepare(pair),
        waves=tuple([await waves.rehearse(number, namespaces) for number, namespaces in steps]),
    )


class _Waves:
    """Rehearses waves, one after the other."""

    def __init__(
        self, blue: MigrationSide, green: MigrationSide, clock: Clock, timing: FlipTiming, bounds: MigrationBounds
    ) -> None:
        self._clock = clock
        self._bounds = bounds
        self._looking = Looking(blue.calls, clock)
        self._flip = Flip(blue.calls, green.calls, clock, _NoJournal(), timing)

    async def rehearse(self, wave: int, namespaces: tuple[str, ...]) -> RehearsedWave:
        names = [name for each in namespaces for name in await self._looking.listed(each)]
        began_ms = self._clock.now_ms()
        first = await self._looking.topics(names)
        foreseen = await self._flip.foresee(namespaces)
        await self._clock.sleep(max(0.0, _WATCHED_S - (self._clock.now_ms() - began_ms) / 1000))
        apart_s = (self._clock.now_ms() - began_ms) / 1000
        now = await self._looking.topics(names)
        return RehearsedWave(
            wave=wave,
            namespaces=namespaces,
            foreseen=foreseen,
            drains=tuple(each for name in names for each in drains_foreseen(first[name], now[name], apart_s)),
            sending=tuple(each for name in names for each in sending_foreseen(first[name], now[name], apart_s)),
            stops={**past_gap(foreseen, self._bounds), **past_backlog(now, self._bounds)},
        )


class _NoJournal(MigrationJournal):
    """A journal of something that sets nothing: nothing is kept in it, and nothing may be."""

    async def remember(self, key: str, value: object) -> None:  # noqa: ARG002
        raise InvariantBroken(f"{key} was about to be kept where nothing may be set")

    async def forget(self, key: str) -> None:
        """Nothing is kept."""

    async def recall(self, start: str) -> Mapping[str, object]:  # noqa: ARG002
        return {}

    async def note(self, event: Mapping[str, object]) -> None:
        raise InvariantBroken(f"{event} was about to be noted where nothing happens")
