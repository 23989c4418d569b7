"""``/api/v1/clusters/{cluster}/ledger-audits``: audits that the active daemon kept, and what changed between them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.admission import Reader
from api.documents import FINDING, BeforeNumber, Limit, Number, document
from api.inside import RegionInside
from api.routes.clusters import Table
from syncer.documents.ledgers.audit import LedgerAuditDocument
from syncer.documents.ledgers.history import KeptAuditList, LedgerChangesDocument
from syncer.inspection.ledgers import history

AuditNumber = Annotated[int | None, Query(ge=1, le=2**63 - 1)]


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1/clusters/{cluster}", tags=["ledger-history"])

    @routes.get("/ledger-audits", response_model=KeptAuditList, responses=FINDING)
    async def kept_audits(caller: Reader, cluster: Table, limit: Limit = 20, before: BeforeNumber = None) -> Response:
        """The audits of a cluster's ledgers that are kept, the latest first."""
        del caller
        return document(
            await inside.look(lambda views: history.kept_audits(views, inside.config, cluster, limit, before))
        )

    @routes.get("/ledger-audits/{number}", response_model=LedgerAuditDocument, responses=FINDING)
    async def kept_audit(caller: Reader, cluster: Table, number: Number) -> Response:
        """An audit as it was kept."""
        del caller
        return document(await inside.look(lambda views: history.kept_audit(views, inside.config, cluster, number)))

    @routes.get("/ledger-audit", response_model=LedgerAuditDocument, responses=FINDING)
    async def latest_audit(caller: Reader, cluster: Table) -> Response:
        """The latest audit as it was kept."""
        del caller
        return document(await inside.look(lambda views: history.kept_audit(views, inside.config, cluster, None)))

    @routes.get("/ledger-changes", response_model=LedgerChangesDocument, responses=FINDING)
    async def changes(
        caller: Reader, cluster: Table, earlier: AuditNumber = None, later: AuditNumber = None
    ) -> Response:
        """What changed between two audits that are kept: groups, reasons, bookies, findings, and how sure that is.

        Without numbers they are the latest one and the one before.
        """
        del caller
        return document(
            await inside.look(lambda views: history.changes_between(views, inside.config, cluster, earlier, later))
        )

    return routes
