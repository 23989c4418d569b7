"""Which paths take part: the default set, the order of rules, and rules that are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import cast

import pytest

from syncer.conflict.scope import ALLOWED_PREFIXES, DEFAULT_RULES, PathPatterns, Rule, Scope, _expression, _is_linear
from syncer.conflict.settings import Direction
from syncer.errors import ConfigError
from syncer.model import MetaPath
from tests.property.strategies import PATH_OF_KIND

TOPICS = "/admin/partitioned-topics"


@pytest.mark.parametrize(
    ("path", "direction"),
    [
        ("/admin/policies/acme", "both"),
        ("/admin/policies/acme/orders", "both"),
        (f"{TOPICS}/acme/orders/persistent/paid", "both"),
        (f"{TOPICS}/acme/orders/non-persistent/paid", "both"),
        ("/admin/resourcegroups/gold", "both"),
        ("/admin/policies/pulsar", "ignore"),
        ("/admin/policies/pulsar/system", "ignore"),
        ("/admin/policies/pulsar/broker:8080", "ignore"),
        ("/admin/policies/pulsar-like", "both"),
        ("/admin/policies/sla-monitor", "ignore"),
        ("/admin/policies/sla-monitor/x", "ignore"),
        (f"{TOPICS}/pulsar/system/persistent/transaction_coordinator_assign", "ignore"),
        (f"{TOPICS}/acme/orders/persistent/__change_events", "ignore"),
        (f"{TOPICS}/acme/orders/persistent/a__b", "both"),
        ("/admin/clusters/blue", "ignore"),
        ("/admin/clusters/blue/policies", "ignore"),
        ("/admin/topic-policies/global/persistent/acme/orders/paid", "ignore"),
        ("/admin/local-policies/acme/orders", "ignore"),
        ("/admin/policies/acme/use/orders", "ignore"),
        ("/admin/policies", "ignore"),
        ("/ledgers/LAYOUT", "ignore"),
    ],
)
def test_the_default_set(path: str, direction: str) -> None:
    scope = Scope()
    assert scope.direction(MetaPath(path)) == direction
    assert scope.contains(MetaPath(path)) is (direction != "ignore")


def test_the_first_rule_that_matches_decides() -> None:
    scope = Scope(
        [
            Rule("/admin/policies/acme/*-eu", Direction.IGNORE),
            Rule("/admin/policies/acme/*", Direction.PUBLISH),
            Rule("/admin/policies/**", Direction.APPLY),
        ]
    )
    directions = {
        name: scope.direction(MetaPath(f"/admin/policies/{name}")) for name in ("acme/x-eu", "acme/x", "acme", "b/x")
    }
    assert directions == {
        "acme/x-eu": Direction.IGNORE,
        "acme/x": Direction.PUBLISH,
        "acme": Direction.APPLY,
        "b/x": Direction.APPLY,
    }


def test_rules_that_match_are_told_the_one_that_decides_first() -> None:
    scope = Scope([Rule("/admin/policies/acme", Direction.PUBLISH), Rule("/admin/policies/**", Direction.BOTH)])
    acme, other, elsewhere = map(MetaPath, ("/admin/policies/acme", "/admin/policies/b", "/admin/resourcegroups/g"))
    assert [scope.deciding(path) for path in (acme, other, elsewhere)] == [0, 1, None]
    assert [scope.matching(path) for path in (acme, other, elsewhere)] == [(0, 1), (1,), ()]
    assert (Scope([]).deciding(acme), Scope([]).matching(acme)) == (None, ())


@pytest.mark.parametrize(
    ("folder", "direction"),
    [
        ("/admin/policies/acme", "both"),
        ("/admin/resourcegroups", "both"),
        ("/admin/policies/pulsar", "ignore"),
        ("/admin/policies", None),
        (f"{TOPICS}/acme/orders/persistent", None),
        ("/admin/clusters", "ignore"),
    ],
)
def test_what_lies_in_a_folder_flows_one_way_or_goes_by_name(folder: str, direction: str | None) -> None:
    assert Scope().direction_below(MetaPath(folder)) == direction


def test_no_rule_reaches_what_is_local_to_a_cluster() -> None:
    scope = Scope([Rule("/admin/clusters/**", Direction.BOTH)])
    assert scope.contains(MetaPath("/admin/clusters/blue"))
    assert not scope.contains(MetaPath("/admin/clusters/blue/policies"))
    assert not scope.contains(MetaPath("/admin/clusters/blue/failureDomain/one"))


def test_characters_of_a_pattern_stand_for_themselves() -> None:
    scope = Scope([Rule("/admin/policies/a.c+(x)", Direction.BOTH)])
    assert scope.contains(MetaPath("/admin/policies/a.c+(x)"))
    assert not scope.contains(MetaPath("/admin/policies/abc+(x)"))


@pytest.mark.parametrize("pattern", ["admin/policies/**", "/admin/policies/", "/admin//policies"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="no path pattern"):
        Scope([Rule(pattern, Direction.IGNORE)])


@pytest.mark.parametrize(
    "pattern",
    ["/**", "/*", "/admin/**", "/admin/pol*", "/admin/policies-2/**", "/ledgers/**", "/admin/local-policies/**"],
)
def test_nothing_outside_the_allow_list_can_be_named_except_to_be_ignored(pattern: str) -> None:
    with pytest.raises(ConfigError, match="outside"):
        Scope([Rule(pattern, Direction.BOTH)])
    assert Scope([Rule(pattern, Direction.IGNORE)]).prefixes == ()


def test_prefixes_cover_every_path_in_scope() -> None:
    assert Scope().prefixes == ("/admin/partitioned-topics", "/admin/policies", "/admin/resourcegroups")
    every = Scope([Rule(f"{prefix}/**", Direction.BOTH) for prefix in ALLOWED_PREFIXES])
    for path in PATH_OF_KIND.values():
        assert every.contains(path)
        assert any(path.startswith(f"{prefix}/") for prefix in every.prefixes)


def test_the_fingerprint_names_the_rules_and_their_order() -> None:
    assert Scope().fingerprint == Scope(list(DEFAULT_RULES)).fingerprint
    assert Scope().fingerprint != Scope(DEFAULT_RULES[::-1]).fingerprint
    assert Scope().fingerprint != Scope(DEFAULT_RULES[:-1]).fingerprint
    changed = [Rule(rule.pattern, Direction.APPLY) for rule in DEFAULT_RULES]
    assert Scope().fingerprint != Scope(changed).fingerprint


@pytest.mark.parametrize(
    ("direction", "publishes", "applies"),
    [("both", True, True), ("publish", True, False), ("apply", False, True), ("ignore", False, False)],
)
def test_directions(direction: str, publishes: bool, applies: bool) -> None:
    assert (Direction(direction).publishes, Direction(direction).applies) == (publishes, applies)


LETTERS = "ab/*"


def words(longest: int, shortest: int = 0) -> list[str]:
    """All words of the letters, the shortest first."""
    return ["".join(each) for size in range(shortest, longest + 1) for each in product(LETTERS, repeat=size)]


def matched_by_expressions(patterns: list[str], texts: list[str]) -> dict[str, list[int]]:
    """By text: the patterns that match it, each as an expression; a line of one text is a text of its own."""
    found: dict[str, list[int]] = {text: [] for text in texts}
    lines = "\n".join(texts)
    for number, pattern in enumerate(patterns):
        expression = _expression(pattern).replace("[^/]*", "[^/\n]*")
        for match in re.finditer(f"^(?:{expression})$", lines, re.MULTILINE):
            found[match[0]].append(number)
    return found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("/a*", "/a"),
        ("/a*", "/a\n"),
        ("**", ""),
        ("*", ""),
        ("***", "a/b"),
        ("a**b", "a/b/b"),
        ("*/*", "/"),
        ("\0", "\0"),
    ],
)
def test_a_pattern_matches(pattern: str, text: str) -> None:
    assert PathPatterns([pattern]).first(text) == 0


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("/a*", "/a/"),
        ("*", "/"),
        ("a", "aa"),
        ("aa", "a"),
        ("a", ""),
        ("", "a"),
        ("a*b", "a/b"),
        ("a**b", "ab/"),
        ("ä", "a"),
    ],
)
def test_a_pattern_does_not_match(pattern: str, text: str) -> None:
    assert PathPatterns([pattern]).first(text) is None


def test_the_first_of_several_is_found_and_all_of_them() -> None:
    patterns = PathPatterns(["/b", "/a*", "/**", "", "/a*c"])
    assert (patterns.first("/abc"), patterns.all("/abc")) == (1, (1, 2, 4))
    assert (patterns.first(""), patterns.all("")) == (3, (3,))
    assert (patterns.first("x"), patterns.all("x")) == (None, ())
    assert (PathPatterns([]).first("/a"), PathPatterns([]).all("")) == (None, ())


def test_all_short_patterns_match_what_their_expressions_match() -> None:
    patterns, texts = words(4), words(5, shortest=1)
    together = PathPatterns(patterns)
    for text, expected in matched_by_expressions(patterns, texts).items():
        assert together.all(text) == tuple(expected), text
        assert together.first(text) == next(iter(expected), None), text


@pytest.mark.slow  # two minutes of it; the short form tries those of up to four letters
def test_all_patterns_of_six_letters_match_what_their_expressions_match() -> None:
    patterns, texts = words(6), words(8, shortest=1)
    for start in range(0, len(patterns), 400):
        some = patterns[start : start + 400]
        together = PathPatterns(some)
        for text, expected in matched_by_expressions(some, texts).items():
            assert together.all(text) == tuple(expected), text


class CountedText:
    """A text that counts how often a letter of it is read."""

    def __init__(self, text: str) -> None:
        self.text, self.read = text, 0

    def __iter__(self) -> Iterator[str]:
        for letter in self.text:
            self.read += 1
            yield letter


@pytest.mark.parametrize(
    "pattern", ["/" + "**a" * 170, "/" + "*a" * 255, "/**" + "a" * 508, "/" + "a" * 511, "/**a" * 128]
)
def test_a_path_takes_as_many_steps_as_it_has_letters_whatever_the_pattern(pattern: str) -> None:
    text = CountedText("/" + "a" * 4095)
    assert PathPatterns([f"{pattern}b", f"{pattern}c"]).all(cast("str", text)) == ()
    assert 0 < text.read <= len(text.text)


@pytest.mark.parametrize(
    ("pattern", "linear"),
    [
        ("/admin/policies/**", True),
        ("/admin/partitioned-topics/*/*/*/__*", True),
        ("/admin/policies/a*/**", True),
        ("/admin/policies/acme", True),
        ("/admin/policies/*a*", False),
        ("/admin/policies/**/a", False),
        ("/admin/policies/**a**", False),
    ],
)
def test_own_patterns_are_expressions_only_where_no_path_takes_them_long(pattern: str, linear: bool) -> None:
    assert _is_linear(pattern) is linear
    rules = [Rule(pattern, Direction.BOTH)]
    own, told = Scope(rules), Scope(rules, told=True)
    assert (own._compiled is not None, told._compiled) == (linear, None)
    for path in map(MetaPath, ("/admin/policies/acme", "/admin/policies/acme/a", "/admin/policies/a", pattern)):
        assert own.deciding(path) == told.deciding(path)
