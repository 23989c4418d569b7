"""Cluster names: what a region's brokers call a cluster, and what the group calls it.

Paths and values that name clusters are read into the names of the group, and written back into those of the region. So
whatever is decided, digested, told or kept is by the names of the group, and nothing differs by a name alone.

Invariant: both ways are one permutation of all names there may be, so no two names ever become one. A name that is
given away and not given another one takes the place of the last of its chain: with ``a -> b`` alone, ``b`` is read as
``a``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from syncer.conflict.cluster_names.places import ARROW, BELOW, KEYED, LISTS
from syncer.conflict.projection import Document, parse, stored
from syncer.errors import ValueInvalid
from syncer.model import MetaPath
from syncer.paths import classify


def closed(given: Mapping[str, str]) -> dict[str, str]:
    """A permutation that gives these names, by the shortest of its kind: whoever is left without one closes its chain.

    Args:
        given: By the name here, the name in the group; no two are given the same.
    """
    back = {there: here for here, there in given.items()}
    ends = [there for there in given.values() if there not in given]
    found = dict(given)
    for end in ends:
        first = end
        while first in back:
            first = back[first]
        found[end] = first
    return {here: there for here, there in found.items() if here != there}


class ClusterNames:
    """The names of one region's clusters, here and in the group.

    Args:
        given: By the name here, the name in the group.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._in_group = closed(given)
        self._here = {there: here for here, there in self._in_group.items()}
        self._marks = tuple(name.encode() for name in self._in_group)

    def __bool__(self) -> bool:
        return bool(self._in_group)

    def in_group(self, name: str) -> str:
        """What the group calls a cluster of this region."""
        return self._in_group.get(name, name)

    def path_in_group(self, path: MetaPath) -> MetaPath:
        """A path of the store, as the group has it."""
        return _renamed(path, self._in_group)

    def path_here(self, path: MetaPath) -> MetaPath:
        """A path of the group, as the store has it."""
        return _renamed(path, self._here)

    def value_in_group(self, path: MetaPath, value: bytes) -> bytes:
        """A value of the store, as the group has it; one that cannot be read stays as it is.

        Args:
            path: Where it stands, either way.
            value: As stored.
        """
        return self._mapped(path, value, self.in_group)

    def value_here(self, path: MetaPath, value: bytes) -> bytes:
        """A value of the group, as it is to stand in the store."""
        return self._mapped(path, value, lambda name: self._here.get(name, name))

    def _mapped(self, path: MetaPath, value: bytes, name: Callable[[str], str]) -> bytes:
        if not any(mark in value for mark in self._marks):
            return value
        resource = classify(path)
        kind = None if resource is None else resource.kind
        if kind is None or not (kind in LISTS or kind in KEYED):
            return value
        try:
            document = parse(value)
            changed = _in_lists(document, LISTS.get(kind, ()), name) | _in_keys(document, KEYED.get(kind, ()), name)
            return stored(document) if changed else value
        except ValueInvalid:
            return value


def _renamed(path: MetaPath, names: Mapping[str, str]) -> MetaPath:
    if not path.startswith(BELOW):
        return path
    name, slash, rest = path[len(BELOW) :].partition("/")
    return MetaPath(f"{BELOW}{names[name]}{slash}{rest}") if name in names else path


def _in_lists(document: Document, fields: tuple[str, ...], name: Callable[[str], str]) -> bool:
    changed = False
    for field in fields:
        members = document.get(field)
        if isinstance(members, list):
            document[field] = [name(each) if isinstance(each, str) else each for each in members]
            changed |= document[field] != members
    return changed


def _in_keys(document: Document, fields: tuple[str, ...], name: Callable[[str], str]) -> bool:
    changed = False
    for field in fields:
        rates: Any = document.get(field)
        if isinstance(rates, dict):
            document[field] = {_key(key, name): rate for key, rate in rates.items()}
            changed |= document[field].keys() != rates.keys()
    return changed


def _key(key: str, name: Callable[[str], str]) -> str:
    return ARROW.join(name(each) for each in key.split(ARROW))
