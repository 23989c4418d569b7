"""Fields of one resource that differ between regions: exact places, the replicated part apart from the local one.

Places are JSON pointers (RFC 6901), since names may hold dots and slashes. A list is one value: a set of the projection
is sorted first, so its order never differs. What differs in the replicated part is what a repair would change; local
fields (bundles, …) each cluster keeps for itself.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from syncer.conflict.fields.own import part_of
from syncer.conflict.projection import PROJECTIONS, Document, parse
from syncer.errors import ValueInvalid
from syncer.model import ResourceKind

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDifference:
    """One place that is not the same everywhere.

    Args:
        pointer: Where, as a JSON pointer; ``""`` is the whole document.
        values: JSON text with sorted keys by region; ``None`` where the field is absent.
    """

    pointer: str
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What differs between the regions that hold a resource.

    Args:
        replicated: Places in the replicated part, in order.
        local: Places in the fields that belong to one cluster, in order; no repair touches them.
        unreadable: Regions whose value is no JSON object, so that it takes no part here.
        excluded: Places in fields that a region has for itself, in order; no repair touches them.
    """

    replicated: tuple[FieldDifference, ...] = ()
    local: tuple[FieldDifference, ...] = ()
    unreadable: tuple[str, ...] = ()
    excluded: tuple[FieldDifference, ...] = ()


def differences(kind: ResourceKind, values: Mapping[str, bytes]) -> Differences:
    """Compare the values of one path.

    Args:
        kind: What the path means.
        values: Stored bytes by region, of the regions that hold it.
    """
    projection = PROJECTIONS[kind]
    replicated: dict[str, Document] = {}
    local: dict[str, Document] = {}
    unreadable: list[str] = []
    for region, value in sorted(values.items()):
        try:
            whole = parse(value)
            replicated[region] = projection.project(value)
        except ValueInvalid:
            unreadable.append(region)
        else:
            local[region] = projection.own(whole)
    return Differences(
        replicated=tuple(_differing("", replicated)),
        local=tuple(_differing("", local)),
        unreadable=tuple(unreadable),
    )


def differing_parts(
    kind: ResourceKind, values: Mapping[str, bytes], names: Collection[str]
) -> tuple[FieldDifference, ...]:
    """Compare some fields of the values of one path.

    Args:
        kind: What the path means.
        values: Stored bytes by region; what cannot be read takes no part.
        names: Of the fields.
    """
    parts: dict[str, Document] = {}
    for region, value in sorted(values.items()):
        with contextlib.suppress(ValueInvalid):
            parts[region] = part_of(PROJECTIONS[kind].project(value), names)
    return tuple(_differing("", parts))


def _differing(pointer: str, nodes: Mapping[str, Any]) -> Iterator[FieldDifference]:
    if nodes and all(isinstance(node, dict) for node in nodes.values()):
        for name in sorted({name for node in nodes.values() for name in node}):
            below = {region: node.get(name, _ABSENT) for region, node in nodes.items()}
            yield from _differing(f"{pointer}/{_escaped(name)}", below)
        return
    texts = {region: _text(node) for region, node in nodes.items()}
    if len(set(texts.values())) > 1:
        yield FieldDifference(pointer=pointer, values=texts)


def _text(node: Any) -> str | None:  # noqa: ANN401 - any part of a JSON document
    return None if node is _ABSENT else json.dumps(node, ensure_ascii=False, sort_keys=True)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
