"""Calls of the REST API about quarantine.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.holds import ParkedList
from syncer.documents.operations import OperationList
from syncer.documents.quarantine import QuarantineDocument, QuarantineList


class QuarantineCalls(ApiCalls):
    """Calls about quarantine."""

    def parked(
        self, *, limit: int | None = None, after: str | None = None, tenant: str | None = None
    ) -> ApiAnswer[ParkedList]:
        """Writes that wait for a parent, for children or for the store, in path order; they go on by themselves.

        Args:
            limit: Items of a page.
            after: Go on behind this path: 'next' of the page before.
            tenant: Only what belongs to this tenant.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            ParkedList,
            ApiRequest(method="GET", path="/api/v1/parked", query={"limit": limit, "after": after, "tenant": tenant}),
        )

    def quarantine(
        self, *, limit: int | None = None, after: int | None = None, tenant: str | None = None
    ) -> ApiAnswer[QuarantineList]:
        """What could not be handled, oldest first, without payloads.

        Args:
            limit: Items of a page.
            after: Go on behind this number: 'next' of the page before.
            tenant: Only what belongs to this tenant.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            QuarantineList,
            ApiRequest(
                method="GET", path="/api/v1/quarantine", query={"limit": limit, "after": after, "tenant": tenant}
            ),
        )

    def entry(self, number: int) -> ApiAnswer[QuarantineDocument]:
        """An entry, without its payload. Its ETag is wanted by a decision.

        Args:
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            QuarantineDocument, ApiRequest(method="GET", path=f"/api/v1/quarantine/{in_path(number)}")
        )

    def discard_entry(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Throw an entry away, for good.

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
                path=f"/api/v1/quarantine/{in_path(number)}/discard",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def retry_entry(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Handle an entry again, after its cause was removed.

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
                path=f"/api/v1/quarantine/{in_path(number)}/retry",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )
