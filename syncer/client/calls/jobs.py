"""Calls of the REST API about jobs.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.jobs import JobDocument, JobList
from syncer.documents.operations import OperationList


class JobsCalls(ApiCalls):
    """Calls about jobs."""

    def compare(
        self,
        *,
        reason: str,
        snapshots: Sequence[str],
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
        fields: bool | None = None,
        plan: bool | None = None,
        tenants: Sequence[str] | None = None,
    ) -> ApiAnswer[OperationList]:
        """Have snapshots compared; the operation's answer names the job.

        Args:
            reason: Why; kept in the audit trail.
            snapshots: Of the folder: ids, or regions for their newest.
            idempotency_key: Of this request; repeat it unchanged.
            if_match: ETag of what was looked at.
            prefer: wait=N: wait so many seconds for the answer.
            fields: Say which fields differ.
            plan: Make a plan for a sync, too: POST /snapshot-syncs?job=….
            tenants: Only what belongs to these; none: all.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            OperationList,
            ApiRequest(
                method="POST",
                path="/api/v1/diffs",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={
                    "reason": reason,
                    "snapshots": snapshots,
                    **{
                        name: value
                        for name, value in {"fields": fields, "plan": plan, "tenants": tenants}.items()
                        if value is not None
                    },
                },
            ),
        )

    def job_list(self, *, limit: int | None = None, before: int | None = None) -> ApiAnswer[JobList]:
        """Jobs, the latest first: those that wait or run, and the last 50 that are over.

        Args:
            limit: Items of a page.
            before: Only below this number: 'next' of the page before.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            JobList, ApiRequest(method="GET", path="/api/v1/jobs", query={"limit": limit, "before": before})
        )

    def cancel(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """End a job: one that waits never begins, one that runs is stopped and leaves nothing half done.

        Args:
            number: The number.
            reason: Why; kept in the audit trail.
            idempotency_key: Of this request; repeat it unchanged.
            if_match: ETag of what was looked at.
            prefer: wait=N: wait so many seconds for the answer.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            OperationList,
            ApiRequest(
                method="DELETE",
                path=f"/api/v1/jobs/{in_path(number)}",
                query={"reason": reason},
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
            ),
        )

    def job(self, number: int) -> ApiAnswer[JobDocument]:
        """A job, and what it said at its end; values of fields that differ with the right to values only.

        Args:
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(JobDocument, ApiRequest(method="GET", path=f"/api/v1/jobs/{in_path(number)}"))

    def take(
        self,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
        tenants: Sequence[str] | None = None,
    ) -> ApiAnswer[OperationList]:
        """Have a snapshot taken; the operation's answer names the job.

        Args:
            reason: Why; kept in the audit trail.
            idempotency_key: Of this request; repeat it unchanged.
            if_match: ETag of what was looked at.
            prefer: wait=N: wait so many seconds for the answer.
            tenants: Only what belongs to these; none: all.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            OperationList,
            ApiRequest(
                method="POST",
                path="/api/v1/snapshots",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={
                    "reason": reason,
                    **{name: value for name, value in {"tenants": tenants}.items() if value is not None},
                },
            ),
        )

    def take_by_force(
        self,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
        accept_shrunken: bool | None = None,
        allow_empty: bool | None = None,
        tenants: Sequence[str] | None = None,
    ) -> ApiAnswer[OperationList]:
        """Have a snapshot taken and kept though the store holds nothing, or much less than before.

        Args:
            reason: Why; kept in the audit trail.
            idempotency_key: Of this request; repeat it unchanged.
            if_match: ETag of what was looked at.
            prefer: wait=N: wait so many seconds for the answer.
            accept_shrunken: However much of what was held before is gone.
            allow_empty: Though the store holds nothing, and held much before.
            tenants: Only what belongs to these; none: all.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            OperationList,
            ApiRequest(
                method="POST",
                path="/api/v1/snapshots-by-force",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={
                    "reason": reason,
                    **{
                        name: value
                        for name, value in {
                            "accept_shrunken": accept_shrunken,
                            "allow_empty": allow_empty,
                            "tenants": tenants,
                        }.items()
                        if value is not None
                    },
                },
            ),
        )
