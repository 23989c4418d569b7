"""JSON document of an audit: ledgers by the replicas that are left, why bytes are kept, bookies, findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.documents.document import Document
from syncer.documents.ledgers.read import LedgersReadDocument, ledgers_read_document
from syncer.ledgers.auditing.findings import LedgerFindingCode, LedgerFindingSeverity
from syncer.ledgers.auditing.standing import KeptFor
from syncer.ledgers.nodes import BookieState

if TYPE_CHECKING:
    from syncer.ledgers.auditing.findings import LedgerFinding
    from syncer.ledgers.auditing.loss import LossOverview
    from syncer.ledgers.auditing.picture import LedgersPicture
    from syncer.ledgers.auditing.spreading import LedgersSpread
    from syncer.ledgers.auditing.standing import LedgersStanding, ReplicaTally


class ReplicaTallyDocument(Document):
    """Ledgers of one group; entries and bytes by the replicas that are left of them, each entry counted once.

    Entries are those that are certain by metadata; ``unknown_bytes`` are ledgers whose bytes are not known, since they
    are not closed.
    """

    name: str
    ledgers: int
    by_state: dict[str, int]
    by_class: dict[str, int]
    entries: int
    entries_by_replicas_left: dict[int, int]
    entries_lacking: int
    bytes: int
    bytes_by_replicas_left: dict[int, int]
    unknown_bytes: int
    not_recoverable: int
    single_copies: int


class KeptBytesDocument(Document):
    """Ledgers that are kept for one reason; ``stored_bytes`` are about those on all disks together."""

    kept_for: KeptFor
    ledgers: int
    bytes: int
    stored_bytes: int
    unknown_bytes: int


class AuditedBookieDocument(Document):
    """A bookie that is up, or that ledgers or cookies name."""

    bookie: str
    state: BookieState
    rack: str
    has_cookie: bool


class LedgerFindingDocument(Document):
    """A finding; ``names`` are the first of ``count``."""

    code: LedgerFindingCode
    severity: LedgerFindingSeverity
    count: int
    what: str
    names: list[str]
    remedy: str


class LedgersSpreadDocument(Document):
    """How ledgers are spread over racks, or regions, as they are configured.

    ``not_spread`` are those with a write quorum on fewer than they should be; ``counted_by_auditor`` are those closed
    ones that BookKeeper's auditor would count as not adhering, null where it is not known which bookies are up: it
    takes a bookie that cannot be written to for one without a rack.
    """

    over: str
    min_racks: int
    enforced: bool
    ledgers: int
    closed: int
    not_spread: int
    counted_by_auditor: int | None


class LossOddsDocument(Document):
    """The probability that so many bookies at random harm anything; ``exact`` where all sets were tried."""

    size: int
    tried: int
    harmful: int
    exact: bool
    probability: float


class PairLossDocument(Document):
    """Two bookies whose loss harms something."""

    bookies: list[str]
    lost_ledgers: int
    blocked_ledgers: int


class LossOverviewDocument(Document):
    """How harm grows with the number of lost bookies, and the pairs that harm something, the worst first."""

    odds: list[LossOddsDocument]
    pairs: list[PairLossDocument]


class LedgerAuditDocument(Document):
    """``syncer ledgers audit``; ``loss`` is there where a page was asked for, ``spread`` where racks are known."""

    read: LedgersReadDocument
    total: ReplicaTallyDocument
    groups: list[ReplicaTallyDocument]
    kept: list[KeptBytesDocument]
    bookies: list[AuditedBookieDocument]
    findings: list[LedgerFindingDocument]
    loss: LossOverviewDocument | None = None
    spread: LedgersSpreadDocument | None = None


def ledger_audit_document(
    picture: LedgersPicture,
    standing: LedgersStanding,
    findings: list[LedgerFinding],
    loss: LossOverview | None = None,
    spread: LedgersSpread | None = None,
) -> LedgerAuditDocument:
    """Make the document of an audit.

    Args:
        picture: The picture.
        standing: Its ledgers as they stand.
        findings: What was found.
        loss: What the loss of bookies would harm, where that was asked for.
        spread: How ledgers are spread, where racks are known.
    """
    return LedgerAuditDocument(
        read=ledgers_read_document(picture),
        total=_tally(picture.cluster, standing.whole),
        groups=[_tally(name, tally) for name, tally in sorted(standing.groups.items())],
        kept=[
            KeptBytesDocument(
                kept_for=reason,
                ledgers=kept.ledgers,
                bytes=kept.bytes,
                stored_bytes=kept.stored_bytes,
                unknown_bytes=kept.unknown_bytes,
            )
            for reason in KeptFor
            if (kept := standing.kept.get(reason)) is not None
        ],
        bookies=_bookies(picture, standing),
        findings=[
            LedgerFindingDocument(
                code=each.code,
                severity=each.severity,
                count=each.count,
                what=each.what,
                names=list(each.names),
                remedy=each.remedy,
            )
            for each in findings
        ],
        loss=None if loss is None else _loss(loss),
        spread=None if spread is None else _spread(spread),
    )


def _spread(spread: LedgersSpread) -> LedgersSpreadDocument:
    return LedgersSpreadDocument(
        over="regions" if spread.rules.regions else "racks",
        min_racks=spread.rules.policy.min_racks,
        enforced=spread.rules.policy.enforced,
        ledgers=spread.ledgers,
        closed=spread.closed,
        not_spread=len(spread.not_spread),
        counted_by_auditor=spread.counted,
    )


def _loss(loss: LossOverview) -> LossOverviewDocument:
    return LossOverviewDocument(
        odds=[
            LossOddsDocument(
                size=each.size,
                tried=each.tried,
                harmful=each.harmful,
                exact=each.exact,
                probability=each.probability,
            )
            for each in loss.odds
        ],
        pairs=[
            PairLossDocument(
                bookies=list(each.bookies), lost_ledgers=each.lost_ledgers, blocked_ledgers=each.blocked_ledgers
            )
            for each in loss.pairs
        ],
    )


def _tally(name: str, tally: ReplicaTally) -> ReplicaTallyDocument:
    return ReplicaTallyDocument(
        name=name,
        ledgers=tally.ledgers,
        by_state={state.value: count for state, count in sorted(tally.states.items())},
        by_class={each.value: count for each, count in sorted(tally.classes.items())},
        entries=tally.entries,
        entries_by_replicas_left=dict(sorted(tally.entries_left.items())),
        entries_lacking=tally.entries_lacking,
        bytes=tally.bytes,
        bytes_by_replicas_left=dict(sorted(tally.bytes_left.items())),
        unknown_bytes=tally.unknown_bytes,
        not_recoverable=tally.not_recoverable,
        single_copies=tally.single_copies,
    )


def _bookies(picture: LedgersPicture, standing: LedgersStanding) -> list[AuditedBookieDocument]:
    every = picture.readable | picture.cookies.keys() | standing.lost
    return [
        AuditedBookieDocument(
            bookie=bookie,
            state=picture.state_of(bookie),
            rack=picture.racks.rack(bookie),
            has_cookie=bookie in picture.cookies,
        )
        for bookie in sorted(every)
    ]
