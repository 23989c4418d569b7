"""Play files of vectors: read a directory, run each case, keep why one failed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.vectors.registry import PLAYERS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from tests.vectors.registry import Player


class VectorsUnusable(Exception):
    """The directory, or a file in it, cannot be played."""


@dataclass
class Outcome:
    """What came of a file: how many cases passed, and why the others did not."""

    file: str
    passed: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)


def play(directory: Path) -> list[Outcome]:
    """Play every file of a known name, in the order of the registry.

    Raises:
        VectorsUnusable: The directory or a file cannot be read, or no file there has a known name.
    """
    try:
        present = {entry.name for entry in directory.iterdir()}
    except OSError as error:
        raise VectorsUnusable(f"{directory} cannot be read: {error.strerror}") from error
    known = [name for name in PLAYERS if name in present]
    if not known:
        raise VectorsUnusable(f"{directory} holds no file of a known name: {', '.join(PLAYERS)}")
    return [_file(directory / name, PLAYERS[name]) for name in known]


def _file(file: Path, player: Player) -> Outcome:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise VectorsUnusable(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise VectorsUnusable(f"{file} is no JSON: {error}") from error
    if not (isinstance(document, dict) and isinstance(document.get("cases"), list) and document["cases"]):
        raise VectorsUnusable(f"{file} has no list of 'cases' with a case in it")
    outcome = Outcome(file.name)
    for case in document["cases"]:
        try:
            why = next(iter(player(case, document.get("meta", {}))), None)
        except Exception as error:  # noqa: BLE001 - a case that breaks is a failed one; the others are still played
            why = f"{type(error).__name__}: {error}"
        if why is None:
            outcome.passed += 1
        else:
            outcome.failed.append((_name(case), why))
    return outcome


def _name(case: Mapping[str, Any]) -> str:
    return str(case.get("id", "a case without an id"))
