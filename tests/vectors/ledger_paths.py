"""Play ``ledger-paths.json``: ids and the paths of ledgers, of marks and of locks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from syncer.ledgers.paths import (
    flat_path,
    hierarchical_number,
    holds_ledgers,
    ledger_path,
    lock_path,
    long_path,
    mark_path,
    short_path,
)
from tests.vectors.comparing import same

Row = Mapping[str, Any]


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case."""
    yield from (_format if case["kind"] == "format" else _parse)(case)


def _format(case: Row) -> Iterator[str]:
    ledger_id = case["ledgerId"]
    short = short_path(ledger_id)
    found = {
        "flat": f"/{flat_path(ledger_id)}",
        "legacyHierarchical": None if short is None else f"/{short}",
        "longHierarchical": f"/{long_path(ledger_id)}",
        "hybrid": f"/{ledger_path(ledger_id)}",
        "underreplicated": f"/ledgers/{mark_path(ledger_id)}",
        "underreplicatedLock": f"/ledgers/{lock_path(ledger_id)}",
    }
    yield from same("paths", case["expect"], found)


def _parse(case: Row) -> Iterator[str]:
    relative = case["relativePath"]
    top = relative.partition("/")[0]
    known = case["topIsLegacyParent"] or case["topIsLongParent"] or case["topIsFlatLedger"]
    if len(top) <= len("L0000000042"):  # flat names of greater ids are known too
        yield from same("below a folder of ledgers", known, holds_ledgers(top))
    found = hierarchical_number(relative)
    if "error" in case:
        yield from same("refused", None, found)
    else:
        yield from same("id", case["expect"], {"ledgerId": found})
