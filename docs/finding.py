"""Finding the code of a rule by the field's word for it: in the names of modules, and in their first lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tests.suites import REPOSITORY

PRODUCT: Final = ("syncer", "api", "spark_snapshot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Args:
        says: The rule as a sentence.
        words: The field's words for it; the first one finds the file.
        code: The function or class that holds it.
        test: The test that would fail without it.
    """

    says: str
    words: tuple[str, ...]
    code: Callable[..., object]
    test: Callable[..., object]

    @property
    def file(self) -> str:
        """The file of the code, from the root of the repository."""
        return file_of(self.code)


def name_of(named: Callable[..., object]) -> str:
    """The name of a function or a class, with that of the class around it."""
    return named.__qualname__.rpartition("<locals>.")[2]


def file_of(named: Callable[..., object]) -> str:
    """The file that a function or a class stands in, from the root of the repository."""
    return f"{named.__module__.replace('.', '/')}.py"


@cache
def first_lines() -> Mapping[str, str]:
    """Each module of the product, and the first line of its docstring."""
    files = [file for root in PRODUCT for file in sorted((REPOSITORY / root).rglob("*.py"))]
    return {
        file.relative_to(REPOSITORY).as_posix(): (
            ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        ).partition("\n")[0]
        for file in files
    }


def found_by(word: str) -> list[str]:
    """The modules whose name or first line holds a word; one in several words is a phrase."""
    pattern = re.compile(rf"\b{re.escape(_plain(word))}", re.IGNORECASE)
    return [
        path for path, line in first_lines().items() if pattern.search(f"{_plain(Path(path).stem)}. {_plain(line)}")
    ]


def _plain(text: str) -> str:
    return re.sub(r"[-_]", " ", text)
