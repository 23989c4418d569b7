"""Arrays whose order means nothing: where they are in a document, and the one order that they are compared in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

Places: TypeAlias = "tuple[tuple[str, Places], ...]"
"""Where such arrays are: names, and what lies below each; nothing below an array."""


def places_of(sets: Iterable[tuple[str, ...]]) -> Places:
    """Places by their names: what several begin with is gone through once. ``()``: an array is there."""
    below: dict[str, list[tuple[str, ...]]] = {}
    for place in sets:
        below.setdefault(place[0], []).append(place[1:])
    return tuple((name, places_of(each for each in rest if each)) for name, rest in below.items())


def sort_at(node: dict[str, Any], places: Places) -> None:
    """Bring the arrays at these places of a document into order, in the document itself.

    Args:
        node: The document.
        places: Of its arrays whose order means nothing.
    """
    for name, below in places:
        if name != "*":
            child = node.get(name)
            if not below:
                if isinstance(child, list):
                    node[name] = _as_set(child)
            elif isinstance(child, dict):
                sort_at(child, below)
        elif below:
            for child in node.values():
                if isinstance(child, dict):
                    sort_at(child, below)
        else:
            for key, child in node.items():  # values are replaced, never keys
                if isinstance(child, list) and (ordered := _as_set(child)) is not child:
                    node[key] = ordered


def _as_set(members: list[Any]) -> list[Any]:
    """The texts of an array, each once and in order; an array of anything else as it is."""
    if len(members) < 2:
        return members
    if len(members) == 2:  # most roles have so many rights, and millions of policies are read
        one, other = members
        if isinstance(one, str) and isinstance(other, str):
            return members if one < other else [other, one] if other < one else [one]
        return members
    try:
        "".join(members)  # the quickest way to tell whether all of them are texts
    except TypeError:
        return members
    return sorted(set(members))
