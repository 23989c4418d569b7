"""Calls of the REST API about move runs.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.balancing.moves import MoveRunDocument, MoveRunList
from syncer.documents.operations import OperationList


class MoveRunsCalls(ApiCalls):
    """Calls about move runs."""

    def runs(self, *, limit: int | None = None) -> ApiAnswer[MoveRunList]:
        """The runs of moves of this region, the latest first.

        Args:
            limit: So many of the latest.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(MoveRunList, ApiRequest(method="GET", path="/api/v1/move-runs", query={"limit": limit}))

    def apply(
        self,
        *,
        reason: str,
        content: bytes,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Have it looked what would keep each move of a plan back, or have the plan carried out.

        Args:
            reason: Why; kept in the audit trail.
            content: A plan of moves, as 'syncer balancer advise --save' writes it.
            dry_run: Say what would keep each move back; nothing is moved.
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
                path="/api/v1/move-runs",
                query={"reason": reason, "dry_run": dry_run},
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                content=content,
                media="application/json",
            ),
        )

    def run(self, number: int) -> ApiAnswer[MoveRunDocument]:
        """How a run is, each move beside its prediction.

        Args:
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(MoveRunDocument, ApiRequest(method="GET", path=f"/api/v1/move-runs/{in_path(number)}"))

    def stop(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Begin nothing more, put Pulsar's settings back, and end.

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
                path=f"/api/v1/move-runs/{in_path(number)}/stop",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )
