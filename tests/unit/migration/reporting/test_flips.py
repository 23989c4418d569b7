"""Waves in a report: each attempt tells what was foreseen, how it has ended, and nothing that was not noted."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.migration.reporting.flips import BEGUN, ReportedTopic, flips_of
from syncer.migration.scope import MigrationScope
from tests.unit.migration.pictures import NAMESPACE, TOPIC
from tests.unit.migration.reporting.samples import FORESEEN, LET_GO, T0, happened, step_ends, whole

SCOPE = MigrationScope(canary=("acme/first",), waves=((NAMESPACE,),))


def test_a_flip_tells_what_was_foreseen_and_what_it_has_taken() -> None:
    (flip,) = flips_of(SCOPE, whole())
    assert (flip.wave, flip.namespaces, flip.outcome) == (1, (NAMESPACE,), "migrated")
    assert (flip.foreseen_gap_s, flip.closing_s, flip.held_s) == (5.8, 2.1, 6.3)
    assert (flip.begun_at_ms, flip.marked_at_ms, flip.ended_at_ms) == (T0 + 2_000, T0 + 4_000, T0 + 5_000)
    assert flip.topics == (ReportedTopic(topic=TOPIC, cure="gate-and-brake", why="silent", rate=166),)
    assert flip.shared == {"/10.0.0.1:5000": (f"producer blue-0-1 of {TOPIC}", f"consumer of audit ab1x of {TOPIC}")}


@pytest.mark.parametrize(
    ("after", "outcome", "reasons"),
    [
        ((), BEGUN, {}),
        ((step_ends(None),), BEGUN, {}),
        ((("taken-back", {"reasons": {TOPIC: "moving"}, "acts": []}),), "taken-back", {TOPIC: "moving"}),
        ((("let-go", {**LET_GO, "reasons": {TOPIC: "open"}}),), "unfinished", {TOPIC: "open"}),
        ((step_ends({"outcome": "refused", "reasons": {TOPIC: "chunks"}}),), "refused", {TOPIC: "chunks"}),
    ],
)
def test_an_attempt_has_ended_as_it_was_noted(
    after: tuple[tuple[str, dict[str, Any]], ...], outcome: str, reasons: object
) -> None:
    (flip,) = flips_of(SCOPE, happened(("foreseen", FORESEEN), *after))
    assert (flip.outcome, flip.reasons) == (outcome, reasons)


def test_every_attempt_is_told_and_what_comes_after_its_end_does_not_change_it() -> None:
    back = ("taken-back", {"reasons": {TOPIC: "moving"}, "acts": []})
    rows: tuple[tuple[str, dict[str, Any]], ...] = (
        ("marked", {"namespaces": []}),
        ("foreseen", FORESEEN),
        back,
        ("foreseen", FORESEEN),
        ("let-go", LET_GO),
        back,
    )
    assert [each.outcome for each in flips_of(SCOPE, happened(*rows))] == ["taken-back", "migrated"]
