"""A migration of namespaces between the lab's two real clusters, carried by the product's own controller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import anyio
import anyio.to_thread

from deploy.lab.pulsar import Part
from deploy.lab.traffic.account import TrafficAccount
from deploy.lab.traffic.loads import TopicLoad
from syncer.admin.client import AdminClient
from syncer.errors import AdminError, PreconditionFailed
from syncer.migration.broker_health import BrokerHealth, deadlocked
from syncer.migration.course import MigrationCommand, MigrationStop, StopCode
from syncer.migration.evidence import ClusterUrls, base_of, namespace_of
from syncer.migration.migration_plan import MigrationPlan, MigrationWish
from syncer.migration.phases import MigrationPhase
from syncer.migration.reading.pair import MigrationSide
from syncer.migration.reading.preflight import make_plan
from syncer.migration.running.clock import WallClock
from syncer.migration.running.control.controller import Controller, MigrationState
from syncer.migration.running.former import FormerValues, Setting
from syncer.migration.scope import MigrationBounds, MigrationScope, Overrides
from syncer.migration.topics import READ
from syncer.replacing import replace
from syncer.waiting import WAIT_S, WaitTimedOut, until
from tests.conftest import PulsarPair
from tests.migration.controllers import MemoryRecord
from tests.migration.flips import Killed, MemoryJournal

BLUE: Final = "us-east"
GREEN: Final = "us-west"
BOUNDS: Final = MigrationBounds(drain_s=60, soak_s=3)
_UNMARKED_S: Final = 15.0
_SHOWN: Final = 30
_TOLD: Final = 300

Holds = Callable[[MigrationState], bool]
Make = Callable[..., "RealMigration"]
"""Makes a migration of namespaces by their short names: ``make(case, wave, wave)``."""


class MortalClient(AdminClient):
    """The admin API of a process that may be killed: from then on nothing more is done, nor put back.

    Attributes:
        dead: Whether it was.
    """

    dead = False

    async def get(self, path: str) -> Any:
        """Read."""
        self._live()
        answer = await super().get(path)
        self._live()
        return answer

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write."""
        self._live()
        await super().send(method, path, body)
        self._live()

    def _live(self) -> None:
        if self.dead:
            raise Killed


