"""The timeline: everything that an operator should know has words, whatever it holds; single calls are left out."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.migration.reporting.happenings import timeline_of
from tests.unit.migration.pictures import NAMESPACE, TOPIC
from tests.unit.migration.reporting.samples import (
    FORESEEN,
    LET_GO,
    STILL,
    act,
    happened,
    roll_called,
    step_ends,
    tallied,
)

HEALTH = {"cluster": "blue", "broker": "b:8080", "state": "deadlocked"}


@pytest.mark.parametrize(
    ("kind", "document", "words"),
    [
        ("asked", {"command": "go", "who": "ann", "why": "now"}, "ann asks for go: now"),
        ("asked", {"command": "go", "who": "ann", "why": ""}, "ann asks for go"),
        ("not-followed", {"command": "go", "why": "nothing waits"}, "go is not followed: nothing waits"),
        ("step-begins", {"step": "move", "words": "move the clients", "wave": 0}, "begins: move the clients"),
        (*step_ends(None), "move done; the migration is canary"),
        ("step-ends", {**step_ends(None)[1], "step": "advance"}, "the migration is canary"),
        (*step_ends(None, {"code": "asked", "words": "by ann"}), "stopped (asked): by ann"),
        ("checked", {"stage": "before", "blocking": []}, "checks (before): all hold"),
        ("checked", {"stage": "before", "blocking": ["own-bus"]}, "blocked by own-bus"),
        ("prepared", {"namespaces": [NAMESPACE], "unprepared": []}, f"green is prepared for {NAMESPACE}"),
        ("prepared", {"namespaces": [NAMESPACE], "unprepared": ["a: b"]}, "but for a: b"),
        ("preparation-stopped", {"kind": "topic", "subject": "t", "answer": "403"}, "topic t was refused: 403"),
        ("guarded", {"frozen": ["a"], "loaded": 3}, "settings frozen 1, topics loaded 3"),
        ("warmed-up", {"topics": {"b": "t"}, "cold": [], "took_s": 2.04}, "brokers warmed up in 2.0 s: 1"),
        ("warmed-up", {"topics": {}, "cold": ["b"], "took_s": 2.0}, "cold: b"),
        ("foreseen", FORESEEN, "for 5.8 s at most"),
        ("still", STILL, "topics that stand still: 1"),
        ("marked", {"namespaces": [NAMESPACE]}, f"marked: {NAMESPACE}"),
        ("let-go", LET_GO, "2.1 s after the mark: every topic is migrated"),
        ("let-go", {**LET_GO, "reasons": {TOPIC: "open"}}, f"not migrated: {TOPIC}: open"),
        ("taken-back", {"reasons": {TOPIC: "open"}}, "taken back, nothing is marked"),
        ("put-back", {"acts": [act("back", 1)]}, "earlier run had set: 1"),
        (*roll_called(["t", "", "p", "a", "v"]), "roll call: at green 4, missing 1"),
        ("mark-missing", {"namespaces": [NAMESPACE]}, "not marked any more"),
        ("unmarked", {"namespace": NAMESPACE, "topics": {TOPIC: "stranded"}}, f"to read {TOPIC}"),
        ("marked-again", {"namespace": NAMESPACE}, f"marked again: {NAMESPACE}"),
        ("broker-health", {**HEALTH, "said": ""}, "broker b:8080 of blue is deadlocked"),
        ("broker-health", {**HEALTH, "said": "tid=7"}, "is deadlocked: tid=7"),
        ("not-watched", {"why": "503"}, "blue could not be looked after: 503"),
        ("drained", {"topics": [TOPIC], "subscriptions": []}, "drained: topics 1, subscriptions of others 0"),
        (*tallied(), f"tally of {NAMESPACE}, topics: 1"),
        ("soaked", {"still": [TOPIC], "at_blue": []}, "published nothing at green meanwhile: 1"),
        ("soaked", {"still": [], "at_blue": [], "not_read": [f"work of {TOPIC}"]}, f"messages waited: work of {TOPIC}"),
        ("undone", {"stays": {}}, "taken back"),
        ("undone", {"stays": {NAMESPACE: "green holds messages"}}, f"what stays: {NAMESPACE}: green holds messages"),
        ("released", {"acts": []}, "balances again"),
    ],
)
def test_what_was_noted_has_words(kind: str, document: dict[str, Any], words: str) -> None:
    (moment,) = timeline_of(happened((kind, document)))
    assert words in moment.words


def test_single_calls_and_what_nobody_knows_are_left_out() -> None:
    assert timeline_of(happened(("calls", {}), ("preparation-done", {}), ("of-another-version", {}))) == ()
