"""Decisions about the region of this host, asked of its daemon by rows of the sidecar database."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.cli.reaching.contract import DecisionAnswers
from syncer.documents.operations import operation_document
from syncer.model import Millis
from syncer.operations import client
from syncer.state.contract.operations import Asked

if TYPE_CHECKING:
    from syncer.inspection.proposals import DecisionProposal
    from syncer.repair.preview import Consent
    from syncer.repair.repair_file import RepairFile
    from syncer.state.views.region import Views


@dataclass(frozen=True, slots=True)
class LocalDecision:
    """A proposal, asked for by rows of the database.

    Args:
        views: Of the database.
        proposal: What would be asked for.
    """

    views: Views
    proposal: DecisionProposal

    @property
    def target(self) -> str:
        """What it is about."""
        return self.proposal.target

    @property
    def words(self) -> tuple[str, ...]:
        """What it would lead to."""
        return self.proposal.words

    def ask(self, reason: str, timeout_s: float) -> DecisionAnswers:
        """Ask for it, and wait for the answers."""
        asked = Asked(by=client.this_user(), reason=reason)
        answers = client.ask(self.views, self.proposal.requests, asked, timeout_s=timeout_s)
        return DecisionAnswers([operation_document(each) for each in answers.operations])


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTelling:
    """A repair plan that would be told: its versions are brought into the database, and the daemon is asked to begin.

    Args:
        views: Of the database, opened when it is asked.
        target: The region.
        words: What it would lead to.
        file: The plan.
        consent: What is let pass.
        report: Told how many paths were brought in.
    """

    views: Callable[[], Views]
    target: str
    words: tuple[str, ...]
    file: RepairFile
    consent: Consent
    report: Callable[[int], None]

    def ask(self, reason: str, timeout_s: float) -> DecisionAnswers:
        """Bring it in, ask, and wait for the answer; what the daemon refuses is dropped again."""
        from syncer.repair.loading import ask_for, bring_in

        views, asked = self.views(), Asked(by=client.this_user(), reason=reason)
        reviewed = self.file.sha256
        repair = bring_in(views, self.file, asked, made_at_ms=now_ms(), report=self.report, reviewed=reviewed)
        answers = client.wait(views, ask_for(views, repair, self.consent, asked), timeout_s)
        if answers.failure is not None:
            views.drop_repair(repair.id)
        return DecisionAnswers([operation_document(each) for each in answers.operations])


def now_ms() -> Millis:
    """The time, UTC."""
    return Millis(time.time_ns() // 1_000_000)
