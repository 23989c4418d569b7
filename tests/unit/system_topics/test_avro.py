"""AVRO by a text that is known at run time: what is read and written, and what is refused with a reason."""

from __future__ import annotations

import json
import math

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
        ('["null","int"]', b"\x03", "no branch -2"),
        ('{"type":"enum","name":"E","symbols":["A"]}', b"\x01", "no symbol -1"),
        ('"double"', b"\x00" * 7, "8 bytes are due, 7 are left"),
        ('"float"', b"\x00" * 3, "4 bytes are due"),
        ('{"type":"bytes"}', b"\x01a", "-1 bytes are due"),
        ('{"type":"array","items":"null"}', b"\x7e", "1 bytes are due, 0 are left"),
        ('{"type":"array","items":"long"}', b"\xff" * 9 + b"\x02", "is no long"),
        ('{"type":"map","values":"null"}', b"\x02\x01\x00", "-1 bytes are due"),
    ],
)
def test_malformed_bytes_have_a_reason(text: str, data: bytes, why: str) -> None:
    with pytest.raises(ValueInvalid, match=why):
        AvroSchema(text).decode(data)


HUGE = b"\x80" * 8 + b"\x10"
"""2**60, as a length or a count."""


@pytest.mark.parametrize(
    ("text", "data", "why"),
    [
        ('"string"', HUGE + b"abc", "bytes are due, 3 are left"),
        ('{"type":"array","items":"int"}', HUGE + b"\x02\x02", "1 bytes are due, 0 are left"),
        ('{"type":"array","items":"null"}', HUGE + b"\x00", "empty values"),
        ('{"type":"array","items":"null"}', b"\xff" * 9 + b"\x01\x00", "empty values"),
        ('{"type":"map","values":"null"}', HUGE + b"\x02a", "1 bytes are due, 0 are left"),
        (
            '{"type":"array","items":{"type":"record","name":"E","fields":[{"name":"n","type":"null"}]}}',
            HUGE + b"\x00",
            "empty values",
        ),
        (
            json.dumps(
                [
                    {"type": "record", "name": "R0", "fields": []},
                    *(
                        {"type": "record", "name": f"R{n}", "fields": [{"name": x, "type": f"R{n - 1}"} for x in "ab"]}
                        for n in range(1, 40)
                    ),
                ]
            ),
            b"\x4e",
            "empty values",
        ),
        (
            '{"type":"record","name":"R","fields":[{"name":"r","type":{"type":"array","items":"R"}}]}',
            b"\x02" * 100_000 + b"\x00",
            "too deep",
        ),
    ],
)
def test_few_bytes_cost_neither_time_nor_memory_nor_the_stack(text: str, data: bytes, why: str) -> None:
    with pytest.raises(ValueInvalid, match=why):
        AvroSchema(text).decode(data)


def test_a_value_within_itself_is_read() -> None:
    chain = AvroSchema('{"type":"record","name":"R","fields":[{"name":"r","type":["null","R"]}]}')
    assert chain.decode(b"\x02\x02\x00") == {"r": {"r": {"r": None}}} == chain.decode(chain.encode({"r": {"r": {}}}))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"new": 1}, "more fields than .*: new"),
        ({"inner": {"limit": 1, "rate": 1.0, "more": 2}}, "more fields than .*: more"),
        ({"inner": {"rate": 1.0}}, r"NoneType at Inner\.limit"),
        ({"inner": []}, r"list at Outer\.inner"),
        ({"kind": "THREE"}, r"str at Outer\.kind"),
        ({"names": "a"}, r"str at Outer\.names"),
        ({"names": [1]}, r"int at Outer\.names"),
        ({"sizes": []}, r"list at Outer\.sizes"),
        ({"sizes": {"x": 2**31}}, r"int at Outer\.sizes"),
        ({"sizes": {"x": True}}, r"bool at Outer\.sizes"),
        ({"flag": 1}, r"int at Outer\.flag"),
        ({"part": True}, r"bool at Outer\.part"),
        ({"raw": "€"}, r"str at Outer\.raw"),
        ({"names": ["\ud800"]}, "surrogates not allowed"),
        ({"nothing": 1}, r"int at Outer\.nothing"),
        ({"part": "much"}, r"str at Outer\.part"),
        ({"part": 1e300}, "too large"),
        ({"part": 10**39}, "too large"),
        ({"inner": {"limit": 1, "rate": 10**400}}, "too large"),
        ({"inner": {"limit": 1, "rate": 1.0, "-type": "c.Inner"}}, "more fields than .*: -type"),
        ({"inner": {"limit": 1.0, "rate": 1.0}}, r"float at Inner\.limit"),
        ({"inner": {"limit": True, "rate": 1.0}}, r"bool at Inner\.limit"),
        ({"inner": {"limit": 2**63, "rate": 1.0}}, r"int at Inner\.limit"),
        ({"raw": 1}, r"int at Outer\.raw"),
    ],
)
def test_what_a_schema_has_no_place_for_is_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(ValueRefused, match=why):
        RECORD.encode(WHOLE | change)


def test_what_is_no_number_is_written_as_it_is() -> None:
    read = RECORD.decode(RECORD.encode({"part": math.nan, "inner": {"limit": 1, "rate": math.inf}}))
    assert math.isnan(read["part"])
    assert read["inner"]["rate"] == math.inf


def test_values_are_json_whatever_a_schema_says_of_their_meaning() -> None:
    day = AvroSchema('{"type":"int","logicalType":"date"}')
    assert day.decode(day.encode(7)) == 7


def test_no_default_of_a_schema_stands_for_a_field_that_is_missing() -> None:
    limit = {"name": "limit", "default": 5}
    record = {"type": "record", "name": "R", "fields": [limit | {"type": ["int", {"type": "null"}]}]}
    assert AvroSchema(json.dumps(record)).decode(AvroSchema(json.dumps(record)).encode({})) == {"limit": None}
    record = {"type": "record", "name": "R", "fields": [limit | {"type": "int"}]}
    with pytest.raises(ValueRefused, match=r"NoneType at R\.limit"):
        AvroSchema(json.dumps(record)).encode({})


def test_a_union_without_null_refuses_it() -> None:
    with pytest.raises(ValueRefused, match="NoneType at the top"):
        AvroSchema('["int","string"]').encode(None)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '"Unknown"',
        '{"type":"fixed","name":"F","size":2}',
        '{"type":"error","name":"F","fields":[]}',
        '{"name":"R"}',
        "[" * 100_000,
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
