"""From messages of the bus to what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from syncer.bus.messages import Action, Control, Heartbeat, Ignored, Message
from syncer.conflict.consumed import Consumed
from syncer.conflict.projection import PROJECTIONS
from syncer.errors import PayloadInvalid, ValueInvalid
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind
from syncer.replication.context import Context
from syncer.replication.dirty import Origin
from syncer.replication.unit import Unit
from syncer.state.contract import PeerRow, Poison, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A message with where it came from. ``message`` is the error when it could not be decoded."""

    message: Message | PayloadInvalid
    position: str
    payload: bytes = field(default=b"", repr=False)
    properties: dict[str, str] = field(default_factory=dict)


def consume(context: Context, arrived: Sequence[Arrived], now: Millis, expected: frozenset[Region]) -> None:
    """Fold a delivery in one transaction; afterwards it may be acknowledged.

    Args:
        context: The daemon's context.
        arrived: The messages, in the order of the topic.
        now: The daemon's clock.
        expected: Regions that may send; empty: any.

    Raises:
        StateUnavailable: Nothing was stored: do not acknowledge.
    """
    changes = [item for item in arrived if isinstance(item.message, MetadataChangeEvent)]
    with context.state.transaction() as tx:
        unit = Unit(context, tx, now)
        unit.load(tuple({item.message.path for item in changes if isinstance(item.message, MetadataChangeEvent)}))
        _fold_new(context, unit, tx, changes, now, expected)
        for item in arrived:
            match item.message:
                case PayloadInvalid() as error:
                    _quarantine(unit, item, error.code, error.message)
                case Heartbeat() as beat:
                    _hear(context, tx, beat, now)
                case Control() as control:
                    _obey(context, tx, control)
                case Ignored() as ignored:
                    context.tally["ignored", ignored.reason] += 1
                case MetadataChangeEvent():
                    pass
        unit.store()
    unit.settle()


def _fold_new(
    context: Context, unit: Unit, tx: Transaction, changes: Sequence[Arrived], now: Millis, expected: frozenset[Region]
) -> None:
    own = context.identity.database_id
    senders = {item.message.sender for item in changes if isinstance(item.message, MetadataChangeEvent)}
    consumed = tx.consumed(senders - {"", own})
    fresh: dict[str, list[int]] = {}
    for item in changes:
        event = item.message
        if not isinstance(event, MetadataChangeEvent) or event.sender == own:
            continue  # what this database has published was folded when it was stamped
        done = consumed.get(event.sender)
        numbered = event.sender and event.sequence > 0
        if numbered and ((done and event.sequence in done) or event.sequence in fresh.get(event.sender, ())):
            context.tally["ignored", "duplicate"] += 1
            continue
        if numbered:
            fresh.setdefault(event.sender, []).append(event.sequence)
        _fold(context, unit, item, event, now, expected)
    if fresh:
        tx.save_consumed(
            {sender: consumed.get(sender, Consumed()).adding(numbers) for sender, numbers in fresh.items()}
        )


def _fold(
    context: Context, unit: Unit, item: Arrived, event: MetadataChangeEvent, now: Millis, expected: frozenset[Region]
) -> None:
    problem = _unwelcome(context, event, expected)
    if problem is not None:
        _quarantine(unit, item, *problem)
        return
    if not context.scope.contains(event.path):
        context.tally["ignored", "out-of-scope"] += 1
        return
    try:
        unit.take(context.replica.fold(unit[event.path], event, now))
    except ValueInvalid as exc:
        _quarantine(unit, item, exc.code, exc.message)


def _unwelcome(context: Context, event: MetadataChangeEvent, expected: frozenset[Region]) -> tuple[str, str] | None:
    """Why an event must not be folded: code and detail."""
    region, own = event.stamp.region, context.identity.region
    if region == own and context.senders.get(event.sender, own) == own:
        detail = (
            f"an event under this region's own id {region!r}, sent from another database ({event.sender or 'native'}): "
            "two daemons use one region id"
        )
        return "region-id-in-use", detail
    if expected and region not in expected and region != own:
        return "unknown-region", f"region {region!r} is not among the expected peers"
    return None


def _quarantine(unit: Unit, item: Arrived, code: str, detail: str) -> None:
    event = item.message
    path = event.path if isinstance(event, MetadataChangeEvent) else None
    unit.quarantine(
        Poison(
            origin="bus",
            code=code,
            detail=detail,
            position=item.position,
            path=path,
            payload=item.payload,
            properties=item.properties,
        )
    )


def _hear(context: Context, tx: Transaction, beat: Heartbeat, now: Millis) -> None:
    """Keep what a peer told, and see whether it can be understood."""
    if beat.sender == context.identity.database_id:
        return
    document: dict[str, object] = {
        "generation": beat.generation,
        "last_sequence": beat.last_sequence,
        "consumed": dict(beat.consumed),
        "watermark": beat.watermark,
        "projections": dict(beat.projections),
        "scope": beat.scope,
        "tie_order": str(beat.tie_order),
        "mode": beat.mode,
        "version": beat.version,
        "seated_tombstones": beat.seated_tombstones,
    }
    tx.save_peer(
        PeerRow(region=beat.region, sender=beat.sender, heard_at_ms=now, sent_at_ms=beat.sent_at_ms, document=document)
    )
    if beat.region == context.identity.region:
        context.conditions["region-id-in-use"] = f"database {beat.sender} sends heartbeats under this region's own id"
        return
    context.senders[beat.sender] = beat.region
    context.disagreements[beat.region] = disagreements(context, beat)


def disagreements(context: Context, beat: Heartbeat) -> dict[ResourceKind, str]:
    """Kinds of resource that cannot be replicated with a peer, and why: equal digests would not mean equal values."""
    ours = context.replica.settings.ties
    if beat.tie_order is not ours:
        reason = f"{beat.region} breaks ties by {beat.tie_order!s}, this region by {ours!s}"
        return dict.fromkeys(ResourceKind, reason)
    return {
        kind: f"{beat.region} projects it by {theirs}, this region by {projection.id}"
        for kind, projection in PROJECTIONS.items()
        if (theirs := beat.projections.get(kind)) is not None and theirs != projection.id
    }


def _obey(context: Context, tx: Transaction, control: Control) -> None:
    """Do what another region asks of all, or of this one."""
    region = context.identity.region
    if control.region == region or (control.target and control.target != region):
        return
    match control.action:
        case Action.PAUSE:
            context.paused = f"asked by {control.region}: {control.reason}"
            tx.set_identity(paused=context.paused)
        case Action.RESUME:
            context.paused = None
            tx.set_identity(paused=None)
        case Action.REQUEST:
            paths = [MetaPath(path) for path in control.paths if context.scope.contains(MetaPath(path))]
            context.requested.update(dict.fromkeys(paths))
            context.dirty.add(paths, Origin.DUE)
