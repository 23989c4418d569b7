"""The reach of a reader of policies: the scope, narrowed to tenants or a subtree; and a share among several readers.

Pushed down to where names become known, so that a reader asks for no value that nobody wants.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Self

from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath, ResourceKind
from syncer.paths import (
    CLUSTERS,
    DOMAINS,
    GLOBAL_TOPIC_POLICIES,
    PARTITIONED_TOPICS,
    POLICIES,
    RESOURCE_GROUPS,
    classify,
    first_form_namespace,
    is_under,
    tenant_of,
)
from syncer.wanted.contract import NamesBelow, ReadTerms, ReadTogether

LEVELS: Final = {
    POLICIES: 2,
    PARTITIONED_TOPICS: 4,
    RESOURCE_GROUPS: 1,
    CLUSTERS: 2,
    GLOBAL_TOPIC_POLICIES: 4,
}
"""Below each prefix of a scope, how many levels hold resources."""

FIRST_FORM: Final = "first-form-namespace"
"""Kind of a row that tells of a namespace of the first form (``PROPERTY/CLUSTER/NAMESPACE``); see :class:`Reach`."""
_WITHOUT_TENANT: Final = (RESOURCE_GROUPS, CLUSTERS)
_NAME: Final = "namespaceIsolationPolicies"
"""Of all names the only one that means something by itself, and only below a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The policies that are asked for: a :class:`syncer.wanted.contract.WantedPaths`, all of one moment.

    Args:
        scope: The region's rules.
        tenants: Only what belongs to these; the empty name is what belongs to none. ``None``: all.
        under: Only this path and what is below it. ``None``: all.
        digests: Of the values, too: a reader may make them while its store is at the next answer.
        first_form: Namespaces of the first form become rows of the kind ``FIRST_FORM``, of which nothing is carried.
    """

    scope: Scope = field(default_factory=Scope)
    tenants: frozenset[str] | None = None
    under: MetaPath | None = None
    digests: bool = False
    first_form: bool = False

    def wants(self, path: MetaPath) -> bool:
        """Whether the path is a resource that is asked for."""
        if self.tenants is not None and tenant_of(path) not in self.tenants:
            return False
        if self.under is not None and not is_under(path, self.under):
            return False
        return self.scope.contains(path)

    def enters(self, path: MetaPath) -> bool:
        """Whether something that is asked for may lie below the path."""
        if self.levels_below(path) <= 0:
            return False
        if self.tenants is not None:
            tenant = tenant_of(path)
            if tenant and tenant not in self.tenants:
                return False
        return self.under is None or is_under(path, self.under) or is_under(self.under, path)

    @property
    def terms(self) -> ReadTerms:
        """Terms on which it is read."""
        return ReadTerms(digests=self.digests)

    def levels_below(self, path: MetaPath) -> int:
        """How many levels below the path may hold resources."""
        return levels_below(path) + (self.first_form and is_under(path, POLICIES))

    def below(self, path: MetaPath) -> NamesBelow | None:
        """What is asked for directly below the path; ``None``: nothing."""
        child = MetaPath(f"{path}/{_NAME}")
        resource = classify(child)
        direction = None if resource is None else self.scope.direction_below(path)
        if resource is None and self.first_form and first_form_namespace(child) is not None:
            return self._first_form_below(path)
        if resource is None or direction is Direction.IGNORE:
            return None
        kind = resource.kind
        tenant = None if kind is ResourceKind.TENANT else tenant_of(child)
        if self.tenants is not None and tenant is not None and tenant not in self.tenants:
            return None
        if self.under is not None and not (is_under(path, self.under) or is_under(self.under, path)):
            return None
        by_name = (
            direction is None
            or kind is ResourceKind.ISOLATION_POLICY
            or (self.tenants is not None and tenant is None)
            or (self.under is not None and not is_under(path, self.under))
        )
        if not by_name:
            return NamesBelow(kind=kind.value, tenant=tenant)

        def kind_of(name: str) -> str | None:
            return kind.value if self._wants_named(path, name, kind, tenant) else None

        return NamesBelow(kind=kind.value, tenant=tenant, kind_of=kind_of)

    def _first_form_below(self, path: MetaPath) -> NamesBelow | None:
        tenant = tenant_of(path)
        if self.tenants is not None and tenant not in self.tenants:
            return None
        under = self.under
        if under is None or is_under(path, under):
            return NamesBelow(kind=FIRST_FORM, tenant=tenant)
        above, _, alone = under.rpartition("/")
        if above != path:
            return None
        return NamesBelow(kind=FIRST_FORM, tenant=tenant, kind_of=lambda name: FIRST_FORM if name == alone else None)

    def _wants_named(self, above: MetaPath, name: str, kind: ResourceKind, tenant: str | None) -> bool:
        if kind is ResourceKind.ISOLATION_POLICY and name != _NAME:
            return False
        if self.tenants is not None and tenant is None and name not in self.tenants:
            return False
        path = MetaPath(f"{above}/{name}")
        if self.under is not None and not is_under(path, self.under):
            return False
        return self.scope.direction_of_resource(path) is not Direction.IGNORE

    def together(self, path: MetaPath) -> ReadTogether:
        """A namespace and all of it, or all else of a tenant."""
        match path.split("/")[1:]:
            case ["admin", "policies" | "partitioned-topics", tenant, namespace, *_]:
                return ReadTogether(f"{tenant}/{namespace}", True)
            case ["admin", "policies" | "partitioned-topics", tenant]:
                return ReadTogether(tenant, False)
            case ["admin", "topic-policies", "global", first, *rest]:
                names = rest if first in DOMAINS else [first, *rest]
                return ReadTogether("/".join(names[:2]), True) if len(names) >= 2 else ReadTogether(path, False)
            case ["admin", "clusters", cluster, *_]:
                return ReadTogether(cluster, True)
            case _:
                return ReadTogether(path, False)

    def digested(self) -> Self:
        """The same, with digests of the values."""
        return replace(self, digests=True)

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
                "first_form": self.first_form,
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
            first_form=document["first_form"],
        )


@dataclass(frozen=True, slots=True)
class Share:
    """One of ``of`` readers; what is read together is in exactly one share.

    Decided by names alone, so that what is made while others read already is in one share, too.
    """

    index: int = 0
    of: int = 1

    def holds(self, together: ReadTogether) -> bool:
        """Whether a path is this reader's, by what is read together with it."""
        return self.of == 1 or zlib.crc32(together.name.encode()) % self.of == self.index

    def enters(self, together: ReadTogether) -> bool:
        """Whether something below a path may be this reader's, by what is read together with the path."""
        return not together.whole or self.holds(together)

    def holds_from(self, seed: int, name: str) -> bool:
        """Whether what is read together under a name is this reader's: the checksum goes on from that of its begin."""
        return self.of == 1 or zlib.crc32(name.encode(), seed) % self.of == self.index


WHOLE: Final = Share()


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
