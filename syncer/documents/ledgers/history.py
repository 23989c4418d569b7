"""JSON documents of the history of a cluster's audits: which are kept, and what changed between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from syncer.documents.document import Document
from syncer.ledgers.auditing.changes import FindingTurn, PresenceTurn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.ledgers.auditing.audited import AuditedBookie, AuditedFinding, AuditedKeeping, AuditedTally
    from syncer.ledgers.auditing.changes import LedgerChanges
    from syncer.state.contract.work.ledger_audits import LedgerAuditRow


class KeptAuditDocument(Document):
    """An audit that is kept; ``whole`` is false where something was not read, or not understood."""

    number: int
    taken_ms: int
    whole: bool


class KeptAuditList(Document):
    """``syncer ledgers history list``, the latest first."""

    cluster: str
    items: list[KeptAuditDocument]
    next: int | None = Field(description="Give it to --before for older ones; null: there are none.")


class TallyPointDocument(Document):
    """A group as it stood at an audit; all is 0 where it was not there."""

    ledgers: int
    entries: int
    entries_lacking: int
    entries_lost: int
    bytes: int
    not_recoverable: int


class GroupChangeDocument(Document):
    """A namespace or a topic that differs; without a name: the ledgers that nobody refers to."""

    name: str
    turn: PresenceTurn
    before: TallyPointDocument
    after: TallyPointDocument


class KeepingPointDocument(Document):
    """Ledgers that were kept for one reason; ``stored_bytes`` are about those on all disks together."""

    ledgers: int
    bytes: int
    stored_bytes: int


class KeepingChangeDocument(Document):
    """A reason for which other bytes are kept than before."""

    kept_for: str
    turn: PresenceTurn
    before: KeepingPointDocument
    after: KeepingPointDocument


class BookiePointDocument(Document):
    """A bookie as it was at an audit."""

    state: str
    rack: str


class BookieChangeDocument(Document):
    """A bookie that came, went, or has another state or rack; null where it was not there."""

    bookie: str
    turn: PresenceTurn
    before: BookiePointDocument | None
    after: BookiePointDocument | None


class FindingChangeDocument(Document):
    """A finding of either audit, and how often it was found; names are of those that both audits tell."""

    code: str
    severity: str
    turn: FindingTurn
    before: int
    after: int
    what: str
    came: list[str]
    went: list[str]
    remedy: str


class LedgerChangesDocument(Document):
    """``syncer ledgers history changes``; lists have the worst first.

    ``alike`` is false where the audits have not read the same: what is called 'first seen', 'not seen' or 'perhaps
    changed' may then have been so before. ``worse``: there is a finding that was not there before, or is of more or of
    others.
    """

    cluster: str
    before: KeptAuditDocument
    after: KeptAuditDocument
    alike: bool
    worse: bool
    total_before: TallyPointDocument
    total_after: TallyPointDocument
    groups: list[GroupChangeDocument]
    kept: list[KeepingChangeDocument]
    bookies: list[BookieChangeDocument]
    findings: list[FindingChangeDocument]


def kept_audit_document(row: LedgerAuditRow) -> KeptAuditDocument:
    """Make the document of an audit that is kept."""
    return KeptAuditDocument(number=row.id, taken_ms=row.taken_ms, whole=row.whole)


def kept_audit_list(cluster: str, rows: Sequence[LedgerAuditRow], limit: int) -> KeptAuditList:
    """Make a page of audits.

    Args:
        cluster: Name of the cluster's table.
        rows: One more than is shown, where there is one.
        limit: So many are shown.
    """
    items = [kept_audit_document(each) for each in rows[:limit]]
    return KeptAuditList(cluster=cluster, items=items, next=items[-1].number if len(rows) > limit else None)


def ledger_changes_document(
    cluster: str, before: LedgerAuditRow, after: LedgerAuditRow, found: LedgerChanges
) -> LedgerChangesDocument:
    """Make the document of what changed.

    Args:
        cluster: Name of the cluster's table.
        before: The earlier audit.
        after: The later one.
        found: What changed.
    """
    return LedgerChangesDocument(
        cluster=cluster,
        before=kept_audit_document(before),
        after=kept_audit_document(after),
        alike=found.alike,
        worse=found.worse,
        total_before=_tally(found.before.total),
        total_after=_tally(found.after.total),
        groups=[
            GroupChangeDocument(name=each.name, turn=each.turn, before=_tally(each.before), after=_tally(each.after))
            for each in found.groups
        ],
        kept=[
            KeepingChangeDocument(
                kept_for=each.reason, turn=each.turn, before=_keeping(each.before), after=_keeping(each.after)
            )
            for each in found.kept
        ],
        bookies=[
            BookieChangeDocument(
                bookie=each.bookie, turn=each.turn, before=_bookie(each.before), after=_bookie(each.after)
            )
            for each in found.bookies
        ],
        findings=[
            FindingChangeDocument(
                code=each.code,
                severity=each.severity,
                turn=each.turn,
                before=_count(each.before),
                after=_count(each.after),
                what=_what(each.before, each.after),
                came=list(each.came),
                went=list(each.went),
                remedy="" if each.after is None else each.after.remedy,
            )
            for each in found.findings
        ],
    )


def _tally(tally: AuditedTally) -> TallyPointDocument:
    return TallyPointDocument(
        ledgers=tally.ledgers,
        entries=tally.entries,
        entries_lacking=tally.entries_lacking,
        entries_lost=tally.entries_lost,
        bytes=tally.bytes,
        not_recoverable=tally.not_recoverable,
    )


def _keeping(kept: AuditedKeeping) -> KeepingPointDocument:
    return KeepingPointDocument(ledgers=kept.ledgers, bytes=kept.bytes, stored_bytes=kept.stored_bytes)


def _bookie(bookie: AuditedBookie | None) -> BookiePointDocument | None:
    return None if bookie is None else BookiePointDocument(state=bookie.state, rack=bookie.rack)


def _count(finding: AuditedFinding | None) -> int:
    return 0 if finding is None else finding.count


def _what(before: AuditedFinding | None, after: AuditedFinding | None) -> str:
    found = after or before
    return "" if found is None else found.what
