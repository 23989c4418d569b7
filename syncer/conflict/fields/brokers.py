"""Knowledge of a region's brokers: the fields that all of them know, as the oldest and the newest of them tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from syncer.conflict.fields import readable
from syncer.conflict.fields.kept import Document, Trees
from syncer.conflict.fields.own import LOCAL, REPLICATED
from syncer.conflict.fields.table import (
    VERSIONS,
    BrokerVersion,
    Tree,
    always_written,
    beyond,
    derived_always,
    derived_fields,
    known_to_all,
    known_to_any,
    listed,
)
from syncer.model import ResourceKind

_NONE: Final[Tree] = {}
"""Fields that brokers of a version beyond the table are known to keep."""


@dataclass(frozen=True, slots=True)
class Brokers:
    """The brokers of a region.

    Args:
        version: Of the oldest of them; ``None``: it cannot be told, so they count as the oldest in the table.
        newest: Version of the newest of them; ``None``: it knows all that the oldest one does.
    """

    version: BrokerVersion | None = None
    newest: BrokerVersion | None = None

    @staticmethod
    def of(oldest: BrokerVersion, newest: BrokerVersion) -> Brokers:
        """The brokers between two versions; the newest one is left out where the oldest tells all.

        Args:
            oldest: Of them.
            newest: Of them, not older.
        """
        found = Brokers(oldest, newest)
        alone = Brokers(oldest)
        told = found.beyond == alone.beyond and all(
            found.known(kind) == alone.known(kind)
            and readable.types_of(kind, listed(oldest)) == readable.types_of(kind, listed(newest))
            for kind in ResourceKind
        )
        return alone if told else found

    @property
    def beyond(self) -> bool:
        """Whether one of them lies beyond the table: then any field that lacks may be one that it does not know."""
        return any(each is not None and beyond(each) is not None for each in (self.version, self.newest))

    def always(self, kind: ResourceKind) -> Tree:
        """The fields that need not be kept: no broker here drops them, or they are the store's own."""
        return local_tree(kind) if self.beyond else oldest_tree(kind)

    def known(self, kind: ResourceKind) -> Tree:
        """The fields of a kind that every broker knows."""
        return _NONE if self.beyond else known_to_all(*self._span(), kind)

    def newer(self, kind: ResourceKind, document: Document) -> Document:
        """The fields of a document that are to be kept, nested ones in their objects."""
        return _trees_beyond(kind).newer(document) if self.beyond else newer_fields(kind, document)

    def trees(self, kind: ResourceKind, document: Mapping[str, Any]) -> Trees:
        """What is known of a kind where this document was written.

        What the document proves goes first: one without the fields that a version always writes was not written by it.
        """
        if self.beyond:
            return _trees_beyond(kind)
        version, newest = self._span()
        while version != VERSIONS[0] and not _may_have_written(version, kind, document):
            version = VERSIONS[VERSIONS.index(version) - 1]
        return _trees(version, newest, kind)

    def _span(self) -> tuple[str, str]:
        """The table's versions that stand for the oldest and the newest of them."""
        version = VERSIONS[0] if self.version is None else listed(self.version)
        newest = self.version if self.newest is None else self.newest
        return version, version if newest is None else listed(newest)


def refusal(brokers: Brokers | None, kind: ResourceKind, document: Mapping[str, Any]) -> str | None:
    """Say why a broker of a region cannot read a document; see :func:`syncer.conflict.fields.readable.refusal`.

    Args:
        brokers: Of the region; ``None``: nothing is known of them.
        kind: Of the document.
        document: As parsed.
    """
    if brokers is None:
        return readable.refusal(kind, document)
    return readable.refusal(kind, document, brokers.version, brokers.newest)


@cache
def local_tree(kind: ResourceKind) -> Tree:
    """The fields that each store has for itself: they are never kept, and never taken from another region's value."""
    carried = REPLICATED.get(kind)
    return dict.fromkeys(LOCAL.get(kind, ()) if carried is None else known_to_any(kind).keys() - carried)


@cache
def oldest_tree(kind: ResourceKind) -> Tree:
    """What every version knows of a kind, with what it works out of that.

    What a newer version works out is no such field: the oldest one does not make it anew, and a document without it
    would never be equal to one with it.
    """
    derived = dict.fromkeys(derived_always(kind))
    return {**known_to_all(VERSIONS[0], VERSIONS[-1], kind), **derived, **local_tree(kind)}


def newer_fields(kind: ResourceKind, document: Document) -> Document:
    """The fields of a document that not every version knows, nested ones in their objects."""
    return _trees(VERSIONS[0], VERSIONS[-1], kind).newer(document)


def _may_have_written(version: str, kind: ResourceKind, document: Mapping[str, Any]) -> bool:
    """Whether a document has all that brokers of a version always write.

    Of what is derived only where it has anything derived at all: whatever passes through a system topic has nothing.
    """
    always, derived = always_written(version, kind), derived_fields(kind)
    return (always - derived if derived.isdisjoint(document) else always) <= document.keys()


@cache
def _trees(oldest: str, newest: str, kind: ResourceKind) -> Trees:
    return Trees(oldest=oldest_tree(kind), newest=known_to_any(kind), brokers=known_to_all(oldest, newest, kind))


@cache
def _trees_beyond(kind: ResourceKind) -> Trees:
    return Trees(oldest=local_tree(kind), newest=known_to_any(kind), brokers=_NONE)
