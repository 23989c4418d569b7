"""JSON documents of one ledger and of one topic: which entry lies where, and whether it can be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.documents.document import Document
from syncer.documents.ledgers.read import LedgersReadDocument, ledgers_read_document
from syncer.ledgers.auditing.loading import NoLoading
from syncer.ledgers.judging.ledger import ReplicaClass
from syncer.ledgers.metadata import LedgerState
from syncer.ledgers.owners import ReferenceRole

if TYPE_CHECKING:
    from syncer.ledgers.auditing.explaining import ExplainedLedger, ExplainedPart, ExplainedSegment, ExplainedTopic
    from syncer.ledgers.auditing.picture import LedgerReference, LedgersPicture


class SegmentBookieDocument(Document):
    """A bookie of a segment; ``entries`` is null where none is certain."""

    bookie: str
    up: bool
    entries: int | None
    rack: str


class ExplainedSegmentDocument(Document):
    """A segment; entry e lies on the bookies whose indexes are ``write_sets[e mod E]``.

    ``last_entry`` is null where no entry is certain; ``by_replicas_left`` counts entries from none left to all.
    ``spread``: its write quorums are spread over racks, or regions, as configured; null where these are not known.
    """

    first_entry: int
    last_entry: int | None
    bookies: list[SegmentBookieDocument]
    write_sets: list[list[int]]
    by_replicas_left: list[int]
    spread: bool | None


class LedgerReferenceDocument(Document):
    """Who refers to a ledger; ``entries`` and ``bytes`` as that list says, ``cluster`` null for this one."""

    topic: str
    role: ReferenceRole
    cluster: str | None
    entries: int | None
    bytes: int | None
    offloaded: bool


class ExplainedLedgerDocument(Document):
    """``syncer ledgers explain LEDGER``; ``recoverable`` is null of a closed ledger."""

    read: LedgersReadDocument
    ledger_id: int
    path: str
    state: LedgerState
    ensemble: int
    write_quorum: int
    ack_quorum: int
    last_entry: int | None
    bytes: int | None
    created_ms: int | None
    made_by_pulsar_driver: bool
    custom: dict[str, str]
    replica_class: ReplicaClass
    recoverable: bool | None
    segments: list[ExplainedSegmentDocument]
    lost_ranges: list[list[int]]
    more_lost_ranges: bool
    references: list[LedgerReferenceDocument]
    marked_ms: int | None
    marked_for: list[str] | None
    copied_by: str | None


class TopicLedgerDocument(Document):
    """A ledger that a topic needs; the class is null where the ledger is not there.

    ``entries`` and ``bytes`` are as the topic lists them, or else those of a closed ledger's own metadata.
    """

    ledger_id: int
    role: ReferenceRole
    cursor: str | None
    entries: int | None
    bytes: int | None
    offloaded: bool
    replica_class: ReplicaClass | None
    recoverable: bool | None
    lost_entries: int | None


class ExplainedTopicDocument(Document):
    """``syncer ledgers explain TOPIC``; ``reason`` is null where its ledgers keep nobody from loading it."""

    read: LedgersReadDocument
    topic: str
    loadable: bool
    reason: NoLoading | None
    blocking_ledger: int | None
    ledgers: list[TopicLedgerDocument]


def explained_ledger_document(picture: LedgersPicture, found: ExplainedLedger) -> ExplainedLedgerDocument:
    """Make the document of a ledger.

    Args:
        picture: The picture that it is in.
        found: The ledger, explained.
    """
    ledger = found.ledger
    return ExplainedLedgerDocument(
        read=ledgers_read_document(picture),
        ledger_id=ledger.ledger_id,
        path=found.path,
        state=ledger.state,
        ensemble=ledger.quorums.ensemble,
        write_quorum=ledger.quorums.write,
        ack_quorum=ledger.quorums.ack,
        last_entry=ledger.last_entry,
        bytes=ledger.length_bytes,
        created_ms=ledger.origin.created_ms,
        made_by_pulsar_driver=ledger.origin.creation_token == 0,
        custom={key: value.decode(errors="replace") for key, value in ledger.origin.custom.items()},
        replica_class=found.judgement.replica_class,
        recoverable=found.judgement.recoverable,
        segments=[_segment(each) for each in found.segments],
        lost_ranges=[list(each) for each in found.lost],
        more_lost_ranges=found.more_lost,
        references=[_reference(each) for each in found.references],
        marked_ms=None if found.mark is None else found.mark.marked_ms,
        marked_for=None if found.mark is None else list(found.mark.bookies),
        copied_by=None if found.lock is None else found.lock.host,
    )


def explained_topic_document(picture: LedgersPicture, found: ExplainedTopic) -> ExplainedTopicDocument:
    """Make the document of a topic.

    Args:
        picture: The picture that it is in.
        found: The topic, explained.
    """
    return ExplainedTopicDocument(
        read=ledgers_read_document(picture),
        topic=found.topic,
        loadable=found.reason is None,
        reason=found.reason,
        blocking_ledger=found.blocking_ledger,
        ledgers=[_part(each) for each in found.parts],
    )


def _segment(segment: ExplainedSegment) -> ExplainedSegmentDocument:
    return ExplainedSegmentDocument(
        first_entry=segment.first_entry,
        last_entry=segment.last_entry,
        bookies=[
            SegmentBookieDocument(bookie=each.bookie, up=each.up, entries=each.entries, rack=each.rack)
            for each in segment.bookies
        ],
        write_sets=[list(each) for each in segment.write_sets],
        by_replicas_left=list(segment.by_replicas_left),
        spread=segment.spread,
    )


def _reference(each: LedgerReference) -> LedgerReferenceDocument:
    return LedgerReferenceDocument(
        topic=each.topic,
        role=each.role,
        cluster=each.cluster or None,
        entries=None if each.listed is None else each.listed.entries,
        bytes=None if each.listed is None else each.listed.size_bytes,
        offloaded=_offloaded(each),
    )


def _part(part: ExplainedPart) -> TopicLedgerDocument:
    listed, judgement = part.reference.listed, part.judgement
    entries, size = (None, None) if listed is None else (listed.entries, listed.size_bytes)
    if entries is None and judgement is not None and judgement.recoverable is None:
        entries, size = judgement.entries, judgement.length_bytes
    return TopicLedgerDocument(
        ledger_id=part.ledger_id,
        role=part.role,
        cursor=part.cursor or None,
        entries=entries,
        bytes=size,
        offloaded=_offloaded(part.reference),
        replica_class=None if judgement is None else judgement.replica_class,
        recoverable=None if judgement is None else judgement.recoverable,
        lost_entries=None if judgement is None else judgement.lost_entries,
    )


def _offloaded(reference: LedgerReference) -> bool:
    listed = reference.listed
    return listed is not None and listed.offload is not None and listed.offload.complete
