"""Documents of a namespace as a referee sees them: what of one a version of brokers knows, and what an edit leaves.

Nothing of how the product completes documents is used: it is what is judged by this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncer.conflict.fields.table import Tree

Document = dict[str, Any]
"""A parsed JSON object."""


def known_part(document: Mapping[str, Any], tree: Tree) -> Document:
    """The part of a document that brokers keep.

    Args:
        document: It is not changed.
        tree: The fields that they know.
    """
    found: Document = {}
    for name, node in document.items():
        if name in tree or "*" in tree:
            below = _below(tree, name)
            found[name] = known_part(node, below) if below is not None and isinstance(node, dict) else node
    return found


def edited(former: object, stored: object, tree: Tree | None) -> object:
    """A field as an edit leaves it: as its author's store has it, with what its brokers dropped.

    Args:
        former: As it was; what is below it and unknown to these brokers stays.
        stored: As the store has it after the edit.
        tree: The fields below it that they know; ``None``: all of it.
    """
    if tree is None or not isinstance(former, dict) or not isinstance(stored, dict):
        return stored
    dropped = {name: node for name, node in former.items() if name not in tree and "*" not in tree}
    return {**dropped, **{name: edited(former.get(name), node, _below(tree, name)) for name, node in stored.items()}}


def lacks(document: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell if a document lacks a field of another one, at whatever depth.

    Args:
        document: That may lack it.
        wanted: The other one; what is ``None`` in it is not there.
    """
    return any(
        name not in document
        or (isinstance(node, dict) and isinstance(document[name], dict) and lacks(document[name], node))
        for name, node in wanted.items()
        if node is not None
    )


def tells_apart(one: Tree | None, other: Tree | None) -> bool:
    """Tell if brokers of two versions keep other parts of a field.

    Args:
        one: What the ones know below it; ``None``: all of it.
        other: What the others know.
    """
    if one is None or other is None:
        return one is not other
    return one.keys() != other.keys() or any(tells_apart(one[name], other[name]) for name in one)


def _below(tree: Tree, name: str) -> Tree | None:
    return tree.get(name, tree.get("*"))
