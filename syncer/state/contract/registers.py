"""Registers: what is known and what is stored of each path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from syncer.conflict.register import Register
from syncer.model import Digest, MetaPath
from syncer.state.contract.conflicts import Amount


class RegisterTransaction(Protocol):
    """The part of a transaction that is about registers."""

    def registers(self, paths: Collection[MetaPath]) -> dict[MetaPath, Register]:
        """The registers that exist, of these paths and in their order."""
        ...

    def save(self, registers: Iterable[Register]) -> None:
        """Insert or replace registers."""
        ...

    def parents_of_living(self, paths: Collection[MetaPath], carried: Callable[[MetaPath], bool]) -> set[MetaPath]:
        """Of these paths, those with a child (:func:`syncer.paths.child_prefixes`) whose stored value is alive.

        Args:
            paths: The paths.
            carried: Whether a child counts: of one that has left the scope nobody knows whether it is there still.
        """
        ...

    def due(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers that are due or have a wish, in path order, beyond ``after``, even on hold or in flight."""
        ...

    def incomplete(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers whose store lacks kept fields, in path order, beyond ``after``."""
        ...

    def count_due(self) -> int:
        """How many registers are due."""
        ...

    def forget_revisions(self) -> None:
        """No register knows at which revision the store holds its value any more: each is compared when it is read."""
        ...

    def intents(self) -> list[Register]:
        """Registers with an open intent, in path order."""
        ...

    def page(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers in path order, beyond ``after``."""
        ...

    def count_alive(self) -> int:
        """How many paths the store was last known to hold. Cheap: kept up to date, not counted."""
        ...

    def living(self, limit: int, after: MetaPath | None = None) -> list[tuple[MetaPath, Digest]]:
        """Paths whose *known* version is alive, with its digest, in path order, beyond ``after``."""
        ...

    def kept_values(self, above_bytes: int) -> Amount:
        """How many values of more bytes than that are due, and how many bytes they have."""
        ...
