"""The history of a cluster's audits: what the active daemon kept, and what changed between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.config.clusters import cluster_table
from syncer.documents.ledgers.history import kept_audit_list, ledger_changes_document
from syncer.documents.ledgers.understood import audit_understood, audited_of
from syncer.errors import NotFound, RequestInvalid, ValueInvalid
from syncer.ledgers.auditing.changes import changes
from syncer.state.contract.work.ledger_audits import unpack_audit

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.documents.ledgers.audit import LedgerAuditDocument
    from syncer.documents.ledgers.history import KeptAuditList, LedgerChangesDocument
    from syncer.state.contract.work.ledger_audits import KeptLedgerAudit
    from syncer.state.views.region import Views


def kept_audits(views: Views, config: Config, cluster: str, limit: int, before: int | None = None) -> KeptAuditList:
    """The audits that are kept of a cluster, the latest first, below a number if one is given.

    Raises:
        NotFound: The configuration has no such cluster.
    """
    cluster_table(config, cluster)
    return kept_audit_list(cluster, views.ledger_audits(cluster, limit + 1, before), limit)


def kept_audit(views: Views, config: Config, cluster: str, number: int | None) -> LedgerAuditDocument:
    """An audit that is kept of a cluster; without a number, the latest.

    Raises:
        NotFound: There is no such cluster, or no such audit is kept of it.
        ValueInvalid: It is not understood.
    """
    cluster_table(config, cluster)
    return _understood(_kept(views, cluster, number))


def changes_between(
    views: Views, config: Config, cluster: str, earlier: int | None, later: int | None
) -> LedgerChangesDocument:
    """What changed between two audits that are kept of a cluster.

    Args:
        views: Of the region.
        config: Its configuration.
        cluster: Name of the cluster's table.
        earlier: Number of the earlier one; ``None``: the one before the later one.
        later: Number of the later one; ``None``: the latest.

    Raises:
        NotFound: There is no such cluster, or no such audit is kept of it.
        RequestInvalid: The earlier one is not earlier.
        ValueInvalid: One of them is not understood.
    """
    cluster_table(config, cluster)
    after = _kept(views, cluster, later)
    if earlier is None:
        rows = views.ledger_audits(cluster, 1, after.row.id)
        if not rows:
            raise NotFound(
                f"no audit of {cluster} before {after.row.id} is kept",
                hint="Wait for the next one, or see 'syncer ledgers history list'.",
            )
        earlier = rows[0].id
    if earlier >= after.row.id:
        raise RequestInvalid(
            f"audit {earlier} is not earlier than audit {after.row.id}", hint="Give the earlier one first."
        )
    before = _kept(views, cluster, earlier)
    found = changes(audited_of(_understood(before)), audited_of(_understood(after)))
    return ledger_changes_document(cluster, before.row, after.row, found)


def _kept(views: Views, cluster: str, number: int | None) -> KeptLedgerAudit:
    found = views.ledger_audit(cluster, number)
    if found is not None:
        return found
    if number is None:
        raise NotFound(
            f"no audit of {cluster} is kept",
            hint=f"The active daemon audits it on schedule where there is [cluster.{cluster}.audits].",
        )
    raise NotFound(
        f"audit {number} of {cluster} is not kept",
        hint=f"See 'syncer ledgers history list --cluster {cluster}'; older ones are dropped.",
    )


def _understood(kept: KeptLedgerAudit) -> LedgerAuditDocument:
    try:
        return audit_understood(unpack_audit(kept.document))
    except ValueError as exc:
        raise ValueInvalid(
            f"audit {kept.row.id} of {kept.row.cluster} cannot be read: {exc}", hint="See 'syncer state check'."
        ) from exc
    except ValueInvalid as exc:
        raise ValueInvalid(f"audit {kept.row.id} of {kept.row.cluster}: {exc.message}", hint=exc.hint) from exc
