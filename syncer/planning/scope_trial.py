"""Trial of a scope: which resources of a store each of its rules decides about now, and which way they flow."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from syncer.conflict.scope import ALLOWED_PREFIXES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import AccessDenied
from syncer.model import MetaPath, ResourceKind
from syncer.paths import (
    CLUSTERS,
    GLOBAL_TOPIC_POLICIES,
    OWN_PREFIX,
    PARTITIONED_TOPICS,
    POLICIES,
    RESOURCE_GROUPS,
    Resource,
    classify,
    fault_of,
    is_under,
    misfit,
    resource_at,
)
from syncer.planning.sources import held
from syncer.stores.contract import Entry, MetadataStore

FORMS: Final = {
    POLICIES: "TENANT and TENANT/NAMESPACE are resources",
    PARTITIONED_TOPICS: "TENANT/NAMESPACE/DOMAIN/TOPIC is a resource",
    RESOURCE_GROUPS: "NAME is a resource",
    CLUSTERS: "CLUSTER and CLUSTER/namespaceIsolationPolicies are resources",
    GLOBAL_TOPIC_POLICIES: "DOMAIN/TENANT/NAMESPACE/TOPIC and TENANT/NAMESPACE/DOMAIN/TOPIC are resources",
}
"""By prefix of the allow-list: the forms of paths that are resources."""

LOCAL: Final = (
    "/admin/local-policies",
    "/admin/topic-policies/local",
    "/bookies",
    "/ledgers",
    "/loadbalance",
    "/managed-ledgers",
    "/namespace",
    "/schemas",
    "/topics",
)
"""Where each cluster keeps what is its own."""


@dataclass(frozen=True, slots=True)
class Ruled:
    """A resource, and the place of the rule that decides about it; ``None``: no rule matches it."""

    path: MetaPath
    resource: Resource
    rule: int | None
    direction: Direction


class Shift(NamedTuple):
    """Which way a path flows by one scope, and by another."""

    now: Direction
    then: Direction


def ruled(scope: Scope, path: MetaPath) -> Ruled:
    """Ask a scope about a path that must be a resource."""
    at = scope.deciding(path)
    return Ruled(path, resource_at(path), at, Direction.IGNORE if at is None else scope.rules[at].direction)


class RuleTally:
    """Counts by rule what is read of a store. One resource is counted by the rule that decides about it.

    Attributes:
        decided: For each rule the resources that it decides about, by kind.
        decided_before: For each rule how many it matches that an earlier one decides about.
        unmatched: Resources that no rule matches, by kind.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.decided = [Counter[ResourceKind]() for _ in scope.rules]
        self.decided_before = [0 for _ in scope.rules]
        self.unmatched = Counter[ResourceKind]()

    def take(self, path: MetaPath, resource: Resource) -> None:
        """Count a resource."""
        matching = self._scope.matching(path)
        if not matching:
            self.unmatched[resource.kind] += 1
            return
        first, *others = matching
        self.decided[first][resource.kind] += 1
        for at in others:
            self.decided_before[at] += 1

    @property
    def flowing(self) -> dict[Direction, Counter[ResourceKind]]:
        """Resources by direction and kind, in the order of directions; those that no rule matches are ignored."""
        found = {direction: Counter[ResourceKind]() for direction in Direction}
        for rule, kinds in zip(self._scope.rules, self.decided, strict=True):
            found[rule.direction] += kinds
        found[Direction.IGNORE] += self.unmatched
        return found


