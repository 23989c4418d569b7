"""The region of another host, with what is asked of its daemon, each by what was looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from syncer.balancer.running import plan_file as move_plan_file
from syncer.cli.reaching.remote import RemoteLooks
from syncer.cli.reaching.remote_decisions import DecisionPost, RemoteDecision
from syncer.client.contract import ApiAnswer
from syncer.client.reading import document_from
from syncer.documents.operations import OperationList
from syncer.documents.snapshots import RepairPreview
from syncer.inspection import jobs, proposals
from syncer.inspection.migrations import none_open, words_of
from syncer.inspection.move_runs import words_of_moves
from syncer.inspection.repair_plans import words_of_telling
from syncer.migration.course import MigrationCommand
from syncer.migration.reading.plan_file import to_text
from syncer.repair.repair_file import RepairFile
from syncer.state.contract.work.move_runs import require_some_run

if TYPE_CHECKING:
    from syncer.balancer.moving.move_plan import MovePlan
    from syncer.cli.reaching.contract import ChosenHolds, RegionDecision
    from syncer.documents.migration import MigrationStatusDocument
    from syncer.documents.regions import FirstContactPlan
    from syncer.migration.migration_plan import MigrationPlan
    from syncer.repair.preview import Consent


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

    def _of_entry(self, entry: int, words: tuple[str, ...], post: DecisionPost) -> RegionDecision:
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

    def start_migration(self, plan: MigrationPlan, *, auto: bool) -> RegionDecision:
        """Begin a migration, by the plan that was reviewed here."""
        if auto:
            raise typer.BadParameter("by REST a migration is begun first: then give 'syncer migration go --auto'")
        post = partial(self._calls.migrations.start, sha256=plan.fingerprint, content=to_text(plan).encode())
        return RemoteDecision(calls=self._calls, target="the plan", words=(), post=post)

    def steer_migration(self, command: MigrationCommand, back: Sequence[str] = ()) -> RegionDecision:
        """Give a command to the one that is open."""
        seen, calls = self._open_migration(), self._calls.migrations
        posts = {
            MigrationCommand.GO: calls.go,
            MigrationCommand.AUTO: calls.auto,
            MigrationCommand.PAUSE: calls.pause,
            MigrationCommand.RESUME: calls.resume,
            MigrationCommand.ABORT: calls.abort,
            MigrationCommand.ROLLBACK: calls.rollback,
            MigrationCommand.CLOSE: calls.close,
        }
        waits_for = [MigrationCommand(each) for each in seen.found.waits_for]
        return RemoteDecision(
            calls=self._calls,
            target=f"migration {seen.found.id}",
            words=words_of(command, seen.found.step, waits_for, back=back),
            post=partial(posts[command], seen.found.id),
            etag=seen.etag,
        )

    def foresee_rollback(self) -> RegionDecision:
        """Ask what a rollback could take back."""
        number = self._open_migration().found.id
        post = partial(self._calls.migrations.undoable, number)
        return RemoteDecision(calls=self._calls, target=f"migration {number}", words=(), post=post)

    def _open_migration(self) -> ApiAnswer[MigrationStatusDocument]:
        latest = self.migrations(1).items
        if not latest or latest[0].finished_at_ms is not None:
            raise none_open()
        return self._calls.migrations.migration(latest[0].id)

    def apply_moves(self, plan: MovePlan, *, go: bool) -> RegionDecision:
        """Have a plan of moves tried, or carried out."""
        post = partial(self._calls.move_runs.apply, content=move_plan_file.to_text(plan).encode(), dry_run=not go)
        words = words_of_moves(plan) if go else ()
        return RemoteDecision(calls=self._calls, target=plan.cluster, words=words, post=post)

    def stop_moves(self) -> RegionDecision:
        """Stop the run of moves that is open."""
        latest = self.move_runs(1).items
        number = require_some_run(latest[0] if latest and latest[0].finished_at_ms is None else None).id
        post = partial(self._calls.move_runs.stop, number)
        return RemoteDecision(calls=self._calls, target=f"run of moves {number}", words=(), post=post)

    def sync(self, plan: Path, consent: Consent, report: Callable[[int], None]) -> tuple[RepairPreview, RegionDecision]:
        """What a plan would change, and having it told; it is sent for each, and told by the checksum that was seen."""
        del report
        content, calls = RepairFile(plan).content(), self._calls.snapshot_syncs
        send = partial(calls.sync, content=content)
        if consent.deletes or consent.old:
            send = partial(calls.sync_by_force, content=content, allow_deletes=consent.deletes, force_old=consent.old)
        seen = send(reason="dry run", dry_run=True)
        shown = document_from(seen.found, RepairPreview, self._label)

        def post(
            *, reason: str, idempotency_key: str | None, if_match: str | None, prefer: str | None
        ) -> ApiAnswer[OperationList]:
            asked = send(
                reason=reason, dry_run=False, idempotency_key=idempotency_key, if_match=if_match, prefer=prefer
            )
            return ApiAnswer(document_from(asked.found, OperationList, self._label), pending=asked.pending)

        region = self._region
        return shown, RemoteDecision(
            calls=self._calls, target=region, words=(words_of_telling(region, shown),), post=post, etag=seen.etag
        )

    def cancel_sync(self, number: int) -> RegionDecision:
        """End a repair."""
        post = partial(self._calls.snapshot_syncs.cancel, number)
        return RemoteDecision(calls=self._calls, target=f"repair {number}", words=(), post=post)

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

    def _plain(self, proposal: proposals.DecisionProposal, post: DecisionPost) -> RegionDecision:
        return RemoteDecision.of(self._calls, proposal, post)
