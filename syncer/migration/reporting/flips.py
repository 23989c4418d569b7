"""Waves as they were moved: of each attempt what was foreseen, what was done, and for how long clients were kept still.

Whatever was not noted, since the daemon was killed or is at it just now, is ``None``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from syncer.migration.scope import MigrationScope
from syncer.migration.steering import steps_of
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.migrations import MigrationEvent

BEGUN: Final = "begun"
"""How an attempt has ended of which the end was not noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTopic:
    """What was done to a topic before its namespace was marked.

    Attributes:
        cure: ``brake``, ``gate``, ``gate-and-brake`` or ``refused``.
        why: Why a rate alone did not do, or why it was refused; empty: it did.
        rate: Bytes a second that it was held to; ``None``: to none.
    """

    topic: str
    cure: str
    why: str = ""
    rate: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFlip:
    """An attempt to move a wave.

    Attributes:
        wave: Its number; 0: the canary.
        outcome: ``migrated``, ``unfinished``, ``taken-back``, ``refused``, or :data:`BEGUN`.
        foreseen_gap_s: For which a producer was to be without an answer at most.
        closing_s: From the mark until the last topic had shown that it was migrated.
        held_s: From sending producers away until they were let in again; ``None``: nobody was.
        reasons: Topic, namespace or call → why it has not gone through.
        moved: Topics that were closed at another position than the last that was seen → where.
        shared: Connections that were stopped → who was on them.
    """

    wave: int
    namespaces: tuple[str, ...]
    begun_at_ms: Millis
    outcome: str = BEGUN
    foreseen_gap_s: float
    marked_at_ms: Millis | None = None
    ended_at_ms: Millis | None = None
    closing_s: float | None = None
    held_s: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    topics: tuple[ReportedTopic, ...] = ()
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def flips_of(scope: MigrationScope, events: Iterable[MigrationEvent]) -> tuple[ReportedFlip, ...]:
    """Every attempt, in order.

    Args:
        scope: What is moved.
        events: What was noted, in order.
    """
    waves = {name: number for number, names in enumerate(steps_of(scope)) for name in names}
    found: list[ReportedFlip] = []
    for event in events:
        what: Mapping[str, Any] = event.document
        if event.kind == "foreseen":
            found.append(_begun(event, waves))
        elif not found or found[-1].outcome != BEGUN:
            continue
        elif event.kind == "marked":
            found[-1] = replace(found[-1], marked_at_ms=event.at_ms)
        elif event.kind in {"let-go", "taken-back"}:
            found[-1] = _ended(found[-1], event)
        elif event.kind == "step-ends" and (verdict := what.get("verdict")) is not None:
            found[-1] = replace(
                found[-1], outcome=verdict["outcome"], reasons=verdict["reasons"], ended_at_ms=event.at_ms
            )
    return tuple(found)


def _begun(event: MigrationEvent, waves: Mapping[str, int]) -> ReportedFlip:
    what: Mapping[str, Any] = event.document
    return ReportedFlip(
        wave=waves.get(what["namespaces"][0], 0),
        namespaces=tuple(what["namespaces"]),
        begun_at_ms=event.at_ms,
        foreseen_gap_s=what["longest_gap_s"],
        topics=tuple(
            ReportedTopic(topic=name, cure=cure, why=what["why"].get(name, ""), rate=what["rates"].get(name))
            for name, cure in sorted(what["cures"].items())
        ),
        shared={address: tuple(map(_client, there)) for address, there in sorted(what["shared"].items())},
    )


def _ended(flip: ReportedFlip, event: MigrationEvent) -> ReportedFlip:
    what: Mapping[str, Any] = event.document
    let_go = "unfinished" if what["reasons"] else "migrated"
    return replace(
        flip,
        outcome=let_go if event.kind == "let-go" else event.kind,
        ended_at_ms=event.at_ms,
        closing_s=what.get("closing_s"),
        held_s=what.get("held_s"),
        reasons=what["reasons"],
        moved=what.get("moved", {}),
    )


def _client(row: tuple[str, str, str]) -> str:
    topic, subscription, name = row
    return f"{f'consumer of {subscription}' if subscription else 'producer'} {name} of {topic}"
