"""Explaining: one ledger, segment by segment, and one topic, ledger by ledger."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from syncer.ledgers.auditing.loading import NoLoading, cannot_go_on, why_not_loadable
from syncer.ledgers.auditing.picture import LedgerReference, LedgersPicture, TopicOfLedgers
from syncer.ledgers.auditing.spreading import USUAL_RULES, PlacementRules, segment_is_spread
from syncer.ledgers.judging.ledger import LedgerJudgement, judge, lost_ranges
from syncer.ledgers.judging.replicas import SegmentExtent, extents, replicas_left
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.nodes import RecoveryLock, UnderReplicationMark
from syncer.ledgers.owners import ReferenceRole
from syncer.ledgers.paths import ledger_path
from syncer.ledgers.placement.write_sets import entries_on, write_set

RANGES: Final = 100
"""Lost ranges that are told of a ledger."""


class ExplainedBookie(NamedTuple):
    """A bookie of a segment; ``entries`` are those that it should hold, None where none is certain."""

    bookie: str
    up: bool
    entries: int | None
    rack: str


class ExplainedSegment(NamedTuple):
    """A segment; ``last_entry`` is None where none is certain, ``write_sets`` are the indexes by entry modulo E.

    ``spread`` tells whether its write quorums are spread over racks or regions; None where these are not known.
    """

    first_entry: int
    last_entry: int | None
    bookies: tuple[ExplainedBookie, ...]
    write_sets: tuple[tuple[int, ...], ...]
    by_replicas_left: tuple[int, ...]
    spread: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedLedger:
    """A ledger with all that is known of it here."""

    ledger: LedgerMetadata
    path: str
    judgement: LedgerJudgement
    segments: tuple[ExplainedSegment, ...]
    lost: tuple[tuple[int, int], ...]
    more_lost: bool
    references: tuple[LedgerReference, ...]
    mark: UnderReplicationMark | None
    lock: RecoveryLock | None


class ExplainedPart(NamedTuple):
    """A ledger of a topic: what is said of it there, and how it stands; ``judgement`` is None where it is not there."""

    ledger_id: int
    role: ReferenceRole
    cursor: str
    reference: LedgerReference
    judgement: LedgerJudgement | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedTopic:
    """A topic: whether brokers can load it, and its ledgers in their order."""

    topic: str
    reason: NoLoading | None
    blocking_ledger: int | None
    parts: tuple[ExplainedPart, ...]


def explain_ledger(
    picture: LedgersPicture, ledger: LedgerMetadata, rules: PlacementRules = USUAL_RULES
) -> ExplainedLedger:
    """Explain a ledger.

    Args:
        picture: The picture that it is in.
        ledger: The ledger.
        rules: How brokers place ledgers.
    """
    lost = frozenset(ledger.bookies() - picture.readable)
    ranges = list(islice(lost_ranges(ledger, lost), RANGES + 1))
    return ExplainedLedger(
        ledger=ledger,
        path=f"{picture.root}/{ledger_path(ledger.ledger_id)}",
        judgement=judge(ledger, lost),
        segments=tuple(_segment(picture, each, ledger, lost, rules) for each in extents(ledger)),
        lost=tuple(ranges[:RANGES]),
        more_lost=len(ranges) > RANGES,
        references=picture.references.get(ledger.ledger_id, ()),
        mark=next((each for each in picture.recovery.marks if each.ledger_id == ledger.ledger_id), None),
        lock=picture.recovery.locks.get(ledger.ledger_id),
    )


def _segment(
    picture: LedgersPicture,
    extent: SegmentExtent,
    ledger: LedgerMetadata,
    lost: AbstractSet[str],
    rules: PlacementRules,
) -> ExplainedSegment:
    (first, bookies), last = extent
    ensemble, write = len(bookies), max(ledger.quorums.write, 0)
    certain = last >= first
    return ExplainedSegment(
        first,
        last if certain else None,
        tuple(
            ExplainedBookie(
                bookie,
                bookie not in lost,
                entries_on(index, first, last, ensemble, write) if certain or ledger.is_closed else None,
                picture.racks.rack(bookie),
            )
            for index, bookie in enumerate(bookies)
        ),
        tuple(tuple(write_set(residue, ensemble, write)) for residue in range(ensemble)),
        tuple(replicas_left(extent, write, lost)),
        segment_is_spread(picture, bookies, write, rules),
    )


def explain_topic(picture: LedgersPicture, topic: str) -> ExplainedTopic | None:
    """Explain a topic; None where it is not there.

    Args:
        picture: The picture.
        topic: Its whole name.
    """
    record = picture.topics.get(topic)
    if record is None:
        return None
    lost = picture.lost()
    why = why_not_loadable(picture, record, lost) or cannot_go_on(picture, record)
    reason, blocking = why if why is not None else (None, None)
    return ExplainedTopic(
        topic=topic,
        reason=reason,
        blocking_ledger=blocking,
        parts=tuple(_part(picture, topic, lost, needed) for needed in _needed(picture, topic, record)),
    )


def _needed(picture: LedgersPicture, topic: str, record: TopicOfLedgers) -> Iterator[tuple[int, ReferenceRole, str]]:
    """Yield the ledgers of a topic: id, what for, and the cursor's name."""
    for each in record.managed.ledgers if record.managed is not None else ():
        yield each.ledger_id, ReferenceRole.DATA, ""
    for name, cursor in record.cursors.items():
        if cursor.ledger_id is not None:
            yield cursor.ledger_id, ReferenceRole.CURSOR, name
        if cursor.compacted_ledger_id is not None:
            yield cursor.compacted_ledger_id, ReferenceRole.COMPACTED, name
        for ledger_id in cursor.delayed_ledger_ids():
            yield ledger_id, ReferenceRole.DELAYED_INDEX, name
    for ledger_id in picture.schemas.get(topic, ()):
        yield ledger_id, ReferenceRole.SCHEMA, ""


def _part(
    picture: LedgersPicture, topic: str, lost: AbstractSet[str], needed: tuple[int, ReferenceRole, str]
) -> ExplainedPart:
    ledger_id, role, cursor = needed
    references = picture.references.get(ledger_id, ())
    reference = next(
        (each for each in references if (each.topic, each.role) == (topic, role)), LedgerReference(topic, role)
    )
    ledger = picture.ledgers.get(ledger_id)
    return ExplainedPart(ledger_id, role, cursor, reference, None if ledger is None else judge(ledger, lost))
