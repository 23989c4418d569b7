"""Rows of the sidecar database and the values that they stand for. Both directions, nothing else.

What they hold as text is written by :mod:`syncer.state.encoding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import orjson
from sqlalchemy import RowMapping

from syncer.conflict.acts import Decision, Journal
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.causality.vectors import bounded
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.projection import json_in, json_of
from syncer.conflict.register import Hold, HoldReason, Intent, Parked, ParkReason, Register, Shown, Stored, Wish
from syncer.model import (
    Counter,
    Digest,
    Millis,
    Region,
    Seen,
    Stamp,
    Version,
)
from syncer.paths import tenant_of
from syncer.state.contract.conflicts import ConflictRow
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.quarantine import DeadLetter, DeadLetterRow
from syncer.state.encoding import dumps, stamp_of, storable

Row = tuple[Any, ...]


PARTS: Final[tuple[tuple[str, ...], ...]] = (
    ("k_time", "k_region", "k_by", "k_seen", "k_digest"),
    ("s_time", "s_region", "s_by", "s_seen", "s_digest", "s_revision"),
    ("left_digest",),
    ("k_value",),
    (
        "intent_batch",
        "intent_expected",
        "intent_time",
        "intent_region",
        "intent_by",
        "intent_seen",
        "intent_digest",
        "intent_value",
        "intent_kept",
    ),
    ("hold_reason", "hold_time", "hold_region", "hold_since", "hold_detail", "hold_local"),
    ("allowed_time", "allowed_region", "parked_reason", "parked_since", "parked_detail", "wish", "flips"),
    ("incomplete", "kept"),
)
"""Columns of a register that are all NULL together.

sqlite3 binds ``None``, ``bool`` and ``bytes`` four to ten times slower than ``int``, ``str`` and ``bytearray``. A row
is written by what it carries, with NULL for the rest in the statement.
"""

_SURELY_BOUNDED: Final = 1024
"""Characters of a version vector that has fewer counters than there is room for, whatever they are called."""
ALWAYS: Final = ("path", "alive", "due", "unsettled", "tenant", "own")
KNOWN, SEATED, LEFT, VALUE, INTENT, HOLD, REST, KEPT = (1 << index for index in range(len(PARTS)))


def columns_of(shape: int) -> tuple[str, ...]:
    """The columns that rows of a shape (a sum of ``KNOWN``, ``SEATED``, …) carry, in their order."""
    return ALWAYS + tuple(name for index, part in enumerate(PARTS) if shape & 1 << index for name in part)


def as_bytes(value: bytes | None) -> bytearray | None:
    """Bytes in the form that is bound fastest."""
    return None if value is None else bytearray(value)


def seen_of(text: str, by: str) -> Seen:
    """A version vector, cut to the room that it may take: earlier versions of the program kept them of any size."""
    seen: Seen = orjson.loads(text)
    return bounded(seen, Counter(by)) if len(text) > _SURELY_BOUNDED else seen


def register_row(register: Register) -> tuple[int, Row]:
    """The shape of a register's row, and the row: the columns of :func:`columns_of`."""
    path, known, stored, intent, hold = register.path, register.known, register.stored, register.intent, register.hold
    due = register.due or register.wish is not None
    alive = stored is not None and stored.digest is not None
    unsettled = due or intent is not None
    row: list[Any] = [path, 1 if alive else 0, 1 if due else 0, 1 if unsettled else 0, tenant_of(path), register.own]
    shape, seen = 0, ""
    if known is not None:
        shape = KNOWN
        stamp, seen = known.stamp, dumps(known.seen)
        row += (stamp.updated_at_ms, stamp.region, known.by, seen, as_bytes(known.digest))
    if stored is not None:
        shape |= SEATED
        stamp = stored.stamp
        if known is None or stored.seen is not known.seen:
            seen = dumps(stored.seen)
        row += (stamp.updated_at_ms, stamp.region, stored.by, seen, as_bytes(stored.digest))
        row.append(stored.revision)
    if register.left is not None:
        shape |= LEFT
        row.append(as_bytes(register.left))
    if known is not None and known.value is not None:
        shape |= VALUE
        row.append(as_bytes(known.value))
    if intent is not None:
        shape |= INTENT
        row += _intent_row(intent)
    if hold is not None:
        shape |= HOLD
        row += (hold.reason.value, hold.stamp.updated_at_ms, hold.stamp.region, hold.since_ms, storable(hold.detail))
        row.append(1 if hold.local else 0)
    if register.allowed or register.parked or register.wish or register.flips:
        shape |= REST
        row += _rest_row(register)
    if register.kept is not None:
        shape |= KEPT
        row += (1 if register.kept.gone or register.kept.excluded else 0, kept_bytes(register.kept))
    return shape, tuple(row)


