"""The table: what fills each cell, how that went in a run, and how it is printed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from tests.api.routes_table import API
from tests.hostile.attack import Attack, Who
from tests.hostile.cells.columns import Cell, Column
from tests.hostile.cells.routes import ROUTES
from tests.hostile.cells.rows import BUS, FILE_ROWS, MANIFEST_ROWS, Row
from tests.hostile.report import Played

TABLE: Final[tuple[Row, ...]] = (*BUS, *MANIFEST_ROWS, *ROUTES, *FILE_ROWS)
"""A row for each entry."""
WIDTH: Final = 118
ENTRY: Final = 58
_JOINT: Final = "\0"
"""Stands in a name for a blank at which no line ends."""
_REFUSED: Final = frozenset({Who.STRANGER, Who.NAMED})
"""Those whose messages have no proof of the sender that they name."""


class Outcome(StrEnum):
    """How the attacks of a cell went in a run."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_PLAYED = "not played"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A cell.

    Args:
        cell: Which.
        attacks: Names of the attacks that fill it, in their order.
        reason: Why there is no attack; empty where there is one.
        outcome: How the attacks went; ``None``: there are none.
    """

    cell: Cell
    attacks: tuple[str, ...]
    reason: str
    outcome: Outcome | None


def makers_of(cell: Cell, attack: Attack) -> frozenset[Who]:
    """Return by whom an attack has to be made to fill a cell: what a message is forged by is not believed."""
    on_bus = cell.entry.startswith(("message ", "heartbeat "))
    forging = on_bus and cell.column is Column.FORGED
    return frozenset(attack.who) & _REFUSED if forging else frozenset(attack.who)


def filled(attacks: Sequence[Attack], played: Sequence[Played]) -> list[Filled]:
    """Return every cell of the table, row by row, after a run."""
    return [_filled(Cell(row.entry, column), row, attacks, played) for row in TABLE for column in Column]


def _filled(cell: Cell, row: Row, attacks: Sequence[Attack], played: Sequence[Played]) -> Filled:
    those = [attack for attack in attacks if cell in attack.fills]
    outcomes = [_outcome(cell, attack, played) for attack in those]
    worst = next((each for each in (Outcome.FAILED, Outcome.NOT_PLAYED) if each in outcomes), Outcome.PASSED)
    return Filled(
        cell=cell,
        attacks=tuple(attack.name for attack in those),
        reason=row.why.get(cell.column, ""),
        outcome=worst if those else None,
    )


def _outcome(cell: Cell, attack: Attack, played: Sequence[Played]) -> Outcome:
    plays = [each for each in played if each.attack.name == attack.name]
    if any(each.failure for each in plays):
        return Outcome.FAILED
    makers = {str(who) for who in makers_of(cell, attack)}
    return Outcome.PASSED if any(each.maker in makers for each in plays) else Outcome.NOT_PLAYED


def document(cells: Sequence[Filled]) -> list[dict[str, Any]]:
    """Return the table as JSON: an object for each row, and in it one for each column."""
    return [
        {"entry": entry, **{str(each.cell.column): _as_json(each) for each in row}} for entry, row in _by_entry(cells)
    ]


def _as_json(cell: Filled) -> dict[str, Any]:
    if cell.outcome is None:
        return {"reason": cell.reason}
    return {"attacks": list(cell.attacks), "outcome": str(cell.outcome)}


def lines(cells: Sequence[Filled]) -> Iterator[str]:
    """Yield the table for people: attacks by number, reasons by letter, rows with the same cells together.

    What each number and letter stands for follows, and how many cells there are.
    """
    numbers = {name: f"{at}" for at, name in enumerate(_in_order(name for each in cells for name in each.attacks), 1)}
    letters = {text: _letter(at) for at, text in enumerate(_in_order(each.reason for each in cells if each.reason))}
    yield f"{'entry':{ENTRY}} " + " ".join(f"{column:8}" for column in Column)
    for shown, group in groupby(_rows(cells, numbers, letters), key=lambda row: (row[0].partition(" ")[0], row[1])):
        entries = [entry for entry, _ in group]
        kind, cells_shown = shown
        names = [entry.partition(" ")[2].replace(API, "").replace(" ", _JOINT) for entry in entries]
        words = f"{kind} {', '.join(names)}"
        first, *rest = (
            line.replace(_JOINT, " ")
            for line in textwrap.wrap(words, ENTRY, subsequent_indent="  ", break_on_hyphens=False)
        )
        yield f"{first:{ENTRY}} " + " ".join(f"{each:8}" for each in cells_shown)
        yield from rest
    outcomes = {name: str(each.outcome) for each in cells for name in each.attacks}
    for name, number in numbers.items():
        yield f"{number:>3} {outcomes[name]}: {name}"
    for text, letter in letters.items():
        yield from textwrap.wrap(f"{letter:>3} {text}", WIDTH, subsequent_indent="    ")
    attacked = [each for each in cells if each.outcome is not None]
    passed = sum(each.outcome is Outcome.PASSED for each in attacked)
    yield (
        f"{len(cells)} cells: {passed} by attacks that passed, {len(attacked) - passed} by attacks that did not, "
        f"{len(cells) - len(attacked)} by a reason"
    )


def _rows(
    cells: Sequence[Filled], numbers: Mapping[str, str], letters: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    marks = {Outcome.PASSED: "", Outcome.FAILED: "!", Outcome.NOT_PLAYED: "?"}
    for entry, row in _by_entry(cells):
        yield (
            entry,
            tuple(
                letters.get(each.reason, "-")
                if each.outcome is None
                else ",".join(numbers[name] for name in each.attacks) + marks[each.outcome]
                for each in row
            ),
        )


def _by_entry(cells: Sequence[Filled]) -> Iterator[tuple[str, list[Filled]]]:
    for entry, row in groupby(cells, key=lambda each: each.cell.entry):
        yield entry, list(row)


def _in_order(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _letter(number: int) -> str:
    """Return a, b, …, z, aa, ab, …"""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
