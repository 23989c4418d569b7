"""Calls of the REST API about migrations.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.migration import MigrationEventList, MigrationList, MigrationStatusDocument
from syncer.documents.migration_report.document import MigrationReportDocument
from syncer.documents.operations import OperationList


class MigrationsCalls(ApiCalls):
    """Calls about migrations."""

    def migrations(self, *, limit: int | None = None) -> ApiAnswer[MigrationList]:
        """The migrations of this region, the latest first.

        Args:
            limit: So many of the latest.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            MigrationList, ApiRequest(method="GET", path="/api/v1/migrations", query={"limit": limit})
        )

    def start(
        self,
        *,
        reason: str,
        sha256: str,
        content: bytes,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Begin a migration by a plan that was reviewed: it checks, prepares green, guards blue, and waits for a go.

        Args:
            reason: Why; kept in the audit trail.
            sha256: 'sha256' of the plan that was reviewed; another is refused.
            content: A plan that 'syncer migration plan --save' wrote.
            idempotency_key: Of this request; repeat it unchanged.
            if_match: ETag of what was looked at.
            prefer: wait=N: wait so many seconds for the answer.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            OperationList,
            ApiRequest(
                method="POST",
                path="/api/v1/migrations",
                query={"reason": reason, "sha256": sha256},
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                content=content,
                media="application/json",
            ),
        )

    def migration(self, number: int) -> ApiAnswer[MigrationStatusDocument]:
        """How far a migration is, what it waits for, and what commands would lead to. Its ETag is wanted by them.

        Args:
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            MigrationStatusDocument, ApiRequest(method="GET", path=f"/api/v1/migrations/{in_path(number)}")
        )

    def abort(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """End it before anything was marked: blue is as it was; what green was given stays there.

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
                method="POST",
                path=f"/api/v1/migrations/{in_path(number)}/abort",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def auto(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """The same, and all that follow, as long as the bounds of the plan hold.

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
                method="POST",
                path=f"/api/v1/migrations/{in_path(number)}/auto",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def close(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """End it once the soak is over. There is no rollback afterwards.

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
                method="POST",
                path=f"/api/v1/migrations/{in_path(number)}/close",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def migration_events(
        self, number: int, *, limit: int | None = None, after: int | None = None
    ) -> ApiAnswer[MigrationEventList]:
        """What has happened in a migration, oldest first; 'next' is always there, for what comes later.

        Args:
            number: The number.
            limit: Items of a page.
            after: Go on behind this number: 'next' of the page before.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            MigrationEventList,
            ApiRequest(
                method="GET",
                path=f"/api/v1/migrations/{in_path(number)}/events",
                query={"limit": limit, "after": after},
            ),
        )

    def go(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Let the step go that waits; clients that it moves come back only by a migration the other way.

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
                method="POST",
                path=f"/api/v1/migrations/{in_path(number)}/go",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def pause(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Begin nothing new; what was begun of a wave is finished first.

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
                method="POST",
                path=f"/api/v1/migrations/{in_path(number)}/pause",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def report(self, number: int) -> ApiAnswer[MigrationReportDocument]:
        """What has happened in a migration, and what is known of its messages and clients, from the database alone.

        Args:
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            MigrationReportDocument, ApiRequest(method="GET", path=f"/api/v1/migrations/{in_path(number)}/report")
        )

    def resume(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Go on where it has stopped, and accept in this step what it has stopped for.

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
                method="POST",
                path=f"/api/v1/migrations/{in_path(number)}/resume",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def rollback(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Take back what can be taken back, and end.

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
                method="POST",
                path=f"/api/v1/migrations/{in_path(number)}/rollback",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def undoable(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Ask the clusters what a rollback could take back; the migration shows it from then on.

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
                method="POST",
                path=f"/api/v1/migrations/{in_path(number)}/undoable",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )
