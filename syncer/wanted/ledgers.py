"""Paths of BookKeeper's ledgers, of what refers to them, of their bookies and of their recovery, as a wanted value.

Ledgers change all the time, and no read of a live store shows all of them at one moment. A ledger is made before it is
referred to and its reference goes before it does: so read ``LEDGERS`` first, in a read of its own, and ``REFERENCES``
after it. What then has no reference may have none; what has one is referred to.

Leaves are taken by their place, whatever their names are: who decodes them counts what is no ledger.

Source: BookKeeper 4.17, LegacyHierarchicalLedgerManager, LongHierarchicalLedgerManager, FlatLedgerManager,
ZkLedgerUnderreplicationManager, and the same of Pulsar 4.0's metadata driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from syncer.model import MetaPath
from syncer.paths import MANAGED_LEDGERS
from syncer.wanted.contract import ReadTerms
from syncer.wanted.shapes import ANY, PathShape, ShapedPaths, joined

LEDGERS_ROOT: Final = MetaPath("/ledgers")
"""Where BookKeeper's own paths begin, unless ``zkLedgersRootPath`` or the path of its address says otherwise."""
SCHEMAS: Final = MetaPath("/schemas")
RACKS: Final = MetaPath("/bookies")

_DOMAIN: Final = "persistent"
_TWO, _THREE, _FOUR, _HEX = (r"\d{2}", r"\d{3}", r"\d{4}", r"[0-9a-fA-F]{4}")


class LedgerPart(StrEnum):
    """Parts that are read one by one, each in a read of its own."""

    LEDGERS = "ledgers"
    REFERENCES = "references"
    BOOKIES = "bookies"
    RECOVERY = "recovery"


class LedgerPathKind(StrEnum):
    """Kinds of paths, in the column ``kind`` of what was read."""

    LEDGER = "ledger"
    MANAGED_LEDGER = "managed-ledger"
    CURSOR = "cursor"
    SCHEMA = "schema"
    UNFAMILIAR = "unfamiliar"
    BOOKIE = "bookie"
    READ_ONLY_BOOKIE = "read-only-bookie"
    COOKIE = "cookie"
    RACKS = "racks"
    INSTANCE = "instance"
    LAYOUT = "layout"
    UNDER_REPLICATED = "under-replicated"
    LOCK = "rereplication-lock"
    AUDITOR = "auditor"
    RECOVERY_STATE = "recovery-state"


def ledger_paths(
    *parts: LedgerPart, root: MetaPath = LEDGERS_ROOT, moment: bool = False, max_reads_per_s: int | None = None
) -> ShapedPaths:
    """Make the wanted value of some parts, or of all.

    Args:
        parts: Those that are wanted; none given: all of them, for files, which are of one moment.
        root: Where BookKeeper's own paths begin.
        moment: All of one moment, which a live ZooKeeper gives only while nothing happens in it.
        max_reads_per_s: Paths of a live store to ask for in a second.
    """
    shapes = joined(*(_SHAPES[part](root) for part in (parts or LedgerPart)))
    return ShapedPaths(
        shapes=shapes, terms=ReadTerms(moment=moment, forgiving=True, created=True, max_reads_per_s=max_reads_per_s)
    )


def _ledgers(root: MetaPath) -> tuple[PathShape, ...]:
    """Ledgers in all layouts, which may lie beside each other: ten thousand in a row are read together.

    One without a value is damaged, and must not be passed over: no inner node lies where ledgers do.
    """
    kind = LedgerPathKind.LEDGER.value
    return (
        PathShape(kind=kind, root=root, names=(_TWO, _FOUR, ANY), together=2, empties=True),
        PathShape(kind=kind, root=root, names=(_THREE, _FOUR, _FOUR, _FOUR, ANY), together=4, empties=True),
        PathShape(kind=kind, root=root, names=(r"L-?\d+",), together=1, empties=True),
    )


