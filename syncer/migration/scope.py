"""The scope of a migration: namespaces in waves, and at last the cluster itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from syncer.errors import PlanInvalid


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationBounds:
    """What a migration may cost.

    Attributes:
        replication_backlog: Entries that a topic may have yet to send to other clusters when it is marked: nobody
            writes it before they are gone.
    """

    replication_backlog: int = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationScope:
    """Namespaces in the order in which they are moved; each once.

    Attributes:
        canary: Those of the first step, by which timing is measured.
        waves: The others.
        whole_cluster: Whether the cluster's own mark is set at the end: it covers what is made later, topics that are
            not persistent, and everything that was not named here.

    Raises:
        PlanInvalid: A namespace is named twice, a wave is empty, or there is nothing to move.
    """

    canary: tuple[str, ...]
    waves: tuple[tuple[str, ...], ...] = ()
    whole_cluster: bool = False

    def __post_init__(self) -> None:
        if not self.canary:
            raise PlanInvalid("a migration begins with a canary: name at least one namespace for it")
        met: set[str] = set()
        for number, wave in enumerate((self.canary, *self.waves)):
            where = f"wave {number}" if number else "the canary"
            if not wave:
                raise PlanInvalid(f"{where} has no namespace")
            for name in wave:
                if name.count("/") != 1 or not all(name.split("/")):
                    raise PlanInvalid(f"{where} names {name!r}, which is no 'tenant/namespace'")
                if name in met:
                    raise PlanInvalid(f"{name} is named twice, the second time in {where}")
                met.add(name)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All of them, in their order."""
        return (*self.canary, *(name for wave in self.waves for name in wave))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Checks that an operator has decided to pass over: name → reason."""

    reasons: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for check, reason in self.reasons.items():
            if not reason.strip():
                raise PlanInvalid(f"the check {check!r} is overridden without a reason")
