"""Gauges of audits of ledgers."""

from __future__ import annotations

import re
from pathlib import Path

from syncer.ledgers.auditing.findings import LedgerFindingCode
from syncer.metrics import ledgers

ALERTS = Path(__file__).parents[3] / "docs" / "how-to" / "alert.md"


def told(**found: object) -> dict[tuple[str, str], float]:
    every = {"taken_ms": [], "troubled": 0, "partial": 0, "ledgers": 0, "findings": {}, **found}
    return {(family.name, label): value for family, value, label in ledgers.samples(**every)}  # type: ignore[arg-type]  # by name


def test_nothing_stands_where_nothing_is_audited() -> None:
    assert set(told().values()) == {0.0}


def test_there_is_a_gauge_for_every_kind_of_finding() -> None:
    assert set(ledgers.CODES) == {each.value for each in LedgerFindingCode}


def test_an_operator_is_told_how_to_be_alerted_of_every_kind() -> None:
    rules = re.findall(r'syncer_ledger_findings\{code=~"([^"]*)"', ALERTS.read_text())
    assert {code for rule in rules for code in re.split(r"\\?\|", rule)} == set(ledgers.CODES)


def test_of_several_clusters_the_oldest_audit_counts_and_findings_are_added() -> None:
    found = told(taken_ms=[9000, 5000], troubled=1, partial=1, ledgers=12, findings={"entries-lost": 3})
    assert found["syncer_ledger_audit_taken_timestamp_seconds", ""] == 5.0
    assert found["syncer_ledger_findings", "entries-lost"] == 3
    assert found["syncer_ledger_findings", "no-auditor"] == 0
    assert found["syncer_ledger_audited_clusters", ""] == 2
    assert found["syncer_ledger_audit_ledgers", ""] == 12


def test_a_cluster_that_was_never_audited_is_older_than_all() -> None:
    assert told(taken_ms=[9000, None])["syncer_ledger_audit_taken_timestamp_seconds", ""] == 0.0
