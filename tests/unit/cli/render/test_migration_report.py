"""A migration's report for people: one line that claims no more than is known, and a table of whatever there is."""

from __future__ import annotations

import json

import pytest

from syncer.cli.render.migration_report import cut, show_report, summary_line
from syncer.cli.render.output import Format
from syncer.documents.migration_report.document import MigrationReportDocument
from syncer.documents.migration_report.making import report_document
from syncer.migration.course import MigrationStop, StopCode
from syncer.migration.phases import MigrationPhase
from syncer.migration.reporting.report import report_of
from syncer.replacing import replace
from tests.unit.migration.pictures import NAMESPACE, TOPIC
from tests.unit.migration.reporting.samples import happened, migration, report, tallied, whole
from tests.unit.migration.test_migration_plan import plan


def test_the_first_line_says_what_is_known_and_what_is_not() -> None:
    assert summary_line(report_document(report()).summary) == (
        "lost 0, doubled not measured, out of order not measured, clients missing 1 of 5"
    )
    assert summary_line(report_document(report([])).summary).startswith("lost not measured, ")


def test_a_table_without_rows_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    empty = report_of(replace(migration(), run={}, phase="planned"), plan(), [], ())
    show_report(report_document(empty), Format.TABLE)
    text = capsys.readouterr().out
    assert "Waves:" not in text
    assert "WAVE" not in text
    assert "not verified yet" in text


def test_all_that_was_noted_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    stop = MigrationStop(code=StopCode.MISSING, words="one has not come", hint="Restart it.")
    undone = happened(("undone", {"stays": {NAMESPACE: "green holds messages"}}))
    changed = migration(MigrationPhase.PAUSED, stop=stop)
    found = report_of(replace(changed, reverses=3, reason=""), plan(), [*whole(), *undone], ("former/publish-rate/t",))
    show_report(report_document(found), Format.TABLE)
    text = capsys.readouterr().out
    for words in (
        "clients-missing: one has not come", "Restart it.", "consumer of audit", "Pulsar-CPP-v3.7.2", "/10.0.0.2:5000",
        "gate-and-brake", "silent", "5.8s", "6.3s", "2.1s", "producer blue-0-1", "ann", "green holds messages",
        "publish-rate/t", "it looks well", "takes back",
    ):  # fmt: skip
        assert words in text, words
    rows = [line.split() for line in text.splitlines() if line.startswith(TOPIC)]
    assert ["audit", "4", "4"] in [row[1:4] for row in rows]


def test_the_document_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    document = report_document(report())
    show_report(document, Format.JSON)
    assert MigrationReportDocument.model_validate(json.loads(capsys.readouterr().out)) == document


def test_a_position_that_has_moved_is_no_loss_that_is_denied() -> None:
    summary = report_document(report(happened(tallied(ends_at="9:1")))).summary
    assert summary.lost.count is None
    assert summary.longest_hold_s is summary.longest_foreseen_gap_s is None


def test_of_many_rows_the_first_are_shown() -> None:
    rows: list[tuple[object, ...]] = [(number, "x") for number in range(5)]
    assert cut([*rows], 5) == rows
    assert cut([*rows], 2) == [(0, "x"), (1, "x"), ("and 3 more: '-o json' has all", "")]
