"""Repairs as the sidecar database keeps them: what snapshots show to differ, and how far the telling of it is.

Values, and what the shell needs of a transaction about them; see :mod:`syncer.state.contract.transaction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region


class RepairState(StrEnum):
    """Life of a repair: its tellings are brought in, wait to be asked for, are told, and then it is over."""

    LOADING = "loading"
    READY = "ready"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        """Whether nothing of it will be told any more."""
        return self in {RepairState.DONE, RepairState.CANCELLED, RepairState.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What snapshots say of paths that regions hold differently, to be told to the group; and how far that is.

    Args:
        regions: Whose snapshots they were.
        taken_at_ms: When the oldest of these was taken.
        rules: By what they were compared: the scope, or the scopes by region, and the tie order.
        total: How many paths it names; 0 while they are brought in.
        deletes: How many of these are deletes.
        done: How many were decided.
        told: How many of these were put into the outbox.
        superseded: Of how many something greater is known here.
        reread: How many were marked to be read again, here.
        elsewhere: How many another region's daemon has to find in its own store.
        refused: How many were refused, each with its reason.
        through: The last number that was decided.
        detail: Why it failed or was cancelled.
    """

    id: int
    state: RepairState
    regions: tuple[Region, ...]
    taken_at_ms: Millis
    rules: tuple[str, str]
    asked_by: str
    reason: str
    made_at_ms: Millis
    total: int = 0
    deletes: int = 0
    done: int = 0
    told: int = 0
    superseded: int = 0
    reread: int = 0
    elsewhere: int = 0
    refused: int = 0
    through: int = 0
    begun_at_ms: Millis | None = None
    finished_at_ms: Millis | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """One path of a repair: what a region's snapshot holds.

    ``event`` has the stamp of its author; ``None``: ``found_in`` holds what no daemon has stamped.
    """

    number: int
    path: MetaPath
    found_in: Region
    event: MetadataChangeEvent | None


@dataclass(frozen=True, slots=True)
class RefusedTelling:
    """A path of a repair that was not told, and why."""

    number: int
    path: MetaPath
    reason: str


class RepairTransaction(Protocol):
    """The part of a transaction that is about repairs."""

    def repair(self, number: int | None = None) -> Repair | None:
        """A repair by its number; without one, the oldest that is running. Cheap when none is."""
        ...

    def save_repair(self, repair: Repair) -> None:
        """Keep how far a repair is, or that it is over."""
        ...

    def tellings(self, repair: int, limit: int, after: int) -> list[Telling]:
        """What is to be told of a repair, with a number above ``after``, in order."""
        ...

    def decided(self, repair: int, through: int, refused: Sequence[RefusedTelling]) -> None:
        """All up to that number were decided; of these only the refused ones are kept, with the reason."""
        ...
