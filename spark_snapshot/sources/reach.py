"""The reach of a reader: the scope, narrowed to tenants or a subtree, and its share among several readers.

Pushed down to where names become known, so that a reader asks for no value that nobody wants.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self

from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath
from syncer.paths import (
    CLUSTERS,
    DOMAINS,
    GLOBAL_TOPIC_POLICIES,
    PARTITIONED_TOPICS,
    POLICIES,
    RESOURCE_GROUPS,
    is_under,
    tenant_of,
)

LEVELS: Final = {
    POLICIES: 2,
    PARTITIONED_TOPICS: 4,
    RESOURCE_GROUPS: 1,
    CLUSTERS: 2,
    GLOBAL_TOPIC_POLICIES: 4,
}
"""Below each prefix of a scope, how many levels hold resources."""

_WITHOUT_TENANT: Final = (RESOURCE_GROUPS, CLUSTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What is asked for.

    Args:
        scope: The region's rules.
        tenants: Only what belongs to these; the empty name is what belongs to none. ``None``: all.
        under: Only this path and what is below it. ``None``: all.
        digests: Of the values, too: a reader may make them while its store is at the next answer.
    """

    scope: Scope = field(default_factory=Scope)
    tenants: frozenset[str] | None = None
    under: MetaPath | None = None
    digests: bool = False

    def wants(self, path: MetaPath) -> bool:
        """Whether the path is a resource that is asked for."""
        if self.tenants is not None and tenant_of(path) not in self.tenants:
            return False
        if self.under is not None and not is_under(path, self.under):
            return False
        return self.scope.contains(path)

    def enters(self, path: MetaPath) -> bool:
        """Whether something that is asked for may lie below the path."""
        if levels_below(path) <= 0:
            return False
        if self.tenants is not None:
            tenant = tenant_of(path)
            if tenant and tenant not in self.tenants:
                return False
        return self.under is None or is_under(path, self.under) or is_under(self.under, path)

    @property
    def roots(self) -> tuple[MetaPath, ...]:
        """Subtrees that hold all that is asked for; none lies in another."""
        roots: list[MetaPath] = []
        for prefix in self.scope.prefixes:
            for root in [prefix] if self.tenants is None else _of_tenants(prefix, sorted(self.tenants)):
                if self.under is None or is_under(root, self.under):
                    roots.append(root)
                elif is_under(self.under, root):
                    roots.append(self.under)
        return tuple(dict.fromkeys(roots))

    def to_json(self) -> str:
        """As text, for an option of a data source."""
        return json.dumps(
            {
                "rules": [[rule.pattern, rule.direction.value] for rule in self.scope.rules],
                "tenants": None if self.tenants is None else sorted(self.tenants),
                "under": self.under,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From that text."""
        document = json.loads(text)
        rules = tuple(Rule(pattern, Direction(direction)) for pattern, direction in document["rules"])
        tenants = document["tenants"]
        return cls(
            scope=Scope(rules) if rules != DEFAULT_RULES else Scope(),
            tenants=None if tenants is None else frozenset(tenants),
            under=document["under"],
        )


@dataclass(frozen=True, slots=True)
class Share:
    """One of ``of`` readers; a namespace and all of it, and all else of a tenant, is in exactly one share.

    Decided by names alone, so that what is made while others read already is in one share, too.
    """

    index: int = 0
    of: int = 1

    def holds(self, path: MetaPath) -> bool:
        """Whether a resource is this reader's."""
        return self.of == 1 or zlib.crc32(_unit(path)[0].encode()) % self.of == self.index

    def enters(self, path: MetaPath) -> bool:
        """Whether something below the path may be this reader's."""
        if self.of == 1:
            return True
        unit, whole = _unit(path)
        return not whole or zlib.crc32(unit.encode()) % self.of == self.index

    def seed(self, folder: MetaPath) -> int | None:
        """The checksum that goes on over a name directly below a path, to tell whose it is.

        ``None``: all below the path belongs to one share, as one child does.
        """
        if self.of == 1 or _unit(folder)[1]:
            return None
        unit, _ = _unit(MetaPath(f"{folder}/_"))
        return zlib.crc32(unit[:-1].encode())


WHOLE: Final = Share()


def _unit(path: MetaPath) -> tuple[str, bool]:
    """What is read together with a path, and whether all below the path belongs to the same."""
    match path.split("/")[1:]:
        case ["admin", "policies" | "partitioned-topics", tenant, namespace, *_]:
            return f"{tenant}/{namespace}", True
        case ["admin", "policies" | "partitioned-topics", tenant]:
            return tenant, False
        case ["admin", "topic-policies", "global", first, *rest]:
            names = rest if first in DOMAINS else [first, *rest]
            return ("/".join(names[:2]), True) if len(names) >= 2 else (path, False)
        case ["admin", "clusters", cluster, *_]:
            return cluster, True
        case _:
            return path, False


def levels_below(path: MetaPath) -> int:
    """How many levels below the path may hold resources; 0 outside of all prefixes."""
    for prefix, levels in LEVELS.items():
        if is_under(path, prefix):
            return levels - path.count("/", len(prefix))
    return 0


def _of_tenants(prefix: MetaPath, tenants: Iterable[str]) -> Iterable[MetaPath]:
    for tenant in tenants:
        if not tenant:
            if prefix in _WITHOUT_TENANT:
                yield prefix
        elif prefix == GLOBAL_TOPIC_POLICIES:
            yield from (MetaPath(f"{prefix}/{domain}/{tenant}") for domain in sorted(DOMAINS))
            if tenant not in DOMAINS:
                yield MetaPath(f"{prefix}/{tenant}")
        elif prefix not in _WITHOUT_TENANT:
            yield MetaPath(f"{prefix}/{tenant}")
