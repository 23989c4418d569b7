"""The rules of notices: from what was told before and what stands now, which notice is due.

Nothing here reads a clock: ``now_ms`` is a clock that never goes back, so that a wall clock which does neither silences
a notice nor repeats one. Each receiver is told for itself, each kind of thing for itself:

                    something stands                   more of it, or newer
        (nothing) ───── RAISED ─────▶ (told of) ──────────── MORE ─────────▶ (told of)
            ▲                          │  ▲ └─ unchanged for 'reminder' ─ REMINDER ─┘
            └───────── CLEARED ────────┘
                     nothing stands

Between two notices of a kind lies at least ``interval``; what happens meanwhile is told by the next one, in its last
form. A notice counts as told once its receiver has taken it, never before: none is lost, and one may come twice.

Units: milliseconds.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

MAX_PATHS: Final = 10
"""Paths that a notice names; it counts the others."""
MAX_REASONS: Final = 20


class NoticeKind(StrEnum):
    """Things that operators are told of."""

    HOLDS = "holds"
    CONFLICTS = "conflicts"
    DIVERGENCE = "divergence"
    QUARANTINE = "quarantine"
    JOBS_FAILED = "jobs-failed"


class NoticeEvent(StrEnum):
    """Occasions of a notice. ``TEST`` is sent by an operator only."""

    RAISED = "raised"
    MORE = "more"
    REMINDER = "reminder"
    CLEARED = "cleared"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outstanding:
    """All of one kind that stands now.

    Args:
        count: How many; 0: nothing.
        newest: Rises with each new one: its number, or its time.
        since_ms: Since when the oldest stands, milliseconds since the epoch; ``None``: not known.
        reasons: Reason and number, the most frequent first, at most ``MAX_REASONS``.
        paths: The first paths, at most ``MAX_PATHS``.
        detail: More in words, without any value.
    """

    count: int
    newest: int = 0
    since_ms: int | None = None
    reasons: tuple[tuple[str, int], ...] = ()
    paths: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The last notice of a kind that a receiver has taken, and what is left of what it told.

    Args:
        number: How many it has taken; part of the next one's id.
        at_ms: When it took the last, by the clock that never goes back; ``None``: none yet.
        open: Whether it was told that something stands, and not yet that it is over.
        count: How many it knows of that have stood ever since.
        newest: The newest one that it was told of.
    """

    number: int = 0
    at_ms: int | None = field(default=None, compare=False)
    open: bool = False
    count: int = 0
    newest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeTerms:
    """How often is told: at most once per ``interval_ms``, and what lasts at least once per ``reminder_ms``."""

    interval_ms: int
    reminder_ms: int


NOTHING_TOLD: Final = Told()


def due(told: Told, standing: Outstanding, now_ms: int, terms: NoticeTerms) -> NoticeEvent | None:
    """Decide if a receiver is to be told of a kind now, and on what occasion.

    Args:
        told: What it knows.
        standing: What stands.
        now_ms: Of the clock that never goes back.
        terms: How often is told.
    """
    since_ms = now_ms - told.at_ms if told.at_ms is not None else None
    if since_ms is not None and since_ms < terms.interval_ms:
        return None
    if not told.open:
        return NoticeEvent.RAISED if standing.count else None
    if not standing.count:
        return NoticeEvent.CLEARED
    if standing.count > told.count or standing.newest > told.newest:
        return NoticeEvent.MORE
    return NoticeEvent.REMINDER if since_ms is not None and since_ms >= terms.reminder_ms else None


def lessened(told: Told, standing: Outstanding) -> Told:
    """Note that fewer stand than were told of, so that the next new one is one more, whatever its time says."""
    return replace(told, count=standing.count) if told.open and standing.count < told.count else told


def taken(told: Told, standing: Outstanding, now_ms: int) -> Told:
    """What a receiver knows once it has taken the notice of what stood.

    Args:
        told: What it knew.
        standing: What the notice told.
        now_ms: When it took it, by the clock that never goes back.
    """
    return Told(
        number=told.number + 1,
        at_ms=now_ms,
        open=bool(standing.count),
        count=standing.count,
        newest=standing.newest,
    )


def restored(told: Told, told_at_ms: int, wall_ms: int, now_ms: int) -> Told:
    """What was kept of a receiver over a restart; a time that lies ahead of the wall clock is taken for now.

    Args:
        told: As it was kept.
        told_at_ms: When the receiver took the last notice, by the wall clock of that time.
        wall_ms: Time of the wall clock.
        now_ms: Of the clock that never goes back.
    """
    return replace(told, at_ms=now_ms - max(0, wall_ms - told_at_ms) if told.number else None)


def id_of(source: str, receiver: str, kind: NoticeKind, told: Told, event: NoticeEvent, standing: Outstanding) -> str:
    """The id of a notice: the same as long as the same is to be told, over retries and restarts.

    Args:
        source: Region and sidecar database; a database that was made anew counts anew.
        receiver: Its name.
        kind: What it tells of.
        told: What the receiver knows.
        event: The occasion.
        standing: What stands.
    """
    parts = (source, receiver, kind, told.number + 1, event, standing.count, standing.newest)
    return "msg_" + hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]
