"""What a controller is given in a play: a plan of the play's namespaces, operators, and a record that outlives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from syncer.migration.course import MigrationCommand, MigrationRun, run_from
from syncer.migration.evidence import ClusterUrls
from syncer.migration.migration_plan import MigrationPlan, MigrationWish
from syncer.migration.reading.pair import MigrationSide
from syncer.migration.reading.preflight import make_plan
from syncer.migration.running.control.controller import Controller, MigrationState
from syncer.migration.scope import MigrationBounds, MigrationScope, Overrides
from tests.migration.calls import SimulatedCalls
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.cluster import Cluster
from tests.migration.flips import MemoryJournal, calls_of, left_behind
from tests.migration.plays import NAMESPACE, NamespacePlay
from tests.migration.rest import AdminApi
from tests.migration.rest_faults import CALM, RestFaults

QUICK = MigrationBounds(drain_s=120, soak_s=20)
Operator = Callable[[Controller, MigrationState], Awaitable[None]]


class MemoryRecord:
    """A record that outlives whoever writes it; what is kept is plain."""

    def __init__(self, migration: str = "one") -> None:
        self.migration = migration
        self.kept: dict[str, Any] | None = None

    async def load(self) -> MigrationRun | None:
        """The run that was kept last."""
        return None if self.kept is None else run_from(self.kept)

    async def save(self, run: MigrationRun) -> None:
        """Keep a run."""
        self.kept = run.document


class HeardJournal(MemoryJournal):
    """A journal of which an operator hears every event."""

    def __init__(self, control: Control) -> None:
        super().__init__()
        self._control = control

    async def note(self, event: Mapping[str, object]) -> None:
        """Keep an event, and let the operator do what he does."""
        await super().note(event)
        await self._control.operate()

    def noted(self, event: str) -> list[Mapping[str, object]]:
        """The events of one name."""
        return [each for each in self.events if each["event"] == event]


class OperatedClock(SimulatedClock):
    """A clock whose every second an operator may use."""

    def __init__(self, control: Control) -> None:
        super().__init__(control.play.timeline)
        self._control = control

    async def sleep(self, seconds: float) -> None:
        """Let time pass, and the operator do what he does."""
        await super().sleep(seconds)
        await self._control.operate()


class Control:
    """A migration of a play, and all that outlives its controllers."""

    def __init__(self, play: NamespacePlay, *, faults: RestFaults = CALM, seed: int = 0) -> None:
        self.play = play
        self.journal = HeardJournal(self)
        self.record = MemoryRecord()
        self.operator: Operator | None = None
        self.controller: Controller | None = None
        self.blue = calls_of(play.blue, faults, seed)
        self.green = calls_of(play.green, faults, seed + 1)
        self._operating = False

    async def plan(
        self,
        *waves: tuple[str, ...],
        bounds: MigrationBounds = QUICK,
        overrides: Mapping[str, str] | None = None,
        whole_cluster: bool = False,
    ) -> MigrationPlan:
        """A plan of some waves, the first of which is the canary."""
        steps = waves or ((NAMESPACE,),)
        scope = MigrationScope(canary=steps[0], waves=steps[1:], whole_cluster=whole_cluster)
        wish = MigrationWish(
            tables=("b", "g"),
            scope=scope,
            wave_size=1,
            whole_cluster=whole_cluster,
            overrides=Overrides(reasons=overrides or {}),
            bounds=bounds,
        )
        now_ms = SimulatedClock(self.play.timeline).now_ms()
        blue, green = (
            MigrationSide(table=table, calls=SimulatedCalls(AdminApi(cluster)), urls=urls_of(cluster))
            for table, cluster in (("b", self.play.blue), ("g", self.play.green))
        )
        return (await make_plan(wish, blue, green, now_ms)).plan

    def begin(self, plan: MigrationPlan, *, kill_at: int | None = None, at_green: bool = False) -> Controller:
        """Make a controller, which may be killed at one of its calls to blue, or to green."""
        self.blue.kill_at = self.green.kill_at = None
        if kill_at is not None:
            killed = self.green if at_green else self.blue
            killed.kill_at = len(killed.made) + kill_at
        blue = MigrationSide(table="b", calls=self.blue, urls=urls_of(self.play.blue))
        green = MigrationSide(table="g", calls=self.green, urls=urls_of(self.play.green))
        self.controller = Controller(
            plan, blue, green, OperatedClock(self), self.journal, self.record, probe=nobody_dead
        )
        return self.controller

    def status(self) -> MigrationState:
        """What the controller tells that was made last."""
        assert self.controller is not None
        return self.controller.status()

    async def operate(self) -> None:
        """Let the operator look, unless he is being waited for."""
        controller, operator = self.controller, self.operator
        if controller is None or operator is None or self._operating or self.record.kept is None:
            return
        self._operating = True
        try:
            await operator(controller, controller.status())
        finally:
            self._operating = False


def nothing_left(control: Control) -> bool:
    """Whether neither cluster, nor the journal, has anything left that was set for the time of the migration."""
    play = control.play
    namespaces = [cluster.namespaces[NAMESPACE] for cluster in (play.blue, play.green)]
    claims = [each.policies["properties"] for each in namespaces if each.policies.get("properties")]
    scratch = [name for cluster in (play.blue, play.green) for name in cluster.namespaces if "warm-up" in name]
    left = left_behind(play)
    assert (left, control.journal.kept, claims, scratch) == ({}, {}, [], [])
    return True


async def nobody_dead(_: ClusterUrls) -> Mapping[str, str]:
    """Somebody answers at every address."""
    return {}


async def says_go(controller: Controller, state: MigrationState) -> None:
    """An operator who lets everything go that waits."""
    for command in (MigrationCommand.GO, MigrationCommand.CLOSE):
        if command in state.due.waits_for and state.run.stop is None and not state.run.asked:
            await controller.ask(command, "ann", "it looks well")


def patient(after: Operator = says_go) -> Operator:
    """An operator who resumes whatever has stopped, and does what another does."""

    async def operator(controller: Controller, state: MigrationState) -> None:
        if state.run.stop is not None and not state.run.asked:
            waits = state.due.waits_for
            command = MigrationCommand.RESUME if MigrationCommand.RESUME in waits else MigrationCommand.GO
            if command in waits:
                await controller.ask(command, "ann", "again")
            return
        await after(controller, state)

    return operator


def urls_of(cluster: Cluster) -> ClusterUrls:
    """A cluster's four addresses."""
    urls = cluster.urls
    return ClusterUrls(http=urls.http, https=urls.https, pulsar=urls.pulsar, pulsar_ssl=urls.pulsar_ssl)
