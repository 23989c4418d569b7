"""Surveys: both clusters of a migration read as they are, for checks and for preparing green."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from syncer.migration.checks import Result, examine
from syncer.migration.checks.finding import CheckStage, ClusterPair
from syncer.migration.evidence import ClusterSeen, ClusterUrls
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.reading.cluster import read_cluster
from syncer.migration.reading.pair import MigrationSide, NotMoved, not_moved, told_of
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.calls import PatientCalls
from syncer.migration.scope import MigrationScope
from syncer.replacing import replace

Probe = Callable[[ClusterUrls], Awaitable[Mapping[str, str]]]
"""Finds addresses at which nobody takes a connection → why."""


class Survey:
    """Reads both clusters of a plan."""

    def __init__(
        self,
        plan: MigrationPlan,
        blue: MigrationSide,
        green: MigrationSide,
        clock: Clock,
        *,
        own_topics: frozenset[str],
        probe: Probe,
        claim: str,
    ) -> None:
        """Survey for a migration.

        Args:
            plan: What is moved.
            blue: The one cluster.
            green: The other.
            clock: For reads that are made again.
            own_topics: Of the daemons' own bus.
            probe: Asks whether somebody answers at green's addresses.
            claim: The migration's id.
        """
        self._plan = plan
        self._blue = replace(blue, calls=PatientCalls(blue.calls, clock))
        self._green = replace(green, calls=PatientCalls(green.calls, clock))
        self._clock = clock
        self._own_topics = own_topics
        self._probe = probe
        self._claim = claim

    async def pair(
        self, namespaces: Sequence[str] | None = None, *, load: bool, only: Collection[str] | None = None
    ) -> ClusterPair:
        """Both clusters as they are now.

        Args:
            namespaces: Whose topics are read; ``None``: all that are moved.
            load: All topics are asked for their statistics, which loads them.
            only: Of these topics, by their names without partitions; ``None``: of all.

        Raises:
            AdminError: A cluster does not answer, or not as it should.
        """
        scope = self._plan.scope
        if namespaces is not None:
            scope = MigrationScope(canary=tuple(namespaces), whole_cluster=scope.whole_cluster)
        return ClusterPair(
            scope=scope,
            bounds=self._plan.bounds,
            blue=await self._read(self._blue, scope, load=load, only=only),
            green=await self._read(self._green, scope, load=load, only=only),
            own_topics=self._own_topics,
            claim=self._claim,
        )

    async def findings(self, stage: CheckStage, *, fresh: bool = False) -> tuple[Result, ...]:
        """What every check finds.

        Args:
            stage: How far the migration is.
            fresh: Nothing may have changed since the plan was made.

        Raises:
            PlanStale: Something has changed, and may not have.
            AdminError: A cluster does not answer, or not as it should.
        """
        pair = await self.pair(load=stage is not CheckStage.BEFORE)
        if fresh:
            self._plan.require_fresh(pair.blue, pair.green)
        return await self.examined(pair, stage)

    async def examined(self, pair: ClusterPair, stage: CheckStage) -> tuple[Result, ...]:
        """What every check finds of a pair that was just read.

        Raises:
            AdminError: Blue does not answer, or not as it should.
        """
        # the preflight has named what stays; here it counts for the mark of the whole cluster alone
        stays = await not_moved(self._blue, self._plan.scope) if self._plan.scope.whole_cluster else NotMoved()
        pair = replace(
            pair,
            dead_addresses=await self._probe(pair.green.urls),
            left_out=stays.left_out,
            first_form=stays.first_form,
        )
        return examine(pair, self._plan.overrides, stage)

    async def left_out(self) -> dict[str, int]:
        """Namespaces that the cluster's own mark would take along, though they are not moved → their topics."""
        if not self._plan.scope.whole_cluster:
            return {}
        return dict((await not_moved(self._blue, self._plan.scope)).left_out)

    async def _read(
        self, side: MigrationSide, scope: MigrationScope, *, load: bool, only: Collection[str] | None
    ) -> ClusterSeen:
        now_ms = self._clock.now_ms()
        with told_of(side.table):
            return await read_cluster(
                side.calls, urls=side.urls, namespaces=scope.namespaces, now_ms=now_ms, load=load, only=only
            )
