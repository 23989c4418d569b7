"""Calls of the REST API about ledger-history.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.ledgers.audit import LedgerAuditDocument
from syncer.documents.ledgers.history import KeptAuditList, LedgerChangesDocument


class LedgerHistoryCalls(ApiCalls):
    """Calls about ledger-history."""

    def latest_audit(self, cluster: str) -> ApiAnswer[LedgerAuditDocument]:
        """The latest audit as it was kept.

        Args:
            cluster: Name of the cluster's table in the configuration.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            LedgerAuditDocument, ApiRequest(method="GET", path=f"/api/v1/clusters/{in_path(cluster)}/ledger-audit")
        )

    def kept_audits(
        self, cluster: str, *, limit: int | None = None, before: int | None = None
    ) -> ApiAnswer[KeptAuditList]:
        """The audits of a cluster's ledgers that are kept, the latest first.

        Args:
            cluster: Name of the cluster's table in the configuration.
            limit: Items of a page.
            before: Only below this number: 'next' of the page before.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            KeptAuditList,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/ledger-audits",
                query={"limit": limit, "before": before},
            ),
        )

    def kept_audit(self, cluster: str, number: int) -> ApiAnswer[LedgerAuditDocument]:
        """An audit as it was kept.

        Args:
            cluster: Name of the cluster's table in the configuration.
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            LedgerAuditDocument,
            ApiRequest(method="GET", path=f"/api/v1/clusters/{in_path(cluster)}/ledger-audits/{in_path(number)}"),
        )

    def changes(
        self, cluster: str, *, earlier: int | None = None, later: int | None = None
    ) -> ApiAnswer[LedgerChangesDocument]:
        """What changed between two audits that are kept: groups, reasons, bookies, findings, and how sure that is.

        Args:
            cluster: Name of the cluster's table in the configuration.
            earlier: The earlier.
            later: The later.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            LedgerChangesDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/ledger-changes",
                query={"earlier": earlier, "later": later},
            ),
        )
