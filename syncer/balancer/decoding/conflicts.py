"""Conflicts of the extensible manager's channel: which of two states of a bundle stands.

    Init ─▶ any state      (the channel's topic is compacted)
    Free ─▶ Assigning ─▶ Owned ─▶ Releasing ─▶ Assigning
                           │          └──────▶ Free
                           └───▶ Splitting ─▶ Deleted ─▶ Init

A message that no broker would believe changes nothing. Versions rise by one; a bigger gap is what compaction leaves.

Source: ServiceUnitStateDataConflictResolver for a system topic, ServiceUnitState, Pulsar 4.0.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class UnitState(StrEnum):
    """States of a bundle in the channel."""

    INIT = "Init"
    FREE = "Free"
    OWNED = "Owned"
    ASSIGNING = "Assigning"
    RELEASING = "Releasing"
    SPLITTING = "Splitting"
    DELETED = "Deleted"


FOLLOWING: Final[dict[UnitState, frozenset[UnitState]]] = {
    UnitState.INIT: frozenset(UnitState) - {UnitState.INIT},
    UnitState.FREE: frozenset({UnitState.ASSIGNING, UnitState.INIT}),
    UnitState.OWNED: frozenset({UnitState.SPLITTING, UnitState.RELEASING}),
    UnitState.ASSIGNING: frozenset({UnitState.OWNED}),
    UnitState.RELEASING: frozenset({UnitState.ASSIGNING, UnitState.FREE}),
    UnitState.SPLITTING: frozenset({UnitState.DELETED}),
    UnitState.DELETED: frozenset({UnitState.INIT}),
}
"""States that may follow each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRecord:
    """A message of the channel: state of a bundle, who has it or gives it up, who gets it."""

    state: UnitState
    target: str | None = None
    source: str | None = None
    forced: bool = False
    version: int = 0
    written_ms: int | None = None


def stands(known: UnitRecord | None, new: UnitRecord) -> bool:
    """Say whether the known state stands against a new message.

    Args:
        known: The state until now; None where there is none, or a tombstone came.
        new: The message.
    """
    if known is not None:
        if known.version >= new.version:
            return True
        if known.version + 1 < new.version:
            return False
    if new.forced:
        return False
    before = UnitState.INIT if known is None else known.state
    if new.state not in FOLLOWING[before]:
        return True
    return known is not None and not _by_the_same(known, new)


def _by_the_same(known: UnitRecord, new: UnitRecord) -> bool:
    """Whether the brokers of a message are those that may write it."""
    same = (known.target, known.source) == (new.target, new.source)
    match known.state, new.state:
        case UnitState.OWNED, UnitState.SPLITTING:
            return new.target is None and known.target == new.source
        case UnitState.OWNED, UnitState.RELEASING:
            return new.source is not None and known.target == new.source and known.target != new.target
        case UnitState.RELEASING, UnitState.ASSIGNING:
            return new.target is not None and same
        case UnitState.FREE, UnitState.ASSIGNING:
            return new.source is None and new.target is not None
        case (
            (UnitState.ASSIGNING, UnitState.OWNED)
            | (UnitState.RELEASING, UnitState.FREE)
            | (UnitState.SPLITTING, UnitState.DELETED)
        ):
            return same
        case _:
            return True
