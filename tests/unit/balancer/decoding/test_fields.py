"""Fields of a JSON object: what Pulsar tolerates is read, what cannot be true is unknown with a finding."""

from __future__ import annotations

import json

import pytest

from syncer.balancer.decoding.fields import DocumentFields, FlawNotes, parsed
from syncer.balancer.picture import LoadFindingKind


def one(value: object) -> DocumentFields:
    return DocumentFields("there", {"it": value}, FlawNotes())


@pytest.mark.parametrize(
    ("value", "found"), [(0.0, 0.0), (7, 7.0), (1.5, 1.5), ("2.5", 2.5), (" 3 ", 3.0), (-0.0, 0.0)]
)
def test_a_number_is_read_as_pulsar_reads_it(value: object, found: float) -> None:
    fields = one(value)
    assert fields.number("it") == found
    assert fields.notes.findings == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, LoadFindingKind.MISSING),
        (True, LoadFindingKind.TORN),
        ([], LoadFindingKind.TORN),
        ("x", LoadFindingKind.TORN),
        ("1_000", LoadFindingKind.TORN),
        (10**400, LoadFindingKind.TORN),
        ("NaN", LoadFindingKind.IMPOSSIBLE),
        (float("nan"), LoadFindingKind.IMPOSSIBLE),
        (float("inf"), LoadFindingKind.IMPOSSIBLE),
        (-1.0, LoadFindingKind.IMPOSSIBLE),
        (-1, LoadFindingKind.IMPOSSIBLE),
    ],
)
def test_a_number_that_cannot_be_true_is_unknown_and_never_0(value: object, kind: LoadFindingKind) -> None:
    fields = one(value)
    assert fields.number("it") is None
    assert [(each.kind, each.where) for each in fields.notes.findings] == [(kind, "there")]
    assert fields.notes.findings[0].what.startswith("it ")
    assert fields.notes.findings[0].remedy


def test_a_limit_may_be_below_zero_but_not_endless() -> None:
    assert one(-1000.0).number("it", below_zero=True) == -1000.0
    assert one(-1000).number("it", below_zero=True) == -1000.0
    assert one(float("-inf")).number("it", below_zero=True) is None


@pytest.mark.parametrize(
    ("value", "found"), [(4, 4), (3.0, 3), ("5", 5), (2**31 - 1, 2**31 - 1), (2**31, None), (-1, None)]
)
def test_a_count_has_31_bits(value: object, found: int | None) -> None:
    fields = one(value)
    assert fields.count("it") == found
    assert bool(fields.notes.findings) == (found is None)


@pytest.mark.parametrize(("value", "found"), [(1_800, 1800), ("1900", 1900), (0, None), (-5, None), (1e30, None)])
def test_a_time_is_none_where_it_says_0(value: object, found: int | None) -> None:
    assert one(value).time_ms("it") == found


@pytest.mark.parametrize(("value", "found"), [(-3, -3), (0, 0), ("3", None), (1.0, None), (2**63, None), (None, None)])
def test_a_version_is_a_whole_number_and_nothing_like_it(value: object, found: int | None) -> None:
    fields = one(value)
    assert fields.whole("it") == found
    assert bool(fields.notes.findings) == (found is None)


def test_texts_flags_objects_and_lists_are_read_as_what_they_are() -> None:
    assert one("a").text("it") == "a"
    assert one(None).text("it") is None
    assert one(False).flag("it", default=True) is False
    assert one(None).flag("it", default=True) is True
    assert one(["a", "b"]).texts("it") == ("a", "b")
    below = one({"x": 1}).below("it")
    assert below is not None
    assert (below.where, below.count("x")) == ("there it", 1)


@pytest.mark.parametrize("value", [3, {"a": 1}])
def test_what_is_of_another_type_is_torn(value: object) -> None:
    fields = one(value)
    assert fields.text("it") is None
    assert fields.texts("it") is None
    assert fields.flag("it", default=True) is True
    assert one([value]).texts("it") is None
    assert [each.kind for each in fields.notes.findings] == [LoadFindingKind.TORN] * 3


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"1", b'"x"', b"\xff", b'{"a": "\\ud800", "b": NaN}', b"[" * 100_000, b'{"a": NaN']
)
def test_what_is_no_json_object_is_torn(data: bytes) -> None:
    notes = FlawNotes()
    assert parsed("there", data, notes) is None
    assert [(each.kind, each.where) for each in notes.findings] == [(LoadFindingKind.TORN, "there")]


def test_a_figure_beside_one_that_is_no_number_is_read() -> None:
    notes = FlawNotes()
    fields = parsed("there", b'{"a": NaN, "b": -Infinity, "c": 1.5}', notes)
    assert fields is not None
    assert (fields.number("a"), fields.number("b"), fields.number("c")) == (None, None, 1.5)
    assert [each.kind for each in notes.findings] == [LoadFindingKind.IMPOSSIBLE] * 2


def test_what_is_shown_of_a_value_is_bounded() -> None:
    notes = FlawNotes()
    fields = parsed("there", json.dumps({"a": "x" * 10_000}).encode(), notes)
    assert fields is not None
    assert fields.number("a") is None
    assert len(notes.findings[0].what) < 120
