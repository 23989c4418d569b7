"""The open migration as plain data: the daemon keeps it with its report, for whoever shows it.

Lists are cut, so that the report stays small however much is moved. Units: ``*_s`` seconds, ``*_ms`` milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Final

from syncer.errors import SyncerError
from syncer.migration.broker_health import BrokerHealth, deadlock_stop
from syncer.migration.checks import Result
from syncer.migration.course import MigrationRun
from syncer.migration.draining import slowest_s
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.running.control.controller import MigrationState
from syncer.migration.running.control.watching import Watched
from syncer.migration.steering import DueStep, StepKind, steps_of
from syncer.state.contract.migrations import Migration

SHOWN: Final = 20
"""Entries of a list that are kept."""
_WORDS: Final = 300
"""Characters of a condition."""


def standing(
    migration: Migration, plan: MigrationPlan | None, run: MigrationRun, due: DueStep | None
) -> dict[str, object]:
    """How a migration is by its record alone."""
    return {
        "id": migration.id,
        "tables": None if plan is None else list(plan.tables),
        "phase": run.standing.phase.value,
        "wave": run.standing.wave,
        "since_ms": run.since_ms,
        "stop": None if run.stop is None else run.stop.code,
        "waves": 0 if plan is None else len(steps_of(plan.scope)),
        "moved": run.moved,
        "missing": sum(len(each.missing) for each in run.verdicts),
        "longest_gap_s": max((each.longest_gap_s for each in run.verdicts), default=0.0),
        "step": None if due is None else due.kind.value,
        "words": "" if due is None else due.words,
        "waits_for": [] if due is None else [each.value for each in due.waits_for],
        "trouble": None,
        **_watched(Watched()),
        "ill": [],
        "undoable": [],
        "blocking": [],
    }


def seen(state: MigrationState) -> dict[str, object]:
    """What the controller that carries it has seen beside that."""
    return {
        **_watched(state.watched),
        "ill": [asdict(each) for each in state.ill[:SHOWN]],
        "turned_at_ms": state.turned_ms,
        "undoable": [asdict(each) for each in state.undoable],
        "blocking": _blocking(state.blocking),
    }


def conditions(
    migration: Migration,
    run: MigrationRun,
    due: DueStep | None,
    trouble: SyncerError | None,
    ill: Sequence[BrokerHealth] = (),
) -> list[tuple[str, str]]:
    """What an operator should look at: code, and message."""
    found = []
    if trouble is not None:
        found.append(("migration-troubled", f"migration {migration.id} is not carried on: {trouble.message}"))
    if run.stop is not None:
        stopped_in = run.standing.stopped_in or run.standing.phase
        words = f"migration {migration.id} has stopped in {stopped_in} ({run.stop.code}): {run.stop.words}"
        found.append(("migration-paused", words))
    elif stop := deadlock_stop(ill):
        found.append(("migration-broker-deadlocked", f"migration {migration.id} waits: {stop.words}"))
    elif due is not None and due.kind is StepKind.WAIT and due.waits_for:
        found.append(("migration-waits", f"migration {migration.id}: {due.words}"))
    return [(code, words if len(words) <= _WORDS else f"{words[:_WORDS]}…") for code, words in found]


def _watched(watched: Watched) -> dict[str, object]:
    held = [each for each in watched.drains if each.held_up is not None]
    first = sorted(watched.drains, key=lambda each: (each.held_up is None, -each.left))
    return {
        "topics": dict(sorted(Counter(state.value for state in watched.states.values()).items())),
        "subscriptions_left": len(watched.drains),
        "entries_left": sum(each.left for each in watched.drains),
        "seconds_left": slowest_s(watched.drains),
        "held_up": len(held),
        "drains": [asdict(each) for each in first[:SHOWN]],
        "to_send": _first(watched.to_send),
        "healing": list(watched.healing[:SHOWN]),
        "deadlocked": [each.broker for each in watched.deadlocked],
    }


def _first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda each: -each[1])[:SHOWN])


def _blocking(results: Iterable[Result]) -> list[dict[str, str]]:
    found: Collection[dict[str, str]] = [
        {"check": each.check.name, "subject": one.subject, "evidence": one.evidence, "remedy": one.remedy}
        for each in results
        for one in each.findings
    ]
    return list(found)[:SHOWN]
