"""The report: everything that is told of a migration, as one value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from syncer.migration.course import FORMER, MigrationRun, MigrationStop, run_from
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.phases import MigrationPhase
from syncer.migration.reporting.changes import ReportedChange, changes_of
from syncer.migration.reporting.flips import ReportedFlip, flips_of
from syncer.migration.reporting.happenings import ReportedMoment, timeline_of
from syncer.migration.reporting.reckoning import (
    DISORDERED,
    DOUBLED,
    ReportedFigure,
    ReportedSubscription,
    lost_of,
    subscriptions_of,
)
from syncer.migration.topics import Rollback
from syncer.model import Millis
from syncer.state.contract.migrations import Migration, MigrationEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedMissing:
    """A client of blue that was not seen at green.

    Attributes:
        subscription: That it consumes from; empty: it is a producer.
        address: Of its connection, when it was seen last.
        version: As it told; empty: it did not.
        at_blue: Whether it is still there; else it is nowhere.
    """

    topic: str
    subscription: str
    name: str
    address: str
    version: str
    at_blue: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedClients:
    """The roll call.

    Attributes:
        seen: Clients at blue before the mark.
        started_anew: Of these, those that stand at green under another name.
        missing: Those that do not stand at green, as it was seen last.
    """

    seen: int
    started_anew: int
    missing: tuple[ReportedMissing, ...]

    @property
    def at_green(self) -> int:
        """Those that stand at green."""
        return max(0, self.seen - len(self.missing))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedAsk:
    """What an operator has asked for.

    Attributes:
        refused: Why it was not followed; empty: it was, or will be.
    """

    at_ms: Millis
    command: str
    who: str
    why: str
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedReturn:
    """Whether a migration can be taken back, or was.

    Attributes:
        rollback: What of it could be.
        words: What that means.
        stays: Namespace → what could not be taken back of it, where it was.
        set_still: What has been set and has yet to be put back.
    """

    rollback: Rollback
    words: str
    stays: Mapping[str, str] = field(default_factory=dict)
    set_still: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationReport:
    """The report of a migration.

    Attributes:
        stop: Why it does not go on; ``None``: it does, or has ended.
        lost: Stored entries that a subscription was never given.
        ill: Topics that could not be read after the mark, and were healed → how they were.
    """

    migration: Migration
    plan: MigrationPlan
    stop: MigrationStop | None
    lost: ReportedFigure
    doubled: ReportedFigure
    disordered: ReportedFigure
    clients: ReportedClients
    flips: tuple[ReportedFlip, ...]
    ill: Mapping[str, str]
    subscriptions: tuple[ReportedSubscription, ...]
    changes: tuple[ReportedChange, ...]
    asks: tuple[ReportedAsk, ...]
    back: ReportedReturn
    timeline: tuple[ReportedMoment, ...]


def report_of(
    migration: Migration, plan: MigrationPlan, events: Sequence[MigrationEvent], kept: Collection[str]
) -> MigrationReport:
    """The report of a migration, at whatever point it is.

    Args:
        migration: As it is kept.
        plan: Its plan.
        events: What was noted, in order.
        kept: Keys of what it keeps until it is over.
    """
    run = run_from(migration.run) if migration.run else MigrationRun(since_ms=migration.made_at_ms)
    return MigrationReport(
        migration=migration,
        plan=plan,
        stop=run.stop,
        lost=lost_of(plan.scope.namespaces, events),
        doubled=ReportedFigure(count=None, basis=DOUBLED),
        disordered=ReportedFigure(count=None, basis=DISORDERED),
        clients=_clients(run, events),
        flips=flips_of(plan.scope, events),
        ill={name: state for verdict in run.verdicts for name, state in sorted(verdict.ill.items())},
        subscriptions=subscriptions_of(events),
        changes=changes_of(events),
        asks=_asks(events),
        back=_back(run, events, kept),
        timeline=timeline_of(events),
    )


def _clients(run: MigrationRun, events: Iterable[MigrationEvent]) -> ReportedClients:
    """Whom the last roll call of each namespace has missed; who came later is not."""
    missing: dict[str, tuple[ReportedMissing, ...]] = {}
    for event in events:
        if event.kind == "roll-called":
            what: Mapping[str, Any] = event.document
            for namespace in what["namespaces"]:
                start = f"persistent://{namespace}/"
                missing[namespace] = tuple(
                    ReportedMissing(
                        topic=row[0],
                        subscription=row[1],
                        name=row[2],
                        address=row[3],
                        version=row[4],
                        at_blue=where == "staying",
                    )
                    for where in ("staying", "missed")
                    for row in what[where]
                    if row[0].startswith(start)
                )
    return ReportedClients(
        seen=sum(each.arrived + each.started_anew + len(each.missing) for each in run.verdicts),
        started_anew=sum(each.started_anew for each in run.verdicts),
        missing=tuple(each for found in missing.values() for each in found),
    )


def _asks(events: Sequence[MigrationEvent]) -> tuple[ReportedAsk, ...]:
    found = []
    for place, event in enumerate(events):
        if event.kind == "asked":
            what: Mapping[str, Any] = event.document
            why_not = _why_not(what["command"], events[place + 1 :])
            found.append(
                ReportedAsk(
                    at_ms=event.at_ms, command=what["command"], who=what["who"], why=what["why"], refused=why_not
                )
            )
    return tuple(found)


def _why_not(command: str, later: Iterable[MigrationEvent]) -> str:
    """Why a command was not followed: what is said of it before it is given again."""
    for event in later:
        if event.document.get("command") == command:
            return str(event.document["why"]) if event.kind == "not-followed" else ""
    return ""


def _back(run: MigrationRun, events: Iterable[MigrationEvent], kept: Collection[str]) -> ReportedReturn:
    stays: Mapping[str, str] = {}
    for event in events:
        if event.kind == "undone":
            what: Mapping[str, Any] = event.document
            stays = what["stays"]
    if run.standing.phase is MigrationPhase.CLOSED:
        rollback, words = Rollback.NO, "it is closed: clients come back only by a migration the other way"
    elif run.standing.phase is MigrationPhase.ROLLED_BACK:
        rollback, words = Rollback.PARTLY if stays else Rollback.YES, "it was taken back"
    elif not run.marked:
        rollback, words = Rollback.YES, "nothing was marked: an abort puts everything back"
    else:
        rollback = Rollback.PARTLY
        words = "marks come off where green holds no messages that blue lacks; ledgers that are closed stay closed"
    here = [key.removeprefix(FORMER["blue"]) for key in kept if key.startswith(FORMER["blue"])]
    there = [f"{key.removeprefix(FORMER['green'])} at green" for key in kept if key.startswith(FORMER["green"])]
    still = (*sorted(here), *sorted(there))
    return ReportedReturn(rollback=rollback, words=words, stays=stays, set_still=still)
