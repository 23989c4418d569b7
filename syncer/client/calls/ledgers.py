"""Calls of the REST API about ledgers.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.ledgers.audit import LedgerAuditDocument
from syncer.documents.ledgers.losses import AnyLossDocument, DecommissionDocument, LossDocument
from syncer.documents.ledgers.recovery import UnderReplicatedDocument
from syncer.documents.ledgers.references import OrphansDocument


class LedgersCalls(ApiCalls):
    """Calls about ledgers."""

    def any_loss(
        self,
        cluster: str,
        *,
        size: int,
        limit: int | None = None,
        max_reads: int | None = None,
        ledgers_root: str | None = None,
        within: float | None = None,
    ) -> ApiAnswer[AnyLossDocument]:
        """The worst sets of so many bookies, and the probability that so many at random harm anything.

        Args:
            cluster: Name of the cluster's table in the configuration.
            size: How many bookies are lost, whichever they are.
            limit: How many of the worst sets.
            max_reads: The store is asked for so many paths a second at most.
            ledgers_root: Where BookKeeper's own paths begin in the store.
            within: Seconds to wait for the answer; then there is none.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            AnyLossDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/ledgers/any-loss",
                query={
                    "size": size,
                    "limit": limit,
                    "max_reads": max_reads,
                    "ledgers_root": ledgers_root,
                    "within": within,
                },
            ),
        )

    def audit(
        self,
        cluster: str,
        *,
        by_topic: bool | None = None,
        overview: bool | None = None,
        max_reads: int | None = None,
        ledgers_root: str | None = None,
        within: float | None = None,
    ) -> ApiAnswer[LedgerAuditDocument]:
        """All ledgers: replicas left, why bytes are kept, bookies, and findings with their remedies.

        Args:
            cluster: Name of the cluster's table in the configuration.
            by_topic: A row for each topic, not for each namespace.
            overview: Tell, too, what the loss of bookies would harm.
            max_reads: The store is asked for so many paths a second at most.
            ledgers_root: Where BookKeeper's own paths begin in the store.
            within: Seconds to wait for the answer; then there is none.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            LedgerAuditDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/ledgers/audit",
                query={
                    "by_topic": by_topic,
                    "overview": overview,
                    "max_reads": max_reads,
                    "ledgers_root": ledgers_root,
                    "within": within,
                },
            ),
        )

    def decommission(
        self,
        cluster: str,
        *,
        together: bool | None = None,
        rate: float | None = None,
        max_reads: int | None = None,
        ledgers_root: str | None = None,
        within: float | None = None,
        bookie: Sequence[str] | None = None,
        rack: Sequence[str] | None = None,
        quorums: str | None = None,
        enforce_racks: int | None = None,
    ) -> ApiAnswer[DecommissionDocument]:
        """What it moves to stop bookies for good, in which order, how long it takes, and what blocks it for ever.

        Args:
            cluster: Name of the cluster's table in the configuration.
            together: All are stopped at once; else one after the other.
            rate: MiB a second that all recovery workers copy together.
            max_reads: The store is asked for so many paths a second at most.
            ledgers_root: Where BookKeeper's own paths begin in the store.
            within: Seconds to wait for the answer; then there is none.
            bookie: Id, as HOST:PORT; once for each.
            rack: All bookies of a rack; once for each.
            quorums: E/QW/QA of the brokers, as 3/2/2; else those of most open ledgers.
            enforce_racks: Brokers refuse a write quorum on fewer racks than this.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            DecommissionDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/ledgers/decommission",
                query={
                    "together": together,
                    "rate": rate,
                    "max_reads": max_reads,
                    "ledgers_root": ledgers_root,
                    "within": within,
                    "bookie": bookie,
                    "rack": rack,
                    "quorums": quorums,
                    "enforce_racks": enforce_racks,
                },
            ),
        )

    def explain(
        self,
        cluster: str,
        *,
        what: str,
        max_reads: int | None = None,
        ledgers_root: str | None = None,
        within: float | None = None,
    ) -> ApiAnswer[dict[str, object]]:
        """Which entry of a ledger lies on which bookie, or the ledgers of a topic and whether it can be loaded.

        Args:
            cluster: Name of the cluster's table in the configuration.
            what: Id of a ledger, or a topic's whole name.
            max_reads: The store is asked for so many paths a second at most.
            ledgers_root: Where BookKeeper's own paths begin in the store.
            within: Seconds to wait for the answer; then there is none.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._plain(
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/ledgers/explain",
                query={"what": what, "max_reads": max_reads, "ledgers_root": ledgers_root, "within": within},
            )
        )

    def loss(
        self,
        cluster: str,
        *,
        max_reads: int | None = None,
        ledgers_root: str | None = None,
        within: float | None = None,
        bookie: Sequence[str] | None = None,
        rack: Sequence[str] | None = None,
        quorums: str | None = None,
        enforce_racks: int | None = None,
    ) -> ApiAnswer[LossDocument]:
        """What the loss of bookies harms, beside those that are away already, and whether writing goes on.

        Args:
            cluster: Name of the cluster's table in the configuration.
            max_reads: The store is asked for so many paths a second at most.
            ledgers_root: Where BookKeeper's own paths begin in the store.
            within: Seconds to wait for the answer; then there is none.
            bookie: Id, as HOST:PORT; once for each.
            rack: All bookies of a rack; once for each.
            quorums: E/QW/QA of the brokers, as 3/2/2; else those of most open ledgers.
            enforce_racks: Brokers refuse a write quorum on fewer racks than this.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            LossDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/ledgers/loss",
                query={
                    "max_reads": max_reads,
                    "ledgers_root": ledgers_root,
                    "within": within,
                    "bookie": bookie,
                    "rack": rack,
                    "quorums": quorums,
                    "enforce_racks": enforce_racks,
                },
            ),
        )

    def orphans(
        self,
        cluster: str,
        *,
        beside: Sequence[str] | None = None,
        all_clusters: bool | None = None,
        apart: float | None = None,
        max_reads: int | None = None,
        ledgers_root: str | None = None,
        within: float | None = None,
    ) -> ApiAnswer[OrphansDocument]:
        """Ledgers that nobody refers to, and references to ledgers that are not there, by two looks at the store.

        Args:
            cluster: Name of the cluster's table in the configuration.
            beside: Other clusters of the same bookies.
            all_clusters: These clusters are all of these bookies.
            apart: Seconds before references are asked for first, and again between the two looks.
            max_reads: The store is asked for so many paths a second at most.
            ledgers_root: Where BookKeeper's own paths begin in the store.
            within: Seconds to wait for the answer; then there is none.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            OrphansDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/ledgers/orphans",
                query={
                    "beside": beside,
                    "all_clusters": all_clusters,
                    "apart": apart,
                    "max_reads": max_reads,
                    "ledgers_root": ledgers_root,
                    "within": within,
                },
            ),
        )

    def under_replicated(
        self,
        cluster: str,
        *,
        max_reads: int | None = None,
        ledgers_root: str | None = None,
        within: float | None = None,
    ) -> ApiAnswer[UnderReplicatedDocument]:
        """Ledgers that are marked as under-replicated, with their topics, and whether recovery moves.

        Args:
            cluster: Name of the cluster's table in the configuration.
            max_reads: The store is asked for so many paths a second at most.
            ledgers_root: Where BookKeeper's own paths begin in the store.
            within: Seconds to wait for the answer; then there is none.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            UnderReplicatedDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/clusters/{in_path(cluster)}/ledgers/under-replicated",
                query={"max_reads": max_reads, "ledgers_root": ledgers_root, "within": within},
            ),
        )
