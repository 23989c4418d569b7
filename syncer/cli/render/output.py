"""Output: documents on stdout, messages on stderr.

Columns for people are laid out by rich, which is loaded with the first of them. They are never cut nor wrapped.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, TextIO

import typer
from pydantic import BaseModel

from syncer.dispositions import ExitCode
from syncer.terminal import json_text, visible, visible_lines, yaml_text

GAP: Final = 2
"""Blanks between two columns."""

LAID_OUT_AT_ONCE: Final = 1000
"""Rows that are laid out together; what they take of memory is bounded by it."""

UNSTYLED: Final = {None, "", "dumb", "unknown"}
"""Values of ``TERM`` that promise nothing but letters."""


class Format(StrEnum):
    """Form of the data on stdout."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Row = Sequence[object]


def out(text: str) -> None:
    """Write one line of data."""
    _write(sys.stdout, visible(text))


def out_lines(text: str) -> None:
    """Write data of several lines."""
    _write(sys.stdout, visible_lines(text))


def say(text: str) -> None:
    """Talk to the operator, beside the data, in one line."""
    _write(sys.stderr, visible(text))


def say_lines(text: str) -> None:
    """Talk to the operator in several lines."""
    _write(sys.stderr, visible_lines(text))


def _write(to: TextIO, text: str) -> None:
    try:
        to.write(text + "\n")
        to.flush()
    except BrokenPipeError:
        raise  # whoever read it has seen enough: Typer ends quietly
    except OSError as exc:
        os.dup2(os.open(os.devnull, os.O_WRONLY), to.fileno())  # nor is it tried again at the end
        if to is sys.stdout:
            say(f"error: the output cannot be written: {exc.strerror}")
            say("hint: Make room where it goes to, or send it somewhere else, and repeat the command.")
        raise typer.Exit(ExitCode.FAILED) from exc


def structured(value: object, form: Format) -> None:
    """Write plain data as JSON, or as YAML."""
    if form is Format.YAML:
        _write(sys.stdout, yaml_text(value).rstrip())
    else:
        _write(sys.stdout, json_text(value, indent=2))


def document(model: BaseModel, form: Format) -> None:
    """Write a document as JSON or YAML."""
    structured(model.model_dump(mode="json"), form)


def stream(model: BaseModel, form: Format) -> None:
    """Write one document of a stream: a line of JSON, or a YAML document of its own."""
    if form is Format.YAML:
        out("---")
        structured(model.model_dump(mode="json"), form)
    else:
        _write(sys.stdout, json_text(model.model_dump(mode="json")))


def cleared(form: Format) -> None:
    """Make room on a terminal for a table that is shown again and again."""
    if form is Format.TABLE and sys.stdout.isatty():
        _write(sys.stdout, "\x1b[H\x1b[2J")


def table(headings: Sequence[str], rows: Iterable[Row], *, empty: str = "") -> None:
    """Write columns; ``empty`` is said on stderr when there are no rows."""
    cells = [[_cell(value) for value in row] for row in rows]
    if cells:
        _columns(cells, headings=[heading.upper() for heading in headings])
    elif empty:
        say(empty)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Write names and values below each other."""
    _columns([[name, _cell(value)] for name, value in pairs])


def _columns(rows: list[list[str]], *, headings: list[str] | None = None) -> None:
    """Write each row as one line, however wide: headings, or else the first column, stand out on a terminal.

    A cell is plain text: what looks like markup, an emoji's name or a link stays as it is.
    """
    from rich.cells import cell_len

    widths = [max(1, *map(cell_len, column)) for column in zip(*([headings] if headings else []), *rows, strict=True)]
    if headings:
        _write(sys.stdout, _laid_out([headings], widths, bold=len(headings)))
    for begin in range(0, len(rows), LAID_OUT_AT_ONCE):
        page = rows[begin : begin + LAID_OUT_AT_ONCE]
        _write(sys.stdout, _laid_out(page, widths, bold=0 if headings else 1))


def _laid_out(rows: list[list[str]], widths: Sequence[int], *, bold: int) -> str:
    """Lines of columns, of which the first so many are bold where the terminal can show it.

    All lines of a column are one cell: rich spends several times as long on as many cells of one line.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    into = io.StringIO()
    grid = Table.grid(padding=(0, GAP, 0, 0))
    for width in widths:
        grid.add_column(width=width, no_wrap=True)
    texts = ["\n".join(column) for column in zip(*rows, strict=True)]
    grid.add_row(*(Text.assemble((text, "bold" if index < bold else "")) for index, text in enumerate(texts)))
    console = Console(
        file=into,
        width=sum(widths) + GAP * len(widths),
        height=len(rows),
        force_terminal=False,  # the width of a real one would be asked for, and lines cut
        color_system="standard" if _styled() else None,
        highlight=False,
    )
    console.print(grid)
    return "\n".join(line.rstrip(" ") for line in into.getvalue().removesuffix("\n").split("\n"))


def _styled() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in UNSTYLED


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(str(value))