def _intent_row(intent: Intent) -> Row:
    version = intent.version
    return (
        intent.batch,
        intent.expected,
        version.stamp.updated_at_ms,
        version.stamp.region,
        version.by,
        dumps(version.seen),
        as_bytes(version.digest),
        as_bytes(version.value),
        kept_bytes(intent.kept),
    )


def kept_bytes(kept: KeptFields | None) -> bytearray | None:
    """Kept fields as JSON: what the store holds, what it lacks and, if there is any, what it owes, and its own."""
    if kept is None:
        return None
    if kept.excluded:
        return as_bytes(json_of([kept.store, kept.gone, kept.owed, list(kept.excluded), kept.group, list(kept.untold)]))
    return as_bytes(json_of([kept.store, kept.gone, kept.owed] if kept.owed else [kept.store, kept.gone]))


def kept_in(data: bytes | None) -> KeptFields | None:
    """The kept fields that :func:`kept_bytes` has written."""
    if data is None:
        return None
    told = cast("list[Any]", json_in(data))
    return KeptFields(*told[:3], *([tuple(told[3]), told[4], tuple(told[5])] if len(told) > 3 else []))


def _rest_row(register: Register) -> Row:
    allowed, parked = register.allowed, register.parked
    return (
        allowed.updated_at_ms if allowed is not None else None,
        allowed.region if allowed is not None else None,
        parked.reason.value if parked is not None else None,
        parked.since_ms if parked is not None else None,
        storable(parked.detail) if parked is not None else None,
        _wish_text(register.wish, register.shown) if register.wish is not None else None,
        dumps(register.flips) if register.flips else None,
    )


def _wish_text(wish: Wish, shown: Shown | None) -> str:
    """A wish; one of an operator's with what he was shown, as a JSON list."""
    if shown is None:
        return wish.value
    known, stored = shown.known, shown.stored
    return dumps(
        (
            wish,
            (known.updated_at_ms, known.region) if known is not None else None,
            (stored.updated_at_ms, stored.region) if stored is not None else None,
            shown.digest.hex() if shown.digest is not None else None,
        )
    )


def _wish_of(text: str) -> tuple[Wish, Shown | None]:
    """A wish of its text; earlier versions kept it without what was shown."""
    if not text.startswith("["):
        return Wish(text), None
    wish, known, stored, digest = orjson.loads(text)
    shown = Shown(
        known=Stamp(*known) if known is not None else None,
        stored=Stamp(*stored) if stored is not None else None,
        digest=Digest(bytes.fromhex(digest)) if digest is not None else None,
    )
    return Wish(wish), shown


def register_of(row: Sequence[Any]) -> Register:
    """The register of a row whose columns stand in the table's order."""
    (
        path,
        _alive,
        _due,
        _unsettled,
        _tenant,
        own,
        k_time,
        k_region,
        k_by,
        k_seen,
        k_digest,
        s_time,
        s_region,
        s_by,
        s_seen,
        s_digest,
        s_revision,
        *rest,
    ) = row
    *extras, k_value, intent_value, _incomplete, kept, intent_kept = rest
    known = stored = None
    if k_time is not None:
        known = Version(
            stamp=Stamp(k_time, k_region), by=k_by, seen=seen_of(k_seen, k_by), digest=k_digest, value=k_value
        )
    if s_time is not None:
        stored = Stored(
            stamp=Stamp(s_time, s_region), by=s_by, seen=seen_of(s_seen, s_by), digest=s_digest, revision=s_revision
        )
    plain = Register(path=path, known=known, stored=stored, own=own, kept=kept_in(kept))
    if not any(field is not None for field in extras):
        return plain
    return _with_extras(plain, extras, intent_value, intent_kept)


def _with_extras(
    plain: Register, extras: Sequence[Any], intent_value: bytes | None, intent_kept: bytes | None
) -> Register:
    hold = extras[0:6]
    allowed = extras[6:8]
    parked = extras[8:11]
    batch, expected, time, region, by, seen, digest = extras[11:18]
    text, left, flips = extras[18:21]
    wish, shown = _wish_of(text) if text is not None else (None, None)
    return Register(
        path=plain.path,
        known=plain.known,
        stored=plain.stored,
        own=plain.own,
        hold=hold_of(hold),
        allowed=stamp_of(allowed[0], allowed[1]),
        parked=parked_of(parked),
        intent=Intent(
            batch=batch,
            version=Version(
                stamp=Stamp(time, region), by=by, seen=seen_of(seen, by), digest=digest, value=intent_value
            ),
            expected=expected,
            kept=kept_in(intent_kept),
        )
        if batch is not None
        else None,
        wish=wish,
        shown=shown,
        left=left,
        flips=tuple(orjson.loads(flips)) if flips is not None else (),
        kept=plain.kept,
    )


