"""Which file of vectors is played by what: the file's name, and a function that yields what differs in a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.vectors import hashes, placing, shedding, splitting

Case = Mapping[str, Any]
Player = Callable[[Case, Case], Iterator[str]]

PLAYERS: Final[dict[str, Player]] = {
    "bundle-hash.json": hashes.differences,
    "bundle-split.json": splitting.differences,
    "shedding.json": shedding.differences,
    "placement.json": placing.differences,
}
