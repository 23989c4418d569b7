"""Plans made from what both clusters hold, and preflights: both read, every check made."""

from __future__ import annotations

from dataclasses import dataclass

from syncer.errors import NotFound
from syncer.migration.checks import Result, examine, passed
from syncer.migration.checks.finding import CheckStage, ClusterPair
from syncer.migration.evidence import ClusterSeen
from syncer.migration.migration_plan import MigrationPlan, MigrationWish, digest_of
from syncer.migration.reading.addresses import dead_addresses
from syncer.migration.reading.pair import MigrationSide, NotMoved, all_namespaces, not_moved, read_side
from syncer.migration.scope import of_clients
from syncer.model import Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPair:
    """A plan that holds, and both clusters as they were read for it.

    Attributes:
        not_moved: Namespaces of blue that stay.
    """

    plan: MigrationPlan
    blue: ClusterSeen
    green: ClusterSeen
    not_moved: NotMoved


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """A preflight that was made."""

    plan: MigrationPlan
    stage: CheckStage
    pair: ClusterPair
    results: tuple[Result, ...]

    @property
    def may_begin(self) -> bool:
        """Whether the migration may go on."""
        return passed(self.results)


async def make_plan(wish: MigrationWish, blue: MigrationSide, green: MigrationSide, now_ms: Millis) -> PlannedPair:
    """Read both clusters, and make the plan of a wish.

    Raises:
        NotFound: Blue has no such namespace.
        PlanInvalid: There is nothing to move.
        AdminError: A cluster does not answer, or not as it should.
    """
    every = await all_namespaces(blue) if wish.scope is None else ()
    names = wish.scope.namespaces if wish.scope is not None else tuple(filter(of_clients, every))
    here = await read_side(blue, names, now_ms)
    if unknown := [name for name in names if name not in here.namespaces]:
        raise NotFound(
            f"cluster.{blue.table} has no namespace {unknown[0]}",
            hint=f"List what it has with 'pulsar-admin namespaces list {unknown[0].partition('/')[0]}'.",
        )
    there = await read_side(green, names, now_ms)
    scope = wish.scope_of(here)
    plan = MigrationPlan(
        made_at_ms=now_ms,
        blue=blue.planned(here),
        green=green.planned(there),
        scope=scope,
        bounds=wish.bounds,
        overrides=wish.overrides,
        contents={name: digest_of(here, name) for name in scope.namespaces},
    )
    return PlannedPair(plan=plan, blue=here, green=there, not_moved=await not_moved(blue, scope))


async def read_for(
    plan: MigrationPlan, blue: MigrationSide, green: MigrationSide, now_ms: Millis, *, load: bool = False
) -> PlannedPair:
    """Read both clusters anew for a plan.

    Args:
        plan: The plan.
        blue: The cluster that is left.
        green: The cluster that clients go to.
        now_ms: The time.
        load: Topics that are not loaded are, to learn all that their subscriptions carry.

    Raises:
        PlanStale: Something has changed since the plan was made.
        AdminError: A cluster does not answer, or not as it should.
    """
    here = await read_side(blue, plan.scope.namespaces, now_ms, load=load)
    there = await read_side(green, plan.scope.namespaces, now_ms, load=load)
    plan.require_fresh(here, there)
    return PlannedPair(plan=plan, blue=here, green=there, not_moved=await not_moved(blue, plan.scope))


async def make_preflight(planned: PlannedPair, stage: CheckStage, *, own_topics: frozenset[str]) -> Preflight:
    """Make every check.

    Args:
        planned: A plan, and both clusters as they were just read.
        stage: How far the migration is.
        own_topics: Of the daemons' own bus.

    Raises:
        PlanInvalid: An override names no check.
    """
    plan = planned.plan
    pair = ClusterPair(
        scope=plan.scope,
        bounds=plan.bounds,
        blue=planned.blue,
        green=planned.green,
        own_topics=own_topics,
        dead_addresses=await dead_addresses(planned.green.urls),
        left_out=planned.not_moved.left_out,
        first_form=planned.not_moved.first_form,
    )
    return Preflight(plan=plan, stage=stage, pair=pair, results=examine(pair, plan.overrides, stage))
