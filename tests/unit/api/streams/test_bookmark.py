"""Bookmarks as text, and what they know."""

from __future__ import annotations

import pytest

from api.streams.bookmark import MAX_OPEN, MAX_TEXT, OVER, Bookmark
from syncer.errors import RequestInvalid


@pytest.mark.parametrize(
    ("bookmark", "text"),
    [
        (Bookmark("4f0c21aa", 17), "4f0c21aa-17"),
        (Bookmark("4f0c21aa", 17, {12: "p", 13: "p", 14: "p", 16: "p"}), "4f0c21aa-17.p12-14.p16"),
        (Bookmark("4f0c21aa", 3, {1: "q", 2: "r", 3: "r"}), "4f0c21aa-3.q1.r2-3"),
    ],
)
def test_a_bookmark_is_short_text_and_comes_back_from_it(bookmark: Bookmark, text: str) -> None:
    assert bookmark.text == text
    found = Bookmark.parse(text)
    assert (found.database, found.last, found.open) == (bookmark.database, bookmark.last, bookmark.open)


def test_a_number_alone_is_of_the_database_that_is_there() -> None:
    found = Bookmark.parse("17")
    assert (found.database, found.last, found.open) == ("", 17, {})


@pytest.mark.parametrize(
    "text", ["", "x", "4F0C21AA-1", "1.p2", "3.p2-1", "3.p1.q1", f"{MAX_OPEN * 3}.p1-{MAX_OPEN + 1}", f"{2**63}"]
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(RequestInvalid, match="Last-Event-ID"):
        Bookmark.parse(text)


@pytest.mark.parametrize("step", [1, 2])
def test_where_too_much_is_open_the_text_goes_back_and_stays_short(step: int) -> None:
    opened = dict.fromkeys(range(5, 5 + step * (MAX_OPEN + 1), step), "p")
    bookmark = Bookmark("4f0c21aa", 9_999, opened)
    assert bookmark.text == "4f0c21aa-4"
    assert len(Bookmark("4f0c21aa", 9_999, dict.fromkeys(range(5, 700, 2), "p")).text) <= MAX_TEXT


def test_it_knows_what_was_told_and_nothing_newer() -> None:
    bookmark = Bookmark("4f0c21aa", 5, {3: "p"})
    assert bookmark.knows(3, "p")
    assert bookmark.knows(4, OVER)
    assert bookmark.knows(4, "p"), "it was that before it was over"
    assert not bookmark.knows(3, OVER)
    assert not bookmark.knows(6, "p")
    bookmark.take(3, OVER)
    bookmark.take(6, "p")
    assert bookmark.text == "4f0c21aa-6.p6"
    assert bookmark.copy().text == bookmark.text
