"""The scope of a migration: namespaces in waves, and at last the cluster itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from syncer.errors import PlanInvalid

_OF_THE_SYSTEM: Final = frozenset({"pulsar/system", "public/functions"})
_NAMESPACE: Final = re.compile(r"(?!\.+/)[-=:.\w]+/(?!\.+$)[-=:.\w]+", re.ASCII)
"""``tenant/namespace``, each of signs that Pulsar allows (``NamedEntity``, 4.0.8) and not of dots alone."""
_SCOPED: Final = "Name each namespace once: --canary for the first ones, --wave for each further step."


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationBounds:
    """What a migration may cost.

    Attributes:
        replication_backlog: Entries that a topic may have yet to send to other clusters when it is marked: nobody
            writes it before they are gone.
        subscriptions_per_s: How fast subscriptions are made at green, each of which loads a topic there.
        longest_gap_s: For which producers of a wave may be without an answer; past it an automatic run pauses, as past
            those below.
        ill_topics: Topics of a wave that may have to be read without its mark first.
        missing_clients: Clients of a wave that may not be seen at green.
        drain_s: For which draining may last.
        soak_s: For which blue goes on to answer when all is verified.
    """

    replication_backlog: int = 1_000
    subscriptions_per_s: int = 20
    longest_gap_s: int = 21
    ill_topics: int = 0
    missing_clients: int = 0
    drain_s: int = 3_600
    soak_s: int = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationScope:
    """Namespaces in the order in which they are moved; each once.

    Attributes:
        canary: Those of the first step, by which timing is measured.
        waves: The others.
        whole_cluster: Whether the cluster's own mark is set at the end: it covers what is made later, and topics that
            are not persistent. It is not set while a namespace of clients that is not named here has topics: nobody
            would keep their clients still.

    Raises:
        PlanInvalid: A namespace is named twice, a wave is empty, or there is nothing to move.
    """

    canary: tuple[str, ...]
    waves: tuple[tuple[str, ...], ...] = ()
    whole_cluster: bool = False

    def __post_init__(self) -> None:
        if not self.canary:
            raise PlanInvalid("a migration begins with a canary: name at least one namespace for it", hint=_SCOPED)
        met: set[str] = set()
        for number, wave in enumerate((self.canary, *self.waves)):
            where = f"wave {number}" if number else "the canary"
            if not wave:
                raise PlanInvalid(f"{where} has no namespace", hint=_SCOPED)
            for name in wave:
                if not _NAMESPACE.fullmatch(name):
                    raise PlanInvalid(f"{where} names {name!r}, which is no 'tenant/namespace'", hint=_SCOPED)
                if name in met:
                    raise PlanInvalid(f"{name} is named twice, the second time in {where}", hint=_SCOPED)
                met.add(name)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All of them, in their order."""
        return (*self.canary, *(name for wave in self.waves for name in wave))


def of_clients(namespace: str) -> bool:
    """Whether clients use a namespace; brokers keep a few for themselves: policies, transactions, health checks."""
    tenant, _, rest = namespace.partition("/")
    return namespace not in _OF_THE_SYSTEM and not (tenant == "pulsar" and ":" in rest)


def all_in_waves(topics: Mapping[str, int], *, wave: int, whole_cluster: bool = False) -> MigrationScope:
    """Every namespace, the smallest one as canary, the others in waves from small to large.

    Args:
        topics: Namespace → how many topics it has.
        wave: How many namespaces a wave has, 1 or more; the last one may have fewer.
        whole_cluster: Whether the cluster's own mark is set at the end.

    Raises:
        PlanInvalid: There is none.
    """
    names = sorted(filter(of_clients, topics), key=lambda name: (topics[name], name))
    waves = tuple(tuple(names[begin : begin + wave]) for begin in range(1, len(names), wave))
    return MigrationScope(canary=tuple(names[:1]), waves=waves, whole_cluster=whole_cluster)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Checks that an operator has decided to pass over: name → reason."""

    reasons: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for check, reason in self.reasons.items():
            if not reason.strip():
                raise PlanInvalid(
                    f"the check {check!r} is overridden without a reason", hint="Write it as --override CHECK=REASON."
                )
