"""Migrations as the sidecar database keeps them: each with its plan, what must be put back, and what has happened.

Values, and the part of a transaction that is about them; see :mod:`syncer.state.contract.transaction`. Phases, and what
leads from one to the next, are the caller's; the database knows one that is open from those that are over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from syncer.errors import NotFound, PreconditionFailed
from syncer.model import Millis

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """A migration of one cluster's clients to another, and how far it is. Its plan is kept beside it.

    Args:
        id: Its number; 0 until it is kept.
        claim: By what clusters know it: given by who begins it, such that no other migration has it, here or elsewhere.
        fingerprint: SHA-256 of its plan, in hexadecimal.
        phase: How far it is.
        run: All that is recorded of how it runs, as plain data; empty: it has not begun.
        asked_by: Who started it.
        reason: Why.
        reverses: Number of the migration that it takes back.
        changed_at_ms: When its run was kept last.
        finished_at_ms: When it was over: nothing leaves its phase any more. ``None``: it is open.
    """

    id: int = 0
    claim: str
    fingerprint: str
    phase: str
    run: Mapping[str, object] = field(default_factory=dict)
    asked_by: str
    reason: str
    reverses: int | None = None
    made_at_ms: Millis
    changed_at_ms: Millis
    finished_at_ms: Millis | None = None

    @property
    def over(self) -> bool:
        """Whether nothing will be done for it any more."""
        return self.finished_at_ms is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationEvent:
    """Something that has happened in a migration.

    Args:
        number: Among the events of that migration, from 1, without gaps.
        kind: Names it; ``document`` is its own: plain data, such as who, why, request and answer.
    """

    number: int
    at_ms: Millis
    kind: str
    document: Mapping[str, object]


class MigrationTransaction(Protocol):
    """The part of a transaction that is about migrations."""

    def begin_migration(self, migration: Migration, plan: str) -> int:
        """Keep a new migration and its plan; its number.

        Raises:
            PreconditionFailed: Another one is open.
        """
        ...

    def migration(self, number: int | None = None) -> Migration | None:
        """A migration by its number; without one, the one that is open. Cheap when none is."""
        ...

    def migration_plan(self, number: int) -> str:
        """The plan of a migration, as it was given.

        Raises:
            NotFound: There is no such migration.
        """
        ...

    def save_migration(self, migration: Migration) -> None:
        """Keep how far an open migration is, or that it is over.

        Raises:
            NotFound: There is no such migration.
            PreconditionFailed: It was over before, or it would be while there are values that must be put back.
        """
        ...

    def migration_values(self, number: int, start: str = "") -> dict[str, object]:
        """Values that must be put back or done with before a migration is over, by key, in the order of keys.

        Args:
            number: The migration's.
            start: Only of keys that begin so.
        """
        ...

    def remember_value(self, number: int, key: str, value: object) -> None:
        """Keep a value, plain data, for an open migration; a later one of the same key takes its place.

        Raises:
            NotFound: There is no such migration.
            PreconditionFailed: It is over.
        """
        ...

    def forget_value(self, number: int, key: str) -> None:
        """Keep a value no longer; that there is none is no error."""
        ...

    def add_migration_event(
        self, number: int, kind: str, document: Mapping[str, object], now: Millis
    ) -> MigrationEvent:
        """Add to what has happened in a migration; the event under its number.

        Raises:
            NotFound: There is no such migration.
        """
        ...


def require_none_open(migration: Migration | None) -> None:
    """Go on only where no migration is open.

    Raises:
        PreconditionFailed: This one is.
    """
    if migration is not None:
        raise PreconditionFailed(
            f"migration {migration.id} is not over: it is {migration.phase}",
            hint="Close it or abort it first: a daemon carries out one migration at a time.",
        )


def require_known(migration: Migration | None, number: int) -> Migration:
    """The migration of that number.

    Raises:
        NotFound: There is none.
    """
    if migration is None:
        raise NotFound(f"there is no migration {number}")
    return migration


def require_open(migration: Migration | None, number: int) -> None:
    """Go on only where the migration of that number is open.

    Raises:
        NotFound: There is none.
        PreconditionFailed: It is over.
    """
    found = require_known(migration, number)
    if found.over:
        raise PreconditionFailed(f"migration {number} is over: it is {found.phase}")


def require_put_back(migration: Migration, keys: Collection[str]) -> None:
    """Let a migration be over only when every former value was put back.

    Args:
        migration: The one that would be over.
        keys: Of values that are still kept for it.

    Raises:
        PreconditionFailed: There are some; the first few are named.
    """
    if keys:
        more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
        raise PreconditionFailed(
            f"migration {migration.id} is not over: these were not put back: {', '.join(sorted(keys)[:_SHOWN])}{more}",
            hint="Let the daemon put them back; it goes on by itself once both clusters answer.",
        )
