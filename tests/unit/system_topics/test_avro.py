"""AVRO by a text that is known at run time: what is read and written, and what is refused with a reason."""

from __future__ import annotations

import json

import pytest

from syncer.errors import ValueInvalid, ValueRefused
from syncer.system_topics.avro import AvroSchema

RECORD = AvroSchema(
    json.dumps(
        {
            "type": "record",
            "name": "Outer",
            "namespace": "a.b",
            "fields": [
                {"name": "kind", "type": ["null", {"type": "enum", "name": "Kind", "symbols": ["ONE", "TWO"]}]},
                {"name": "again", "type": ["null", "Kind"]},
                {
                    "name": "inner",
                    "type": [
                        "null",
                        {
                            "type": "record",
                            "name": "c.Inner",
                            "fields": [{"name": "limit", "type": "long"}, {"name": "rate", "type": "double"}],
                        },
                    ],
                },
                {"name": "second", "type": ["null", "c.Inner"]},
                {"name": "names", "type": ["null", {"type": "array", "items": "string"}]},
                {"name": "sizes", "type": ["null", {"type": "map", "values": "int"}]},
                {"name": "flag", "type": ["null", "boolean"]},
                {"name": "part", "type": ["null", "float"]},
                {"name": "raw", "type": ["null", {"type": "bytes"}]},
                {"name": "either", "type": ["null", "int", "string"]},
                {"name": "nothing", "type": "null"},
            ],
        }
    )
)
WHOLE = {
    "kind": "TWO",
    "again": "ONE",
    "inner": {"limit": -(2**63), "rate": 0.5},
    "second": {"limit": 1, "rate": 2},
    "names": ["a", "ü"],
    "sizes": {"x": 1, "y": -(2**31)},
    "flag": False,
    "part": 0.25,
    "raw": "\x00ÿ",
    "either": "text",
    "nothing": None,
}


def test_a_value_comes_back_as_it_was_written() -> None:
    assert RECORD.decode(RECORD.encode(WHOLE)) == WHOLE
    empty = dict.fromkeys(WHOLE) | {"names": [], "sizes": {}, "flag": True, "either": 3}
    assert RECORD.decode(RECORD.encode(empty)) == empty


def test_what_a_record_lacks_is_null() -> None:
    assert RECORD.decode(RECORD.encode({"flag": True})) == dict.fromkeys(WHOLE) | {"flag": True}


def test_members_come_in_blocks_with_and_without_their_size() -> None:
    names = AvroSchema('{"type":"array","items":"string"}')
    assert names.decode(b"\x02\x02a\x01\x04\x02b\x00") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "data", "why"),
    [
        ('"boolean"', b"\x02", "2 is no truth value"),
        ('"boolean"', b"", "1 bytes are due, 0 are left"),
        ('"boolean"', b"\x01\x01", "1 bytes too many"),
        ('"string"', b"\x04a", "2 bytes are due"),
        ('"string"', b"\x01", "-1 bytes are due"),
        ('"string"', b"\x02\xff", "not UTF-8"),
        ('"int"', b"\x80\x80\x80\x80\x10", "no int"),
        ('"long"', b"\xff" * 10, "more than 10 bytes"),
        ('["null","int"]', b"\x04", "no branch 2"),
        ('{"type":"enum","name":"E","symbols":["A"]}', b"\x02", "no symbol 1"),
        ('{"type":"array","items":"null"}', b"\x7e", "members are due"),
    ],
)
def test_malformed_bytes_have_a_reason(text: str, data: bytes, why: str) -> None:
    with pytest.raises(ValueInvalid, match=why):
        AvroSchema(text).decode(data)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"new": 1}, "no field new"),
        ({"inner": {"limit": 1, "rate": 1.0, "more": 2}}, r"no field inner\.more"),
        ({"inner": {"rate": 1.0}}, r"NoneType at inner\.limit"),
        ({"inner": []}, "list at inner"),
        ({"kind": "THREE"}, "str at kind"),
        ({"names": "a"}, "str at names"),
        ({"names": [1]}, "int at names"),
        ({"sizes": []}, "list at sizes"),
        ({"sizes": {"x": 2**31}}, r"int at sizes\.x"),
        ({"sizes": {"x": True}}, r"bool at sizes\.x"),
        ({"flag": 1}, "int at flag"),
        ({"part": True}, "bool at part"),
        ({"raw": "€"}, "str at raw"),
        ({"names": ["\ud800"]}, "str at names"),
        ({"nothing": 1}, "int at nothing"),
    ],
)
def test_what_a_schema_has_no_place_for_is_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(ValueRefused, match=why):
        RECORD.encode(WHOLE | change)


def test_a_union_without_null_refuses_it() -> None:
    with pytest.raises(ValueRefused, match="NoneType at the top"):
        AvroSchema('["int","string"]').encode(None)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '"Unknown"',
        '{"type":"fixed","name":"F","size":2}',
        '{"name":"R"}',
        '{"type":"record","name":"R"}',
        "[[[1]]]",
    ],
)
def test_a_text_that_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(ValueInvalid, match="no AVRO schema"):
        AvroSchema(text)


def test_the_fields_of_a_record_within_are_told() -> None:
    assert RECORD.fields("inner") == RECORD.fields("second") == {"limit", "rate"}
    assert "inner" in RECORD.fields()
    assert RECORD.fields("flag") == RECORD.fields("nowhere") == RECORD.fields("names") == frozenset()
