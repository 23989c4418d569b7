"""Questions about a cluster's ledgers: answered on this host by its configuration, or by a daemon over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import typer

from syncer.client.calls import RegionCalls
from syncer.client.http import HttpTransport
from syncer.client.reading import document_from
from syncer.documents.ledgers.explained import ExplainedLedgerDocument, ExplainedTopicDocument

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncer.cli.reaching.choosing import ChosenServer
    from syncer.config import Config
    from syncer.documents.ledgers.audit import LedgerAuditDocument
    from syncer.documents.ledgers.losses import AnyLossDocument, DecommissionDocument, LossDocument
    from syncer.documents.ledgers.recovery import UnderReplicatedDocument
    from syncer.documents.ledgers.references import OrphansDocument
    from syncer.inspection.ledgers.questions import (
        AnyLossQuestion,
        AuditQuestion,
        ExplainQuestion,
        LeavingQuestion,
        LossQuestion,
        OpeningWish,
        OrphansQuestion,
    )
    from syncer.inspection.ledgers.reading import LedgersWish

WITHIN_S: Final = 1800.0
"""How long a daemon may take for an answer."""
_BYTES_PER_MIB: Final = 1 << 20

ExplainedDocument = ExplainedLedgerDocument | ExplainedTopicDocument


class AskedLedgers(Protocol):
    """The ledgers of clusters of a region's configuration; nothing is changed."""

    def audit(self, wish: LedgersWish, question: AuditQuestion) -> LedgerAuditDocument:
        """How all of them stand."""
        ...

    def explain(self, wish: LedgersWish, question: ExplainQuestion) -> ExplainedDocument:
        """How one, or those of a topic, stand."""
        ...

    def loss(self, wish: LedgersWish, question: LossQuestion) -> LossDocument:
        """What the loss of bookies harms."""
        ...

    def any_loss(self, wish: LedgersWish, question: AnyLossQuestion) -> AnyLossDocument:
        """What the loss of so many bookies harms."""
        ...

    def leaving(self, wish: LedgersWish, question: LeavingQuestion) -> DecommissionDocument:
        """What it moves to stop bookies for good."""
        ...

    def under_replicated(self, wish: LedgersWish) -> UnderReplicatedDocument:
        """Which are marked, and whether recovery moves."""
        ...

    def orphans(self, wish: LedgersWish, question: OrphansQuestion) -> OrphansDocument:
        """Which nobody refers to."""
        ...


class LocalLedgers:
    """The same, read from this host.

    Args:
        configured: Reads the configuration.
    """

    def __init__(self, configured: Callable[[], Config]) -> None:
        self._configured = configured

    def audit(self, wish: LedgersWish, question: AuditQuestion) -> LedgerAuditDocument:
        """How all of them stand."""
        from syncer.inspection.ledgers import answering

        return answering.audit(self._configured(), wish, question)

    def explain(self, wish: LedgersWish, question: ExplainQuestion) -> ExplainedDocument:
        """How one, or those of a topic, stand."""
        from syncer.inspection.ledgers import answering

        return answering.explain(self._configured(), wish, question)

    def loss(self, wish: LedgersWish, question: LossQuestion) -> LossDocument:
        """What the loss of bookies harms."""
        from syncer.inspection.ledgers import answering

        return answering.what_if(self._configured(), wish, question)

    def any_loss(self, wish: LedgersWish, question: AnyLossQuestion) -> AnyLossDocument:
        """What the loss of so many bookies harms."""
        from syncer.inspection.ledgers import answering

        return answering.what_if_any(self._configured(), wish, question)

    def leaving(self, wish: LedgersWish, question: LeavingQuestion) -> DecommissionDocument:
        """What it moves to stop bookies for good."""
        from syncer.inspection.ledgers import answering

        return answering.leaving(self._configured(), wish, question)

    def under_replicated(self, wish: LedgersWish) -> UnderReplicatedDocument:
        """Which are marked, and whether recovery moves."""
        from syncer.inspection.ledgers import answering

        return answering.under_replicated(self._configured(), wish)

    def orphans(self, wish: LedgersWish, question: OrphansQuestion) -> OrphansDocument:
        """Which nobody refers to."""
        from syncer.inspection.ledgers import answering

        return answering.orphans(self._configured(), wish, question)


