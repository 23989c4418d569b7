"""Tombstones: deletes that are remembered until no region can bring back what they deleted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from syncer.model import MetaPath, Millis, Stamp


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A path that is known to be deleted, and the stamp of the delete."""

    path: MetaPath
    stamp: Stamp


class TombstoneTransaction(Protocol):
    """The part of a transaction that is about tombstones."""

    def dead(self, limit: int, until: Millis, after: tuple[Millis, MetaPath] | None = None) -> list[Tombstone]:
        """Tombstones with nothing due, stamped at most ``until``, by time and path, beyond ``after``."""
        ...

    def dying(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Paths that are known to be deleted while something of them is unsettled, in path order, beyond ``after``."""
        ...

    def unapplied(self) -> tuple[int, Millis | None]:
        """Deletes that are due and events that wait for their time: how many, and the smallest stamp time.

        They are counted to :data:`syncer.conflict.tombstones.COUNTED`.
        """
        ...

    def drop_tombstones(self, paths: Collection[MetaPath], floor: Millis) -> None:
        """Forget these registers; none of them is alive. ``floor``: no path may ever start at or below it again."""
        ...
