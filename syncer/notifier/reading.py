"""Reading of what stands now, by kind of notice, from the sidecar database and the daemon's own report in it.

``None`` stands for what is not known: a daemon that has just begun has compared nothing yet. Then nothing is told, and
nothing is over.

Units: milliseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from syncer.inspection.status import collect
from syncer.notices.rules import MAX_REASONS, NoticeKind, Outstanding

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.documents.status import StatusDocument
    from syncer.state.views.region import Views

NOTHING: Final = Outstanding(count=0)
SNAPSHOT: Final = "snapshot-failed"
"""Condition, and reason, of snapshots on schedule."""

Picture = Mapping[NoticeKind, Outstanding | None]


def look(views: Views, config: Config, now_ms: int) -> Picture:
    """Read what stands.

    Args:
        views: Of the region's sidecar database.
        config: Its configuration.
        now_ms: Time of the wall clock.

    Raises:
        StateUnavailable: The database cannot be read now.
    """
    facts, status = views.status(), collect(views, config)
    report: dict[str, Any] = dict(facts.document or {})
    own = report.get("epoch") == facts.identity.epoch and status.daemon == "running"
    return {
        NoticeKind.HOLDS: views.standing_holds(),
        NoticeKind.CONFLICTS: views.standing_conflicts(),
        NoticeKind.QUARANTINE: views.standing_quarantine(),
        NoticeKind.DIVERGENCE: divergence(
            status, report.get("comparisons", {}), now_ms, int(config.notify.divergence_after.total_seconds() * 1000)
        )
        if own
        else None,
        NoticeKind.JOBS_FAILED: failed_jobs(status) if own else None,
    }


def divergence(
    status: StatusDocument, comparisons: Mapping[str, Mapping[str, Any]], now_ms: int, after_ms: int
) -> Outstanding | None:
    """Members whose digest tree has differed for longer than it may; it is over once all that count are equal.

    Args:
        status: Of the region.
        comparisons: How things stand with each peer, as the daemon reports it.
        now_ms: Time of the wall clock.
        after_ms: For how long a tree may differ.
    """
    members = {peer.region: peer for peer in status.peers if peer.member}
    since: dict[str, int] = {
        region: compared["differs_since_ms"]
        for region, compared in sorted(comparisons.items())
        if region in members
        and isinstance(compared.get("differs_since_ms"), int)
        and now_ms - compared["differs_since_ms"] > after_ms
    }
    if since:
        return Outstanding(
            count=len(since),
            newest=max(since.values()),
            since_ms=min(since.values()),
            reasons=tuple((region, members[region].differing_paths or 0) for region in since)[:MAX_REASONS],
            detail="by region: paths that the last comparison found to differ",
        )
    return NOTHING if all(peer.compared == "equal" for peer in members.values()) else None


def failed_jobs(status: StatusDocument) -> Outstanding | None:
    """Snapshots on schedule of which the last one failed; not the words of the job, which may name anything."""
    snapshots = status.snapshots
    if snapshots is None:
        return NOTHING
    if snapshots.trouble:
        return Outstanding(
            count=1,
            since_ms=snapshots.last_ended_at_ms,
            reasons=((SNAPSHOT, 1),),
            detail="the last snapshot on schedule failed; 'syncer status' says why",
        )
    return NOTHING if snapshots.last_succeeded else None
