"""Exclusions: fields of documents that a region keeps to itself, by rules over paths (rule 15).

A field that is excluded at a path is the region's own there: a change of it is not published, and one from elsewhere is
not written. All other fields of the document replicate as ever. Only fields at the top of a document can be excluded:
half of a policy from here and half from elsewhere is a policy that nobody has set.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from syncer.conflict.fields.table import VERSIONS, known_fields, parse_version
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.scope import ALLOWED_PREFIXES, PathPatterns, Rule, check_rule
from syncer.conflict.settings import NOTHING, Direction, nothing_excluded
from syncer.errors import ConfigError
from syncer.memoizing import memoized
from syncer.model import MetaPath, ResourceKind
from syncer.paths import (
    CLUSTERS,
    GLOBAL_TOPIC_POLICIES,
    PARTITIONED_TOPICS,
    POLICIES,
    RESOURCE_GROUPS,
    classify,
    is_under,
)

NEEDED: Final = {
    ResourceKind.TENANT: frozenset({"allowedClusters"}),
    ResourceKind.NAMESPACE: frozenset({"replication_clusters", "allowed_clusters"}),
    ResourceKind.PARTITIONED_TOPIC: frozenset({"partitions"}),
}
"""Fields by which guards keep topics from being deleted or hidden, and without which a resource cannot be used."""
KINDS_BELOW: Final = {
    POLICIES: (ResourceKind.TENANT, ResourceKind.NAMESPACE),
    PARTITIONED_TOPICS: (ResourceKind.PARTITIONED_TOPIC,),
    RESOURCE_GROUPS: (ResourceKind.RESOURCE_GROUP,),
    CLUSTERS: (ResourceKind.CLUSTER, ResourceKind.ISOLATION_POLICY),
    GLOBAL_TOPIC_POLICIES: (ResourceKind.TOPIC_POLICY,),
}
NAMES_BYTES: Final = 8 << 20
"""Memory for the fields of paths that were asked for."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """These fields of documents whose paths match the pattern are the region's own."""

    pattern: str
    fields: tuple[str, ...]


class Exclusions:
    """The exclusions of one region, compiled; several can match a path, and all of their fields are excluded there.

    Args:
        rules: In any order.
        told: They were noted where they were in force, perhaps by another version: what this one does not know of them
            excludes nothing.

    Raises:
        ConfigError: A pattern is no path pattern, or lies outside of what may be replicated. A field is known in no
            version of Pulsar, is local anyway, or may not be excluded.
    """

    def __init__(self, rules: Sequence[Exclusion] = (), *, told: bool = False) -> None:
        self.rules = tuple(rules)
        twice = [pattern for pattern, count in Counter(each.pattern for each in rules).items() if count > 1]
        if twice and not told:
            raise ConfigError(f"two exclusions have the pattern {twice[0]!r}", hint="Put their fields into one.")
        if not told:
            for each in rules:
                check_rule(Rule(each.pattern, Direction.BOTH))
        self._names = [frozenset(each.fields if told else _checked(each)) for each in rules]
        self._patterns = PathPatterns([each.pattern for each in rules])
        self.at = memoized(NAMES_BYTES)(self._at) if rules else nothing_excluded

    def _at(self, path: MetaPath) -> frozenset[str]:
        """The fields that are excluded at a path; only those that a document of its kind has."""
        found = frozenset[str]().union(*(self._names[at] for at in self._patterns.all(path)))
        resource = classify(path) if found else None
        return found & excludable(resource.kind) if resource is not None else NOTHING


@cache
def excludable(kind: ResourceKind) -> frozenset[str]:
    """The fields of a kind of document that can be excluded: those that some version knows, and that are replicated.

    Those that are withheld can be, too: so they stay here while the group works by a projection that replicates them.
    """
    projection = PROJECTIONS[kind]
    known = set().union(*(known_fields(parse_version(each), kind) for each in VERSIONS)) - {"*"}
    if projection.replicated is not None:
        known &= projection.replicated
    return frozenset(known - _always_local(kind) - NEEDED.get(kind, frozenset()))


def _always_local(kind: ResourceKind) -> frozenset[str]:
    """The fields that are each cluster's own by every projection that a group may work by."""
    projection = PROJECTIONS[kind]
    return (projection.local - projection.withheld) | projection.derived


def _checked(rule: Exclusion) -> tuple[str, ...]:
    kinds = _kinds(rule.pattern)
    if not rule.fields:
        raise ConfigError(f"the exclusion of {rule.pattern!r} names no field")
    for at, name in enumerate(rule.fields):
        if name in rule.fields[:at]:
            raise ConfigError(f"the exclusion of {rule.pattern!r} names {name!r} twice")
        if any(name in excludable(kind) for kind in kinds):
            continue
        raise _refused(rule.pattern, name, kinds)
    return rule.fields


def _refused(pattern: str, name: str, kinds: Sequence[ResourceKind]) -> ConfigError:
    if any(name in NEEDED.get(kind, ()) for kind in kinds):
        return ConfigError(
            f"{name!r} cannot be excluded: what keeps topics from being deleted or hidden goes by it",
            hint="Map the names of clusters with [cluster_names], or leave the whole path out by a rule of [scope].",
        )
    if any(name in _always_local(kind) for kind in kinds):
        return ConfigError(f"{name!r} is each cluster's own already; take it out of the exclusion of {pattern!r}")
    if "." in name:
        return ConfigError(
            f"{name!r}: only a field at the top of a document can be excluded, with all that is in it",
            hint=f"Exclude {name.partition('.')[0]!r}.",
        )
    known = sorted(frozenset[str]().union(*map(excludable, kinds)))
    return ConfigError(
        f"no document that {pattern!r} can match has a field {name!r}",
        hint=f"It can be one of: {', '.join(known)}." if known else "Nothing there can be excluded.",
    )


def _kinds(pattern: str) -> tuple[ResourceKind, ...]:
    """The kinds of documents that a pattern may match: those of its prefixes, as far as its form tells."""
    found = [prefix for prefix in ALLOWED_PREFIXES if is_under(pattern.split("*", 1)[0].rstrip("/"), prefix)]
    kinds = [kind for prefix in found for kind in KINDS_BELOW[MetaPath(prefix)]]
    below = re.fullmatch(r"/admin/policies/([^/]+)(/[^/]+)?", pattern)
    if below is not None and "**" not in pattern:
        kinds = [ResourceKind.TENANT if below[2] is None else ResourceKind.NAMESPACE]
    return tuple(kinds)
