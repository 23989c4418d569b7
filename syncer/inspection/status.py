"""The status of a region, one document for ``syncer status`` and ``/api/v1/status``, read from the sidecar database.

Units: ``*_ms`` milliseconds since the epoch, UTC; ``*_s`` seconds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from syncer.bus.wire.messages import LEFT
from syncer.documents.status import (
    NOT_CARRIED,
    Condition,
    DaemonDocument,
    Outbox,
    RegionDocument,
    RepairProgress,
    ScalableTopicsDocument,
    SnapshotsDocument,
    StatusDocument,
    SystemTopicsDocument,
    Waiting,
)
from syncer.inspection import conditions
from syncer.model import Region
from syncer.state.contract.membership import JOINING

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.state.contract.peers import PeerRow
    from syncer.state.sql.presence import DaemonRow
    from syncer.state.views.region import Views
    from syncer.state.views.summaries import Status

SILENT_AFTER_S: Final = 15.0
"""A daemon reports every few seconds; after so long without a report it does not run, or hangs."""


def collect(views: Views, config: Config) -> StatusDocument:
    """Read the document.

    Raises:
        StateUnavailable: The database cannot be read now.
    """
    now = time.time_ns() // 1_000_000
    facts = views.status()
    daemons = views.daemons()
    listed = sorted((_daemon(each, facts.identity.epoch) for each in daemons), key=_precedence)
    at_work = next((each for each in listed if each.role in {"active", "observer"}), None)
    report: dict[str, Any] = dict(facts.document or {})
    age_s = (now - facts.reported_at_ms) / 1000 if facts.reported_at_ms is not None else None
    oldest = facts.outbox.oldest_at_ms
    scope, ties = config.compiled_scope().fingerprint, config.tie_order.value
    reported = {each["region"]: each for each in report.get("peers", ())}
    signing: dict[str, Any] = report.get("signing", {})
    said = {each["region"]: each["said_by"] for each in report.get("hearsay", ())}
    met = [peer for peer in views.peers() if peer.region != facts.identity.region and not peer.document.get("unmet")]
    return StatusDocument(
        region=facts.identity.region,
        daemon="never-started" if age_s is None else "running" if age_s <= SILENT_AFTER_S else "silent",
        mode=str(report.get("mode", config.mode)),
        reported_at_ms=facts.reported_at_ms,
        reported_age_s=age_s,
        rebuilding=(report.get("rebuild") or {}).get("message"),
        paused=facts.identity.paused,
        baseline_done=facts.identity.first_scan_done,
        watch_whole=report.get("watch_whole"),
        watch_whole_until_ms=report.get("watch_whole_until_ms") or None,
        scalable_topics=ScalableTopicsDocument(**found) if (found := report.get("scalable_topics")) else None,
        store_migration=report.get("store_migration"),
        topic_policies=SystemTopicsDocument(**found) if (found := report.get("topic_policies")) else None,
        joining=facts.identity.paused == JOINING,
        silence_s=config.silence.total_seconds(),
        epoch=facts.identity.epoch,
        fence=report.get("fence"),
        brokers=report.get("brokers") or {},
        paths=facts.counts.alive,
        signing_key=signing.get("signs_with"),
        region_key=signing.get("region_key"),
        region_keys_required=bool(signing.get("region_keys_required")),
        outbox=Outbox(depth=facts.outbox.depth, oldest_age_s=None if oldest is None else max(0, now - oldest) / 1000),
        waiting=_waiting(facts),
        snapshots=SnapshotsDocument(**report["snapshots"]) if report.get("snapshots") else None,
        repair=_repair(views),
        daemons=listed,
        peers=[
            _peer(
                peer,
                now,
                (scope, ties),
                reported.get(peer.region, {}),
                report.get("comparisons", {}).get(peer.region, {}),
                away=_away(peer, config, facts, at_work),
            ).model_copy(update={"said_forgotten_by": said.get(peer.region, [])})
            for peer in met
        ],
        unheard=sorted({*(config.peers.expected or ())} - {peer.region for peer in met} - {facts.identity.region}),
        held_regions=_held(report, {peer.region for peer in met}),
        conditions=_conditions(report) + [_troubled(each) for each in daemons if each.trouble is not None],
        not_carried=list(NOT_CARRIED),
    )


def _repair(views: Views) -> RepairProgress | None:
    running = views.running_repair()
    return None if running is None else RepairProgress(id=running.id, done=running.done, total=running.total)


def _waiting(facts: Status) -> Waiting:
    counts = facts.counts
    return Waiting(
        due=counts.due,
        holds=counts.holds,
        unreadable=counts.unreadable,
        future_events=counts.future_events,
        parked=counts.parked,
        conflicts=counts.conflicts,
        quarantine=counts.quarantine,
        operations=counts.operations,
    )


def _conditions(report: dict[str, Any]) -> list[Condition]:
    standing = [_condition(each["code"], each["message"]) for each in report.get("conditions", ())]
    disagreements = [
        _condition("regions-disagree", f"{each['peer']}, {each['kind']}: {each['message']}")
        for each in report.get("disagreements", ())
        if not each.get("passes")
    ]
    return standing + disagreements


def _condition(code: str, message: str) -> Condition:
    weight = conditions.weight(code)
    return Condition(
        code=code,
        message=message,
        severity=weight.severity.value,
        next=weight.step.words,
        command=weight.step.command,
    )


def _daemon(row: DaemonRow, epoch: int) -> DaemonDocument:
    former = row.role == "active" and row.epoch != epoch
    return DaemonDocument(
        id=row.id,
        host=row.host,
        pid=row.pid,
        version=row.version,
        role="former" if former else row.role.value,
        since_ms=row.since_ms,
        seen_at_ms=row.seen_at_ms,
        seen_age_s=row.age_ms / 1000,
        silent=row.age_ms > SILENT_AFTER_S * 1000,
    )


def _precedence(daemon: DaemonDocument) -> tuple[bool, bool, float]:
    return daemon.role != "active", daemon.silent, daemon.seen_age_s


def _troubled(row: DaemonRow) -> Condition:
    return _condition("daemon-outdated", f"the daemon on {row.host} (process {row.pid}): {row.trouble}")


def _held(report: dict[str, Any], met: set[Region]) -> list[RegionDocument]:
    """Regions that were only heard of, or that are not obeyed before an operator decides."""
    said = {each["region"]: each["said_by"] for each in report.get("hearsay", ()) if each["region"] not in met}
    why = {each["region"]: each["reason"] for each in report.get("newcomers", ())}
    return [
        RegionDocument(
            region=region,
            here=False,
            mode=None,
            version=None,
            heard_at_ms=None,
            heard_age_s=None,
            skew_s=None,
            watermark_ms=None,
            compared=None,
            differing_paths=None,
            equal_at_ms=None,
            member=False,
            same_rules=None,
            said_forgotten_by=said.get(region, []),
            held=why.get(region, "members say that it was forgotten, and it never spoke here"),
        )
        for region in sorted(said.keys() | why.keys())
    ]


def _away(peer: PeerRow, config: Config, facts: Status, at_work: DaemonDocument | None) -> bool:
    """Whether a member was not heard for too long, while a daemon of this region listened."""
    expected = config.peers.expected
    if not _counts(peer) or facts.reported_at_ms is None or (expected and peer.region not in expected):
        return False
    listens_since_ms = at_work.since_ms if at_work is not None else 0
    unheard_ms = facts.reported_at_ms - max(peer.heard_at_ms, listens_since_ms)
    return unheard_ms > config.silence.total_seconds() * 1000


def _counts(peer: PeerRow) -> bool:
    """Whether a region belongs to the group: it has neither left nor been forgotten, and was met."""
    told: dict[str, Any] = dict(peer.document)
    return not (told.get("unmet") or told.get("gone", told.get("forgotten") or told.get("mode") == LEFT))


def _peer(
    peer: PeerRow,
    now: int,
    rules: tuple[str, str],
    reported: dict[str, Any],
    comparison: dict[str, Any],
    *,
    away: bool,
) -> RegionDocument:
    """One peer; its skew by the daemon's window of heartbeats, or, before it has one, by the last that was kept."""
    told: dict[str, Any] = dict(peer.document)
    same, skew_ms = None, reported.get("skew_ms")
    if "scope" in told and "tie_order" in told:
        same = (told["scope"], told["tie_order"]) == rules
    return RegionDocument(
        region=peer.region,
        here=False,
        mode=told.get("mode"),
        version=told.get("version"),
        brokers=told.get("brokers") or [],
        heard_at_ms=peer.heard_at_ms,
        heard_age_s=(now - peer.heard_at_ms) / 1000,
        skew_s=(skew_ms if skew_ms is not None else peer.sent_at_ms - peer.heard_at_ms) / 1000,
        watermark_ms=told.get("watermark"),
        compared=comparison.get("state"),
        shared_class=comparison.get("class"),
        shared_paths=comparison.get("shared_paths"),
        differing_paths=comparison.get("differing"),
        equal_at_ms=comparison.get("equal_at_ms"),
        away=away,
        member=_counts(peer),
        same_rules=same,
        key_id=reported.get("key_id"),
    )
