"""A preflight as operators read it: the answer of each check, findings by what they mean, long lists cut."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.cli.render.migration import MAX_FINDINGS, preflight_document, show_preflight
from syncer.cli.render.output import Format
from syncer.documents.migration import PreflightDocument
from syncer.migration.checks import examine
from syncer.migration.checks.finding import CheckStage, ClusterPair
from syncer.migration.reading.preflight import Preflight
from syncer.migration.scope import Overrides
from syncer.replacing import replace
from tests.unit.migration.pictures import (
    PRODUCER,
    SUBSCRIPTION,
    TOPIC,
    picture,
    with_blue,
    with_namespace,
    with_topic,
)
from tests.unit.migration.test_migration_plan import plan


def preflight(pair: ClusterPair, stage: CheckStage = CheckStage.BEFORE, **overrides: str) -> Preflight:
    reasons = Overrides(reasons={name.replace("_", "-"): reason for name, reason in overrides.items()})
    made = plan(overrides=reasons)
    return Preflight(plan=made, stage=stage, pair=pair, results=examine(pair, reasons, stage))


def shown(made: Preflight, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, str], dict[str, list[str]], str]:
    """The answer to each check, the rows below each heading, and what was said."""
    show_preflight(made, Format.TABLE, kept=False)
    printed = capsys.readouterr()
    answers, *parts = printed.out.strip().split("\n\n")
    cells = [line.split("  ") for line in answers.splitlines()[1:]]
    sections = {lines[0]: lines[2:] for lines in (part.splitlines() for part in parts)}
    return {row[0]: row[-1].strip() for row in cells}, sections, printed.err.strip()


def test_where_all_holds_there_is_nothing_below_the_answers(capsys: pytest.CaptureFixture[str]) -> None:
    answers, sections, said = shown(preflight(picture()), capsys)
    assert set(answers.values()) == {"yes"}
    assert sections == {}
    assert said == "the migration may begin"


def test_findings_stand_by_what_they_mean(capsys: pytest.CaptureFixture[str]) -> None:
    old = replace(PRODUCER, version="Pulsar-Java-v2.11.0")
    unread = replace(SUBSCRIPTION, consumers=())
    pair = with_topic(picture(), producers=(old, replace(PRODUCER, chunks_per_s=1.0)), subscriptions={"audit": unread})
    pair = with_blue(with_namespace(pair, at="green", schemas={}), dynamic={})
    answers, sections, said = shown(preflight(pair, no_chunks="they are stopped"), capsys)
    assert list(sections) == [
        "Blocks the migration:",
        "What preparing green will do:",
        "What guarding blue will do:",
        "Passed over:",
        "To know:",
    ]
    assert [row.split()[0] for rows in sections.values() for row in rows] == [
        "client-gate",
        "schemas",
        *["balancing-frozen"] * 3,
        "no-chunks",
        "backlog-has-readers",
    ]
    assert sections["Passed over:"][0].endswith("they are stopped")
    assert {name: text for name, text in answers.items() if text != "yes"} == {
        "balancing-frozen": "not yet: 3",
        "schemas": "not yet: 1",
        "client-gate": "no: 1, blocks",
        "no-chunks": "no: 1, passed over",
        "backlog-has-readers": "yes, with warnings",
    }
    assert said == "the migration may not begin: blocked by 1 check: client-gate"


def test_a_long_list_is_cut_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    many = {f"s{number:03}": SUBSCRIPTION for number in range(MAX_FINDINGS + 7)}
    pair = with_topic(picture(), subscriptions=many)
    made = preflight(pair, CheckStage.PREPARED)
    _, sections, _ = shown(made, capsys)
    rows = sections["Blocks the migration:"]
    assert len(rows) == MAX_FINDINGS + 1
    assert "and 7 more" in rows[-1]
    (check,) = [each for each in preflight_document(made, kept=False).checks if each.blocks]
    assert len(check.findings) == MAX_FINDINGS + 7


@pytest.mark.parametrize("stage", list(CheckStage))
def test_the_document_says_all_that_was_found(stage: CheckStage, capsys: pytest.CaptureFixture[str]) -> None:
    made = preflight(with_topic(picture(), at="green", subscriptions={}), stage, client_gate="no client is old")
    show_preflight(made, Format.JSON, kept=True)
    document = PreflightDocument.model_validate_json(capsys.readouterr().out)
    assert document == preflight_document(made, kept=True)
    assert document.may_begin is (stage is CheckStage.BEFORE)
    checks: dict[str, Any] = {each.name: each for each in document.checks}
    assert (document.namespaces, document.topics, document.plan) == (1, 1, made.plan.fingerprint)
    assert (checks["subscriptions"].holds, checks["subscriptions"].due) == (False, stage is not CheckStage.BEFORE)
    assert checks["subscriptions"].findings[0].subject == f"{TOPIC}, subscription audit"
    assert checks["client-gate"].override == "no client is old"
