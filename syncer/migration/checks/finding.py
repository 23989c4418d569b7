"""A check of the preflight, what it looks at, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.migration.evidence import ClusterSeen, NamespaceSeen, TopicSeen
from syncer.migration.scope import MigrationBounds, MigrationScope

_SHOWN: Final = 5


class FindingSeverity(StrEnum):
    """What a finding weighs."""

    BLOCK = "block"
    """Messages or clients would be lost: the migration does not begin, unless an operator overrides the check."""
    NEVER = "never"
    """The same, and no override helps: the migration could not work."""
    WARN = "warn"
    """An operator should know."""


class CheckStage(StrEnum):
    """When a check has to hold."""

    BEFORE = "before"
    """Before anything is changed."""
    PREPARED = "prepared"
    """Once green was prepared: until then its findings are what preparing will do."""
    GUARDED = "guarded"
    """Once blue was guarded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinding:
    """What is wrong, where, how it was seen, and what to do.

    Attributes:
        subject: A broker, a namespace, a topic, a subscription, a client or a cluster, by its name.
        evidence: What was read.
        remedy: What the operator does next.
    """

    severity: FindingSeverity
    subject: str
    evidence: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPair:
    """Both clusters as they were read, and what is to be moved.

    Attributes:
        own_topics: Topics of this product's own bus, in full, of the same names in every cluster.
        claim: Id of the migration that looks; empty: none has begun.
        dead_addresses: Green's addresses at which nobody takes a connection from here → why.
        left_out: Where the cluster's own mark is to be set: blue's namespaces that are not moved and have topics → how
            many.
        first_form: Blue's namespaces of the form ``PROPERTY/CLUSTER/NAMESPACE``, of the tenants that were looked at.
    """

    scope: MigrationScope
    bounds: MigrationBounds
    blue: ClusterSeen
    green: ClusterSeen
    own_topics: frozenset[str] = frozenset()
    claim: str = ""
    dead_addresses: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    first_form: tuple[str, ...] = ()

    def namespaces(self) -> Iterator[NamespaceSeen]:
        """Blue's namespaces in scope, in the order in which they are moved."""
        for name in self.scope.namespaces:
            if (found := self.blue.namespaces.get(name)) is not None:
                yield found

    @property
    def own_namespaces(self) -> frozenset[str]:
        """Namespaces of this product's own bus; each region's daemon has a topic there for its lock."""
        return frozenset(topic.partition("://")[2].rpartition("/")[0] for topic in self.own_topics)

    def topics(self) -> Iterator[TopicSeen]:
        """Blue's topics in scope."""
        for namespace in self.namespaces():
            yield from (namespace.topics[name] for name in sorted(namespace.topics))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question of the preflight.

    Attributes:
        name: Stable, kebab-case; overrides name it.
        asks: The question, in words.
        look: Finds all that is wrong; nothing: it holds.
    """

    name: str
    asks: str
    stage: CheckStage
    look: Callable[[ClusterPair], Iterable[CheckFinding]]


def the_first(names: Sequence[str]) -> str:
    """The first few of many in one line, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return "; ".join(names[:_SHOWN]) + more
