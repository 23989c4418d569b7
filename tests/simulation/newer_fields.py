"""Newer fields of namespaces, those that not every version of Pulsar knows: leaf by leaf, and values without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from syncer.conflict.fields.table import Tree, known_fields, parse_version
from syncer.model import MetaPath, ResourceKind
from syncer.paths import classify

Leaf = tuple[str, ...]
"""Names down to a field that has none below it."""
Leaves = dict[Leaf, Any]

KIND: Final = ResourceKind.NAMESPACE
METRIC_KEYS: Final = "allowed_topic_property_keys_for_metrics"
AUTO_SCALE: Final = "scalableTopicAutoScalePolicy"
AUTO_UPDATE: Final = "is_allow_auto_update_schema_with_replicator"
PLAYED: Final = ("4.0.8", "4.2.4", "5.0.0-M1")
"""Versions of brokers here, the oldest first; those that are older differ in no field that writers here use."""
NEWER: Final = frozenset({METRIC_KEYS, AUTO_SCALE, AUTO_UPDATE})
"""All of them at the top of the document, which the tests of this module's users hold against the table."""
LIMIT: Final = "max_topics_per_namespace"
RETENTION: Final = "retention_policies"
APART: Final = NEWER | {LIMIT, RETENTION}
"""These have rules of their own: newer fields, and those that regions may have for themselves."""
_MARKS: Final = tuple(name.encode() for name in sorted(APART))


def known_to(version: str) -> Tree:
    """The fields of a namespace that brokers of a version know."""
    return known_fields(parse_version(version), KIND)


def newer_by_table() -> frozenset[str]:
    """The fields of the newest version that the oldest one of :data:`PLAYED` lacks; what writers use has to be that."""
    return frozenset(known_to(PLAYED[-1])) - frozenset(known_to(PLAYED[0]))


def without_newer(path: MetaPath, value: bytes) -> bytes:
    """A value without the fields that have rules of their own: what becomes of them leaves it as it is."""
    if not any(mark in value for mark in _MARKS):
        return value
    resource = classify(path)
    if resource is None or resource.kind is not KIND:
        return value
    return orjson.dumps({name: node for name, node in orjson.loads(value).items() if name not in APART})


def leaves_of(value: bytes | None) -> Leaves:
    """The newer fields of a value."""
    if value is None or not any(mark in value for mark in _MARKS):
        return {}
    return leaves_in({name: node for name, node in orjson.loads(value).items() if name in NEWER})


def writes_default(value: bytes | None) -> bool:
    """Whether a value has a default by name: a program before this one takes it for a field like any other."""
    return value is not None and orjson.loads(value).get(AUTO_UPDATE) is True


def leaves_in(document: Mapping[str, Any]) -> Leaves:
    """All fields of a document that have none below them."""
    return dict(_leaves(document, ()))


def _leaves(node: Mapping[str, Any], above: Leaf) -> Iterator[tuple[Leaf, Any]]:
    for name, below in node.items():
        if isinstance(below, dict):
            yield from _leaves(below, (*above, name))
        elif above or name != AUTO_UPDATE or below is not True:  # absent is the same as what is written by default
            yield (*above, name), below


def shown(leaf: Leaf) -> str:
    """A field in words."""
    return ".".join(leaf)
