"""The course of a migration that runs: all that is recorded of it, so that a run that was killed goes on where it was.

What the clusters show is not among it: that is read of them. Values are plain enough to be kept as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from syncer.migration.phases import MigrationPhase, MigrationStanding
from syncer.migration.scope import MigrationBounds
from syncer.model import Millis

FORMER: Final[Mapping[str, str]] = {"blue": "former/", "green": "former-green/"}
"""Cluster → how keys of the journal begin that hold what was set there before, and has to be put back."""
_UNTOUCHED: Final = frozenset({"refused", "taken-back"})


class MigrationCommand(StrEnum):
    """What an operator may ask of a migration that runs."""

    GO = "go"
    """Take the step that waits."""
    AUTO = "auto"
    """Take it, and all that follow as long as the plan's bounds hold."""
    PAUSE = "pause"
    """Begin nothing new; what was begun is finished."""
    RESUME = "resume"
    """Go on where it was stopped; what it was stopped for is accepted."""
    ABORT = "abort"
    """Put everything back: only before anything was marked."""
    ROLLBACK = "rollback"
    """Take back what can be taken back, and end."""
    CLOSE = "close"
    """End it: what was set for it is set back, and blue may go."""


class StopCode(StrEnum):
    """Why a migration does not go on by itself; errors stop it by their own codes."""

    ASKED = "asked"
    """An operator has asked for it."""
    BLOCKED = "blocked"
    """A check does not hold."""
    NOT_LOADED = "topics-not-loaded"
    """Topics of blue cannot be loaded: marked they would be stranded."""
    NOT_MOVED = "wave-not-moved"
    """A wave could not be moved as it is; nothing of it is marked, or its mark is off again."""
    GAP = "gap-too-long"
    REPLICATION = "replication-backlog"
    ILL = "topics-ill"
    MISSING = "clients-missing"
    """Clients of blue have not come to green."""
    LAST_MOVED = "last-position-moved"
    """A topic was closed at another position than the last that was seen."""
    DRAIN = "drain-too-long"
    DEADLOCKED = "broker-deadlocked"
    """Threads of a broker wait for each other for ever: only a restart ends that."""
    NOT_ALL = "not-all-moved"
    """The cluster's own mark would take topics along whose clients nobody keeps still."""
    INCOMPLETE = "green-incomplete"
    """Green lacks a topic or a subscription that blue had."""
    NOT_READ = "green-not-read"
    """Consumers at green were given nothing during the soak, though messages waited for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationStop:
    """Why a migration has stopped.

    Attributes:
        code: A :class:`StopCode`, or the code of an error.
        hint: What the operator does next.
        fatal: Whether a rule of migrations was broken: it has failed.
    """

    code: str
    words: str
    hint: str
    fatal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationAsk:
    """A command that was given, by whom, and why."""

    command: MigrationCommand
    who: str
    why: str
    at_ms: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveVerdict:
    """What moving a wave has done.

    Attributes:
        wave: Its number; 0: the canary.
        outcome: ``migrated``, ``refused``, ``taken-back`` or ``unfinished``.
        reasons: Topic, namespace or call → why it has not gone through.
        longest_gap_s: For which a producer was to be without an answer at most, as was said before.
        held_s: From sending producers away until they were let in again; ``None``: nobody was.
        last_moved: Topics that were closed at another position than the last that was seen → where.
        ill: Topics that could not be read after the mark → how they were.
        arrived: Clients that stand at green.
        started_anew: Those that do so under another name.
        missing: Clients that do not, in words.
    """

    wave: int
    outcome: str
    reasons: Mapping[str, str] = field(default_factory=dict)
    longest_gap_s: float = 0.0
    closing_s: float | None = None
    held_s: float | None = None
    last_moved: Mapping[str, str] = field(default_factory=dict)
    ill: Mapping[str, str] = field(default_factory=dict)
    arrived: int = 0
    started_anew: int = 0
    missing: tuple[str, ...] = ()

    @property
    def nothing_marked(self) -> bool:
        """Whether the wave is as it was before."""
        return self.outcome in _UNTOUCHED

    def past(self, bounds: MigrationBounds) -> MigrationStop | None:
        """The first of the plan's bounds that it has passed."""
        if self.last_moved:
            words = f"{shown(self.last_moved)} were written until the end: somebody was not kept still"
            hint = "Compare what these producers know as sent with what is stored before you go on."
            return MigrationStop(code=StopCode.LAST_MOVED, words=words, hint=hint)
        if len(self.ill) > bounds.ill_topics:
            words = f"{shown(self.ill)} could not be read after the mark, and are read now without it"
            hint = "See in the status that they are marked again before you go on."
            return MigrationStop(code=StopCode.ILL, words=words, hint=hint)
        if len(self.missing) > bounds.missing_clients:
            words = f"{shown(self.missing)} have not come to green"
            hint = "Restart these clients at green's address, or go on without them."
            return MigrationStop(code=StopCode.MISSING, words=words, hint=hint)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationRun:
    """A migration that runs.

    Attributes:
        since_ms: When its phase began.
        auto: Whether it goes on by itself as long as bounds hold.
        go: Whether the step that waits may be taken.
        asked: Commands that it has yet to follow.
        moved: Steps of the scope whose clients were moved; the canary is the first.
        marked: Whether a namespace is marked, or may be.
        drained: Whether nothing was left at blue when it was looked at last.
        cluster_marked: Whether the cluster's own mark was set.
        soaked: Whether the time of the soak is over.
        closing: Whether an operator has asked to close it.
        attempts: How often the step that is due was tried in vain.
        accepted: Codes of stops that an operator has accepted in this step.
        closing_s: Longest time from a mark until its last topic had shown that it was migrated.
        verdicts: Of each wave the last one, in their order.
    """

    standing: MigrationStanding = field(default_factory=MigrationStanding)
    since_ms: Millis
    auto: bool = False
    go: bool = False
    asked: tuple[MigrationAsk, ...] = ()
    moved: int = 0
    marked: bool = False
    drained: bool = False
    cluster_marked: bool = False
    soaked: bool = False
    closing: bool = False
    attempts: int = 0
    accepted: tuple[str, ...] = ()
    stop: MigrationStop | None = None
    closing_s: float = 0.0
    verdicts: tuple[WaveVerdict, ...] = ()

    @property
    def shown(self) -> str:
        """How far it is, by what a request says that it was looked at."""
        return f"{self.standing.phase}, wave {self.standing.wave}, {self.moved} moved"

    @property
    def document(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self)


def run_from(document: Mapping[str, Any]) -> MigrationRun:
    """The run that a document was made of."""
    standing, stop = document["standing"], document["stop"]
    stopped_in = standing["stopped_in"]
    return MigrationRun(
        **{
            **document,
            "standing": MigrationStanding(
                phase=MigrationPhase(standing["phase"]),
                wave=standing["wave"],
                stopped_in=None if stopped_in is None else MigrationPhase(stopped_in),
            ),
            "stop": None if stop is None else MigrationStop(**stop),
            "asked": tuple(
                MigrationAsk(**{**each, "command": MigrationCommand(each["command"])}) for each in document["asked"]
            ),
            "accepted": tuple(document["accepted"]),
            "verdicts": tuple(
                WaveVerdict(**{**each, "missing": tuple(each["missing"])}) for each in document["verdicts"]
            ),
        }
    )


def shown(names: Mapping[str, object] | tuple[str, ...]) -> str:
    """The first few of many, and how many more there are."""
    first = sorted(names)[:5]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return "; ".join(first) + more