class RealMigration:
    """One migration, and all that outlives its controllers.

    Args:
        pair: The clusters.
        blue: Blue's admin API.
        green: Green's.
        waves: Namespaces of each wave, the canary first.
        migration: Its id.

    Attributes:
        deadlocks: What brokers have said whose threads waited for each other, and which were restarted for that.
    """

    def __init__(
        self, pair: PulsarPair, blue: MortalClient, green: MortalClient, waves: Sequence[Sequence[str]], migration: str
    ) -> None:
        self.blue = MigrationSide(table=BLUE, calls=blue, urls=urls_of(pair, BLUE))
        self.green = MigrationSide(table=GREEN, calls=green, urls=urls_of(pair, GREEN))
        self.service_url = pair.clusters[BLUE].service_url
        self.waves = tuple(map(tuple, waves))
        self.journal = MemoryJournal()
        self.record = MemoryRecord(migration)
        self.controller: Controller | None = None
        self.deadlocks: list[str] = []
        self._lab = {"blue": pair.clusters[BLUE], "green": pair.clusters[GREEN]}
        self._clients = (blue, green)
        self._settings: dict[str, dict[str, str]] = {}

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All that it moves."""
        return tuple(name for wave in self.waves for name in wave)

    async def make(self, loads: Sequence[TopicLoad]) -> None:
        """Make namespaces and topics at blue; green has the tenant alone."""
        for side in (self.blue, self.green):
            self._settings[side.table] = await side.calls.dynamic_settings()
            for tenant in sorted({name.partition("/")[0] for name in self.namespaces}):
                if await side.calls.tenant(tenant) is None:
                    await side.calls.create_tenant(tenant, {"adminRoles": [], "allowedClusters": [side.table]})
        for name in self.namespaces:
            await self.blue.calls.create_namespace(name, {"replication_clusters": [BLUE]})
        for load in loads:
            if load.partitions:
                await self.blue.calls.create_partitions(load.topic, load.partitions)
            else:
                await self.blue.calls.create_topic(load.topic)

    async def plan(self, *, overrides: Mapping[str, str] | None = None) -> MigrationPlan:
        """A plan of its waves."""
        wish = MigrationWish(
            tables=(BLUE, GREEN),
            scope=MigrationScope(canary=self.waves[0], waves=self.waves[1:]),
            wave_size=1,
            whole_cluster=False,
            overrides=Overrides(reasons=overrides or {}),
            bounds=BOUNDS,
        )
        return (await make_plan(wish, self.blue, self.green, WallClock().now_ms())).plan

    def begin(self, plan: MigrationPlan) -> Controller:
        """Make a controller; the one before must have ended."""
        self.controller = Controller(plan, self.blue, self.green, WallClock(), self.journal, self.record)
        return self.controller

    async def carry(self, plan: MigrationPlan, during: Callable[[], Awaitable[None]], *, killed: bool = False) -> None:
        """Run a controller until what an operator does meanwhile is done; then it is killed, or told to end."""
        controller = self.begin(plan)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(controller.run)
                await during()
                if killed:
                    self._set_dead(dead=True)
                    await anyio.sleep(WAIT_S)
                tasks.cancel_scope.cancel()
        except* Killed:
            assert killed
        finally:
            self._set_dead(dead=False)

    def _set_dead(self, *, dead: bool) -> None:
        for client in self._clients:
            client.dead = dead

    async def until(self, holds: Holds, what: str) -> MigrationState:
        """Wait until something can be seen of the migration; a broker that it names as deadlocked is restarted.

        A busy machine takes its time: as long as the migration goes on, it is waited for.

        Raises:
            WaitTimedOut: It could not, and nothing happened any more.
        """

        found: list[MigrationState] = []
        happened = 0

        async def moves() -> bool:
            if self.controller is not None and not await self._heed_deadlock(self.controller):
                found.extend(filter(holds, [self.controller.status()]))
            return bool(found) or len(self.journal.events) > happened

        try:
            while not found:
                happened = len(self.journal.events)
                await until(moves, what, passing=PreconditionFailed, shown=self._shown)  # it may not be loaded yet
        except WaitTimedOut:
            for event in self.journal.events[-_SHOWN:]:
                print({name: str(value)[:_TOLD] for name, value in event.items()})
            raise
        return found[0]

    def _shown(self) -> object:
        return self.deadlocks, self.controller.status() if self.controller is not None else None

    async def _heed_deadlock(self, controller: Controller) -> bool:
        """Do what the migration says where a broker is deadlocked, which is Pulsar's doing; whether it was so."""
        state = controller.status()
        found = deadlocked(state.ill)
        for each in found:
            self.deadlocks.append(each.words)
            print("restarted:", each.words)
            unread = {namespace_of(name) for name, how in state.watched.states.items() if how not in READ}
            await self._restart(each, sorted(unread) if each.cluster == "blue" else ())

        async def well() -> bool:
            return not deadlocked(controller.status().ill)

        await until(well, "no broker is deadlocked")
        run = controller.status().run
        if run.stop is None or run.stop.code != StopCode.DEADLOCKED or run.asked:
            return bool(found)
        await controller.ask(MigrationCommand.RESUME, "ann", "the broker was restarted")
        return True

    async def _restart(self, health: BrokerHealth, unread: Sequence[str]) -> None:
        """Restart a broker, with the marks of namespaces off that were not read yet."""
        with anyio.move_on_after(_UNMARKED_S), suppress(AdminError):
            for name in unread:
                await self.blue.calls.mark_namespace(name, migrated=False)
        cluster = self._lab[health.cluster]
        await anyio.to_thread.run_sync(cluster.kill, Part.BROKER)
        await anyio.to_thread.run_sync(cluster.start, Part.BROKER)

    def see_unharmed(self, account: TrafficAccount) -> None:
        """See that no client was harmed; of a broker that was killed, what was on its way may come twice.

        Raises:
            AssertionError: One was.
        """
        if self.deadlocks:
            account = replace(account, doubled={})
        assert account.unharmed, f"{account}: {account!r}; {self.deadlocks=}"

    async def ask(self, command: MigrationCommand, why: str = "it looks well") -> None:
        """Ask as an operator."""
        assert self.controller is not None
        await self.controller.ask(command, "ann", why)

    async def go(self) -> None:
        """Wait until a go is waited for, and say it."""
        await self.waiting_for(MigrationCommand.GO)
        await self.ask(MigrationCommand.GO)

    async def resume(self, why: str) -> None:
        """Resume what has stopped, and wait until that was followed."""
        await self.ask(MigrationCommand.RESUME, why)
        await self.until(lambda state: state.run.stop is None, "it goes on")

    async def past_stops(
        self, holds: Holds, heeds: Callable[[MigrationStop], Awaitable[None]] | None = None
    ) -> MigrationState:
        """Wait until something can be seen with nothing in the way; whatever stops it before is heeded, and resumed."""
        while True:
            state = await self.until(
                lambda state: not state.run.asked and (state.run.stop is not None or holds(state)), "it goes on"
            )
            if state.run.stop is None:
                return state
            if heeds is not None:
                await heeds(state.run.stop)
            await self.resume("what it asked for was done")

    async def waiting_for(self, command: MigrationCommand) -> MigrationState:
        """Wait until a command is waited for, with nothing in the way and nothing asked before."""

        def waits(state: MigrationState) -> bool:
            assert state.run.stop is None, (self.deadlocks, state)
            return command in state.due.waits_for and not state.run.asked

        return await self.until(waits, f"{command} is waited for")

    async def close(self) -> None:
        """Close it once it may be closed, and wait until it is."""
        await self.waiting_for(MigrationCommand.CLOSE)
        await self.ask(MigrationCommand.CLOSE)
        await self.until(lambda state: state.run.standing.phase is MigrationPhase.CLOSED, "it is closed")

    async def put_back(self) -> None:
        """Put back whatever a migration that has not ended has left, for those that come after it."""
        for calls, cluster in ((self.blue.calls, "blue"), (self.green.calls, "green")):
            former = FormerValues(calls, WallClock(), self.journal, cluster=cluster)
            await former.load()
            await former.put_all_back(tuple(Setting))
        for name in self.namespaces:
            if await self.blue.calls.namespace(name) is not None:
                await self.blue.calls.mark_namespace(name, migrated=False)

    async def left_nothing(self) -> None:
        """See that nothing of it is left at either cluster but what was wanted.

        Raises:
            AssertionError: Something is.
        """
        assert self.journal.kept == {}
        for side in (self.blue, self.green):
            assert await side.calls.dynamic_settings() == self._settings[side.table]
            for name in self.namespaces:
                policies = await side.calls.namespace(name) or {}
                assert not policies.get("properties"), policies
                assert not policies.get("encryption_required"), policies
                for topic in sorted({base_of(each) for each in await side.calls.topics(name)}):
                    for policy in ("publishRate", "backlogQuotaMap"):
                        assert not await side.calls.topic_policy(topic, policy), (topic, policy)


def urls_of(pair: PulsarPair, name: str) -> ClusterUrls:
    """Addresses of a cluster of the lab."""
    cluster = pair.clusters[name]
    return ClusterUrls(http=cluster.admin_url, pulsar=cluster.service_url)
