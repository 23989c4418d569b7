"""Laws of the fold of a topic of policies, whatever brokers and writers do to one another; and of its AVRO."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from syncer.errors import ValueInvalid
from syncer.model import Millis
from syncer.system_topics.avro import AvroSchema
from syncer.system_topics.log import NOTHING, LogMessage, OvertakenPolicy, PolicyLog, WriterClaim

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
            {"name": "count", "type": "int"},
        ],
    }
)
OURS, GENERAL = AvroSchema(SCHEMA_TEXT), fastavro.parse_schema(json.loads(SCHEMA_TEXT))

events = st.fixed_dictionaries(
    {
        "kind": st.none() | st.sampled_from(["A", "B"]),
        "sizes": st.none() | st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1)),
        "names": st.none() | st.lists(st.text()),
        "rate": st.none() | st.fixed_dictionaries({"at": st.floats(allow_nan=False)}),
        "flag": st.none() | st.booleans(),
        "count": st.integers(-(2**31), 2**31 - 1),
    }
)


@given(events)
def test_avro_is_read_and_written_as_by_a_general_library(event: dict[str, Any]) -> None:
    written = io.BytesIO()
    fastavro.schemaless_writer(written, GENERAL, event)
    assert OURS.encode(event) == written.getvalue()
    assert OURS.decode(written.getvalue()) == fastavro.schemaless_reader(io.BytesIO(OURS.encode(event)), GENERAL, None)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(ValueInvalid):
        OURS.decode(data)


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
