"""The reckoning: what each subscription had left at blue and has read at green, and what can be said of losses.

All of it is in entries, as brokers count: a batch is one. Where nobody can know a figure it has none, and it is said
why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from syncer.migration.course import shown
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.migrations import MigrationEvent

_AS_READ: Final = "what was skipped, cleared or has expired counts as read"
DOUBLED: Final = "not measured: brokers do not count what applications were given twice"
DISORDERED: Final = "not measured: brokers do not see in which order applications were given messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFigure:
    """A figure, and how it is known.

    Attributes:
        count: ``None``: it is not known.
        basis: How it is known, or why it is not.
    """

    count: int | None
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSubscription:
    """A subscription, before the mark and after it; ``None``: that was not noted.

    Attributes:
        backlog_at_mark: Entries that it had yet to read at blue when its topic stood still.
        read_at_blue: Of these, those that it has read there since.
        drained_at_ms: When nothing was left for it at blue, as far as it was looked.
        stored_at_green: Entries that were published at green since then.
        read_at_green: Of these, those that it has read.
        consumers_at_green: That were seen there last.
    """

    topic: str
    subscription: str
    backlog_at_mark: int | None = None
    read_at_blue: int | None = None
    drained_at_ms: Millis | None = None
    stored_at_green: int | None = None
    read_at_green: int | None = None
    consumers_at_green: int | None = None


def subscriptions_of(events: Iterable[MigrationEvent]) -> tuple[ReportedSubscription, ...]:
    """Every subscription that was seen when its topic stood still, or at green, by topic and name."""
    found: dict[tuple[str, str], ReportedSubscription] = {}
    left: set[tuple[str, str]] = set()
    for event in events:
        what: Mapping[str, Any] = event.document
        if event.kind == "still":
            for topic, backlogs in what["backlog"].items():
                for name, backlog in backlogs.items():
                    (left.add if backlog else left.discard)((topic, name))
                    found[topic, name] = ReportedSubscription(
                        topic=topic,
                        subscription=name,
                        backlog_at_mark=backlog,
                        drained_at_ms=None if backlog else event.at_ms,
                    )
        elif event.kind == "drained":
            topics, emptied = frozenset(what["topics"]), {(topic, name) for topic, name in what["subscriptions"]}
            for key in [each for each in left if each[0] in topics or each in emptied]:
                found[key] = replace(found[key], drained_at_ms=event.at_ms)
                left.remove(key)
        elif event.kind == "tallied":
            for topic, row in what["topics"].items():
                for name, seen in row["subscriptions"].items():
                    before = found.get((topic, name)) or ReportedSubscription(topic=topic, subscription=name)
                    found[topic, name] = _tallied(before, row, seen)
    return tuple(found[key] for key in sorted(found))


def lost_of(namespaces: Sequence[str], events: Iterable[MigrationEvent]) -> ReportedFigure:
    """How many stored entries a subscription was never given: none, where that can be known.

    Args:
        namespaces: That are moved.
        events: What was noted, in order.
    """
    tallies: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if event.kind == "tallied":
            what: Mapping[str, Any] = event.document
            tallies[what["namespace"]] = what["topics"]
    if left := tuple(each for each in namespaces if each not in tallies):
        return ReportedFigure(count=None, basis=f"not measured: not verified yet: {shown(left)}")
    doubts = {name: why for rows in tallies.values() for name, row in rows.items() if (why := _doubt(row))}
    if doubts:
        named = {f"{name}: {why}": why for name, why in doubts.items()}
        return ReportedFigure(count=None, basis=f"not known: {shown(named)}")
    topics = sum(len(rows) for rows in tallies.values())
    basis = (
        f"every topic ends at blue where it was closed, no subscription has anything left to read there, and green has "
        f"every subscription (topics: {topics}); {_AS_READ}"
    )
    return ReportedFigure(count=0, basis=basis)


def _doubt(row: Mapping[str, Any]) -> str:
    """Why nobody can say that nothing of a topic was lost; empty: one can."""
    if not row["read_at_blue"]:
        return "it was not read to its end at blue"
    if row["closed_at"] is None:
        return "where it was closed was not noted"
    if row["ends_at"] not in {None, row["closed_at"]}:
        return f"it was closed at {row['closed_at']}, and ends at {row['ends_at']}"
    return f"green lacks {', '.join(row['lacking'])}" if row["lacking"] else ""


def _tallied(before: ReportedSubscription, row: Mapping[str, Any], seen: Mapping[str, int]) -> ReportedSubscription:
    stored: int | None = row["stored"]
    known = stored is not None and stored >= seen["backlog"]
    return replace(
        before,
        read_at_blue=before.backlog_at_mark if row["read_at_blue"] else None,
        stored_at_green=stored,
        read_at_green=stored - seen["backlog"] if stored is not None and known else None,
        consumers_at_green=seen["consumers"],
    )