class RemoteLedgers:
    """The same, asked of a daemon.

    Args:
        chosen: How it is reached.
    """

    def __init__(self, chosen: ChosenServer) -> None:
        self._calls = RegionCalls(HttpTransport(chosen.reached())).ledgers
        self._label = chosen.label

    def audit(self, wish: LedgersWish, question: AuditQuestion) -> LedgerAuditDocument:
        """How all of them stand."""
        return self._calls.audit(
            _asked(wish),
            by_topic=question.topics,
            overview=question.overview,
            max_reads=wish.max_reads_per_s,
            ledgers_root=wish.root,
            within=WITHIN_S,
        ).found

    def explain(self, wish: LedgersWish, question: ExplainQuestion) -> ExplainedDocument:
        """How one, or those of a topic, stand."""
        found = self._calls.explain(
            _asked(wish),
            what=question.what,
            max_reads=wish.max_reads_per_s,
            ledgers_root=wish.root,
            within=WITHIN_S,
        ).found
        if isinstance(found, dict) and "ledger_id" in found:
            return document_from(found, ExplainedLedgerDocument, self._label)
        return document_from(found, ExplainedTopicDocument, self._label)

    def loss(self, wish: LedgersWish, question: LossQuestion) -> LossDocument:
        """What the loss of bookies harms."""
        quorums, racks = _opening(question.opening)
        return self._calls.loss(
            _asked(wish),
            bookie=list(question.bookies),
            rack=list(question.racks),
            quorums=quorums,
            enforce_racks=racks,
            max_reads=wish.max_reads_per_s,
            ledgers_root=wish.root,
            within=WITHIN_S,
        ).found

    def any_loss(self, wish: LedgersWish, question: AnyLossQuestion) -> AnyLossDocument:
        """What the loss of so many bookies harms."""
        return self._calls.any_loss(
            _asked(wish),
            size=question.size,
            limit=question.shown,
            max_reads=wish.max_reads_per_s,
            ledgers_root=wish.root,
            within=WITHIN_S,
        ).found

    def leaving(self, wish: LedgersWish, question: LeavingQuestion) -> DecommissionDocument:
        """What it moves to stop bookies for good."""
        quorums, racks = _opening(question.opening)
        rate = question.bytes_per_s
        return self._calls.decommission(
            _asked(wish),
            bookie=list(question.bookies),
            rack=list(question.racks),
            quorums=quorums,
            enforce_racks=racks,
            together=question.together,
            rate=None if rate is None else rate / _BYTES_PER_MIB,
            max_reads=wish.max_reads_per_s,
            ledgers_root=wish.root,
            within=WITHIN_S,
        ).found

    def under_replicated(self, wish: LedgersWish) -> UnderReplicatedDocument:
        """Which are marked, and whether recovery moves."""
        return self._calls.under_replicated(
            _asked(wish), max_reads=wish.max_reads_per_s, ledgers_root=wish.root, within=WITHIN_S
        ).found

    def orphans(self, wish: LedgersWish, question: OrphansQuestion) -> OrphansDocument:
        """Which nobody refers to."""
        return self._calls.orphans(
            _asked(wish),
            beside=list(wish.others),
            all_clusters=question.whole,
            apart=question.apart_s,
            max_reads=wish.max_reads_per_s,
            ledgers_root=wish.root,
            within=WITHIN_S,
        ).found


def _asked(wish: LedgersWish) -> str:
    """The cluster that a daemon is asked about.

    Raises:
        BadParameter: Files of this host are given.
    """
    if wish.files is not None:
        raise typer.BadParameter("--from-files reads files of this host: give it without a server")
    return wish.table


def _opening(wish: OpeningWish) -> tuple[str | None, int | None]:
    quorums = None if wish.quorums is None else "/".join(map(str, wish.quorums))
    return quorums, None if wish.policy is None else wish.policy.min_racks
