"""JSON document of auto-recovery: marked ledgers with their topics, and whether recovery moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.documents.document import Document
from syncer.documents.ledgers.read import LedgersReadDocument, ledgers_read_document
from syncer.ledgers.auditing.recovery import MarkState, RecoveryFault
from syncer.ledgers.losses.decommission import BlockedBy
from syncer.ledgers.nodes import AuditorPlace, AuditorTask

if TYPE_CHECKING:
    from syncer.ledgers.auditing.picture import LedgersPicture
    from syncer.ledgers.auditing.recovery import RecoveryStanding


class MarkedLedgerDocument(Document):
    """A marked ledger; without bookies it was marked for its placement, or by hand."""

    ledger_id: int
    topic: str | None
    bookies: list[str]
    marked_ms: int | None
    state: MarkState
    blocked: BlockedBy | None
    copied_by: str | None


class UnmarkedLedgerDocument(Document):
    """A ledger that names bookies which are away, and has no mark."""

    ledger_id: int
    topic: str | None
    bookies: list[str]


class AuditorDocument(Document):
    """Who leads in a place where an auditor is elected."""

    place: AuditorPlace
    bookie: str


class AuditorCheckDocument(Document):
    """The end of a periodic check's last run; null where none has ended."""

    task: AuditorTask
    ended_ms: int | None


class UnderReplicatedDocument(Document):
    """``syncer ledgers under-replicated``; ``fault`` is null where nothing keeps auto-recovery from working at all."""

    read: LedgersReadDocument
    fault: RecoveryFault | None
    auditors: list[AuditorDocument]
    lost_bookie_delay_s: int | None
    workers: list[str]
    checks: list[AuditorCheckDocument]
    marked: list[MarkedLedgerDocument]
    unmarked: list[UnmarkedLedgerDocument]


def under_replicated_document(picture: LedgersPicture, found: RecoveryStanding) -> UnderReplicatedDocument:
    """Make the document of auto-recovery.

    Args:
        picture: The picture.
        found: Its auto-recovery.
    """
    return UnderReplicatedDocument(
        read=ledgers_read_document(picture),
        fault=found.fault,
        auditors=[AuditorDocument(place=place, bookie=bookie) for place, bookie in found.auditors.items()],
        lost_bookie_delay_s=picture.recovery.delay_s,
        workers=list(found.workers),
        checks=[AuditorCheckDocument(task=each.task, ended_ms=each.ended_ms) for each in picture.recovery.checks],
        marked=[
            MarkedLedgerDocument(
                ledger_id=each.mark.ledger_id,
                topic=each.topic,
                bookies=list(each.mark.bookies),
                marked_ms=each.mark.marked_ms,
                state=each.state,
                blocked=each.blocked,
                copied_by=each.worker,
            )
            for each in found.marked
        ],
        unmarked=[
            UnmarkedLedgerDocument(ledger_id=each.ledger_id, topic=each.topic, bookies=list(each.bookies))
            for each in found.unmarked
        ],
    )
