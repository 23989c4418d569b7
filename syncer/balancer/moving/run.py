"""A run of moves as it is recorded: how far it is, each move's own standing, and what has to be put back.

What the cluster shows is not among it: that is read anew. Values are plain enough to be kept as JSON, and each is kept
before what it announces is asked of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from syncer.balancer.moving.split import SplitProgress, split_progress_from
from syncer.model import Millis


class RunPhase(StrEnum):
    """How far a run is.

    ::

        waiting ──▶ pausing ──▶ moving ──▶ restoring ──▶ ended
           ▲           │                    ▲   │
           │           └────── stop ────────┘   │
           └────── later: quiet hours, hour ────┘
    """

    WAITING = "waiting"
    """Until bundles may move; the cluster's settings are its own."""
    PAUSING = "pausing"
    """Pulsar's own moves and splits are switched off."""
    MOVING = "moving"
    RESTORING = "restoring"
    """The settings are put back."""
    ENDED = "ended"


class MoveStanding(StrEnum):
    """How far a move is, or how it ended."""

    WAITING = "waiting"
    ASKED = "asked"
    """The unload is announced: it was asked for, or is about to be."""
    AGAIN = "missed-once"
    """Another broker than the target got it; it waits to be asked for again."""
    DONE = "done"
    """The target owns the bundle."""
    ALREADY = "already-there"
    """The target owned it before anything was asked."""
    FOREIGN = "moved-by-others"
    """Another broker owned it, and not by an unload of the run."""
    GONE = "bundle-gone"
    """The range exists no more: it was split."""
    NOT_MADE = "not-made"
    """The bundle is a half of a split that did not come about."""
    FREE = "owned-by-nobody"
    """Nobody served it, so that there was nothing to move."""
    CHANGED = "load-changed"
    """Its load is far from that of the plan."""
    NO_TARGET = "target-gone"
    """The target is no broker of the cluster any more."""
    MISSED = "not-at-the-target"
    """It was asked for as often as is allowed, and the target does not own it."""
    REFUSED = "refused"
    """The cluster refused the unload."""
    LEFT = "left"
    """The run was stopped before it was known where it went."""
    NOT_BEGUN = "not-begun"
    """The run was stopped before."""


OPEN: frozenset[MoveStanding] = frozenset({MoveStanding.WAITING, MoveStanding.ASKED, MoveStanding.AGAIN})


class RunStopCode(StrEnum):
    """Why a run ended before all was moved; errors stop it by their own codes."""

    ASKED = "asked"
    """An operator has asked for it."""
    SETTINGS = "settings-changed"
    """Somebody else has set one of the settings that the run holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStop:
    """Why a run ends before all is moved."""

    code: str
    words: str
    who: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveProgress:
    """How far one move is.

    Attributes:
        asked_ms: When its unload was announced, each time.
        asked_of: The broker that was to let go of the bundle, the last time.
        answered_ms: When the last of them was answered with success.
        ended_ms: When it was seen that it had ended.
        owner: Who was seen to own the bundle last; ``None``: nobody, or nobody has looked.
        words: What the cluster said, where it refused.
    """

    standing: MoveStanding = MoveStanding.WAITING
    asked_ms: tuple[Millis, ...] = ()
    asked_of: str | None = None
    answered_ms: Millis | None = None
    ended_ms: Millis | None = None
    owner: str | None = None
    words: str = ""

    @property
    def observed_s(self) -> float | None:
        """Seconds from the last unload until the target was seen to own it; beside ``MovePrediction.ready_s``.

        ``None`` where nobody saw it, as a daemon that was killed meanwhile.
        """
        if self.standing is not MoveStanding.DONE or self.ended_ms is None or self.answered_ms is None:
            return None
        return (self.ended_ms - self.asked_ms[-1]) / 1000

    def document(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRun:
    """A run.

    Attributes:
        moves: In the order of the plan.
        splits: Those that come before moves of their halves, in the order of the plan.
        former: Setting → what overrode it before the run, ``None``: nothing did; ``None``: the settings are not held.
        stop: Why it ends early.
        until_ms: Before that it begins no move; 0: at once.
        claim: Its name in the cluster, which no other run has; empty: runs of before had none.
        pausings: How often it has asked for the settings since it began to.
    """

    phase: RunPhase = RunPhase.WAITING
    moves: tuple[MoveProgress, ...]
    splits: tuple[SplitProgress, ...] = ()
    former: Mapping[str, str | None] | None = None
    stop: RunStop | None = None
    until_ms: Millis = field(default=Millis(0))
    claim: str = ""
    pausings: int = 0

    def document(self) -> dict[str, Any]:
        """All of it but its moves, as plain data."""
        plain = asdict(self)
        del plain["moves"]
        return plain


def progress_from(document: Mapping[str, Any]) -> MoveProgress:
    """The progress that a document was made of."""
    asked = tuple(Millis(each) for each in document["asked_ms"])
    return MoveProgress(**{**document, "standing": MoveStanding(document["standing"]), "asked_ms": asked})


def move_run_from(document: Mapping[str, Any], moves: tuple[MoveProgress, ...]) -> MoveRun:
    """The run that a document was made of.

    Args:
        document: All of it but its moves.
        moves: In the order of the plan.
    """
    stop = document["stop"]
    own = {
        "phase": RunPhase(document["phase"]),
        "stop": None if stop is None else RunStop(**stop),
        "splits": tuple(map(split_progress_from, document.get("splits", ()))),
    }
    return MoveRun(**{**document, **own}, moves=moves)
