"""The page of rules is what the code says, and the field's word for a rule finds its file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from docs.finding import Rule, found_by
from docs.rules import PAGE, every, page
from tests.suites import REPOSITORY

GLOSSARY: Final = REPOSITORY / "docs" / "reference" / "glossary.md"
KEPT: Final = frozenset(
    {
        "baseline",
        "driver",
        "epoch",
        "exchange",
        "fence",
        "fold",
        "guard",
        "hold",
        "intent",
        "known",
        "operation",
        "outbox",
    }
    | {"parked", "projection", "quarantine", "receipt", "register", "report", "scope", "seen", "stamp", "stored"}
)
"""Words of our own, or of the field in a narrower sense, that a stranger meets everywhere."""
FOUND_AT_MOST: Final = 6
"""A word that finds half of the house finds nothing."""
RULES: Final = tuple(every())


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make rules"


def test_there_are_as_many_rules_as_a_stranger_asks_for_and_none_twice() -> None:
    assert len(RULES) >= 25
    assert [says for says, times in Counter(rule.says for rule in RULES).items() if times > 1] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.words[0])
def test_the_fields_word_finds_the_file(rule: Rule) -> None:
    found = found_by(rule.words[0])
    assert rule.file in found
    assert len(found) <= FOUND_AT_MOST or Path(rule.file).stem == rule.words[0], found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.words[0])
def test_a_rule_is_held_by_code_and_proved_by_a_test(rule: Rule) -> None:
    assert rule.file.split("/", 1)[0] in {"syncer", "api", "spark_snapshot"}
    assert (REPOSITORY / rule.file).is_file()
    assert rule.test.__module__.startswith("tests.")
    assert rule.test.__name__.startswith("test_")


def test_the_glossary_has_a_line_for_each_of_our_words() -> None:
    rows = [line.split("|")[1:3] for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    explained = {word.strip().lower(): field.strip() for word, field in rows}
    assert [word for word in KEPT if not explained.get(word)] == []
    words = [word.strip() for word, _ in rows[2:]]
    assert words == sorted(words, key=str.lower), "in the order of the alphabet"
    assert len(set(words)) == len(words)
