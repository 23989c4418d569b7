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
    rack_placement,
    replicas,
    shedding,
    splitting,
    store_dumps,
    write_sets,
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
    "write-set.json": write_sets.differences,
    "bk-rack-placement.json": rack_placement.differences,
    "underreplication.json": replicas.differences,
    "bk-znodes.json": znodes.differences,
    "bk-store-dumps.json": store_dumps.differences,
}
