"""Changes asked of another host's daemon: by the ETag of what was looked at, and by a key, so that each is done once.

    look (GET, ETag)  ──▶  words, agreed to  ──▶  POST: If-Match, Idempotency-Key, Prefer: wait  ──▶  answers

A request whose answer was lost is repeated with its key. What is answered 202 is waited for as long as the command
waits, and is done by the daemon all the same.

Units: seconds.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Protocol, Self

import typer

from syncer.cli.reaching.contract import DecisionAnswers
from syncer.cli.reaching.remote import RemoteLooks
from syncer.client.reading import problem_of
from syncer.documents.operations import OperationDocument
from syncer.errors import PreconditionFailed, ServerUnreachable, SyncerError
from syncer.inspection import jobs, proposals

if TYPE_CHECKING:
    from syncer.cli.reaching.contract import ChosenHolds, RegionDecision
    from syncer.client.calls import RegionCalls
    from syncer.client.contract import ApiAnswer
    from syncer.documents.operations import OperationList
    from syncer.documents.regions import FirstContactPlan

MAX_WAIT_S: Final = 60
"""As long as a daemon waits with its answer at most."""
POLL_S: Final = 0.5
TRIES: Final = 2


class _Post(Protocol):
    def __call__(
        self, *, reason: str, idempotency_key: str | None, if_match: str | None, prefer: str | None
    ) -> ApiAnswer[OperationList]: ...


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
    post: _Post
    etag: str = ""

    @classmethod
    def of(cls, calls: RegionCalls, proposal: proposals.DecisionProposal, post: _Post) -> Self:
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


class RemoteRegion(RemoteLooks):
    """A region, as far as its daemon is asked for changes; see :class:`syncer.cli.reaching.contract.RegionReach`."""

    def close(self) -> None:
        """Nothing is kept open."""

    def first_contact(self, limit: int) -> tuple[FirstContactPlan, RegionDecision]:
        """What first contact would change, and letting it."""
        seen = self._calls.regions.plan(limit=limit)
        proposal = proposals.taking_part(self._region, seen.found)
        return seen.found, RemoteDecision(
            calls=self._calls,
            target=proposal.target,
            words=proposal.words,
            post=self._calls.regions.take_part,
            etag=seen.etag,
        )

    def confirm(self, holds: ChosenHolds) -> RegionDecision:
        """Let held changes pass."""
        return self._of_holds(holds, "confirm")

    def reject(self, holds: ChosenHolds) -> RegionDecision:
        """Refuse them."""
        return self._of_holds(holds, "reject")

    def _of_holds(self, holds: ChosenHolds, decision: Literal["confirm", "reject"]) -> RegionDecision:
        calls = self._calls.holds
        if holds.path is not None:
            where = holds.path.removeprefix("/")
            one = calls.hold(where)
            proposals.check_held(holds.path, holds.stamp, one.found.stamp, one.found.reason)
            return RemoteDecision(
                calls=self._calls,
                target=holds.path,
                words=tuple(one.found.confirm if decision == "confirm" else one.found.reject),
                post=partial(calls.decide_hold, where, decision=decision),
                etag=one.etag,
            )
        if not holds.only:
            raise typer.BadParameter("by REST all of one reason are decided at once: give --only REASON")
        some = calls.hold_reason(holds.only)
        return RemoteDecision(
            calls=self._calls,
            target=self._region,
            words=tuple(some.found.confirm if decision == "confirm" else some.found.reject),
            post=partial(calls.decide_hold_reason, holds.only, decision=decision),
            etag=some.etag,
        )

    def restore(self, conflict: int, over: str) -> RegionDecision:
        """Make a loser the newest."""
        seen = self._calls.conflicts.conflict(conflict, store_timeout=0)
        lost = seen.found
        proposals.check_newest(lost.path, conflict, over, lost.known)
        return RemoteDecision(
            calls=self._calls,
            target=lost.path,
            words=(proposals.words_of_restoring(lost.path, lost.loser, lost.known, deleted=lost.deleted),),
            post=partial(self._calls.conflicts.restore_conflict, conflict),
            etag=seen.etag,
        )

    def discard(self, conflict: int) -> RegionDecision:
        """Forget one."""
        seen = self._calls.conflicts.conflict(conflict, store_timeout=0)
        return RemoteDecision(
            calls=self._calls,
            target=seen.found.path,
            words=(proposals.words_of_discarding(seen.found.loser),),
            post=partial(self._calls.conflicts.discard_conflict, conflict),
            etag=seen.etag,
        )

    def discard_of(self, region: str) -> RegionDecision:
        """Forget all of a region."""
        seen = self._calls.conflicts.conflicts_of(region)
        return RemoteDecision(
            calls=self._calls,
            target=region,
            words=tuple(seen.found.discard),
            post=partial(self._calls.conflicts.discard_conflicts_of, region),
            etag=seen.etag,
        )

    def retry(self, entry: int) -> RegionDecision:
        """Handle an entry again."""
        return self._of_entry(entry, (), partial(self._calls.quarantine.retry_entry, entry))

    def throw_away(self, entry: int) -> RegionDecision:
        """Throw one away."""
        words = (proposals.words_of_throwing_away(entry),)
        return self._of_entry(entry, words, partial(self._calls.quarantine.discard_entry, entry))

    def _of_entry(self, entry: int, words: tuple[str, ...], post: _Post) -> RegionDecision:
        etag = self._calls.quarantine.entry(entry).etag
        return RemoteDecision(calls=self._calls, target=str(entry), words=words, post=post, etag=etag)

    def take(self, tenants: Sequence[str], *, allow_empty: bool, accept_shrunken: bool) -> RegionDecision:
        """Take a snapshot."""
        calls, proposal = (
            self._calls.jobs,
            jobs.taking(tenants, allow_empty=allow_empty, accept_shrunken=accept_shrunken),
        )
        if not (allow_empty or accept_shrunken):
            return self._plain(proposal, partial(calls.take, tenants=tenants))
        by_force = partial(
            calls.take_by_force, tenants=tenants, allow_empty=allow_empty, accept_shrunken=accept_shrunken
        )
        return self._plain(proposal, by_force)

    def compare(self, snapshots: Sequence[str], tenants: Sequence[str], *, fields: bool, plan: bool) -> RegionDecision:
        """Compare snapshots."""
        proposal = jobs.comparing(snapshots, tenants, fields=fields, plan=plan)
        post = partial(self._calls.jobs.compare, snapshots=snapshots, tenants=tenants, fields=fields, plan=plan)
        return self._plain(proposal, post)

    def end(self, job: int) -> RegionDecision:
        """End a job."""
        self._calls.jobs.job(job)
        return RemoteDecision(
            calls=self._calls, target=f"job {job}", words=(), post=partial(self._calls.jobs.cancel, job)
        )

    def pause(self, *, everywhere: bool) -> RegionDecision:
        """Stop."""
        calls = self._calls.replication
        return self._plain(
            proposals.pausing(everywhere=everywhere), calls.pause_everywhere if everywhere else calls.pause
        )

    def resume(self, *, everywhere: bool) -> RegionDecision:
        """Go on."""
        calls = self._calls.replication
        return self._plain(
            proposals.resuming(everywhere=everywhere), calls.resume_everywhere if everywhere else calls.resume
        )

    def leave(self, *, force: bool) -> RegionDecision:
        """Leave the group."""
        calls = self._calls.membership
        return self._plain(proposals.leaving(self._region, force=force), calls.leave_by_force if force else calls.leave)

    def forget(self, region: str, *, force: bool) -> RegionDecision:
        """Forget a region."""
        calls = self._calls.membership
        post = calls.forget_by_force if force else calls.forget
        return self._plain(proposals.forgetting_region(region, force=force), partial(post, region))

    def admit(self, region: str) -> RegionDecision:
        """Admit one."""
        return self._plain(proposals.admitting(region), partial(self._calls.membership.admit, region))

    def rebuild(self, without: Sequence[str], *, alone: bool) -> RegionDecision:
        """Rebuild without some."""
        proposal = proposals.rebuilding(without, alone=alone)
        return self._plain(proposal, partial(self._calls.membership.rebuild, without=list(without), alone=alone))

    def _plain(self, proposal: proposals.DecisionProposal, post: _Post) -> RegionDecision:
        return RemoteDecision.of(self._calls, proposal, post)
