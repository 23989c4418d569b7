"""Kept fields: those of a value that not every version of Pulsar knows, as the path last had them.

A broker drops what it does not know when it next writes a value. Nobody has removed it by that: the region keeps it in
its own database, and whatever leaves the region is whole. So a value counts as *completed*: what the store holds, and
what of the kept fields it lacks without anybody having removed it.

Invariants: what is present in the store always counts, only absence is judged. An absence is a removal exactly where
the store was last known to hold the field, and every broker of the region knows it; any other absence keeps the field.

Places are names down nested objects. Arrays are values as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from syncer.conflict.fields.table import Tree
from syncer.making import made_quickly

Document = dict[str, Any]
"""A parsed JSON object."""

_ALL_NEW: Final[Tree] = {}
"""What the oldest version knows below a field that it does not know."""


@dataclass(frozen=True, slots=True)
class KeptFields:
    """Fields of one value that the oldest version does not know.

    Args:
        store: Those that the store was last known to hold.
        gone: Those that it was last known to lack, though nobody removed them.
        owed: Those of another region's value that the next read completes it by: from then on they are gone, or there.
        excluded: Names of fields that the store has for itself, in order.
        group: The group's values of these, of those that it has.
        untold: Names of those of which the stored version tells nothing: it was made here while they were excluded.
    """

    store: Document = field(default_factory=dict)
    gone: Document = field(default_factory=dict)
    owed: Document = field(default_factory=dict)
    excluded: tuple[str, ...] = ()
    group: Document = field(default_factory=dict)
    untold: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there are none by which a value is to be completed."""
        return not (self.store or self.gone or self.owed)


@dataclass(frozen=True, slots=True)
class Shape:
    """A tree of fields, made for the question that most values are asked: whether they have any other one.

    Args:
        names: Of the fields.
        any_name: Every name is one of them.
        below: Fields that have fields, with these.
        each: What is below any other name; ``None``: it is kept whole.
        flat: None of them has fields that matter.
    """

    names: frozenset[str]
    any_name: bool
    below: Mapping[str, Shape]
    each: Shape | None
    flat: bool

    @staticmethod
    def of(tree: Tree) -> Shape | None:
        """The shape of a tree; ``None``: it has every field there may be."""
        node, any_name = tree.get("*"), "*" in tree
        each = None if node is None else Shape.of(node)
        below = {
            name: shape
            for name, node in tree.items()
            if node is not None and name != "*" and (shape := Shape.of(node)) is not None
        }
        flat = not below and each is None
        if any_name and flat:
            return None
        return Shape(frozenset(tree) - {"*"}, any_name, below, each, flat)

    def covers(self, document: Mapping[str, Any]) -> bool:
        """Whether a document has no other fields, nested ones too."""
        if not self.any_name and not document.keys() <= self.names:
            return False
        for name, shape in self.below.items():
            node = document.get(name)
            if (
                node
                and node.__class__ is dict
                and not (node.keys() <= shape.names if shape.flat else shape.covers(node))
            ):
                return False
        each = self.each
        if each is not None:
            for name, node in document.items():
                if (
                    node
                    and node.__class__ is dict
                    and name not in self.names
                    and not (node.keys() <= each.names if each.flat else each.covers(node))
                ):
                    return False
        return True


@dataclass(frozen=True, slots=True)
class Trees:
    """What is known of one kind of resource.

    Args:
        oldest: Fields that every version knows.
        newest: Fields that the newest version in the table knows.
        brokers: Fields that every broker of this region knows.
    """

    oldest: Tree
    newest: Tree
    brokers: Tree
    _shape: Shape | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shape", Shape.of(self.oldest))  # the only way in a frozen class

    def newer(self, document: Document) -> Document:
        """The fields of a document that the oldest version does not know."""
        if self._shape is None or self._shape.covers(document):
            return {}
        return newer_part(document, self.oldest)


@made_quickly
@dataclass(frozen=True, slots=True)
class Completed:
    """A stored value, completed.

    Args:
        added: Whether anything was kept that the store lacks: ``document`` is another one then.
        kept: The kept fields from now on.
        removes: An absence was taken for a removal.
        stood: The same without what was owed; ``None``: nothing of that has completed it.
    """

    document: Document
    added: bool
    kept: KeptFields
    removes: bool
    stood: Document | None = None


def newer_part(document: Mapping[str, Any], oldest: Tree) -> Document:
    """The fields of a document that the oldest version does not know, nested ones in their objects."""
    found: Document = {}
    for name, node in document.items():
        if name in oldest or "*" in oldest:
            below = oldest.get(name, oldest.get("*"))
            if below is not None and isinstance(node, dict) and (part := newer_part(node, below)):
                found[name] = part
        else:
            found[name] = node
    return found


def completed(kept: KeptFields, document: Document, trees: Trees, *, believes: bool) -> Completed:
    """Complete a stored document by the kept fields that it lacks.

    Args:
        kept: The kept fields so far.
        document: As parsed; it is not changed.
        trees: What is known of its kind.
        believes: Whether an absence can be a removal at all; where not, nobody is known to have removed anything.
    """
    present = trees.newer(document)
    if kept.empty:
        return Completed(document, added=False, kept=KeptFields(present) if present else kept, removes=False)
    filling = _Filling()
    stood, gone = filling.laid(kept.store, kept.gone, document, trees, trees.brokers if believes else None)
    if not kept.owed:
        return Completed(stood, added=bool(gone), kept=KeptFields(present, gone), removes=filling.removes)
    whole, owed = filling.laid({}, kept.owed, stood, trees, None)
    gone = joined_parts(gone, owed)
    found = KeptFields(present, gone)
    return Completed(whole, added=bool(gone), kept=found, removes=filling.removes, stood=stood if owed else None)


