"""JSON document of ledgers that nobody refers to, and of references to ledgers that are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.documents.document import Document
from syncer.documents.ledgers.read import LedgersReadDocument, ledgers_read_document
from syncer.ledgers.auditing.unreferenced import Unproven
from syncer.ledgers.metadata import LedgerState
from syncer.ledgers.owners import ReferenceRole

if TYPE_CHECKING:
    from syncer.ledgers.auditing.picture import LedgersPicture
    from syncer.ledgers.auditing.unreferenced import ReferenceAudit
    from syncer.ledgers.metadata import LedgerMetadata


class UnreferencedLedgerDocument(Document):
    """A ledger without a reference; ``unproven`` is null of an orphan, or says why it is not proven to be one.

    ``topic`` is the one that its own metadata names; ``created_ms`` is null where nobody knows.
    """

    ledger_id: int
    unproven: Unproven | None
    component: str
    topic: str | None
    topic_exists: bool
    state: LedgerState
    bytes: int | None
    created_ms: int | None
    made_by_pulsar_driver: bool


class MissingReferenceDocument(Document):
    """Who refers to a ledger that is not there."""

    topic: str
    role: ReferenceRole


class MissingLedgerDocument(Document):
    """A ledger that is not there, and those who refer to it."""

    ledger_id: int
    references: list[MissingReferenceDocument]


class ForeignLedgerDocument(Document):
    """A ledger that Pulsar did not make."""

    ledger_id: int
    state: LedgerState
    bytes: int | None
    created_ms: int | None


class OrphansDocument(Document):
    """``syncer ledgers orphans``; ``passing`` ledgers lacked a reference at the first of two looks alone."""

    first: LedgersReadDocument
    second: LedgersReadDocument
    clusters_whole: bool
    orphans: int
    unreferenced: list[UnreferencedLedgerDocument]
    missing: list[MissingLedgerDocument]
    foreign: list[ForeignLedgerDocument]
    passing: int


def orphans_document(
    first: LedgersPicture, second: LedgersPicture, found: ReferenceAudit, *, whole: bool
) -> OrphansDocument:
    """Make the document of what two looks found.

    Args:
        first: The earlier look.
        second: The later one.
        found: What they found.
        whole: All clusters of these bookies were looked at.
    """
    return OrphansDocument(
        first=ledgers_read_document(first),
        second=ledgers_read_document(second),
        clusters_whole=whole,
        orphans=len(found.orphans),
        unreferenced=[
            UnreferencedLedgerDocument(
                ledger_id=each.ledger.ledger_id,
                unproven=each.unproven,
                component=each.component,
                topic=each.topic,
                topic_exists=each.topic_exists,
                state=each.ledger.state,
                bytes=each.ledger.length_bytes,
                created_ms=each.ledger.origin.created_ms,
                made_by_pulsar_driver=each.ledger.origin.creation_token == 0,
            )
            for each in found.unreferenced
        ],
        missing=[
            MissingLedgerDocument(
                ledger_id=each.ledger_id,
                references=[
                    MissingReferenceDocument(topic=reference.topic, role=reference.role)
                    for reference in each.references
                ],
            )
            for each in found.missing
        ],
        foreign=[_foreign(each) for each in found.foreign],
        passing=found.passing,
    )


def _foreign(ledger: LedgerMetadata) -> ForeignLedgerDocument:
    return ForeignLedgerDocument(
        ledger_id=ledger.ledger_id,
        state=ledger.state,
        bytes=ledger.length_bytes,
        created_ms=ledger.origin.created_ms,
    )
