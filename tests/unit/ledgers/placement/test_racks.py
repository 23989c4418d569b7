"""Racks as operators write them, and documents that are none."""

from __future__ import annotations

import pytest

from syncer.ledgers.placement.racks import DEFAULT_RACK, RackMap, rack_map


def test_racks_get_their_slash_and_bookies_without_one_the_default() -> None:
    found = rack_map(
        b'{"g": {"a": {"rack": "r1"}, "b": {"rack": "/eu/r2"}, "c": {"rack": "/"}, "d": {"rack": ""}, "e": {}}}'
    )
    assert found == RackMap({"a": "/r1", "b": "/eu/r2"})
    assert [found.rack(bookie) for bookie in "abcx"] == ["/r1", "/eu/r2", DEFAULT_RACK, DEFAULT_RACK]
    assert found.region("b") == "/eu"
    assert found.depths() == {1, 2}


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        (b"{", "the document is no JSON"),
        (b"[" * 100_000, "the document is no JSON"),
        (b"\xff", "the document is no JSON"),
        (b"[]", "the document is no object"),
        (b'{"g": 1}', "the group g is no object"),
        (b'{"g": {"a": {"rack": 1}}}', "the rack of a is no text"),
    ],
)
def test_what_is_no_document_of_racks_is_told(value: bytes, flaw: str) -> None:
    assert rack_map(value) == RackMap({}, (flaw,))


def test_no_document_is_no_flaw() -> None:
    assert rack_map(b"") == RackMap()
