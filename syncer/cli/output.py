"""How documents reach stdout, and how the program talks on stderr. Columns for people are never cut."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TextIO

from pydantic import BaseModel

from syncer.terminal import json_text, visible, visible_lines, yaml_text


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
    """Talk to the person, beside the data, in one line."""
    _write(sys.stderr, visible(text))


def say_lines(text: str) -> None:
    """Talk to the person in several lines."""
    _write(sys.stderr, visible_lines(text))


def _write(to: TextIO, text: str) -> None:
    to.write(text + "\n")
    to.flush()


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


def table(headings: Sequence[str], rows: Iterable[Row], *, empty: str = "") -> None:
    """Write columns; ``empty`` is said on stderr when there are no rows."""
    cells = [[_cell(value) for value in row] for row in rows]
    if not cells:
        if empty:
            say(empty)
        return
    widths = [max(len(row[index]) for row in [list(headings), *cells]) for index in range(len(headings))]
    for row in [[heading.upper() for heading in headings], *cells]:
        out("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Write names and values below each other."""
    lines = [(name, _cell(value)) for name, value in pairs]
    width = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        out(f"{name.ljust(width)}  {value}".rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(str(value))


def moment(at_ms: int | None) -> str:
    """A time as people read it, UTC."""
    if at_ms is None:
        return "-"
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"


def span(seconds: float | None) -> str:
    """A length of time, short."""
    if seconds is None:
        return "-"
    sign, left = ("-", -seconds) if seconds < 0 else ("", seconds)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if left >= 2 * length:
            return f"{sign}{left / length:.0f}{unit}"
    return f"{sign}{left:.1f}s" if left >= 1 else f"{sign}{left * 1000:.0f}ms"
