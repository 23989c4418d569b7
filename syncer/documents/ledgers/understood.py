"""An audit's figures, understood from the JSON document that was kept of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from syncer.documents.ledgers.audit import LedgerAuditDocument
from syncer.errors import ValueInvalid
from syncer.ledgers.auditing.audited import (
    AuditedBookie,
    AuditedFinding,
    AuditedKeeping,
    AuditedLedgers,
    AuditedTally,
    Unread,
)
from syncer.model import Millis
from syncer.wanted.ledgers import LedgerPart

if TYPE_CHECKING:
    from syncer.documents.ledgers.audit import ReplicaTallyDocument
    from syncer.documents.ledgers.read import PartReadDocument


def audit_understood(document: bytes) -> LedgerAuditDocument:
    """Read the document of an audit.

    Args:
        document: As JSON.

    Raises:
        ValueInvalid: It is none that this version understands.
    """
    try:
        return LedgerAuditDocument.model_validate_json(document)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueInvalid(
            f"it is no audit of ledgers: {exc.error_count()} fields are wrong, the first is '{where}': {first['msg']}",
            hint="An audit of a newer version is understood by that version alone.",
        ) from exc


def audited_of(document: LedgerAuditDocument) -> AuditedLedgers:
    """Take an audit's figures from its document.

    Args:
        document: The document.
    """
    read = document.read
    parts = {each.part: _unread(each) for each in read.parts}
    return AuditedLedgers(
        cluster=read.cluster,
        instance_id=read.instance_id,
        taken_ms=Millis(read.taken_ms),
        unread={part: parts.get(part, Unread(more=True)) for part in LedgerPart},
        total=_tally(document.total),
        groups={each.name: _tally(each) for each in document.groups},
        kept={
            each.kept_for.value: AuditedKeeping(ledgers=each.ledgers, bytes=each.bytes, stored_bytes=each.stored_bytes)
            for each in document.kept
        },
        bookies={each.bookie: AuditedBookie(state=each.state.value, rack=each.rack) for each in document.bookies},
        findings={
            each.code.value: AuditedFinding(
                severity=each.severity.value,
                count=each.count,
                what=each.what,
                names=tuple(each.names),
                remedy=each.remedy,
            )
            for each in document.findings
        },
    )


def _unread(part: PartReadDocument) -> Unread:
    named = (part.refused, [each.path for each in part.undecodable], part.unfamiliar)
    counts = (part.refused_count, part.undecodable_count, part.unfamiliar_count)
    return Unread(
        paths=frozenset(path for paths in named for path in paths),
        more=any(len(paths) < count for paths, count in zip(named, counts, strict=True)),
    )


def _tally(tally: ReplicaTallyDocument) -> AuditedTally:
    return AuditedTally(
        ledgers=tally.ledgers,
        classes=tally.by_class,
        entries_left=tally.entries_by_replicas_left,
        entries_lacking=tally.entries_lacking,
        bytes_left=tally.bytes_by_replicas_left,
        unknown_bytes=tally.unknown_bytes,
        not_recoverable=tally.not_recoverable,
    )
