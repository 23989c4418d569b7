"""Table of the fields that the brokers of each version of Pulsar keep, per kind of document.

A broker reads a stored document into a class and writes it back: a field that its class has not is gone. The table
lists the fields that are read and written again. Fields that a class works out of others and only writes are listed
apart, as derived.

Source: ``known_fields.json``, which ``python -m tests.versions VERSION`` writes by asking Pulsar's own classes.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, reduce
from typing import Any, Final, TypeAlias

import orjson

from syncer.model import ResourceKind

Tree: TypeAlias = "Mapping[str, Tree | None]"
"""Fields by their names, with the fields below them. ``None``: what is below is kept whole. ``*``: any name.

Below the top, derived fields stand among the others: they come and go with their object.
"""

_STAGES: Final = ("alpha", "beta", "m", "rc", "snapshot")
"""What comes before a release, in the order of Maven."""
_TEXT: Final = re.compile(
    r"(?P<numbers>\d{1,6}(?:\.\d{1,6}){1,3})(?:-(?P<stage>alpha|beta|m|rc|snapshot)[-.]?(?P<step>\d{1,6})?)?",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True, order=True)
class BrokerVersion:
    """Version of a broker, ordered: what comes before a release is older than it.

    Attributes:
        numbers: Four, filled up with zeros.
        stage: Place among what comes before a release; the release itself is behind all of them.
        step: The number behind the stage: 1 of ``5.0.0-M1``.
    """

    numbers: tuple[int, ...]
    stage: int = len(_STAGES)
    step: int = 0


class Edge(StrEnum):
    """Where the table of versions ends."""

    OLDER = "older"
    NEWER = "newer"


def parse_version(text: str) -> BrokerVersion | None:
    """Read a version as brokers tell it: ``4.0.8``, ``5.0.0-M1``, ``4.3.0-SNAPSHOT``.

    Args:
        text: Untrusted; anything else than a version reads as ``None``.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        return None
    told = [int(number) for number in match["numbers"].split(".")]
    numbers = tuple(told + [0] * (4 - len(told)))
    if match["stage"] is None:
        return BrokerVersion(numbers)
    return BrokerVersion(numbers, _STAGES.index(match["stage"].lower()), int(match["step"] or 0))


def known_fields(version: BrokerVersion | None, kind: ResourceKind) -> Tree:
    """The fields that brokers of a version keep, by the table's version that stands for it.

    A version between two of the table counts as the older one: it may know more than is said here, never less. One that
    is beyond the table counts as the version at that edge; :func:`beyond` tells so.

    Args:
        version: ``None``: it is not known, and counts as the oldest.
        kind: Of the document.
    """
    return _TREES[VERSIONS[0] if version is None else listed(version)][kind]


@cache
def listed(version: BrokerVersion) -> str:
    """The table's version that stands for one: the newest that is not newer; the oldest for all that are older.

    Args:
        version: Of a broker.
    """
    return max((each for each in VERSIONS if _PARSED[each] <= version), key=_PARSED.__getitem__, default=VERSIONS[0])


def beyond(version: BrokerVersion) -> Edge | None:
    """The edge of the table that a version lies beyond: what its brokers know is not known here; ``None``: none.

    Patch releases of the newest line count as that line: Pulsar adds fields in minor releases.

    Args:
        version: Of a broker.
    """
    if version < _PARSED[VERSIONS[0]]:
        return Edge.OLDER
    return Edge.NEWER if version.numbers[:2] > _PARSED[VERSIONS[-1]].numbers[:2] else None


@cache
def known_to_all(oldest: str, newest: str, kind: ResourceKind) -> Tree:
    """The fields that every version from one to another keeps: a later version may have lost some.

    Args:
        oldest: One of :data:`VERSIONS`.
        newest: One of :data:`VERSIONS`, not older.
        kind: Of the document.
    """
    first, last = VERSIONS.index(oldest), VERSIONS.index(newest)
    return reduce(_common, (_TREES[each][kind] for each in VERSIONS[first : last + 1]))


