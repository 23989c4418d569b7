"""The extent of a snapshot: how much of its region was read. Outside of it a snapshot says nothing, not even "absent".

So whatever uses a snapshot (a comparison, a repair, a restore, the guard of the next one, retention) stays inside of
its extent, and of several in what they share. No IO.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from syncer.errors import PreconditionFailed
from syncer.model import MetaPath
from syncer.paths import tenant_of


@dataclass(frozen=True, slots=True)
class Extent:
    """All of a region, or some of its tenants.

    Args:
        tenants: What belongs to these; ``None``: everything. What belongs to no tenant is only in everything.
    """

    tenants: frozenset[str] | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self.tenants is None

    @property
    def empty(self) -> bool:
        """Whether nothing is in it."""
        return self.tenants is not None and not self.tenants

    def covers(self, path: MetaPath) -> bool:
        """Whether a path lies in it."""
        return self.tenants is None or tenant_of(path) in self.tenants

    def includes(self, other: Extent) -> bool:
        """Whether all of another extent lies in it."""
        return self.tenants is None or (other.tenants is not None and other.tenants <= self.tenants)

    def __and__(self, other: Extent) -> Extent:
        if self.tenants is None or other.tenants is None:
            return other if self.tenants is None else self
        return Extent(self.tenants & other.tenants)

    def __str__(self) -> str:
        return "everything" if self.tenants is None else ", ".join(f"tenant {name}" for name in sorted(self.tenants))


WHOLE: Final = Extent()


def extent_of(tenants: Iterable[str] | None) -> Extent:
    """The extent of some tenants; of none named, everything.

    Raises:
        PreconditionFailed: A name is none of a tenant.
    """
    named = frozenset(tenants or ())
    for name in named:
        if not name or "/" in name:
            raise PreconditionFailed(f"{name!r} is no tenant", hint="Name a tenant alone, without its namespaces.")
    return Extent(named) if named else WHOLE


def shared(extents: Iterable[Extent]) -> Extent:
    """What lies in all of them; everything where there are none."""
    return reduce(Extent.__and__, extents, WHOLE)
