"""Heartbeats: the state that this region gossips of itself."""

from __future__ import annotations

from functools import partial
from typing import Final

from syncer.bus.wire.heartbeats import within_bounds
from syncer.bus.wire.messages import Heartbeat
from syncer.conflict.classes.telling import RULES_BYTES, RULES_TOLD, told_rules
from syncer.conflict.cluster_names.telling import NAMES_CHARACTERS, NAMES_TOLD, NO_NAMES, RegionNames
from syncer.model import Millis
from syncer.replication.control.part import OperatorControl
from syncer.replication.gc import collector
from syncer.replication.local import going_over
from syncer.replication.offloaded_elsewhere import ELSEWHERE, in_words, missing_here, named_by
from syncer.replication.recovery import rebuild
from syncer.replication.recovery.progress import Phase
from syncer.state.contract.transaction import Transaction

CUT: Final = "heartbeat-cut"
UNTELLABLE: Final = "scope-not-told"
NAMES_UNTELLABLE: Final = "names-not-told"
BROKERS_TOLD: Final = 8
"""Versions of brokers that a heartbeat has room for."""


def heartbeat(control: OperatorControl, now: Millis, version: str) -> Heartbeat:
    """What to tell the peers now.

    Args:
        control: What operators' requests are made of.
        now: Our clock.
        version: Of this program.
    """
    if control.recovery.progress.unheard:
        rebuild.greet(control.recovery, now)
    settings = control.core.replica.settings
    with control.core.state.transaction() as tx:
        identity = tx.identity()
        report = collector.own_report(tx)
        waiting = tx.outbox(1)
        control.antientropy.tree_state.check(tx)
        _look_at_offloading(control, tx)
    control.antientropy.exchanges.echo.said(now)
    control.group.evidence.said.append(now)
    if not (control.core.uncompared.place or waiting):
        control.core.renaming = False
    names = _names(control)
    tree = control.antientropy.tree_state.tree if control.core.first_scan_done else None
    watermark = min(waiting[0].event.stamp.updated_at_ms, now) - 1 if waiting else now
    beat = Heartbeat(
        region=settings.region,
        sender=identity.database_id,
        generation=identity.generation,
        sent_at_ms=now,
        last_sequence=identity.last_sequence,
        consumed=report.consumed,
        watermark=Millis(max(watermark, 0)),
        projections=settings.projections.ids,
        able=tuple(sorted(settings.projections.able)),
        ready=going_over.ready_ids(control.local),
        scope=control.core.scope.fingerprint,
        tie_order=settings.ties,
        mode=_mode(control),
        version=version,
        tree=control.antientropy.tree_state.label if tree is not None else "",
        root=f"{tree.root:032x}" if tree is not None else "",
        alive=tree.count if tree is not None else 0,
        reached=report.reached,
        unseated_deletes=report.unseated,
        oldest_unseated_ms=report.oldest_ms,
        unfolded=report.unfolded,
        retold=control.gc.gaps.offer,
        refused=control.group.peers.refusals,
        generations=control.group.peers.generations,
        brokers=control.local.versions.told.in_order[:BROKERS_TOLD],
        rules=_rules(control),
        roots={label: f"{each.root:032x}" for label, each in control.antientropy.tree_state.of_classes.items()}
        if tree is not None
        else {},
        clusters=names.own,
        names=names.table,
        renaming=names.unsettled,
        excluded=control.core.peculiar.excluded,
        offloaded=control.local.misfits.offloaded.told(lambda path: control.core.scope.direction(path).publishes),
    )
    told = within_bounds(beat, partial(_is_expected, control))
    _note_cut(control, beat, told)
    return told


def _look_at_offloading(control: OperatorControl, tx: Transaction) -> None:
    """Show namespaces that stand here, and are offloaded in another region alone."""
    control.telemetry.conditions.pop(ELSEWHERE, None)
    others = control.group.peers.offloaded
    if not others or not control.local.watch.scanned:
        return
    named = [path for path in named_by(others) if control.core.scope.contains(path)]
    stands = [path for path, register in tx.registers(named).items() if register.stored_alive]
    if missing := missing_here(control.local.misfits.offloaded, others, stands):
        control.telemetry.conditions[ELSEWHERE] = in_words(missing)


def _rules(control: OperatorControl) -> str:
    """The rules of the scope, as long as a region of another scope is known; longer ones than can be told are shown."""
    if not control.group.peers.otherwise:
        control.telemetry.conditions.pop(UNTELLABLE, None)
        return ""
    text = told_rules(control.core.scope)
    if text:
        control.telemetry.conditions.pop(UNTELLABLE, None)
    else:
        control.telemetry.conditions[UNTELLABLE] = (
            f"the rules of this region's scope are more than can be told ({RULES_TOLD} rules, {RULES_BYTES} bytes, few "
            "wildcards in a pattern): it is not compared with regions of another scope, and these forget no delete"
        )
    return text


def _names(control: OperatorControl) -> RegionNames:
    """What this region calls clusters, as long as it or another one maps names; more than can be told is shown."""
    names = control.group.names.told.get(control.core.identity.region, NO_NAMES)
    if names.tellable:
        control.telemetry.conditions.pop(NAMES_UNTELLABLE, None)
        return names
    control.telemetry.conditions[NAMES_UNTELLABLE] = (
        f"this region has more names of clusters than can be told ({NAMES_TOLD} names, {NAMES_CHARACTERS} characters): "
        "no region can see where they contradict its own"
    )
    return NO_NAMES


def _is_expected(control: OperatorControl, name: str) -> bool:
    return name in control.group.expected or control.group.peers.region_of(name) in control.group.expected


def _note_cut(control: OperatorControl, beat: Heartbeat, told: Heartbeat) -> None:
    """Show that names are left out, as long as they are."""
    if told is beat:
        control.telemetry.conditions.pop(CUT, None)
        return
    left = len({*beat.consumed, *beat.generations} - {*told.consumed, *told.generations})
    control.telemetry.conditions[CUT] = (
        f"{left} names of regions and databases find no room in what this region tells the others, so no delete is "
        "forgotten; forget who has names so long, or name who counts in peers.expected"
    )


def _mode(control: OperatorControl) -> str:
    mode = control.group.mode
    if mode != "active":
        return mode
    if rebuild.phase_of(control.recovery) is Phase.HEARING:
        return rebuild.REBUILDING
    return rebuild.STARTING if control.recovery.progress.unheard else mode