def _references(_: MetaPath) -> tuple[PathShape, ...]:
    """Managed ledgers, their cursors and schemas; the first two also below the cluster's name that old topics have."""
    topic, cursor = LedgerPathKind.MANAGED_LEDGER.value, LedgerPathKind.CURSOR.value
    forms = (
        (topic, (ANY, ANY, _DOMAIN, ANY)),
        (cursor, (ANY, ANY, _DOMAIN, ANY, ANY)),
        (topic, (ANY, ANY, ANY, _DOMAIN, ANY)),
        (cursor, (ANY, ANY, ANY, _DOMAIN, ANY, ANY)),
    )
    managed = (
        PathShape(kind=kind, root=MetaPath(MANAGED_LEDGERS), names=names, together=2, of_tenants=True, empties=True)
        for kind, names in forms
    )
    schema = PathShape(
        kind=LedgerPathKind.SCHEMA.value, root=SCHEMAS, names=(ANY, ANY, ANY), together=2, of_tenants=True, empties=True
    )
    return (*managed, schema, *_unfamiliar(MetaPath(MANAGED_LEDGERS), 6), *_unfamiliar(SCHEMAS, 4))


def _unfamiliar(root: MetaPath, deepest: int) -> Iterator[PathShape]:
    """Values at a place where Pulsar puts none: they may refer to ledgers, so none of these is proven an orphan."""
    for names in range(1, deepest + 1):
        yield PathShape(
            kind=LedgerPathKind.UNFAMILIAR.value, root=root, names=(ANY,) * names, together=2, of_tenants=True
        )


def _bookies(root: MetaPath) -> tuple[PathShape, ...]:
    """Bookies that are there, those that ever were, their racks, and the names of their cluster."""
    available = MetaPath(f"{root}/available")
    return (
        PathShape(
            kind=LedgerPathKind.BOOKIE.value, root=available, names=("(?!readonly$).+",), empties=True, sessions=True
        ),
        PathShape(
            kind=LedgerPathKind.READ_ONLY_BOOKIE.value,
            root=available,
            names=("readonly", ANY),
            empties=True,
            sessions=True,
        ),
        PathShape(kind=LedgerPathKind.COOKIE.value, root=MetaPath(f"{root}/cookies"), names=(ANY,)),
        PathShape(kind=LedgerPathKind.RACKS.value, root=RACKS),
        PathShape(kind=LedgerPathKind.LAYOUT.value, root=MetaPath(f"{root}/LAYOUT")),
        PathShape(kind=LedgerPathKind.INSTANCE.value, root=MetaPath(f"{root}/INSTANCEID")),
    )


def _recovery(root: MetaPath) -> tuple[PathShape, ...]:
    """Marks of ledgers that lack replicas, who works on them, and how auto-recovery is set.

    Each mark lies below four folders of hexadecimal digits, alone in the last.
    """
    here = MetaPath(f"{root}/underreplication")
    state, auditor = LedgerPathKind.RECOVERY_STATE.value, LedgerPathKind.AUDITOR.value
    together = 4
    return (
        PathShape(
            kind=LedgerPathKind.UNDER_REPLICATED.value,
            root=here,
            names=("ledgers", _HEX, _HEX, _HEX, _HEX, ANY),
            together=together,
            empties=True,
        ),
        PathShape(
            kind=LedgerPathKind.LOCK.value,
            root=here,
            names=("locks", ANY),
            together=together,
            empties=True,
            sessions=True,
        ),
        PathShape(kind=auditor, root=here, names=("auditorelection", ANY), together=together, sessions=True),
        PathShape(kind=auditor, root=here, names=("auditorelection|leader",), together=together, sessions=True),
        PathShape(
            kind=state,
            root=here,
            names=("LAYOUT|disable|lostBookieRecoveryDelay|[a-z]+ctime",),
            together=together,
            empties=True,
        ),
    )


_SHAPES: Final = {
    LedgerPart.LEDGERS: _ledgers,
    LedgerPart.REFERENCES: _references,
    LedgerPart.BOOKIES: _bookies,
    LedgerPart.RECOVERY: _recovery,
}
