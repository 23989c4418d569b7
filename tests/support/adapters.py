"""Make many applications quickly: what validates a parameter is made once in a process.

An application has some ninety routes with hundreds of parameters of a few kinds, and each test makes one.
"""

from __future__ import annotations

from typing import Any

from fastapi._compat import v2
from pydantic import TypeAdapter


class SharedAdapters:
    """Makes one ``TypeAdapter`` for each annotation, told apart by how it is written."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], TypeAdapter[Any]] = {}

    def __call__(self, annotation: Any, *, config: Any = None) -> TypeAdapter[Any]:
        """Return the adapter of an annotation."""
        key = repr(annotation), repr(config)
        if key not in self._made:
            self._made[key] = TypeAdapter(annotation, config=config)
        return self._made[key]


def share_adapters() -> None:
    """Have FastAPI use one set of adapters in this program."""
    v2.TypeAdapter = SharedAdapters()  # type: ignore[assignment,attr-defined]  # it is only called there
