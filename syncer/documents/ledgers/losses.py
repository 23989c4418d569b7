"""JSON documents of losses: of given bookies, of any of a number, and of those that leave for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.documents.document import Document
from syncer.documents.ledgers.read import LedgersReadDocument, ledgers_read_document
from syncer.ledgers.losses.decommission import BlockedBy
from syncer.ledgers.losses.opening import NoOpening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.ledgers.auditing.loss import LossAnswer
    from syncer.ledgers.auditing.picture import LedgersPicture
    from syncer.ledgers.losses.decommission import DecommissionPlan
    from syncer.ledgers.losses.odds import LossOdds
    from syncer.ledgers.losses.opening import OpeningVerdict
    from syncer.ledgers.losses.tally import SetLoss
    from syncer.ledgers.metadata import Quorums

SHOWN_LEDGERS: Final = 1_000
"""Ledgers and topics that are named; all are counted."""


class OpeningDocument(Document):
    """Whether brokers can open new ledgers afterwards; ``reason`` is null where they can.

    ``assumed`` quorums are those of most open ledgers, not the brokers' own word.
    """

    ensemble: int
    write_quorum: int
    ack_quorum: int
    assumed: bool
    possible: bool
    reason: NoOpening | None
    spare_bookies: int


class LossDocument(Document):
    """``syncer ledgers what-if`` of given bookies or racks, beside those that are away already."""

    read: LedgersReadDocument
    bookies: list[str]
    away_already: list[str]
    by_class: dict[str, int]
    lost_ledgers_count: int
    lost_ledgers: list[int]
    lost_entries: int
    lost_bytes: int
    unknown_bytes: int
    blocked_ledgers_count: int
    blocked_ledgers: list[int]
    topics_lost_count: int
    topics_lost: list[str]
    topics_not_loadable_count: int
    topics_not_loadable: list[str]
    topics_short_of_bookies_count: int
    topics_short_of_bookies: list[str]
    opening: OpeningDocument | None


class SetLossDocument(Document):
    """A set of bookies, and the ledgers that its loss harms."""

    bookies: list[str]
    lost_ledgers: int
    lost_bytes: int
    blocked_ledgers: int


class AnyLossDocument(Document):
    """``syncer ledgers what-if --any K``: the worst sets, and the probability that a random set harms anything.

    ``exact`` is false where sets were drawn, not all tried; the worst sets are then a guess of one.
    """

    read: LedgersReadDocument
    size: int
    bookies: int
    tried: int
    harmful: int
    exact: bool
    probability: float
    worst: list[SetLossDocument]
    left_out: int


class BlockedLedgerDocument(Document):
    """A ledger that never leaves."""

    ledger_id: int
    topic: str | None
    reason: BlockedBy


class DecommissionStepDocument(Document):
    """Bookies that are stopped together; ``seconds`` is null where no rate was given."""

    bookies: list[str]
    ends: bool
    ledgers: int
    entries: int
    bytes: int
    unknown_bytes: int
    seconds: float | None
    blocked: dict[BlockedBy, int]
    blocked_ledgers: list[BlockedLedgerDocument]


class DecommissionDocument(Document):
    """``syncer ledgers decommission``: the steps in the order in which to take them."""

    read: LedgersReadDocument
    together: bool
    steps: list[DecommissionStepDocument]
    opening: OpeningDocument | None


def opening_document(quorums: Quorums, verdict: OpeningVerdict, *, assumed: bool) -> OpeningDocument:
    """Make the document of whether ledgers can be opened.

    Args:
        quorums: The brokers'.
        verdict: Whether they can.
        assumed: Nobody said the quorums.
    """
    return OpeningDocument(
        ensemble=quorums.ensemble,
        write_quorum=quorums.write,
        ack_quorum=quorums.ack,
        assumed=assumed,
        possible=verdict.possible,
        reason=verdict.reason,
        spare_bookies=verdict.spare,
    )


def loss_document(picture: LedgersPicture, found: LossAnswer, opening: OpeningDocument | None) -> LossDocument:
    """Make the document of a given loss.

    Args:
        picture: The picture.
        found: What the loss harms.
        opening: Whether ledgers can be opened then.
    """
    impact = found.impact
    return LossDocument(
        read=ledgers_read_document(picture),
        bookies=list(found.bookies),
        away_already=list(found.away_already),
        by_class={each.value: count for each, count in sorted(impact.classes.items())},
        lost_ledgers_count=len(impact.lost_ledgers),
        lost_ledgers=sorted(impact.lost_ledgers)[:SHOWN_LEDGERS],
        lost_entries=impact.lost_entries,
        lost_bytes=impact.lost_bytes,
        unknown_bytes=impact.unknown_bytes,
        blocked_ledgers_count=len(impact.blocked_ledgers),
        blocked_ledgers=sorted(impact.blocked_ledgers)[:SHOWN_LEDGERS],
        topics_lost_count=len(impact.topics_lost),
        topics_lost=sorted(impact.topics_lost)[:SHOWN_LEDGERS],
        topics_not_loadable_count=len(found.not_loadable),
        topics_not_loadable=list(found.not_loadable[:SHOWN_LEDGERS]),
        topics_short_of_bookies_count=len(found.short_of_bookies),
        topics_short_of_bookies=list(found.short_of_bookies[:SHOWN_LEDGERS]),
        opening=opening,
    )


def any_loss_document(
    picture: LedgersPicture, odds: LossOdds, worst: Sequence[SetLoss], *, bookies: int, left_out: int
) -> AnyLossDocument:
    """Make the document of the loss of any of a number.

    Args:
        picture: The picture.
        odds: Of harm.
        worst: The worst sets, the worst first.
        bookies: How many may be lost.
        left_out: Ledgers whose sets were not looked for.
    """
    return AnyLossDocument(
        read=ledgers_read_document(picture),
        size=odds.size,
        bookies=bookies,
        tried=odds.tried,
        harmful=odds.harmful,
        exact=odds.exact,
        probability=odds.probability,
        worst=[
            SetLossDocument(
                bookies=list(each.bookies),
                lost_ledgers=each.lost_ledgers,
                lost_bytes=each.lost_bytes,
                blocked_ledgers=each.blocked_ledgers,
            )
            for each in worst
        ],
        left_out=left_out,
    )


def decommission_document(
    picture: LedgersPicture,
    plans: Sequence[DecommissionPlan],
    opening: OpeningDocument | None,
    *,
    together: bool,
    bytes_per_s: float | None,
) -> DecommissionDocument:
    """Make the document of bookies that leave.

    Args:
        picture: The picture.
        plans: What moves, step by step.
        opening: Whether ledgers can be opened afterwards.
        together: All are stopped at once.
        bytes_per_s: Rate of all workers together; None: nobody said.
    """
    return DecommissionDocument(
        read=ledgers_read_document(picture),
        together=together,
        steps=[
            DecommissionStepDocument(
                bookies=list(plan.bookies),
                ends=plan.ends,
                ledgers=plan.ledgers,
                entries=plan.entries,
                bytes=plan.bytes,
                unknown_bytes=plan.unknown_bytes,
                seconds=None if bytes_per_s is None else plan.seconds(bytes_per_s),
                blocked=dict(plan.blocked),
                blocked_ledgers=[
                    BlockedLedgerDocument(ledger_id=ledger_id, topic=picture.topic_of(ledger_id), reason=reason)
                    for ledger_id, reason in plan.examples
                ],
            )
            for plan in plans
        ],
        opening=opening,
    )
