"""Calls of the REST API about holds.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from typing import Literal

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.holds import HoldDetail, HoldList, HoldsOfReason
from syncer.documents.operations import OperationList


class HoldsCalls(ApiCalls):
    """Calls about holds."""

    def hold_reason(self, reason: str) -> ApiAnswer[HoldsOfReason]:
        """How much is held for a reason, and what either decision about all of it would lead to; with its ETag.

        Args:
            reason: The reason.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(HoldsOfReason, ApiRequest(method="GET", path=f"/api/v1/hold-reasons/{in_path(reason)}"))

    def decide_hold_reason(
        self,
        of_reason: str,
        *,
        decision: Literal["confirm", "reject"],
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Let all pass that is held for a reason, or refuse all of it.

        Args:
            of_reason: The reason.
            decision: Let it pass, or refuse it.
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
                path=f"/api/v1/hold-reasons/{in_path(of_reason)}",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"decision": decision, "reason": reason},
            ),
        )

    def holds(
        self,
        *,
        limit: int | None = None,
        after: str | None = None,
        tenant: str | None = None,
        reason: str | None = None,
    ) -> ApiAnswer[HoldList]:
        """What waits for a person, in path order.

        Args:
            limit: Items of a page.
            after: Go on behind this path: 'next' of the page before.
            tenant: Only what belongs to this tenant.
            reason: Only what is held for this reason.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            HoldList,
            ApiRequest(
                method="GET",
                path="/api/v1/holds",
                query={"limit": limit, "after": after, "tenant": tenant, "reason": reason},
            ),
        )

    def hold(self, path: str) -> ApiAnswer[HoldDetail]:
        """What is held at a path, and what either decision would lead to. Its ETag is wanted by a decision.

        Args:
            path: Of the store, percent-encoded, without the first slash.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(HoldDetail, ApiRequest(method="GET", path=f"/api/v1/holds/{in_path(path)}"))

    def decide_hold(
        self,
        path: str,
        *,
        decision: Literal["confirm", "reject"],
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Let what is held at a path pass, or refuse it.

        Args:
            path: Of the store, percent-encoded, without the first slash.
            decision: Let it pass, or refuse it.
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
                path=f"/api/v1/holds/{in_path(path)}",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"decision": decision, "reason": reason},
            ),
        )
