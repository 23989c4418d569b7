"""The hand-written record equals a general AVRO library, and nothing that arrives can do worse than be refused."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from typing import Any

import fastavro
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncer.bus.wire.codec import decode, encode
from syncer.bus.wire.fields import LATEST_TIME_MS
from syncer.bus.wire.native import SCHEMA_TEXT, NativeEvent, NativeOption, NativeType, decode_native, encode_native
from syncer.errors import PayloadInvalid
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, Region, Stamp, counter_of
from syncer.paths import classify

SCHEMA = fastavro.parse_schema(json.loads(SCHEMA_TEXT))
TYPE_NAMES = ("Created", "Modified", "ChildrenChanged", "Deleted")
OPTION_NAMES = ("Ephemeral", "Sequential")
INT64 = st.integers(-(2**63), 2**63 - 1)

natives = st.builds(
    NativeEvent,
    path=st.none() | st.text(max_size=200),
    value=st.none() | st.binary(max_size=10_000),
    source_cluster=st.none() | st.text(max_size=80),
    type=st.none() | st.sampled_from(NativeType),
    timestamp_ms=INT64,
    expected_version=st.none() | INT64,
    options=st.none() | st.frozensets(st.sampled_from(NativeOption)),
    version=st.integers(-(2**31), 2**31 - 1),
)

regions = st.from_regex(r"[a-z][a-z0-9.\-]{0,20}", fullmatch=True).map(Region)
times = st.integers(1, LATEST_TIME_MS).map(Millis)
words = st.from_regex(r"[A-Za-z0-9_.%\-]{1,30}", fullmatch=True).filter(lambda word: word not in {".", ".."})
paths = st.one_of(
    st.builds("/admin/policies/{}".format, words),
    st.builds("/admin/policies/{}/{}".format, words, words),
    st.builds("/admin/partitioned-topics/{}/{}/persistent/{}".format, words, words, words),
).map(MetaPath)


@st.composite
def changes(draw: st.DrawFn) -> MetadataChangeEvent:
    path = draw(paths)
    resource = classify(path)
    assert resource is not None
    region, time_ms = draw(regions), draw(times)
    by = counter_of(region, draw(st.integers(1, 99)))
    seen = draw(st.dictionaries(st.builds(counter_of, regions, st.integers(1, 99)), times, max_size=4))
    kind = draw(st.sampled_from(EventType))
    return MetadataChangeEvent(
        type=kind,
        resource=resource.kind,
        resource_name=resource.name,
        path=path,
        value=None if kind is EventType.DELETED else draw(st.binary(max_size=2000)),
        stamp=Stamp(time_ms, region),
        by=by,
        seen={**seen, by: time_ms},
        base=draw(st.none() | st.builds(Stamp, times, regions)),
        sender=draw(st.from_regex(r"[0-9a-f]{1,32}", fullmatch=True)),
        sequence=draw(st.integers(0, 2**50)),
    )


def by_library(event: NativeEvent) -> bytes:
    out = io.BytesIO()
    record: dict[str, Any] = {
        "expectedVersion": event.expected_version,
        "lastUpdatedTimestamp": event.timestamp_ms,
        "options": None if event.options is None else [OPTION_NAMES[option] for option in sorted(event.options)],
        "path": event.path,
        "sourceCluster": event.source_cluster,
        "type": None if event.type is None else TYPE_NAMES[event.type],
        "value": event.value,
        "version": event.version,
    }
    fastavro.schemaless_writer(out, SCHEMA, record)
    return out.getvalue()


@given(natives)
def test_the_record_is_written_and_read_as_by_a_general_library(event: NativeEvent) -> None:
    payload = encode_native(event)
    assert payload == by_library(event)
    assert decode_native(payload) == event


@given(natives, st.data())
def test_no_part_of_a_record_passes_for_a_record(event: NativeEvent, data: st.DataObject) -> None:
    payload = encode_native(event)
    cut = data.draw(st.integers(0, len(payload) - 1))
    with suppress(PayloadInvalid):
        decode_native(payload[:cut])
        raise AssertionError("a truncated record was read")


@given(changes())
def test_every_change_comes_back_whole(event: MetadataChangeEvent) -> None:
    sent = encode(event)
    assert decode(sent.payload, sent.properties) == event


property_names = st.sampled_from(
    ["v", "kind", "region", "sender", "seq", "type", "resource", "name", "by", "seen", "base"]
).map("syncer.{}".format)
property_texts = st.text(max_size=20) | st.sampled_from(
    ["1", "change", "heartbeat", "control", "Deleted", "{}", "a~1", "1@a"]
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # the first draw builds Hypothesis's table of characters
@given(st.binary(max_size=300) | natives.map(encode_native), st.dictionaries(property_names, property_texts))
def test_garbage_is_refused_and_nothing_else_happens(payload: bytes, properties: dict[str, str]) -> None:
    with suppress(PayloadInvalid):
        decode(payload, properties)


@given(changes(), st.dictionaries(property_names, property_texts, min_size=1, max_size=2))
def test_spoilt_properties_are_refused_or_change_only_what_they_say(
    event: MetadataChangeEvent, spoilt: dict[str, str]
) -> None:
    sent = encode(event)
    with suppress(PayloadInvalid):
        again = decode(sent.payload, {**sent.properties, **spoilt})
        assert isinstance(again, MetadataChangeEvent)
        assert (again.path, again.value, again.resource) == (event.path, event.value, event.resource)
