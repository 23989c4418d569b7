"""Knowledge of a region's brokers: the fields that all of them know, as their oldest version tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from syncer.conflict.fields.kept import Document, Trees
from syncer.conflict.fields.table import (
    VERSIONS,
    BrokerVersion,
    Tree,
    always_written,
    derived_always,
    derived_fields,
    known_fields,
    listed,
    parse_version,
)
from syncer.model import ResourceKind


@dataclass(frozen=True, slots=True)
class Brokers:
    """The brokers of a region.

    Args:
        version: Of the oldest of them; ``None``: it cannot be told, so they count as the oldest in the table.
    """

    version: BrokerVersion | None = None

    def known(self, kind: ResourceKind) -> Tree:
        """The fields of a kind that every broker knows."""
        return known_fields(self.version, kind)

    def trees(self, kind: ResourceKind, document: Mapping[str, Any]) -> Trees:
        """What is known of a kind where this document was written.

        What the document proves goes first: one without the fields that a version always writes was not written by it.
        """
        version = VERSIONS[0] if self.version is None else listed(self.version)
        while version != VERSIONS[0] and not _may_have_written(version, kind, document):
            version = VERSIONS[VERSIONS.index(version) - 1]
        return _trees(version, kind)


@cache
def oldest_tree(kind: ResourceKind) -> Tree:
    """What every version knows of a kind, with what it works out of that.

    What a newer version works out is no such field: the oldest one does not make it anew, and a document without it
    would never be equal to one with it.
    """
    return {**known_fields(None, kind), **dict.fromkeys(derived_always(kind))}


def newer_fields(kind: ResourceKind, document: Document) -> Document:
    """The fields of a document that the oldest version does not know, nested ones in their objects."""
    return _trees(VERSIONS[0], kind).newer(document)


def _may_have_written(version: str, kind: ResourceKind, document: Mapping[str, Any]) -> bool:
    """Whether a document has all that brokers of a version always write.

    Of what is derived only where it has anything derived at all: whatever passes through a system topic has nothing.
    """
    always, derived = always_written(version, kind), derived_fields(kind)
    return (always - derived if derived.isdisjoint(document) else always) <= document.keys()


@cache
def _trees(version: str, kind: ResourceKind) -> Trees:
    return Trees(
        oldest=oldest_tree(kind),
        newest=known_fields(parse_version(VERSIONS[-1]), kind),
        brokers=known_fields(parse_version(version), kind),
    )
