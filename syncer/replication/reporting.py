"""What the daemon tells of itself: one document, kept in the sidecar database for the CLI and the REST API."""

from __future__ import annotations

from syncer.model import Millis
from syncer.replication.context import Context


def report(context: Context, now: Millis) -> dict[str, object]:
    """The daemon's state as JSON. Counts of rows are added by who reads the database."""
    identity, fence = context.identity, context.fence
    skew_ms = context.replica.settings.limits.max_clock_skew_ms
    conditions = sorted(context.conditions.items()) + context.peers.conditions(skew_ms)
    conditions += context.comparisons.conditions()
    tree = context.sums.tree
    conditions += context.tombstones.conditions(now)
    conditions += context.retelling.conditions(now, context.tombstones.limits.alarm_after_ms)
    return {
        "region": identity.region,
        "mode": context.mode,
        "reported_at_ms": now,
        "database_id": identity.database_id,
        "generation": identity.generation,
        "epoch": identity.epoch,
        "genesis": context.genesis,
        "fence": fence.fence.number if fence else None,
        "store_id": fence.fence.store_id if fence else identity.store_id,
        "watch_whole": context.ledger.armed,
        "watch_whole_until_ms": context.alive_until,
        "paused": context.paused,
        "pending_reads": len(context.dirty),
        "pending_writes": len(context.writes.in_flight),
        "clusters": sorted(context.clusters),
        "conditions": [{"code": code, "message": message} for code, message in conditions],
        "disagreements": context.peers.disagreements(),
        "peers": context.peers.report(),
        "tree": None if tree is None else {"root": f"{tree.root:032x}", "alive": tree.count},
        "comparisons": context.comparisons.report(),
        "tombstones": context.tombstones.report(),
        "tally": {f"{name}.{label}": count for (name, label), count in sorted(context.tally.items())},
    }
