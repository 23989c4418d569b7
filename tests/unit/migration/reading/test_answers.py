"""An answer is taken apart field by field, and says where it is odd."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from syncer.errors import AdminError
from syncer.migration.reading.answers import AnswerPart

ANSWER = AnswerPart("stats of x", {"a": {"b": [1, "two", True, 2.5]}, "none": None})


def element(number: int) -> AnswerPart:
    return ANSWER.part("a").part("b").parts()[number]


def test_values_are_what_they_are() -> None:
    assert element(0).whole() == 1
    assert element(0).number() == 1.0
    assert element(1).text() == "two"
    assert element(2).flag()
    assert element(3).number() == 2.5
    assert list(ANSWER.fields()) == ["a"]
    assert ANSWER.find("none") is ANSWER.find("nowhere") is None


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: element(2).whole(), r"stats of x: 'a\.b\[2\]' is 'True' and not a whole number"),
        (lambda: element(2).number(), "and not a number"),
        (lambda: element(0).flag(), "and not true or false"),
        (lambda: element(0).text(), "and not a text"),
        (lambda: element(0).parts(), "and not a list"),
        (lambda: ANSWER.part("a").part("b").fields(), r"'a\.b' is .* and not an object"),
        (lambda: ANSWER.part("a").part("c"), r"stats of x: the answer has no 'a\.c'"),
        (lambda: ANSWER.part("none"), "the answer has no 'none'"),
        (lambda: AnswerPart("stats of x", "<html>").fields(), "stats of x: the answer is '<html>' and not an object"),
    ],
    ids=range(9),
)
def test_what_is_odd_is_named(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(AdminError, match=words):
        ask()
