"""Facts about the database itself, one row: whose it is, its epoch, its generation, how far it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Final, Protocol

from syncer.errors import InvariantBroken
from syncer.model import Millis, Region


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Facts about the database itself, one row.

    Args:
        region: The region that it belongs to.
        database_id: Random, made once; the ``sender`` of its events.
        generation: No other database of the region ever had it; made of the time, so that nothing needs to be known.
        first_scan_done: The first full scan has finished.
        store_id: Id of the store, as found in (or written to) its fence node; ``None`` before the first activation.
        epoch: Rises each time a daemon becomes active on this database; commits of a former one fail.
        last_sequence: Last number given to an event.
        alive_until: When the watch was last known to be whole.
        paused: Whether replication is paused, and why.
        rebuild: How this database takes the place of a lost one, as JSON; ``None``: it takes nobody's place.
        landed: The latest batch of writes that is known to have landed; ``None`` before the first.
        mark: The latest mark that may stand in the fence: it is kept here before it is written there.
        marked: The latest mark that is known to stand there.
        heard_until: When a heartbeat of this region last came back to it from the bus; 0: never.
        projections: By which projections its digests are made, as JSON; ``None``: by the newest of this program.
    """

    region: Region
    database_id: str
    generation: int = 1
    first_scan_done: bool = False
    store_id: str | None = None
    epoch: int = 0
    last_sequence: int = 0
    alive_until: Millis = Millis(0)
    paused: str | None = None
    rebuild: str | None = None
    landed: str | None = None
    mark: int = 0
    marked: int = 0
    heard_until: Millis = Millis(0)
    projections: str | None = None


FIXED_FACTS: Final = frozenset({"region", "database_id", "last_sequence", "epoch"})
_FACTS: Final = frozenset(field.name for field in fields(Identity)) - FIXED_FACTS


def check_changes(changes: Collection[str]) -> None:
    """Refuse changes of facts that are not the caller's to change.

    Raises:
        InvariantBroken: A bug of the caller.
    """
    wrong = sorted(set(changes) - _FACTS)
    if wrong:
        raise InvariantBroken(f"these facts of the database cannot be set: {', '.join(wrong)}")


class IdentityTransaction(Protocol):
    """The part of a transaction that is about the database itself."""

    def identity(self) -> Identity:
        """Facts about the database."""
        ...

    def set_identity(self, **changes: object) -> Identity:
        """Change some fields of the identity (not region, database id or last sequence)."""
        ...
