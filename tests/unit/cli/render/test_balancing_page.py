"""The page of a comparison: plots and table of what the document holds, escaped, the same for the same document."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path

from typer.testing import CliRunner

from syncer.balancer.rounds.synthetic import FleetShape
from syncer.cli.main import app
from syncer.cli.render.balancing_page import comparison_page
from syncer.documents.balancing.comparison import ComparedLoadDocument, ComparisonDocument

SMALL = ("balancer", "compare", "--synthetic", "5", "--brokers", "6", "--bundles", "60")


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_plots_each_strategy_that_acts_beside_our_plan(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    told = CliRunner().invoke(app, [*SMALL, "-o", "json", "--html", str(file)])
    found, text = ComparisonDocument.model_validate_json(told.stdout), file.read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    acting = [each for each in found.strategies if each.ours is not None]
    costs = [each.ours.client_seconds or 0 for each in acting if each.ours is not None]
    assert text.count('<i class="ours" style') == sum(round(cost) > 0 for cost in costs) > 0
    assert text.count("<details>") == len(acting)
    assert re.search(rf"{len(acting)} of {len(found.strategies)} strategies and settings move bundles", text)
    assert text.count("<tr>") == 1 + len(found.strategies)
    assert comparison_page(found) == text
    assert CliRunner().invoke(app, [*SMALL, "--html", str(file)]).exit_code == 5


def test_a_page_of_nothing_is_a_page() -> None:
    load = ComparedLoadDocument(seed=1, shape=FleetShape.EVEN, brokers=1, bundles=0)
    text = comparison_page(ComparisonDocument(load=load, settings={}, spread=None, strategies=[]))
    assert "0 of 0 strategies" in text
    assert "<details>" not in text
