"""Calls of the REST API about snapshot syncs.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.operations import OperationList
from syncer.documents.snapshots import RepairDocument, RepairList


class SnapshotSyncsCalls(ApiCalls):
    """Calls about snapshot syncs."""

    def repairs(self, *, limit: int | None = None) -> ApiAnswer[RepairList]:
        """What was told again from snapshots, and what is being told, the latest first.

        Args:
            limit: So many of the latest.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            RepairList, ApiRequest(method="GET", path="/api/v1/snapshot-syncs", query={"limit": limit})
        )

    def sync(
        self,
        *,
        reason: str,
        job: int | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
        content: bytes | None = None,
    ) -> ApiAnswer[dict[str, object]]:
        """Make all regions equal by a plan: what would change, or by the ETag of that have it told.

        Args:
            reason: Why; kept in the audit trail.
            job: The plan that this job has made, not one that is sent.
            dry_run: Show what would change where, and be refused; ask nobody.
            idempotency_key: Of this request; repeat it unchanged.
            if_match: ETag of what was looked at.
            prefer: wait=N: wait so many seconds for the answer.
            content: A plan that 'syncer snapshot diff --plan' wrote; nothing where 'job' names one.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._plain(
            ApiRequest(
                method="POST",
                path="/api/v1/snapshot-syncs",
                query={"reason": reason, "job": job, "dry_run": dry_run},
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                content=content,
                media="application/jsonl",
            )
        )

    def sync_by_force(
        self,
        *,
        reason: str,
        job: int | None = None,
        dry_run: bool | None = None,
        allow_deletes: bool | None = None,
        force_old: bool | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
        content: bytes | None = None,
    ) -> ApiAnswer[dict[str, object]]:
        """The same, however much is deleted, or however old the snapshots are.

        Args:
            reason: Why; kept in the audit trail.
            job: The plan that this job has made, not one that is sent.
            dry_run: Show what would change where, and be refused; ask nobody.
            allow_deletes: However much is deleted.
            force_old: However old the snapshots are.
            idempotency_key: Of this request; repeat it unchanged.
            if_match: ETag of what was looked at.
            prefer: wait=N: wait so many seconds for the answer.
            content: A plan that 'syncer snapshot diff --plan' wrote; nothing where 'job' names one.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._plain(
            ApiRequest(
                method="POST",
                path="/api/v1/snapshot-syncs-by-force",
                query={
                    "reason": reason,
                    "job": job,
                    "dry_run": dry_run,
                    "allow_deletes": allow_deletes,
                    "force_old": force_old,
                },
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                content=content,
                media="application/jsonl",
            )
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
        """End one. What was told stays told; the rest is dropped.

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
                path=f"/api/v1/snapshot-syncs/{in_path(number)}",
                query={"reason": reason},
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
            ),
        )

    def repair(self, number: int) -> ApiAnswer[RepairDocument]:
        """How far one is, and what was refused.

        Args:
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            RepairDocument, ApiRequest(method="GET", path=f"/api/v1/snapshot-syncs/{in_path(number)}")
        )
