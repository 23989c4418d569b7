"""Answers about a cluster's ledgers: each reads what it needs, judges it, and is a document."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, assert_never

from syncer.config.clusters import placement_rules
from syncer.documents.ledgers.audit import ledger_audit_document
from syncer.documents.ledgers.explained import explained_ledger_document, explained_topic_document
from syncer.documents.ledgers.losses import (
    any_loss_document,
    decommission_document,
    loss_document,
    opening_document,
)
from syncer.documents.ledgers.recovery import under_replicated_document
from syncer.documents.ledgers.references import orphans_document
from syncer.errors import NotFound
from syncer.inspection.ledgers.questions import (
    AnyLossQuestion,
    AuditQuestion,
    ExplainQuestion,
    LeavingQuestion,
    LossQuestion,
    OrphansQuestion,
    UnderReplicatedQuestion,
)
from syncer.inspection.ledgers.reading import read_ledgers
from syncer.ledgers.auditing.explaining import explain_ledger, explain_topic
from syncer.ledgers.auditing.findings import findings, recovery_is_known
from syncer.ledgers.auditing.loading import opening_after, usual_quorums
from syncer.ledgers.auditing.loss import loss_of, loss_of_any, loss_overview
from syncer.ledgers.auditing.recovery import recovery_standing
from syncer.ledgers.auditing.spreading import ledgers_spread
from syncer.ledgers.auditing.standing import by_namespace, by_topic, standing
from syncer.ledgers.auditing.unreferenced import READINGS, audit_references
from syncer.ledgers.losses.decommission import decommission, decommission_in_turn
from syncer.wanted.ledgers import LedgerPart

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.documents.document import Document
    from syncer.documents.ledgers.audit import LedgerAuditDocument
    from syncer.documents.ledgers.explained import ExplainedLedgerDocument, ExplainedTopicDocument
    from syncer.documents.ledgers.losses import (
        AnyLossDocument,
        DecommissionDocument,
        LossDocument,
        OpeningDocument,
    )
    from syncer.documents.ledgers.recovery import UnderReplicatedDocument
    from syncer.documents.ledgers.references import OrphansDocument
    from syncer.inspection.ledgers.questions import LedgersQuestion, OpeningWish
    from syncer.inspection.ledgers.reading import LedgersWish
    from syncer.ledgers.auditing.picture import LedgersPicture
    from syncer.ledgers.placement.adherence import RackPolicy

WITHOUT_RECOVERY: Final = (LedgerPart.LEDGERS, LedgerPart.REFERENCES, LedgerPart.BOOKIES)


def answered(question: LedgersQuestion, config: Config, wish: LedgersWish) -> Document:
    """Answer a question; raises as the function for it does.

    Args:
        question: What is asked.
        config: Of the region.
        wish: Which ledgers are read.
    """
    match question:
        case AuditQuestion():
            return audit(config, wish, question)
        case ExplainQuestion():
            return explain(config, wish, question)
        case LossQuestion():
            return what_if(config, wish, question)
        case AnyLossQuestion():
            return what_if_any(config, wish, question)
        case LeavingQuestion():
            return leaving(config, wish, question)
        case UnderReplicatedQuestion():
            return under_replicated(config, wish)
        case OrphansQuestion():
            return orphans(config, wish, question)
        case _:
            assert_never(question)


def audit(config: Config, wish: LedgersWish, question: AuditQuestion) -> LedgerAuditDocument:
    """Audit a cluster's ledgers.

    Args:
        config: Of the region.
        wish: Which ledgers are read.
        question: How they are grouped, and what is told beside.

    Raises:
        NotFound: There is no such table.
        ConfigError: The store cannot be read by these settings.
        StoreError: The store does not answer.
    """
    picture = read_ledgers(config, wish)
    found = standing(picture, picture.lost(), by_topic if question.topics else by_namespace)
    loss = loss_overview(picture, random.SystemRandom().randrange) if question.overview else None
    spread = ledgers_spread(picture, placement_rules(config, wish.table))
    return ledger_audit_document(picture, found, findings(picture, found, spread), loss, spread)


def explain(
    config: Config, wish: LedgersWish, question: ExplainQuestion
) -> ExplainedLedgerDocument | ExplainedTopicDocument:
    """Explain a ledger, by its id, or a topic, by its whole name; raises as :func:`audit` does.

    Args:
        config: Of the region.
        wish: Which ledgers are read.
        question: Which one.

    Raises:
        NotFound: There is no such ledger, or topic.
    """
    what = question.what
    picture = read_ledgers(config, wish)
    if what.isascii() and what.isdecimal():
        ledger = picture.ledgers.get(int(what))
        if ledger is None:
            raise _unknown(picture, f"there is no ledger {what} in cluster {picture.cluster}")
        return explained_ledger_document(picture, explain_ledger(picture, ledger, placement_rules(config, wish.table)))
    found = explain_topic(picture, what)
    if found is None:
        raise _unknown(picture, f"there is no topic {what} in cluster {picture.cluster}")
    if wish.files is None and any(each.judgement is None for each in found.parts):
        # it may refer to what was made after the ledgers were read
        picture.ledgers.update(read_ledgers(config, wish, [LedgerPart.LEDGERS]).ledgers)
        found = explain_topic(picture, what) or found
    return explained_topic_document(picture, found)


def _unknown(picture: LedgersPicture, message: str) -> NotFound:
    unclear = [part.value for part, _ in picture.incomplete()]
    if unclear:
        return NotFound(
            message, hint=f"Not all was read, or understood: {', '.join(unclear)}; 'syncer ledgers audit' says of what."
        )
    return NotFound(
        message,
        hint="Give the id of a ledger, or a topic's whole name: persistent://TENANT/NAMESPACE/TOPIC, of a partitioned "
        "one that of a partition.",
    )


def what_if(config: Config, wish: LedgersWish, question: LossQuestion) -> LossDocument:
    """Tell what the loss of bookies harms, beside those that are away; raises as :func:`audit` does.

    Args:
        config: Of the region.
        wish: Which ledgers are read.
        question: Which ones, and how brokers open ledgers.

    Raises:
        NotFound: There is no such bookie, or no bookie in a rack.
    """
    picture = read_ledgers(config, wish, WITHOUT_RECOVERY)
    going = _bookies(picture, question.bookies, question.racks)
    found = loss_of(picture, going)
    policy = _policy(question.opening, config, wish.table)
    return loss_document(picture, found, _opening(picture, going, question.opening, policy))


def what_if_any(
    config: Config, wish: LedgersWish, question: AnyLossQuestion, pick: Callable[[int], int] | None = None
) -> AnyLossDocument:
    """Tell what the loss of so many bookies harms, whichever they are; raises as :func:`audit` does.

    Args:
        config: Of the region.
        wish: Which ledgers are read.
        question: How many are lost, and how many of the worst sets are told.
        pick: Gives a random number from 0 up to, and without, the one that it is given.

    Raises:
        NotFound: There are not so many bookies.
    """
    picture = read_ledgers(config, wish, WITHOUT_RECOVERY)
    count = len(picture.named())
    if question.size > count:
        raise NotFound(
            f"{question.size} bookies cannot be lost: the ledgers of cluster {picture.cluster} name {count}",
            hint="Give fewer.",
        )
    picked = random.SystemRandom().randrange if pick is None else pick
    found = loss_of_any(picture, question.size, question.shown, picked)
    return any_loss_document(picture, found.odds, found.worst, bookies=count, left_out=found.left_out)


def leaving(config: Config, wish: LedgersWish, question: LeavingQuestion) -> DecommissionDocument:
    """Tell what it moves to stop bookies for good, and what blocks it; raises as :func:`what_if` does.

    Args:
        config: Of the region.
        wish: Which ledgers are read.
        question: Which ones, in which way, and how brokers open ledgers.
    """
    picture = read_ledgers(config, wish, WITHOUT_RECOVERY)
    going = sorted(_bookies(picture, question.bookies, question.racks))
    policy = _policy(question.opening, config, wish.table)
    cluster = picture.cluster_bookies(policy)
    ledgers = list(picture.ledgers.values())
    if question.together:
        plans = [decommission(ledgers, going, cluster)]
    else:
        plans = decommission_in_turn(ledgers, going, cluster)
    return decommission_document(
        picture,
        plans,
        _opening(picture, going, question.opening, policy),
        together=question.together,
        bytes_per_s=question.bytes_per_s,
    )


def under_replicated(config: Config, wish: LedgersWish) -> UnderReplicatedDocument:
    """Tell which ledgers are marked as under-replicated, and whether recovery moves; raises as :func:`audit` does.

    Args:
        config: Of the region.
        wish: Which ledgers are read.
    """
    picture = read_ledgers(config, wish)
    return under_replicated_document(picture, recovery_standing(picture, known=recovery_is_known(picture)))


def orphans(
    config: Config, wish: LedgersWish, question: OrphansQuestion, rest: Callable[[float], None] = time.sleep
) -> OrphansDocument:
    """Find ledgers that nobody refers to, and references without a ledger, by two looks; raises as :func:`audit` does.

    Args:
        config: Of the region.
        wish: Which ledgers are read.
        question: How far apart the readings are, and whether the clusters of the wish are all.
        rest: Waits for so many seconds.
    """
    pictures: list[LedgersPicture] = []
    for parts in READINGS:
        if pictures:
            rest(question.apart_s)
        pictures.append(read_ledgers(config, wish, parts))
    first, referring, second = pictures
    first.take_references(referring)
    found = audit_references(first, second, whole=question.whole)
    return orphans_document(first, second, found, whole=question.whole)


def _bookies(picture: LedgersPicture, bookies: Iterable[str], racks: Iterable[str]) -> frozenset[str]:
    """Bookies by their ids and racks.

    Raises:
        NotFound: There is no such bookie, or no bookie in a rack.
    """
    known = picture.named() | picture.readable | picture.cookies.keys()
    found: set[str] = set()
    for bookie in bookies:
        if bookie not in known:
            raise NotFound(
                f"there is no bookie {bookie} in cluster {picture.cluster}",
                hint=f"There are: {', '.join(sorted(known)[:_NAMED]) or 'none'}. An id is 'HOST:PORT' as a rule.",
            )
        found.add(bookie)
    for rack in racks:
        place = rack if rack.startswith("/") else f"/{rack}"
        inside = {bookie for bookie in known if picture.racks.rack(bookie) == place}
        if not inside:
            there = sorted({picture.racks.rack(bookie) for bookie in known})
            raise NotFound(
                f"there is no bookie in rack {place} of cluster {picture.cluster}",
                hint=f"Racks are: {', '.join(there[:_NAMED]) or 'none'}.",
            )
        found |= inside
    return frozenset(found)


def _policy(wish: OpeningWish, config: Config, table: str) -> RackPolicy:
    """The policy of the wish; that of the cluster's table where it names none."""
    return placement_rules(config, table).policy if wish.policy is None else wish.policy


def _opening(
    picture: LedgersPicture, going: Iterable[str], wish: OpeningWish, policy: RackPolicy
) -> OpeningDocument | None:
    quorums = wish.quorums or usual_quorums(picture)
    if quorums is None or not picture.bookies_known:
        return None
    verdict = opening_after(picture, quorums, frozenset(going), policy)
    return opening_document(quorums, verdict, assumed=wish.quorums is None)


_NAMED: Final = 20
"""Names that a hint has at most."""
