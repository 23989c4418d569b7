"""Holders of a cluster's balancing: who keeps a run from pausing it, beside this daemon's own database.

Daemons of several regions may have the same cluster in their configuration. A run therefore claims the cluster before
it sets anything, by a property of a namespace that every cluster has, and goes on only while it reads its own name: of
two that claim at once the last one stays. A property is not written by comparing, so a claim may still be overwritten
by one that looked before; whoever has lost it stops, and puts back what was set. Migrations of other daemons, and
operators, are known by what they have set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.admin.stillness import STILL
from syncer.balancer.moving.run import RunStop
from syncer.errors import BalancingOwned

if TYPE_CHECKING:
    from syncer.balancer.moving.sight import ClusterSight


def held_by_others(sight: ClusterSight, claim: str = "") -> RunStop | None:
    """Say who else holds a cluster's balancing, that nothing was set of yet; ``None``: nobody does.

    Args:
        sight: The cluster.
        claim: Of the run that would begin; empty: it has none yet.
    """
    if claimed_by_others(sight, claim):
        return RunStop(code=BalancingOwned.code, words=f"the run of moves with the claim {sight.claim!r} holds it")
    if all(sight.dynamic.get(key) == value for key, value in STILL.items()):
        words = "Pulsar's own moves and splits were switched off at run time by somebody else, as migrations do"
        return RunStop(code=BalancingOwned.code, words=words)
    return None


def claim_lost(sight: ClusterSight, claim: str) -> bool:
    """Say whether a claim that was held is there no more.

    Args:
        sight: The cluster.
        claim: Of the run that has held it.
    """
    return sight.claim not in {None, claim}


def claimed_by_others(sight: ClusterSight, claim: str) -> bool:
    """Say whether another run has claimed a cluster.

    Args:
        sight: The cluster.
        claim: Of the run that asks.
    """
    return sight.claim not in {None, "", claim}
