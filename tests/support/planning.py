"""Regions for the tests of plans and backups: a store with some resources, and the steps that the commands take."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from syncer.conflict.guards import Topics
from syncer.conflict.scope import Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.model import MetaPath, Millis, Region
from syncer.paths import scaffold
from syncer.plan.operations import Plan
from syncer.plan.review import Reason, Review
from syncer.planning.compare import compare
from syncer.planning.preconditions import reviewed
from syncer.planning.sources import LiveSide, Side
from syncer.stores.contract import MetadataStore, Put

NOW: Final = Millis(1_700_000_000_000)


class NoTopics:
    """Answers that there are no topics anywhere."""

    async def ask(self, path: MetaPath) -> Topics:
        return Topics.NONE


def value(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def tenant_rules(*tenants: str) -> Scope:
    """A scope of these tenants alone: for a server that tests share."""
    trees = ("/admin/policies", "/admin/partitioned-topics")
    patterns = [f"{tree}/{tenant}{rest}" for tree in trees for tenant in tenants for rest in ("", "/**")]
    return Scope([Rule(pattern, Direction.BOTH) for pattern in patterns])


def resources(tenant: str, *, topics: int, partitions: int = 4, bundles: int = 4) -> dict[MetaPath, bytes]:
    """A tenant with two namespaces and some topics."""
    policies = {"replication_clusters": ["global"], "bundles": {"numBundles": bundles}, "deleted": False}
    found = {
        f"/admin/policies/{tenant}": value(adminRoles=["ops"], allowedClusters=["global"]),
        f"/admin/policies/{tenant}/orders": value(**policies, message_ttl_in_seconds=60),
        f"/admin/policies/{tenant}/empty": value(**policies),
    }
    for number in range(topics):
        path = f"/admin/partitioned-topics/{tenant}/orders/persistent/topic-{number:05}"
        found[path] = value(partitions=partitions)
    return {MetaPath(path): stored for path, stored in found.items()}


async def fill(store: MetadataStore, values: Mapping[MetaPath, bytes]) -> None:
    """Write values into an empty part of a store, parents first."""
    for path in sorted(values, key=lambda path: (path.startswith("/admin/partitioned"), path)):
        await store.apply([Put(path=path, value=values[path], expected=None, scaffold=scaffold(path))])


async def contents(side: LiveSide) -> dict[MetaPath, bytes]:
    """All that a region holds."""
    return {path: stored async for page in side.pages() for path, stored in page}


async def plan_between(here: Side, there: Side, *, deletes: bool = False, tenants: Sequence[str] = ()) -> Plan:
    return (await compare(here, there, now=NOW, deletes=deletes, tenants=tenants)).plan


async def judged(
    plan: Plan, store: MetadataStore, scope: Scope, *, allow: frozenset[Reason] = frozenset(), deletes: bool = True
) -> Review:
    """Judge a plan in a region without clusters of its own and without topics."""
    settings = Settings(region=Region("east"))
    return await reviewed(plan, store, NoTopics(), settings=settings, scope=scope, allow=allow, deletes=deletes)
