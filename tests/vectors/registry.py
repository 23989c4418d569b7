"""Which file of vectors is played by what: the file's name, and a function that yields what differs in a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.vectors import (
    hashes,
    ledger_paths,
    ledger_values,
    managed_values,
    placing,
    shedding,
    splitting,
    store_dumps,
    znodes,
)

Case = Mapping[str, Any]
Player = Callable[[Case, Case], Iterator[str]]

PLAYERS: Final[dict[str, Player]] = {
    "bundle-hash.json": hashes.differences,
    "bundle-split.json": splitting.differences,
    "shedding.json": shedding.differences,
    "placement.json": placing.differences,
    "ledger-metadata.json": ledger_values.differences,
    "managed-ledger-info.json": managed_values.differences,
    "ledger-paths.json": ledger_paths.differences,
    "bk-znodes.json": znodes.differences,
    "bk-store-dumps.json": store_dumps.differences,
}
