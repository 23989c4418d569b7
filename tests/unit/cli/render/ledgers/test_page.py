"""The page of an audit: findings, replicas, pairs and odds of what the document holds, escaped."""

from __future__ import annotations

import json
from random import Random

from syncer.cli.render.ledgers.page import audit_page
from syncer.documents.ledgers.audit import ledger_audit_document
from syncer.ledgers.auditing.findings import findings
from syncer.ledgers.auditing.loss import loss_overview
from syncer.ledgers.auditing.spreading import ledgers_spread
from syncer.ledgers.auditing.standing import standing
from tests.support.stored_ledgers import StoredLedgers
from tests.unit.cli.render.test_balancing_page import Tags

T = "persistent://acme/<b>/t"


def page(stored: StoredLedgers, *, overview: bool = True) -> str:
    picture = stored.picture()
    found = standing(picture, picture.lost())
    loss = loss_overview(picture, Random(1).randrange) if overview else None
    spread = ledgers_spread(picture)
    document = ledger_audit_document(picture, found, findings(picture, found, spread), loss, spread)
    text = audit_page(document)
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert audit_page(document) == text
    return text


def test_all_parts_are_there_and_nothing_gets_out_of_its_place() -> None:
    stored = StoredLedgers().bookies("abc").topic(T, 1, 2)
    stored.ledger(1, (2, 2, 2), (0, "ab")).ledger(2, (2, 2, 2), (0, "ax")).ledger(3, (1, 1, 1), (0, "x"))
    text = page(stored)
    assert "acme/&lt;b&gt;" in text
    assert "<b>" not in text
    assert "entries-lost" in text
    assert '<i class="lacking" style="width:50%" title="100 lacking">' in text
    assert "1 of them: 33.3333%: 333,333 in a million" in text
    assert 'title="a, b: 1 ledger"' in text
    assert "(no reference)" in text


def test_without_an_overview_and_without_harm_the_page_says_so() -> None:
    well = StoredLedgers().bookies("abc").ledger(1, (3, 3, 2), (0, "abc"))
    well.put("/ledgers/underreplication/leader", b'"a"')
    assert "No pair harms anything" in page(well)
    assert "Pairs of bookies" not in page(well, overview=False)
    assert 'class="verdict good"' in page(well)
    well.refused.append("/ledgers/01")
    assert "this is a lower bound" in page(well)


def test_racks_are_drawn_where_they_are_known() -> None:
    stored = StoredLedgers().bookies("abc").ledger(1, (2, 2, 2), (0, "ab")).ledger(2, (2, 2, 2), (0, "bc"))
    assert "Spread over racks" not in page(stored)
    racks = {name: {"rack": "/r<2>" if name == "c" else "/r1"} for name in "abc"}
    text = page(stored.put("/bookies", json.dumps({"default": racks}).encode()))
    assert "<h2>Spread over racks</h2><p>1 of 2 ledgers over at least 2 racks; " in text.replace("\n", "")
    assert 'title="/r1: 2 bookies"' in text
    assert 'title="/r&lt;2&gt;: 1 bookies"' in text
    assert "not-spread" in text
