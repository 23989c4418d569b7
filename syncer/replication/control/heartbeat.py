"""Heartbeats: the state that this region gossips of itself."""

from __future__ import annotations

from functools import partial
from typing import Final

from syncer.bus.wire.heartbeats import within_bounds
from syncer.bus.wire.messages import Heartbeat
from syncer.conflict.projection import PROJECTIONS
from syncer.model import Millis
from syncer.replication.context import Context
from syncer.replication.gc import collector
from syncer.replication.recovery import rebuild
from syncer.replication.recovery.progress import Phase

CUT: Final = "heartbeat-cut"


def heartbeat(context: Context, now: Millis, version: str) -> Heartbeat:
    """What to tell the peers now.

    Args:
        context: The daemon's context.
        now: Our clock.
        version: Of this program.
    """
    if context.recovery.unheard:
        rebuild.greet(context, now)
    settings = context.replica.settings
    with context.state.transaction() as tx:
        identity = tx.identity()
        report = collector.own_report(tx)
        waiting = tx.outbox(1)
        context.sums.check(tx)
    context.comparisons.echo.said(now)
    context.evidence.said.append(now)
    tree = context.sums.tree if context.first_scan_done else None
    watermark = min(waiting[0].event.stamp.updated_at_ms, now) - 1 if waiting else now
    beat = Heartbeat(
        region=settings.region,
        sender=identity.database_id,
        generation=identity.generation,
        sent_at_ms=now,
        last_sequence=identity.last_sequence,
        consumed=report.consumed,
        watermark=Millis(max(watermark, 0)),
        projections={str(kind): projection.id for kind, projection in PROJECTIONS.items()},
        scope=context.scope.fingerprint,
        tie_order=settings.ties,
        mode=_mode(context),
        version=version,
        tree=context.sums.label if tree is not None else "",
        root=f"{tree.root:032x}" if tree is not None else "",
        alive=tree.count if tree is not None else 0,
        reached=report.reached,
        unseated_deletes=report.unseated,
        oldest_unseated_ms=report.oldest_ms,
        unfolded=report.unfolded,
        retold=context.retelling.offer,
        refused=context.peers.refusals,
        generations=context.peers.generations,
    )
    told = within_bounds(beat, partial(_is_expected, context))
    _note_cut(context, beat, told)
    return told


def _is_expected(context: Context, name: str) -> bool:
    return name in context.expected or context.peers.region_of(name) in context.expected


def _note_cut(context: Context, beat: Heartbeat, told: Heartbeat) -> None:
    """Show that names are left out, as long as they are."""
    if told is beat:
        context.conditions.pop(CUT, None)
        return
    left = len({*beat.consumed, *beat.generations} - {*told.consumed, *told.generations})
    context.conditions[CUT] = (
        f"{left} names of regions and databases find no room in what this region tells the others, so no delete is "
        "forgotten; forget who has names so long, or name who counts in peers.expected"
    )


def _mode(context: Context) -> str:
    mode = context.mode
    if mode != "active":
        return mode
    if rebuild.phase_of(context) is Phase.HEARING:
        return rebuild.REBUILDING
    return rebuild.STARTING if context.recovery.unheard else mode
