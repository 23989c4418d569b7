"""A plan for people: which fields of each resource change, from what to what. Deterministic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from syncer.conflict.projection import PROJECTIONS, Document
from syncer.errors import ValueInvalid
from syncer.plan.diffing import readable
from syncer.plan.operations import Action, Operation

SIGNS: Final = {Action.CREATE: "+", Action.UPDATE: "~", Action.DELETE: "-"}

_MAX_CHARS: Final = 60
_ABSENT: Final = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One field of the replicated part; ``None`` for a side on which it is absent. Values are JSON text, whole."""

    field: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.field}: {_short(self.before)} → {_short(self.after)}"


def changes(operation: Operation) -> tuple[Change, ...]:
    """The fields that an update changes, in order; empty for a create, a delete, and what cannot be read."""
    if operation.before is None or operation.after is None:
        return ()
    projection = PROJECTIONS[operation.resource.kind]
    try:
        before, after = projection.project(operation.before), projection.project(operation.after)
    except ValueInvalid:
        return ()
    return tuple(_changed("", before, after))


def summary(operation: Operation) -> str:
    """What an operation does, in one line."""
    if operation.action is not Action.UPDATE:
        return ""
    found = changes(operation)
    if found:
        return "; ".join(map(str, found))
    if readable(operation.before) and readable(operation.after):
        return "cluster-local fields only"
    return f"not readable: {len(operation.before or b'')} bytes → {len(operation.after or b'')} bytes"


def _changed(prefix: str, before: Document, after: Document) -> Iterator[Change]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if name in before and name in after:
            if isinstance(old, dict) and isinstance(new, dict):
                yield from _changed(f"{prefix}{name}.", old, new)
                continue
            if _text(old) == _text(new):
                continue
        yield Change(
            field=f"{prefix}{name}",
            before=_text(old) if name in before else None,
            after=_text(new) if name in after else None,
        )


def _text(node: Any) -> str:  # noqa: ANN401 - any part of a JSON document
    return json.dumps(node, ensure_ascii=False, sort_keys=True)


def _short(text: str | None) -> str:
    if text is None:
        return _ABSENT
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"
