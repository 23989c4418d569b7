"""The columns of the table, and the cells that an attack fills."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Column(StrEnum):
    """One kind of harm."""

    COST = "cost"
    """It takes more time, memory or room than its bound."""
    LIE = "lie"
    """It states what is false, by somebody who is believed."""
    REPLAY = "replay"
    """It is an old genuine one, once more."""
    FORGED = "forged"
    """It has no proof of its sender, a wrong one, or one of somebody else than the one that it names."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry of the product by one column."""

    entry: str
    column: Column


Cells = frozenset[Cell]


def _cells(column: Column, entries: tuple[str, ...]) -> Cells:
    return frozenset(Cell(entry, column) for entry in entries)


def cost(*entries: str) -> Cells:
    """Return the cells of these entries in the column ``cost``."""
    return _cells(Column.COST, entries)


def lie(*entries: str) -> Cells:
    """Return the cells of these entries in the column ``lie``."""
    return _cells(Column.LIE, entries)


def replay(*entries: str) -> Cells:
    """Return the cells of these entries in the column ``replay``."""
    return _cells(Column.REPLAY, entries)


def forged(*entries: str) -> Cells:
    """Return the cells of these entries in the column ``forged``."""
    return _cells(Column.FORGED, entries)
