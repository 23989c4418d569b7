"""The daemon's report of itself: one document, kept in the sidecar database for the CLI and the REST API."""

from __future__ import annotations

from collections.abc import Mapping

from syncer.model import Millis
from syncer.replication.context import Context
from syncer.replication.recovery import rebuild


def report(context: Context, now: Millis) -> dict[str, object]:
    """The daemon's state as JSON. Counts of rows are added by who reads the database."""
    identity, fence = context.identity, context.fence
    skew_ms = context.replica.settings.limits.max_clock_skew_ms
    rebuilt = rebuild.report(context, now)
    keys = {str(region): key for region, key in context.speakers.keys.items()} if context.speakers is not None else {}
    conditions = sorted(context.conditions.items()) + context.peers.conditions(skew_ms)
    conditions += context.hearsay.conditions(identity.region)
    conditions += context.newcomers.conditions()
    conditions += context.comparisons.conditions()
    tree = context.sums.tree
    conditions += context.tombstones.conditions(now)
    if (misfits := context.misfits.condition()) is not None:
        conditions.append(misfits)
    conditions += context.retelling.conditions(now, context.tombstones.limits.alarm_after_ms)
    snapshots = dict(context.snapshots()) if context.snapshots is not None else None
    if snapshots is not None and snapshots.get("trouble"):
        conditions.append(("snapshot-failed", f"the last snapshot on schedule failed: {snapshots['trouble']}"))
    if rebuilt is not None:
        conditions.insert(0, ("rebuilding", _rebuilding(rebuilt)))
    return {
        "region": identity.region,
        "mode": "rebuilding" if rebuilt is not None and context.mode == "active" else context.mode,
        "reported_at_ms": now,
        "database_id": identity.database_id,
        "generation": identity.generation,
        "epoch": identity.epoch,
        "genesis": context.first_scan_done,
        "fence": fence.fence.number if fence else None,
        "store_id": fence.fence.store_id if fence else identity.store_id,
        "watch_whole": context.ledger.armed,
        "watch_whole_until_ms": context.alive_until,
        "rebuild": rebuilt,
        "paused": context.paused,
        "pending_reads": len(context.dirty),
        "pending_writes": len(context.writes.in_flight),
        "signing": _signing(context),
        "clusters": sorted(context.clusters),
        "conditions": [{"code": code, "message": message} for code, message in conditions],
        "disagreements": context.peers.disagreements(context.expected),
        "peers": [{**each, "key_id": keys.get(str(each["region"]))} for each in context.peers.report()],
        "hearsay": context.hearsay.report(),
        "newcomers": context.newcomers.report(),
        "tree": None if tree is None else {"root": f"{tree.root:032x}", "alive": tree.count},
        "comparisons": context.comparisons.report(),
        "tombstones": context.tombstones.report(),
        "snapshots": snapshots,
        "tally": {f"{name}.{label}": count for (name, label), count in sorted(context.tally.items())},
    }


def _signing(context: Context) -> dict[str, object]:
    """What messages are signed with here, and what is required of those of others."""
    keyring, regions = context.keyring, context.keyring.regions
    return {
        "signs_with": keyring.signs_with,
        "accepts": list(keyring.accepts),
        "region_key": regions.own.public.id if regions.own is not None else None,
        "region_keys": regions.accepts,
        "region_keys_required": regions.required,
    }


def _rebuilding(rebuilt: Mapping[str, object]) -> str:
    """What a person should know of a rebuild: how far it is, and whom it waits for."""
    waits_for = rebuilt["waits_for"]
    names = ", ".join(map(str, waits_for)) if isinstance(waits_for, list) else ""
    waiting = f"; waits for {names} (absent for good? 'syncer state rebuild --without REGION')" if names else ""
    alone = ""
    trouble = rebuilt["trouble"]
    if isinstance(trouble, dict):
        waiting += "".join(f"; {region} has sent what cannot be used: {what}" for region, what in trouble.items())
    if rebuilt["phase"] == "hearing" and not rebuilt["members"]:
        alone = "; no peer was heard (is there none? 'syncer state rebuild --alone')"
    return f"{rebuilt['message']}: {rebuilt['reason']}{waiting}{alone}"