def shown_of(row: Sequence[Any]) -> Shown:
    """How a path is shown, of the columns time and region of the known version, time, region, digest of the stored."""
    k_time, k_region, s_time, s_region, s_digest = row
    return Shown(known=stamp_of(k_time, k_region), stored=stamp_of(s_time, s_region), digest=s_digest)


def hold_of(row: Sequence[Any]) -> Hold | None:
    """The hold of the columns reason, time, region, since, detail, local."""
    reason, time, region, since, detail, local = row
    if reason is None:
        return None
    return Hold(reason=HoldReason(reason), stamp=Stamp(time, region), since_ms=since, detail=detail, local=bool(local))


def parked_of(row: Sequence[Any]) -> Parked | None:
    """The parking of the columns reason, since, detail."""
    reason, since, detail = row
    return None if reason is None else Parked(reason=ParkReason(reason), since_ms=since, detail=detail)


def journal_row(entry: Journal, now: Millis) -> Row:
    """The row of a decision, without its number. What it lacks is empty text."""
    stamp, against, seen = entry.stamp, entry.against, entry.seen
    return (
        now,
        entry.path,
        entry.decision.value,
        str(stamp) if stamp is not None else "",
        as_bytes(entry.digest),
        dumps(seen) if seen is not None else "",
        str(against) if against is not None else "",
        storable(entry.detail),
    )


def journal_of(row: Sequence[Any]) -> Journal:
    """The decision of a row in the table's order, its number and time left out."""
    path, decision, stamp, digest, seen, against, detail = row
    return Journal(
        path=path,
        decision=Decision(decision),
        stamp=_stamp_in(stamp),
        digest=digest,
        seen=orjson.loads(seen) if seen else None,
        against=_stamp_in(against),
        detail=detail,
    )


def _stamp_in(text: str) -> Stamp | None:
    """A stamp as it prints itself; a region may have an ``@`` of its own, a time has none."""
    if not text:
        return None
    time, _, region = text.partition("@")
    return Stamp(Millis(int(time)), Region(region))


def ahead_text(consumed: Consumed) -> str:
    """The numbers beyond a gap as JSON ranges ``[first, last, first, last, …]``."""
    return dumps([number for pair in consumed.ahead for number in pair])


def consumed_of(through: int, ahead: str) -> Consumed:
    """What was consumed of a sender, from its columns."""
    ranges: list[int] = orjson.loads(ahead)
    pairs = zip(ranges[::2], ranges[1::2], strict=True)
    return Consumed(through, tuple(pairs))


def conflict_of(row: RowMapping) -> ConflictRow:
    """A conflict from its columns by name."""
    return ConflictRow(
        id=row["id"],
        path=row["path"],
        loser=Stamp(row["loser_time"], row["loser_region"]),
        loser_seen=seen_of(row["loser_seen"], ""),
        loser_digest=row["loser_digest"],
        value=row["value"],
        winner=Stamp(row["winner_time"], row["winner_region"]),
        reason=row["reason"],
        recorded_at_ms=row["recorded_at"],
        restored_at_ms=row["restored_at"],
    )


def dead_letter_of(row: RowMapping) -> DeadLetterRow:
    """A quarantined thing from its columns by name."""
    poison = DeadLetter(
        origin=row["origin"],
        code=row["code"],
        detail=row["detail"],
        position=row["position"],
        path=row["path"],
        payload=row["payload"],
        properties=orjson.loads(row["properties"]),
    )
    return DeadLetterRow(id=row["id"], poison=poison, recorded_at_ms=row["recorded_at"])


def operation_of(row: RowMapping) -> Operation:
    """An operation from its columns by name."""
    return Operation(
        id=row["id"],
        kind=row["kind"],
        arguments=orjson.loads(row["arguments"]),
        asked_by=row["asked_by"],
        reason=row["reason"],
        asked_at_ms=Millis(row["asked_at"]),
        state=OperationState(row["state"]),
        answer=row["answer"],
        code=row["code"],
        finished_at_ms=Millis(row["finished_at"]) if row["finished_at"] is not None else None,
        origin=row["origin"],
        credential=row["credential"],
    )


def peer_of(row: Sequence[Any]) -> PeerRow:
    """A peer from its columns in the table's order."""
    region, sender, heard_at, sent_at, document = row
    return PeerRow(
        region=region, sender=sender, heard_at_ms=heard_at, sent_at_ms=sent_at, document=orjson.loads(document)
    )
