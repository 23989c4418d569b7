"""The phases of a migration: one table of transitions; what is not in it does not happen.

    planned ─▶ preflight ─▶ prepared ─▶ guarded ─▶ canary ─▶ wave ─▶ draining ─▶ verified ─▶ soaking ─▶ closed
                                                              └─▶ wave

From every phase between planned and closed an operator may pause (and resume where it stood) or abort; what breaks the
rules of a migration fails it, and an operator tries again from the same phase, or aborts. Whatever has ended stays
ended: another migration is another plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncer.errors import IllegalTransition
from syncer.replacing import replace


class MigrationPhase(StrEnum):
    """How far a migration is."""

    PLANNED = "planned"
    """The plan is approved; nothing was asked of the clusters but to tell."""
    PREFLIGHT = "preflight"
    """All checks hold, or an operator has overridden them with a reason."""
    PREPARED = "prepared"
    """Green has all that blue's clients will look for."""
    GUARDED = "guarded"
    """Balancing stands still, every topic is loaded, and blue knows where it will send its clients."""
    CANARY = "canary"
    """The first namespaces are being moved."""
    WAVE = "wave"
    """The next ones are."""
    DRAINING = "draining"
    """All are marked; consumers read what is left at blue."""
    VERIFIED = "verified"
    """Nothing is left at blue, everybody was seen at green, and the cluster's own mark is set."""
    SOAKING = "soaking"
    """Blue still answers who comes with its old address."""
    CLOSED = "closed"
    """What was set for the migration is set back; blue may go."""
    PAUSED = "paused"
    """An operator, or a bound, has stopped it; what was begun of a wave is finished, nothing new begins."""
    ABORTING = "aborting"
    """What can be taken back is being taken back."""
    ROLLED_BACK = "rolled-back"
    """It is over; what could be taken back was."""
    FAILED = "failed"
    """Something that must not happen has happened; it waits for an operator."""


class Trigger(StrEnum):
    """What moves a migration on."""

    CHECK = "check"
    PREPARE = "prepare"
    GUARD = "guard"
    GO = "go"
    LAST = "last"
    VERIFY = "verify"
    SOAK = "soak"
    CLOSE = "close"
    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"
    UNDONE = "undone"
    FAIL = "fail"


_ON_THE_WAY: Final = (
    MigrationPhase.PLANNED,
    MigrationPhase.PREFLIGHT,
    MigrationPhase.PREPARED,
    MigrationPhase.GUARDED,
    MigrationPhase.CANARY,
    MigrationPhase.WAVE,
    MigrationPhase.DRAINING,
    MigrationPhase.VERIFIED,
    MigrationPhase.SOAKING,
)

TRANSITIONS: Final[dict[tuple[MigrationPhase, Trigger], MigrationPhase | None]] = {
    (MigrationPhase.PLANNED, Trigger.CHECK): MigrationPhase.PREFLIGHT,
    (MigrationPhase.PREFLIGHT, Trigger.CHECK): MigrationPhase.PREFLIGHT,
    (MigrationPhase.PREFLIGHT, Trigger.PREPARE): MigrationPhase.PREPARED,
    (MigrationPhase.PREPARED, Trigger.GUARD): MigrationPhase.GUARDED,
    (MigrationPhase.GUARDED, Trigger.GO): MigrationPhase.CANARY,
    (MigrationPhase.CANARY, Trigger.GO): MigrationPhase.WAVE,
    (MigrationPhase.CANARY, Trigger.LAST): MigrationPhase.DRAINING,
    (MigrationPhase.WAVE, Trigger.GO): MigrationPhase.WAVE,
    (MigrationPhase.WAVE, Trigger.LAST): MigrationPhase.DRAINING,
    (MigrationPhase.DRAINING, Trigger.VERIFY): MigrationPhase.VERIFIED,
    (MigrationPhase.VERIFIED, Trigger.SOAK): MigrationPhase.SOAKING,
    (MigrationPhase.SOAKING, Trigger.CLOSE): MigrationPhase.CLOSED,
    **{(phase, Trigger.PAUSE): MigrationPhase.PAUSED for phase in _ON_THE_WAY},
    **{
        (phase, Trigger.ABORT): MigrationPhase.ABORTING
        for phase in (*_ON_THE_WAY, MigrationPhase.PAUSED, MigrationPhase.FAILED)
    },
    **{(phase, Trigger.FAIL): MigrationPhase.FAILED for phase in (*_ON_THE_WAY, MigrationPhase.ABORTING)},
    (MigrationPhase.PAUSED, Trigger.RESUME): None,
    (MigrationPhase.FAILED, Trigger.RESUME): None,
    (MigrationPhase.ABORTING, Trigger.UNDONE): MigrationPhase.ROLLED_BACK,
}
"""MigrationPhase and trigger → the next phase; ``None``: the one in which it was stopped."""

ENDED: Final = frozenset({MigrationPhase.CLOSED, MigrationPhase.ROLLED_BACK})
"""Phases that nothing leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationStanding:
    """Where a migration stands.

    Attributes:
        phase: How far it is.
        wave: Number of the wave that was last begun, from 1; 0: none yet.
        stopped_in: The phase in which it was paused or has failed, and goes on.
    """

    phase: MigrationPhase = MigrationPhase.PLANNED
    wave: int = 0
    stopped_in: MigrationPhase | None = None


def step(standing: MigrationStanding, trigger: Trigger) -> MigrationStanding:
    """Take one transition.

    Raises:
        IllegalTransition: The table has none; nothing is changed.
    """
    try:
        target = TRANSITIONS[standing.phase, trigger]
    except KeyError:
        raise IllegalTransition(f"a migration that is {standing.phase} has no {trigger!r}") from None
    if target is None:
        if standing.stopped_in is None:
            raise IllegalTransition(f"a migration that is {standing.phase} does not say in which phase it was stopped")
        return replace(standing, phase=standing.stopped_in, stopped_in=None)
    stops = target in (MigrationPhase.PAUSED, MigrationPhase.FAILED)
    began = standing.wave + 1 if target is MigrationPhase.WAVE else standing.wave
    return replace(standing, phase=target, wave=began, stopped_in=standing.phase if stops else None)
