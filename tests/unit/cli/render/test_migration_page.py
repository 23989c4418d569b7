"""A migration's report as a page: escaped text, without scripts, the same for the same report."""

from __future__ import annotations

import html.parser

from syncer.cli.render.migration_page import page_of
from syncer.documents.migration_report.making import report_document
from syncer.migration.reporting.report import MigrationReport, report_of
from syncer.migration.scope import Overrides
from syncer.replacing import replace
from tests.unit.migration.reporting.samples import SCRIPT, happened, migration, report, roll_called, step_ends, whole
from tests.unit.migration.test_migration_plan import plan


class PageSeen(html.parser.HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in {"meta", "wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def hostile() -> MigrationReport:
    """A report in which every name is a script."""
    topic = f"persistent://{SCRIPT}/t"
    foreseen = {
        "namespaces": [SCRIPT],
        "longest_gap_s": 1.0,
        "cures": {topic: "brake"},
        "rates": {},
        "why": {topic: SCRIPT},
        "shared": {SCRIPT: [[topic, SCRIPT, SCRIPT]]},
    }
    row = {"subscriptions": {SCRIPT: {"backlog": 0, "consumers": 1}}, "stored": 1, "closed_at": SCRIPT}
    events = happened(
        ("asked", {"command": "go", "who": SCRIPT, "why": SCRIPT}),
        ("foreseen", foreseen),
        ("let-go", {"reasons": {topic: SCRIPT}, "moved": {topic: SCRIPT}, "closing_s": 1.0, "acts": []}),
        (
            "tallied",
            {"namespace": SCRIPT, "topics": {topic: {**row, "ends_at": "", "read_at_blue": True, "lacking": []}}},
        ),
        roll_called([topic, SCRIPT, SCRIPT, SCRIPT, SCRIPT]),
        step_ends(None, {"code": "asked", "words": SCRIPT}),
        ("undone", {"stays": {SCRIPT: SCRIPT}}),
    )
    planned = plan(overrides=Overrides(reasons={SCRIPT: SCRIPT}))
    return report_of(replace(migration(), asked_by=SCRIPT, reason=SCRIPT), planned, events, (f"former/{SCRIPT}",))


def test_nothing_of_a_cluster_or_an_operator_becomes_markup() -> None:
    text = page_of(report_document(hostile()))
    seen = PageSeen(text)
    assert seen.open == []
    assert "script" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name in {"href", "src"}]
    assert seen.words.count('<script>alert("x")</script>') > 15
    assert "\x00" not in text
    assert "\u202e" not in text


def test_it_says_first_what_a_reader_asks_first() -> None:
    seen = PageSeen(page_of(report_document(report())))
    before, _, after = seen.words.partition(
        "lost 0, doubled not measured, out of order not measured, clients missing 1 of 5"
    )
    assert "Migration 7, from blue (cluster.old) to green (cluster.new)" in before
    assert after.index("Clients that have not come to green") < after.index("Waves") < after.index("What has happened")


def test_its_tables_can_be_read_aloud_and_by_night_and_on_paper() -> None:
    text = page_of(report_document(report()))
    seen = PageSeen(text)
    assert seen.attributes.count(("scope", "col")) >= seen.tags.count("thead") > 5
    assert seen.tags.count("h1") == seen.tags.count("main") == 1
    assert ("lang", "en") in seen.attributes
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert "http" not in text.replace("http-equiv", "")


def test_only_a_migration_without_a_doubt_looks_well() -> None:
    assert 'class="verdict bad"' in page_of(report_document(report()))
    events = [each for each in whole() if each.kind != "roll-called"]
    assert 'class="verdict good"' in page_of(report_document(report(events)))
    assert page_of(report_document(report())) == page_of(report_document(report()))
