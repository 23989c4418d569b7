"""Progress along a list, case by case; :mod:`tests.property.test_stream_laws` has its laws."""

from __future__ import annotations

from api.streams.bookmark import MISSING, OVER, Bookmark
from api.streams.progress import ListEntry, ListSeen, StreamGap, advance


def entry(number: int, tag: str = OVER) -> ListEntry:
    return ListEntry(number, tag, {"id": number})


def told(bookmark: Bookmark, seen: ListSeen) -> list[tuple[object, str]]:
    return [(each.what, each.number) for each in advance(bookmark, seen)]


def test_new_ones_are_told_in_order_and_open_ones_again_when_they_change() -> None:
    bookmark = Bookmark("d", 3, {2: "p"})
    seen = ListSeen(new=[entry(4, "p"), entry(5)], again=[entry(2)], latest=5, settled=6, whole=True)
    assert told(bookmark, seen) == [(entry(2), "d-3"), (entry(4, "p"), "d-4.p4"), (entry(5), "d-5.p4")]
    assert told(bookmark, ListSeen(new=[], again=[entry(4, "p")], latest=5, settled=6, whole=True)) == []


def test_numbers_left_out_are_a_gap_where_nothing_is_late() -> None:
    seen = ListSeen(new=[entry(7)], latest=7, settled=6, whole=True)
    assert told(Bookmark("d", 3), seen) == [(StreamGap(4, 5), "d-5"), (entry(7), "d-7")]


def test_all_that_is_left_may_be_gone() -> None:
    seen = ListSeen(new=[], latest=9, settled=10, whole=True)
    assert told(Bookmark("d", 3), seen) == [(StreamGap(4, 9), "d-9")]
    assert told(Bookmark("d", 9), seen) == []


def test_a_number_that_is_late_is_awaited_told_when_it_comes_and_given_up_in_the_end() -> None:
    bookmark = Bookmark("d", 3)
    assert told(bookmark, ListSeen(new=[entry(6)], latest=6, settled=0, late=True, whole=True)) == [
        (entry(6), "d-6.m4-5")
    ]
    assert bookmark.open == {4: MISSING, 5: MISSING}
    seen = ListSeen(new=[], again=[entry(4, "p")], latest=6, settled=0, late=True, whole=True)
    assert told(bookmark, seen) == [(entry(4, "p"), "d-6.p4.m5")]
    assert told(bookmark, ListSeen(new=[], latest=6, settled=6, late=True, whole=True)) == [(StreamGap(5, 5), "d-6.p4")]


def test_an_open_one_that_is_not_there_any_more_is_a_gap() -> None:
    seen = ListSeen(new=[], gone=[2], latest=3, settled=4, whole=True)
    assert told(Bookmark("d", 3, {2: "p"}), seen) == [(StreamGap(2, 2), "d-3")]
