"""Laws of the fold of a topic of policies, whatever brokers and writers do to one another; and of its AVRO."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.errors import ValueInvalid, ValueRefused
from syncer.model import Millis
from syncer.replacing import replace
from syncer.system_topics.avro import AvroSchema
from syncer.system_topics.log import NOTHING, FenceBound, LogMessage, OvertakenPolicy, PolicyLog, WriterClaim

KEY = "__G__persistent://acme/orders/a"
SCHEMA_TEXT = json.dumps(
    {
        "type": "record",
        "name": "Event",
        "namespace": "x",
        "fields": [
            {
                "name": "kind",
                "type": ["null", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}],
                "default": None,
            },
            {"name": "sizes", "type": ["null", {"type": "map", "values": "long"}], "default": None},
            {"name": "names", "type": ["null", {"type": "array", "items": "string"}], "default": None},
            {
                "name": "rate",
                "type": ["null", {"type": "record", "name": "R", "fields": [{"name": "at", "type": "double"}]}],
                "default": None,
            },
            {"name": "flag", "type": ["null", "boolean"], "default": None},
            {"name": "part", "type": ["null", "float"], "default": None},
            {"name": "raw", "type": ["null", "bytes"], "default": None},
            {"name": "count", "type": "int"},
        ],
    }
)
EVENTS = AvroSchema(SCHEMA_TEXT)

ints = st.integers(-(2**31), 2**31 - 1)
events = st.fixed_dictionaries(
    {"count": ints},
    optional={
        "kind": st.none() | st.sampled_from(["A", "B"]),
        "sizes": st.none() | st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1)),
        "names": st.none() | st.lists(st.text()),
        "rate": st.none() | st.fixed_dictionaries({"at": st.floats(allow_nan=False)}),
        "flag": st.none() | st.booleans(),
        "part": st.none() | st.floats(width=32, allow_nan=False),
        "raw": st.none() | st.text(st.characters(max_codepoint=255)),
    },
)
schemas = st.recursive(
    st.sampled_from(["null", "boolean", "int", "long", "float", "double", "bytes", "string", "Kind"]),
    lambda parts: (
        st.builds(lambda items: {"type": "array", "items": items}, parts)
        | st.builds(lambda each: {"type": "map", "values": each}, parts)
        | parts.map(lambda each: each if isinstance(each, list) else ["null", each])
    ),
    max_leaves=4,
)
"""Of the fields of a record."""


@given(events)
def test_an_event_is_read_as_it_was_written_and_nothing_less_or_more(event: dict[str, Any]) -> None:
    written = EVENTS.encode(event)
    assert EVENTS.decode(written) == dict.fromkeys(EVENTS.fields()) | event
    for other in (written[:-1], written + b"\0"):
        with pytest.raises(ValueInvalid):
            EVENTS.decode(other)


@given(events, st.sampled_from(sorted(EVENTS.fields() | {"other"})), st.booleans() | st.text() | st.floats() | ints)
def test_an_event_with_anything_in_a_field_is_read_as_it_was_written_or_refused(
    event: dict[str, Any], field: str, value: object
) -> None:
    changed = event | {field: value}
    with suppress(ValueRefused):
        read = EVENTS.decode(EVENTS.encode(changed))
        assert EVENTS.encode(read) == EVENTS.encode(changed)
        assert type(read[field]) is type(value) or {type(read[field]), type(value)} == {int, float}


@given(events, st.data())
def test_a_damaged_event_is_one_that_could_be_written_or_refused(event: dict[str, Any], data: st.DataObject) -> None:
    damaged = bytearray(EVENTS.encode(event))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ValueInvalid):
        read = EVENTS.decode(bytes(damaged))
        again = EVENTS.encode(read)
        assert EVENTS.encode(EVENTS.decode(again)) == again


@given(st.lists(schemas, max_size=4), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_by_any_schema(types: list[Any], data: bytes) -> None:
    kind = {"name": "kind", "type": ["null", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}]}
    fields = [kind, *({"name": f"f{number}", "type": each} for number, each in enumerate(types))]
    schema = AvroSchema(json.dumps({"type": "record", "name": "Event", "fields": fields}))
    with suppress(ValueInvalid):
        read = schema.decode(data)
        again = schema.encode(read)
        assert schema.encode(schema.decode(again)) == again


values = st.sampled_from([b"a", b"b", b"c", None])
"""Few, so that edits repeat one another."""
steps = st.lists(
    st.tuples(st.sampled_from(["broker", "ours", "late", "former", "restore", "restore late"]), values), max_size=30
)


def play(script: Sequence[tuple[str, bytes | None]]) -> tuple[PolicyLog, list[LogMessage], list[OvertakenPolicy]]:
    """Messages as the script has them; a writer decides on what stands there, or on what stood before."""
    log, messages, told, tops = PolicyLog(), list[LogMessage](), list[OvertakenPolicy](), [NOTHING]
    for number, (who, value) in enumerate(script, 1):
        claim = None
        held = value
        if who != "broker":
            restores = who.startswith("restore")
            standing = log.standing(KEY)
            held = (standing.held if standing is not None else None) if restores else value  # type: ignore[assignment]
            expected = tops[-2] if who in {"late", "restore late"} and len(tops) > 1 else tops[-1]
            fence = 1 if who == "former" else 2
            claim = WriterClaim(
                region="east", store_id="s", fence=fence, database="d", batch=f"{number}", expected=expected,
                restores=restores,
            )  # fmt: skip
        message = LogMessage(id=f"m{number}", key=KEY, held=held, published_ms=Millis(number), claim=claim)
        messages.append(message)
        overtaken = log.take(message)
        if overtaken is not None:
            told.append(overtaken)
        tops.append(message.id)
    return log, messages, told


@given(steps)
def test_no_edit_of_a_broker_vanishes_by_a_message_of_ours(script: list[tuple[str, bytes | None]]) -> None:
    """Whatever of theirs we overwrite was what we decided on, stands, was put back, was repeated, or is told."""
    log, messages, told = play(script)
    lost = {each.lost.id for each in told}
    standing = log.standing(KEY)
    for at, message in enumerate(messages[:-1]):
        after = messages[at + 1]
        if message.claim is not None or after.claim is None:
            continue  # ours, or a broker's edit over another one
        verdict = log.verdict(KEY, after.id)
        assert verdict is not None
        if verdict.valid:
            assert verdict.claim.expected == message.id
            continue
        kept = standing is not None and standing.held == message.held
        restored = any(
            each.claim is not None and each.claim.restores and each.held == message.held
            and (found := log.verdict(KEY, each.id)) is not None and found.valid
            for each in messages[at + 2 :]
        )  # fmt: skip
        repeated = any(each.held == message.held for each in messages[at + 2 :])
        assert kept or restored or repeated or message.id in lost


@given(steps)
def test_what_stands_is_the_last_that_counts(script: list[tuple[str, bytes | None]]) -> None:
    log, messages, _ = play(script)
    counts = [
        each
        for each in messages
        if each.claim is None or ((found := log.verdict(KEY, each.id)) is not None and found.valid)
    ]
    standing = log.standing(KEY)
    assert (standing.id if standing is not None else None) == (counts[-1].id if counts else None)
    assert log.owes(KEY) == (bool(messages) and (not counts or counts[-1] is not messages[-1]))


@given(steps)
def test_one_restoration_ends_every_debt(script: list[tuple[str, bytes | None]]) -> None:
    log, messages, _ = play(script)
    if not log.owes(KEY):
        return
    standing = log.standing(KEY)
    claim = WriterClaim(
        region="east", store_id="s", fence=9, database="d", batch="", expected=log.top(KEY), restores=True
    )
    held = standing.held if standing is not None else None
    last = LogMessage(id="last", key=KEY, held=held, published_ms=Millis(len(messages) + 1), claim=claim)
    assert log.take(last) is None
    now = log.standing(KEY)
    assert now is not None
    assert (now.held, log.owes(KEY)) == (held, False)


@given(steps, st.data())
def test_a_claim_above_the_fence_is_as_if_it_were_none(
    script: list[tuple[str, bytes | None]], data: st.DataObject
) -> None:
    """Whatever it says of itself: what stands, what is owed and what is told are those of a broker's edit."""
    _, messages, _ = play(script)
    forged, honest = PolicyLog(), PolicyLog()
    for each in messages:
        forges = each.claim is None and data.draw(st.booleans())
        claim = WriterClaim(
            region="east", store_id="s", fence=data.draw(st.integers(3, 2**70)), database="d", batch="9",
            expected=data.draw(st.sampled_from([NOTHING, "m1", forged.top(KEY)])), restores=data.draw(st.booleans()),
        )  # fmt: skip
        told = forged.take(replace(each, claim=claim) if forges else each, FenceBound("s", 2))
        assert told == honest.take(each)
        assert (forged.standing(KEY), forged.top(KEY)) == (honest.standing(KEY), honest.top(KEY))
