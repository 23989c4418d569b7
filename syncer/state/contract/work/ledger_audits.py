"""Audits of ledgers as the sidecar database keeps them: each with its JSON, compressed, the latest of each cluster.

Values, and the part of a transaction that is about them; see :mod:`syncer.state.contract.transaction`. The database
knows an audit's cluster, its moment, and if it is whole; its JSON is the caller's.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final, NewType, Protocol

from syncer.errors import LedgerAuditTooLarge
from syncer.model import Millis

PackedAudit = NewType("PackedAudit", bytes)
"""The JSON of an audit, compressed by zlib."""

PACKED_MOST_BYTES: Final = 16 << 20
"""Bytes that a compressed audit has at most."""

AUDIT_MOST_BYTES: Final = 256 << 20
"""Bytes that the JSON of an audit has at most, so that no row fills a reader's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerAuditRow:
    """An audit of a cluster's ledgers, without its JSON.

    Args:
        id: Its number; each is greater than those before, of all clusters.
        cluster: Name of the cluster.
        taken_ms: When its ledgers were read.
        whole: All was read and understood, so that what it does not name is not there.
        packed_bytes: What its JSON takes, compressed.
    """

    id: int
    cluster: str
    taken_ms: Millis
    whole: bool
    packed_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLedgerAudit:
    """An audit of a cluster's ledgers, and its JSON."""

    row: LedgerAuditRow
    document: PackedAudit


class LedgerAuditTransaction(Protocol):
    """The part of a transaction that is about audits of ledgers."""

    def keep_ledger_audit(self, cluster: str, taken_ms: Millis, document: PackedAudit, *, whole: bool) -> int:
        """Keep an audit; its number.

        Raises:
            LedgerAuditTooLarge: It has more bytes than are kept.
        """
        ...

    def ledger_audits(self, cluster: str, limit: int, before: int | None = None) -> list[LedgerAuditRow]:
        """The latest audits of a cluster below a number, if one is given; the last one first."""
        ...

    def ledger_audit(self, cluster: str, number: int | None = None) -> KeptLedgerAudit | None:
        """An audit of a cluster by its number; without one, the latest."""
        ...

    def prune_ledger_audits(self, cluster: str, keep: int) -> int:
        """Drop all audits of a cluster but the latest ``keep``; how many went."""
        ...


def pack_audit(document: bytes) -> PackedAudit:
    """Compress the JSON of an audit. Slow for a large one, so it is done before a transaction.

    Raises:
        LedgerAuditTooLarge: It has more bytes than are kept.
    """
    if len(document) > AUDIT_MOST_BYTES:
        raise LedgerAuditTooLarge(f"an audit's JSON has {len(document)} bytes, of {AUDIT_MOST_BYTES} that are kept")
    packed = PackedAudit(zlib.compress(document))
    require_packed_size(packed)
    return packed


def unpack_audit(packed: PackedAudit) -> bytes:
    """The JSON of an audit.

    Raises:
        ValueError: It is damaged, or has more bytes than are ever kept.
    """
    inflating = zlib.decompressobj()
    try:
        document = inflating.decompress(packed, AUDIT_MOST_BYTES)
    except zlib.error as exc:
        raise ValueError(f"an audit cannot be unpacked: {exc}") from exc
    if not inflating.eof:
        raise ValueError("an audit cannot be unpacked: it is cut off, or larger than any that is kept")
    return document


def require_packed_size(packed: PackedAudit) -> None:
    """Let nothing be kept that is larger than a row may be.

    Raises:
        LedgerAuditTooLarge: It has more bytes than are kept.
    """
    if len(packed) > PACKED_MOST_BYTES:
        raise LedgerAuditTooLarge(f"an audit has {len(packed)} bytes compressed, of {PACKED_MOST_BYTES} that are kept")
