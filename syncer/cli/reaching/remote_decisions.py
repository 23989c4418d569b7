"""Changes asked of another host's daemon: by the ETag of what was looked at, and by a key, so that each is done once.

    look (GET, ETag)  ──▶  words, agreed to  ──▶  POST: If-Match, Idempotency-Key, Prefer: wait  ──▶  answers

A request whose answer was lost is repeated with its key. What is answered 202 is waited for as long as the command
waits, and is done by the daemon all the same.

Units: seconds.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, Self

import typer

from syncer.cli.reaching.contract import DecisionAnswers
from syncer.client.reading import problem_of
from syncer.documents.operations import OperationDocument
from syncer.errors import PreconditionFailed, ServerUnreachable, SyncerError

if TYPE_CHECKING:
    from syncer.client.calls import RegionCalls
    from syncer.client.contract import ApiAnswer
    from syncer.documents.operations import OperationList
    from syncer.inspection.proposals import DecisionProposal

MAX_WAIT_S: Final = 60
"""As long as a daemon waits with its answer at most."""
POLL_S: Final = 0.5
TRIES: Final = 2


class DecisionPost(Protocol):
    """Sends what asks for a change."""

    def __call__(
        self, *, reason: str, idempotency_key: str | None, if_match: str | None, prefer: str | None
    ) -> ApiAnswer[OperationList]:
        """Send it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteDecision:
    """A proposal, asked for by REST.

    Args:
        calls: Of the daemon.
        target: What it is about.
        words: What it would lead to.
        post: Asks for it.
        etag: Of what was looked at; empty: nothing need have been.
    """

    calls: RegionCalls
    target: str
    words: tuple[str, ...]
    post: DecisionPost
    etag: str = ""

    @classmethod
    def of(cls, calls: RegionCalls, proposal: DecisionProposal, post: DecisionPost) -> Self:
        """A proposal for which nothing is looked up."""
        return cls(calls=calls, target=proposal.target, words=proposal.words, post=post)

    def ask(self, reason: str, timeout_s: float) -> DecisionAnswers:
        """Ask for it, and wait for the answers.

        Raises:
            BadParameter: No reason was given.
            PreconditionFailed: Something else is there now.
            SyncerError: It was refused, or its answer lost.
        """
        if not reason:
            raise typer.BadParameter("what is asked of another host's daemon needs a reason: give --reason")
        deadline = time.monotonic() + timeout_s
        try:
            found = self._posted(reason, timeout_s)
        except SyncerError as exc:
            problem = problem_of(exc)
            if problem is not None and problem.operations:
                return DecisionAnswers([OperationDocument.model_validate(each) for each in problem.operations])
            if problem is not None and problem.now is not None:
                raise PreconditionFailed(
                    exc.message, hint="Give the command again: it shows what is there now."
                ) from exc
            raise
        answers = DecisionAnswers(found.found.items)
        while answers.pending and time.monotonic() < deadline:
            time.sleep(min(POLL_S, max(0.0, deadline - time.monotonic())))
            answers = DecisionAnswers(
                [
                    self.calls.operations.operation(each.id).found if each.state == "pending" else each
                    for each in answers.operations
                ]
            )
        return answers

    def _posted(self, reason: str, timeout_s: float) -> ApiAnswer[OperationList]:
        key, wait = str(uuid.uuid4()), min(int(timeout_s), MAX_WAIT_S)
        post = partial(
            self.post,
            reason=reason,
            idempotency_key=key,
            if_match=self.etag or None,
            prefer=f"wait={wait}" if wait else None,
        )
        for _ in range(TRIES - 1):
            try:
                return post()
            except ServerUnreachable:
                continue
        return post()
