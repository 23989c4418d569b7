"""Decisions about the region of this host, asked of its daemon by rows of the sidecar database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.cli.reaching.contract import DecisionAnswers
from syncer.documents.operations import operation_document
from syncer.operations import client
from syncer.state.contract.operations import Asked

if TYPE_CHECKING:
    from syncer.inspection.proposals import DecisionProposal
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
