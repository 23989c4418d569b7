"""A store's own fields: where some are excluded, the group's values stand in their place, and the other way round."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from syncer.conflict.fields.kept import Document, KeptFields
from syncer.model import ResourceKind
from syncer.replacing import replace

_NO_KEPT: Final = KeptFields()
LOCAL: Final[Mapping[ResourceKind, frozenset[str]]] = {
    ResourceKind.NAMESPACE: frozenset({"bundles", "migrated", "deleted", "clusterThatCanDeleteNamespace"}),
    ResourceKind.PARTITIONED_TOPIC: frozenset({"deleted"}),
}
"""Fields at the top of a document that each store has for itself, of kinds that are carried but for these."""
REPLICATED: Final[Mapping[ResourceKind, frozenset[str]]] = {ResourceKind.CLUSTER: frozenset({"peerClusterNames"})}
"""The only fields that are carried, of kinds with secrets."""


def laid_over(document: Document, names: Collection[str], values: Document) -> Document:
    """A document with other values in the place of some of its fields.

    Args:
        document: It is not changed.
        names: Of the fields.
        values: Theirs; which of them is not there, is absent.
    """
    return {**{name: node for name, node in document.items() if name not in names}, **values}


def part_of(document: Document, names: Collection[str]) -> Document:
    """The fields of a document that have these names."""
    return {name: node for name, node in document.items() if name in names}


def localized(document: Document, present: Document | None, names: Collection[str]) -> Document:
    """A document as it is to stand in a store that has some fields for itself: as they are there, or absent.

    Args:
        document: Of the group.
        present: What the store holds; ``None``: nothing.
        names: Of the fields.
    """
    return laid_over(document, names, {} if present is None else part_of(present, names))


def excluding(
    kept: KeptFields | None, names: tuple[str, ...], group: Document, untold: Collection[str] = ()
) -> KeptFields | None:
    """Kept fields, with the names of the excluded ones, the group's values of these, and of which nothing was told."""
    if not names and (kept is None or kept.empty):
        return None
    left = tuple(name for name in names if name in untold and name not in group)
    return replace(kept or _NO_KEPT, excluded=names, group=group, untold=left)


def limited(kept: KeptFields, names: Collection[str]) -> KeptFields:
    """Kept fields, without the group's values of what is excluded under other names than these."""
    if names or kept.excluded:
        chosen = tuple(name for name in kept.excluded if name in names)
        return replace(kept, excluded=chosen, group=part_of(kept.group, chosen))
    return kept