@cache
def known_to_any(kind: ResourceKind) -> Tree:
    """The fields that some version keeps.

    Args:
        kind: Of the document.
    """
    return reduce(_united, (_TREES[each][kind] for each in VERSIONS))


def derived_fields(kind: ResourceKind) -> frozenset[str]:
    """The names, at the top of a document, that some version writes without ever reading them.

    Args:
        kind: Of the document.
    """
    return _DERIVED[kind]


def derived_always(kind: ResourceKind) -> frozenset[str]:
    """Those of :func:`derived_fields` that every version since 4.0 makes anew, or has ceased to write.

    Args:
        kind: Of the document.
    """
    return _DERIVED_ALWAYS[kind]


def always_written(version: str, kind: ResourceKind) -> frozenset[str]:
    """The names that a version writes even where nothing is set, and an older one does not: they prove who wrote it.

    Those of 4.0 and newer are told against 4.0: documents by other tools lack what was always written long before.

    Args:
        version: One of :data:`VERSIONS`.
        kind: Of the document.
    """
    return _WRITTEN[version][kind]


def written_defaults(kind: ResourceKind) -> Mapping[str, Any]:
    """What versions since 4.0 write of :func:`always_written` where nothing is set: absent means the same.

    Projections go by it, so the columns of older versions leave it as it is.

    Args:
        kind: Of the document.
    """
    return _DEFAULTS[kind]


def _common(left: Tree, right: Tree) -> Tree:
    """The fields of both."""
    return {name: _below(_common, node, right[name]) for name, node in left.items() if name in right}


def _united(left: Tree, right: Tree) -> Tree:
    """The fields of either."""
    both = {name: _below(_united, node, right[name]) for name, node in left.items() if name in right}
    return {**left, **right, **both}


def _below(joined: Callable[[Tree, Tree], Tree], left: Tree | None, right: Tree | None) -> Tree | None:
    """What is below a field of two trees; where one of them does not tell, nothing is told."""
    return None if left is None or right is None else joined(left, right)


def _tree(told: Mapping[str, Any]) -> Tree:
    return {name: None if below is True else _tree(below) for name, below in told.items()}


def _read() -> Mapping[str, Any]:
    # importlib.resources costs several times as much to import
    data = pkgutil.get_data(__package__, "known_fields.json")
    return dict(orjson.loads(data or b"{}"))


_TABLE: Final = _read()
_PARSED: Final = {text: version for text in _TABLE if (version := parse_version(text)) is not None}
VERSIONS: Final[tuple[str, ...]] = tuple(sorted(_PARSED, key=_PARSED.__getitem__))
"""The versions of the table, the oldest first."""
_TREES: Final = {
    text: {ResourceKind(kind): _tree(told["fields"]) for kind, told in kinds.items()} for text, kinds in _TABLE.items()
}
_DERIVED: Final = {
    kind: frozenset(name for kinds in _TABLE.values() for name in kinds[kind]["derived"]) for kind in ResourceKind
}
_PROVING: Final = "4.0.8"
"""What this version and newer ones prove is told against it; what older ones prove, against the oldest."""
_DERIVED_ALWAYS: Final = {
    kind: frozenset(
        name
        for name in _DERIVED[kind]
        if name not in _TABLE[VERSIONS[-1]][kind]["derived"] or name in _TABLE[_PROVING][kind]["derived"]
    )
    for kind in ResourceKind
}


def _proofs(text: str, kind: ResourceKind) -> frozenset[str]:
    former = VERSIONS[0] if _PARSED[text] < _PARSED[_PROVING] else _PROVING
    return frozenset(_TABLE[text][kind]["written"]) - frozenset(_TABLE[former][kind]["written"])


_WRITTEN: Final = {text: {kind: _proofs(text, kind) for kind in ResourceKind} for text in VERSIONS}
_DEFAULTS: Final = {
    kind: {
        name: _TABLE[text][kind]["written"][name]
        for text in VERSIONS[VERSIONS.index(_PROVING) :]
        for name in _WRITTEN[text][kind]
    }
    for kind in ResourceKind
}
