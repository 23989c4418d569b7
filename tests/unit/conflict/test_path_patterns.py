"""Patterns of paths: what they match, all together, and in how many steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import cast

import pytest

from syncer.conflict.path_patterns import PathPatterns
from syncer.conflict.scope import Rule, Scope, _expression, _is_linear
from syncer.conflict.settings import Direction
from syncer.model import MetaPath

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
