"""Audits of ledgers in the sidecar database: kept by the daemon that may write, looked at by everybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from sqlalchemy import Connection, Select, delete, func, insert, select

from syncer.errors import InvariantBroken
from syncer.model import Millis
from syncer.state.contract.work.ledger_audits import KeptLedgerAudit, LedgerAuditRow, PackedAudit, require_packed_size
from syncer.state.sql import tables

_C: Final = tables.ledger_audits.c
_SHORT: Final = (_C.id, _C.cluster, _C.taken_at, _C.whole, func.length(_C.document))


def _row_of(row: Sequence[Any]) -> LedgerAuditRow:
    number, cluster, taken_at, whole, packed_bytes = row
    return LedgerAuditRow(id=number, cluster=cluster, taken_ms=taken_at, whole=bool(whole), packed_bytes=packed_bytes)


def _of(cluster: str, *columns: Any) -> Select[Any]:  # noqa: ANN401 - columns of any type
    return select(*columns).where(_C.cluster == cluster).order_by(_C.id.desc())


def latest(connection: Connection, cluster: str, limit: int, before: int | None) -> list[LedgerAuditRow]:
    """The latest audits of a cluster below a number, if one is given; the last one first."""
    query = _of(cluster, *_SHORT)
    query = query if before is None else query.where(_C.id < before)
    return [_row_of(row) for row in connection.execute(query.limit(limit))]


def found(connection: Connection, cluster: str, number: int | None) -> KeptLedgerAudit | None:
    """An audit of a cluster by its number; without one, the latest."""
    query = _of(cluster, *_SHORT, _C.document)
    row = connection.execute((query if number is None else query.where(_C.id == number)).limit(1)).first()
    if row is None:
        return None
    *short, document = row
    return KeptLedgerAudit(row=_row_of(short), document=PackedAudit(bytes(document)))


class LedgerAuditRows:
    """Implements :class:`~syncer.state.contract.work.ledger_audits.LedgerAuditTransaction`."""

    _connection: Connection

    def keep_ledger_audit(self, cluster: str, taken_ms: Millis, document: PackedAudit, *, whole: bool) -> int:
        """Keep an audit; its number."""
        require_packed_size(document)
        row = {"cluster": cluster, "taken_at": taken_ms, "whole": whole, "document": document}
        key = self._connection.execute(insert(tables.ledger_audits).values(row)).inserted_primary_key
        if key is None:
            raise InvariantBroken("the database gave no number to an audit of ledgers")
        return int(key[0])

    def ledger_audits(self, cluster: str, limit: int, before: int | None = None) -> list[LedgerAuditRow]:
        """The latest audits of a cluster below a number, if one is given; the last one first."""
        return latest(self._connection, cluster, limit, before)

    def ledger_audit(self, cluster: str, number: int | None = None) -> KeptLedgerAudit | None:
        """An audit of a cluster by its number; without one, the latest."""
        return found(self._connection, cluster, number)

    def prune_ledger_audits(self, cluster: str, keep: int) -> int:
        """Drop all audits of a cluster but the latest ``keep``; how many went."""
        kept = _of(cluster, _C.id).limit(keep)
        gone = delete(tables.ledger_audits).where(_C.cluster == cluster, _C.id.not_in(kept))
        return self._connection.execute(gone).rowcount


class LedgerAuditViews:
    """What the command line and REST see of audits of ledgers."""

    _reading: Callable[[], AbstractContextManager[Connection]]

    def ledger_audits(self, cluster: str, limit: int, before: int | None = None) -> list[LedgerAuditRow]:
        """The latest audits of a cluster below a number, if one is given; the last one first."""
        with self._reading() as connection:
            return latest(connection, cluster, limit, before)

    def ledger_audit(self, cluster: str, number: int | None = None) -> KeptLedgerAudit | None:
        """An audit of a cluster by its number; without one, the latest."""
        with self._reading() as connection:
            return found(connection, cluster, number)
