"""The report of a migration at any point: before it has begun, half done, paused, closed and taken back."""

from __future__ import annotations

import pytest

from syncer.migration.course import MigrationStop, StopCode
from syncer.migration.phases import MigrationPhase
from syncer.migration.reporting.report import report_of
from syncer.migration.topics import Rollback
from syncer.model import Millis
from syncer.replacing import replace
from tests.unit.migration.pictures import NAMESPACE, TOPIC
from tests.unit.migration.reporting.samples import VERDICT, happened, migration, report, roll_called, whole
from tests.unit.migration.test_migration_plan import plan


def test_a_migration_that_has_not_begun_claims_nothing() -> None:
    found = report_of(replace(migration(), run={}, phase="planned"), plan(), [], ())
    assert found.lost.count is found.doubled.count is found.disordered.count is None
    assert found.back.rollback is Rollback.YES
    assert (found.clients.seen, found.clients.at_green, found.flips, found.timeline) == (0, 0, (), ())


def test_who_is_missing_is_named_as_the_last_roll_call_has_it() -> None:
    first = [TOPIC, "", "p", "/10.0.0.1:5000", ""]
    other = ["persistent://acme/other/t", "", "q", "/10.0.0.1:5000", ""]
    stays = [TOPIC, "audit", "ab1x", "/10.0.0.2:5000", "Pulsar-CPP-v3.7.2"]
    found = report(happened(roll_called(first, stays), roll_called(other, staying=(stays,))))
    (missing,) = found.clients.missing
    assert (missing.subscription, missing.name, missing.at_blue) == ("audit", "ab1x", True)
    assert (found.clients.seen, found.clients.at_green) == (5, 4)


def test_what_was_asked_is_told_and_why_it_was_not_followed() -> None:
    def asked(command: str) -> tuple[str, dict[str, str]]:
        return "asked", {"command": command, "who": "ann", "why": ""}

    refused = ("not-followed", {"command": "go", "why": "nothing waits"})
    found = report(happened(asked("go"), asked("pause"), refused, asked("go"), asked("go")))
    assert [(each.command, each.refused) for each in found.asks] == [
        ("go", "nothing waits"),
        ("pause", ""),
        ("go", ""),
        ("go", ""),
    ]


def test_why_it_does_not_go_on_and_what_is_still_set_is_told() -> None:
    stop = MigrationStop(code=StopCode.GAP, words="too long", hint="Resume.")
    run = migration(MigrationPhase.PAUSED, stop=stop)
    kept = ("former-green/dynamic-setting/key", "former/publish-rate/t", "held/acme/orders")
    found = report_of(run, plan(), whole(), kept)
    assert found.stop == stop
    assert found.back.set_still == ("publish-rate/t", "dynamic-setting/key at green")


@pytest.mark.parametrize(
    ("phase", "marked", "stays", "rollback"),
    [
        (MigrationPhase.CLOSED, True, {}, Rollback.NO),
        (MigrationPhase.ROLLED_BACK, True, {}, Rollback.YES),
        (MigrationPhase.ROLLED_BACK, True, {NAMESPACE: "green holds messages"}, Rollback.PARTLY),
        (MigrationPhase.GUARDED, False, {}, Rollback.YES),
        (MigrationPhase.DRAINING, True, {}, Rollback.PARTLY),
    ],
)
def test_whether_it_can_be_taken_back_is_told(
    phase: MigrationPhase, marked: bool, stays: dict[str, str], rollback: Rollback
) -> None:
    events = happened(("undone", {"stays": stays})) if phase is MigrationPhase.ROLLED_BACK else []
    found = report(events, phase=phase, marked=marked)
    assert (found.back.rollback, found.back.stays) == (rollback, stays)


def test_topics_that_were_healed_are_named() -> None:
    verdict = replace(VERDICT, ill={TOPIC: "stranded"})
    assert report(verdicts=(verdict,)).ill == {TOPIC: "stranded"}
    assert report().migration.made_at_ms == Millis(1_790_000_000_000)