def any_known(gone: Document, oldest: Tree, brokers: Tree) -> bool:
    """Whether every broker knows some field that the store lacks: then it is to be written back.

    Of an object that they know it is something in it; else a broker that drops that would have it written for ever.
    """
    for name, node in gone.items():
        known_always = name in oldest or "*" in oldest
        if not known_always and name not in brokers and "*" not in brokers:
            continue
        theirs, below = brokers.get(name, brokers.get("*")), oldest.get(name, oldest.get("*"))
        if not isinstance(node, dict) or not node or not theirs:
            if not known_always or _is_whole(node, below):
                return True
        elif any_known(node, below or _ALL_NEW, theirs):
            return True
    return False


def unknown_places(part: Mapping[str, Any], known: Tree, above: str = "") -> Iterator[str]:
    """Return the places of the fields that brokers do not know, as names joined by dots; not those below such a field.

    Args:
        part: Of a document.
        known: The fields that they know.
        above: Place of the part itself, with a dot behind it; empty: it is the top.
    """
    for name, node in part.items():
        if name not in known and "*" not in known:
            yield f"{above}{name}"
        elif (below := known.get(name, known.get("*"))) is not None and isinstance(node, dict):
            yield from unknown_places(node, below, f"{above}{name}.")


def lacks(document: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    """Whether a document lacks a field that a part of another one has."""
    for name, node in part.items():
        if name not in document:
            return True
        theirs = document[name]
        if isinstance(node, dict) and isinstance(theirs, dict) and lacks(theirs, node):
            return True
    return False


def joined_parts(left: Document, right: Document) -> Document:
    """Both, nested ones too; where both have a field, the left one's value."""
    if not right or not left:
        return left or right
    found = {**right, **left}
    for name in left.keys() & right.keys():
        if isinstance(left[name], dict) and isinstance(right[name], dict):
            found[name] = joined_parts(left[name], right[name])
    return found


def without(part: Document, present: Document) -> Document:
    """What a part has, nested ones too, and another one has not."""
    found: Document = {}
    for name, node in part.items():
        if name not in present:
            found[name] = node
            continue
        theirs = present[name]
        if isinstance(node, dict) and isinstance(theirs, dict) and (rest := without(node, theirs)):
            found[name] = rest
    return found


class _Filling:
    """Lays kept fields below a document, and notes what was taken for a removal."""

    def __init__(self) -> None:
        self.removes = False

    def laid(
        self, store: Document, gone: Document, document: Document, trees: Trees, brokers: Tree | None
    ) -> tuple[Document, Document]:
        """The document with the kept fields that it lacks, and those alone. ``brokers``: ``None`` believes nothing.

        Args:
            store: Kept fields that were there: these alone can have been removed, with all that is kept below them.
            gone: Kept fields that were not.
            document: As stored; it is not changed.
            trees: What is known of its kind.
            brokers: The fields that whoever may have removed one knows.
        """
        return self._laid(store, gone, document, trees.oldest, trees.newest, brokers)

    def _laid(
        self, store: Document, gone: Document, document: Document, oldest: Tree, newest: Tree, brokers: Tree | None
    ) -> tuple[Document, Document]:
        whole, missing = document, Document()
        for name, node in joined_parts(store, gone).items():
            known_always = name in oldest or "*" in oldest
            if name in document:
                below, theirs = newest.get(name, newest.get("*")), document[name]
                if not below or not isinstance(theirs, dict):
                    continue  # it is present as a whole
                deeper = oldest.get(name, oldest.get("*")) if known_always else _ALL_NEW
                known = None if brokers is None else brokers.get(name, brokers.get("*")) or _ALL_NEW
                filled, rest = self._laid(
                    _below(store, name), _below(gone, name), theirs, deeper or _ALL_NEW, below, known
                )
                if rest:
                    whole = {**whole, name: filled}
                    missing[name] = rest
            elif known_always and not (name in gone and _is_whole(gone[name], oldest.get(name, oldest.get("*")))):
                continue  # an object that everybody knows was removed, and what was in it
            elif brokers is not None and name in store and (name in brokers or "*" in brokers):
                self.removes = True
            else:
                whole = {**whole, name: node}
                missing[name] = node
        return whole, missing


def _is_whole(node: object, oldest: Tree | None) -> bool:
    """Whether a kept field is one that every broker knows, and not an object that only holds newer ones.

    It was kept while a broker was here of whose version nothing is known.
    """
    if not isinstance(node, dict) or not node or oldest is None:
        return True
    return any(
        (name in oldest or "*" in oldest) and _is_whole(below, oldest.get(name, oldest.get("*")))
        for name, below in node.items()
    )


def _below(part: Document, name: str) -> Document:
    node = part.get(name)
    return node if isinstance(node, dict) else {}