class FirstPaths:
    """The first paths, in order, of all that are put in, and how many there were.

    Args:
        limit: So many are kept, at least one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[MetaPath] = []
        self.total = 0

    def put(self, path: MetaPath) -> None:
        """Count a path, and keep it if it is one of the first."""
        self.total += 1
        if len(self._kept) == self._limit and path > self._kept[-1]:
            return
        at = bisect_left(self._kept, path)
        if self._kept[at : at + 1] == [path]:  # it was changed meanwhile, and came twice
            self.total -= 1
            return
        self._kept.insert(at, path)
        del self._kept[self._limit :]

    @property
    def paths(self) -> Sequence[MetaPath]:
        """Those that were kept, in order."""
        return tuple(self._kept)

    @property
    def more(self) -> int:
        """How many were not kept."""
        return self.total - len(self._kept)


class PathMatches:
    """Collects the resources that a pattern matches, the first ones by path."""

    def __init__(self, pattern: PathPattern, limit: int) -> None:
        self._pattern = pattern
        self.found = FirstPaths(limit)

    def take(self, path: MetaPath, resource: Resource) -> None:
        """Keep a resource that matches."""
        del resource
        if self._pattern.matches(path):
            self.found.put(path)


class ScopeShift:
    """Collects what flows another way by another scope.

    Args:
        now: The scope in effect.
        then: The one that is tried.
        pattern: Only what it matches; ``None``: all.
        limit: So many paths are kept.

    Attributes:
        shifts: Resources that change, by kind.
        unchanged: How many do not.
    """

    def __init__(self, now: Scope, then: Scope, pattern: PathPattern | None, limit: int) -> None:
        self._now = now
        self._then = then
        self._pattern = pattern
        self.shifts: dict[Shift, Counter[ResourceKind]] = {}
        self.unchanged = 0
        self.found = FirstPaths(limit)

    def take(self, path: MetaPath, resource: Resource) -> None:
        """Compare the two for a resource."""
        if self._pattern is not None and not self._pattern.matches(path):
            return
        shift = Shift(self._now.direction_of_resource(path), self._then.direction_of_resource(path))
        if shift.now is shift.then:
            self.unchanged += 1
            return
        self.shifts.setdefault(shift, Counter())[resource.kind] += 1
        self.found.put(path)

    def pairs(self) -> Iterator[tuple[Ruled, Ruled]]:
        """The first paths that change: each by the scope in effect, and by the one that is tried."""
        for path in self.found.paths:
            yield ruled(self._now, path), ruled(self._then, path)


class PathPattern:
    """A pattern in the syntax of the scope's rules, or one path.

    Raises:
        ConfigError: It is no path pattern.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._scope = Scope([Rule(text, Direction.IGNORE)])

    @property
    def path(self) -> MetaPath | None:
        """The one path that it is; ``None``: it has a star."""
        return None if "*" in self.text else MetaPath(self.text)

    def matches(self, path: MetaPath) -> bool:
        """Whether a path matches it."""
        return self._scope.deciding(path) is not None

    @property
    def prefixes(self) -> tuple[MetaPath, ...]:
        """The prefixes below which every resource lies that it can match; none: it can match none."""
        literal = self.text.partition("*")[0]
        folder = literal.rpartition("/")[0]
        if fault_of(folder) is None and any(is_under(folder, prefix) for prefix in ALLOWED_PREFIXES):
            return (MetaPath(folder),)
        return tuple(MetaPath(prefix) for prefix in ALLOWED_PREFIXES if prefix.startswith(literal))


def no_resource_since(path: MetaPath) -> str:
    """Why a path that is no resource is none."""
    if (fault := fault_of(path)) is not None:
        return fault
    for prefix, forms in FORMS.items():
        if is_under(path, prefix):
            return f"below {prefix} only {forms}; the rest are inner nodes, or state that a cluster keeps for itself"
    if any(is_under(path, prefix) for prefix in LOCAL):
        return "it is state that a cluster keeps for itself, outside what may be replicated"
    if is_under(path, OWN_PREFIX):
        return "it is the daemon's own, outside what may be replicated"
    return f"it lies outside what may be replicated: {', '.join(ALLOWED_PREFIXES)}"


@dataclass(frozen=True, slots=True)
class ReadOver:
    """What was not looked at while a store was read.

    Args:
        unfit: Paths that are resources by their place, and that cannot be carried by what they are made of.
        closed: Prefixes outside of the scope that may not be read.
    """

    unfit: int
    closed: tuple[MetaPath, ...]


async def read_over(
    store: MetadataStore,
    prefixes: Iterable[MetaPath],
    take: Callable[[MetaPath, Resource], None],
    *,
    needed: Iterable[MetaPath],
) -> ReadOver:
    """Hand out every resource of a store below some prefixes; memory holds a page at a time.

    Args:
        store: It is open.
        prefixes: None lies below another.
        take: Is told of each resource; of one that changes meanwhile perhaps twice.
        needed: Prefixes that the scope covers. Others may be closed to the daemon.

    Raises:
        StoreError: The store does not answer, or lets nobody read what the scope covers.
    """
    unfit, closed, needed = 0, list[MetaPath](), tuple(needed)
    for prefix in prefixes:
        try:
            async for entries in store.scan(prefix):
                unfit += _handed_out(entries, take)
        except AccessDenied:
            if any(is_under(prefix, each) for each in needed):
                raise
            closed.append(prefix)
    return ReadOver(unfit, tuple(closed))


def _handed_out(entries: Iterable[Entry], take: Callable[[MetaPath, Resource], None]) -> int:
    """Hand out the resources of a page; how many are none by what their paths are made of."""
    unfit = 0
    for entry in filter(held, entries):
        resource = classify(entry.path)
        if resource is not None:
            take(entry.path, resource)
        elif misfit(entry.path) is not None:
            unfit += 1
    return unfit


async def stands_at(store: MetadataStore, path: MetaPath) -> bool:
    """Whether a resource stands at a path.

    Raises:
        StoreError: The store does not answer.
    """
    entry = (await store.read([path]))[path]
    return entry is not None and held(entry)
