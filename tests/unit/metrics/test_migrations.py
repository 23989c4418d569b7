"""Metrics of a migration: they say what its report says, and know every phase, state and reason to stop."""

from __future__ import annotations

from syncer.errors import AdminDenied, AdminError, AdminUnreachable, MigrationClaimed
from syncer.metrics import Metrics, migrations
from syncer.migration.course import StopCode
from syncer.migration.phases import MigrationPhase
from syncer.migration.topics import TopicState

REPORT = {
    "phase": "draining",
    "since_ms": 1_790_000_000_500,
    "turned_at_ms": 1_790_000_060_000,
    "stop": None,
    "trouble": None,
    "waves": 4,
    "moved": 3,
    "missing": 2,
    "longest_gap_s": 6.5,
    "topics": {"redirected": 7, "draining": 1},
    "entries_left": 1_200,
    "held_up": 1,
}


def shown(*reports: dict[str, object] | None) -> dict[str, float]:
    """What is exported of migrations after some reports, but for what is 0."""
    collected = Metrics(version="1", started_s=0)
    for report in reports:
        for family, value, label in migrations.samples(report):
            collected.set(family, value, label)
    return {
        sample.name.removeprefix("syncer_migration_")
        + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for each in collected.registry.collect()
        for sample in each.samples
        if sample.name.startswith("syncer_migration_") and sample.value
    }


def test_a_report_is_shown_as_it_is() -> None:
    assert shown(REPORT) == {
        "phase draining": 1,
        "phase_began_timestamp_seconds": 1_790_000_000.5,
        "turned_timestamp_seconds": 1_790_000_060,
        "waves": 4,
        "waves_moved": 3,
        "missing_clients": 2,
        "longest_gap_seconds": 6.5,
        "topics redirected": 7,
        "topics draining": 1,
        "drain_entries": 1_200,
        "drain_held_up": 1,
    }


def test_nothing_stands_of_a_migration_that_is_over() -> None:
    assert shown(REPORT, None) == {}
    assert shown(None) == {}


def test_why_it_has_stopped_is_told_as_long_as_it_has() -> None:
    stopped = {**REPORT, "phase": "paused", "stop": "drain-too-long"}
    assert shown(stopped)["stopped drain-too-long"] == 1
    assert shown(stopped, {**stopped, "stop": "what-nobody-lists"})["stopped other"] == 1
    assert not any(name.startswith("stopped") for name in shown(stopped, REPORT))


def test_what_carries_it_not_on_is_told() -> None:
    assert shown({**REPORT, "trouble": {"code": "not-found"}})["troubled"] == 1


def test_every_phase_state_and_reason_is_known() -> None:
    assert set(migrations.PHASES) == {each.value for each in MigrationPhase}
    assert set(migrations.TOPIC_STATES) == {each.value for each in TopicState}
    errors = {each.code for each in (AdminError, AdminUnreachable, AdminDenied, MigrationClaimed)}
    assert set(migrations.STOPS) == {each.value for each in StopCode} | errors
