"""The daemon's report of itself: one document, kept in the sidecar database for the CLI and the REST API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from syncer.model import Millis, Region
from syncer.replication.control.part import OperatorControl
from syncer.replication.recovery import rebuild

_NAMED: Final = 1000


def report(control: OperatorControl, now: Millis) -> dict[str, object]:
    """The daemon's state as JSON. Counts of rows are added by who reads the database."""
    identity, fence = control.core.identity, control.core.fence
    skew_ms = control.core.replica.settings.limits.max_clock_skew_ms
    rebuilt = rebuild.report(control.recovery, now)
    keys = (
        {str(region): key for region, key in control.group.speakers.keys.items()}
        if control.group.speakers is not None
        else {}
    )
    conditions = sorted(control.telemetry.conditions.items()) + control.group.peers.conditions(skew_ms)
    conditions += control.group.contradictions()
    conditions += control.group.naming_conditions(control.local.clusters.names)
    conditions += control.group.hearsay.conditions(identity.region)
    conditions += control.group.newcomers.conditions()
    conditions += control.antientropy.exchanges.conditions()
    conditions += control.inbound.protocols.conditions()
    tree = control.antientropy.tree_state.tree
    conditions += control.gc.tombstones.conditions(now)
    conditions += control.local.misfits.conditions()
    conditions += control.local.versions.filters.conditions(control.local.versions.deletes.told)
    conditions += control.local.migration.conditions()
    conditions += control.gc.gaps.conditions(now, control.gc.tombstones.limits.alarm_after_ms)
    snapshots = dict(control.snapshots()) if control.snapshots is not None else None
    if snapshots is not None and snapshots.get("trouble"):
        conditions.append(("snapshot-failed", f"the last snapshot on schedule failed: {snapshots['trouble']}"))
    migration = control.migration() if control.migration is not None else None
    if migration is not None:
        conditions += migration.pop("conditions")
    if rebuilt is not None:
        conditions.insert(0, ("rebuilding", _rebuilding(rebuilt)))
    return {
        "region": identity.region,
        "mode": "rebuilding" if rebuilt is not None and control.group.mode == "active" else control.group.mode,
        "reported_at_ms": now,
        "database_id": identity.database_id,
        "generation": identity.generation,
        "epoch": identity.epoch,
        "genesis": control.core.first_scan_done,
        "fence": fence.fence.number if fence else None,
        "store_id": fence.fence.store_id if fence else identity.store_id,
        "watch_whole": control.local.watch.ledger.armed,
        "watch_whole_until_ms": control.local.watch.alive_until,
        "rebuild": rebuilt,
        "scalable_topics": counted.document() if (counted := control.local.topics.counted) is not None else None,
        "topic_policies": _topic_policies(control),
        "store_migration": control.local.migration.report(),
        "paused": control.group.paused,
        "pending_reads": len(control.local.dirty),
        "pending_writes": len(control.local.writes.in_flight),
        "signing": _signing(control),
        "clusters": sorted(control.local.clusters.names),
        "brokers": dict(sorted(control.local.versions.told.versions.items())),
        "conditions": [{"code": code, "message": message} for code, message in conditions],
        "disagreements": control.group.peers.disagreements(control.group.expected),
        "peers": [{**each, "key_id": keys.get(str(each["region"]))} for each in control.group.peers.report()],
        "hearsay": control.group.hearsay.report(),
        "newcomers": control.group.newcomers.report(),
        "tree": None if tree is None else {"root": f"{tree.root:032x}", "alive": tree.count},
        "comparisons": {
            region: {**each, **_shared(control, region)}
            for region, each in control.antientropy.exchanges.report().items()
        },
        "tombstones": control.gc.tombstones.report(),
        "snapshots": snapshots,
        "migration": migration,
        "tally": {f"{name}.{label}": count for (name, label), count in sorted(control.telemetry.tally.items())},
    }


def _topic_policies(control: OperatorControl) -> dict[str, object] | None:
    """How those fare that brokers keep in system topics; of very many namespaces the first ones are named."""
    standing = control.telemetry.topic_policies
    if standing is None:
        return None
    return {
        "namespaces": standing.namespaces,
        "followed": standing.followed,
        "unread": standing.unread,
        "replicated": list(standing.replicated[:_NAMED]),
        "withheld": dict(list(standing.withheld.items())[:_NAMED]),
        "overtaken": standing.counts.get("overtaken", 0),
    }


def _shared(control: OperatorControl, region: Region) -> dict[str, object]:
    """What this region and a peer both carry: the label of that class, and how many living paths it holds."""
    shared = control.group.shared_with(region)
    tree = control.antientropy.tree_state.tree_of(shared.label) if shared is not None else None
    return {
        "class": shared.label if shared is not None else None,
        "shared_paths": tree.count if tree is not None else None,
    }


def _signing(control: OperatorControl) -> dict[str, object]:
    """What messages are signed with here, and what is required of those of others."""
    keyring, regions = control.group.keyring, control.group.keyring.regions
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
