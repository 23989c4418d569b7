"""The form of a message on the topic: Pulsar's own record byte for byte, our properties, every refusal by reason."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import orjson
import pytest

from syncer.bus.wire.codec import decode, encode, is_change_of, sequence_of
from syncer.bus.wire.fields import LATEST_TIME_MS
from syncer.bus.wire.messages import Control, ControlAction, Heartbeat, Ignored, StatePage, StateRequest
from syncer.bus.wire.native import SCHEMA_TEXT, NativeEvent, NativeOption, NativeType, decode_native, encode_native
from syncer.errors import InvariantBroken, PayloadInvalid
from syncer.model import (
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    ResourceKind,
    Stamp,
    TieOrder,
    counter_of,
)

EAST = Region("us-east")
WEST = Region("us-west")
NOW = Millis(1_700_000_000_000)
BY = counter_of(EAST, 1)
PATH = MetaPath("/admin/policies/acme/orders")

CHANGE = MetadataChangeEvent(
    type=EventType.CREATED,
    resource=ResourceKind.NAMESPACE,
    resource_name="acme/orders",
    path=PATH,
    value=b'{"deleted":false}',
    stamp=Stamp(NOW, EAST),
    by=BY,
    seen={BY: NOW, counter_of(WEST, 3): Millis(NOW - 5)},
    base=Stamp(Millis(NOW - 5), WEST),
    sender="9f8e7d",
    sequence=41,
)
DELETE = replace(CHANGE, type=EventType.DELETED, value=None, base=None)
HEARTBEAT = Heartbeat(
    region=EAST,
    sender="9f8e7d",
    generation=2,
    sent_at_ms=NOW,
    last_sequence=41,
    consumed={"9f8e7d": 41, "aa": 3},
    watermark=Millis(NOW - 100),
    projections={"tenant": "1", "namespace": "4"},
    scope="c0ffee",
    tie_order=TieOrder.NATIVE,
    mode="sync",
    version="0.1.0",
    generations={"us-west": (1_795_263_308, "7d6c5b")},
)
CONTROL = Control(
    region=EAST,
    sender="9f8e7d",
    action=ControlAction.REQUEST,
    paths=(PATH, "/admin/policies/acme"),
    reason="roots differ",
    sent_at_ms=NOW,
    target="us-west",
)

LISTING_ASKED = StateRequest(
    region=EAST, sender="9f8e7d", sent_at_ms=NOW, target="us-west", after="/admin/policies/acme", told=3
)
LISTING_TOLD = StatePage(
    region=EAST,
    sender="9f8e7d",
    sent_at_ms=NOW,
    target="us-west",
    asker="aa",
    after="/admin/policies",
    entries=(
        ("/admin/policies/acme", NOW, "us-east", "us-east~1", {"us-east~1": NOW, "us-west~2": 5}, "0f" * 16),
        ("/admin/policies/gone", 2, "us-west", "us-west~2", {"us-west~2": 2}, None),
    ),
    last=True,
    total=5,
    rebuilding=True,
)


def native(**changes: Any) -> bytes:
    """A sound event as a broker sends it, with some fields changed."""
    event = NativeEvent(PATH, b"{}", "us-west", NativeType.MODIFIED, NOW, expected_version=3)
    return encode_native(event._replace(**changes))


def test_a_change_of_ones_own_is_told_without_decoding_it() -> None:
    assert is_change_of("9f8e7d", encode(CHANGE).properties)
    assert not is_change_of("other", encode(CHANGE).properties)
    assert not is_change_of("9f8e7d", encode(HEARTBEAT).properties)
    assert not is_change_of("9f8e7d", {})


def test_payload_is_the_vector_recorded_from_pulsar() -> None:
    event = NativeEvent("/p", b"ab", "us-w", NativeType.MODIFIED, 1_700_000_000_000)
    vector = bytes.fromhex("0080a0abfef962020002042f70020875732d7702020204616200")
    assert encode_native(event) == vector
    assert decode_native(vector) == event


def test_schema_text_is_the_one_that_brokers_register() -> None:
    schema = json.loads(SCHEMA_TEXT)
    assert [field["name"] for field in schema["fields"]] == [
        "expectedVersion",
        "lastUpdatedTimestamp",
        "options",
        "path",
        "sourceCluster",
        "type",
        "value",
        "version",
    ]
    assert json.dumps(schema, separators=(",", ":")) == SCHEMA_TEXT


@pytest.mark.parametrize("event", [CHANGE, DELETE, replace(CHANGE, type=EventType.MODIFIED, value=b"")])
def test_a_change_comes_back_whole(event: MetadataChangeEvent) -> None:
    sent = encode(event)
    assert decode(sent.payload, sent.properties) == event


@pytest.mark.parametrize(
    "message",
    [
        HEARTBEAT,
        CONTROL,
        replace(CONTROL, target="", paths=()),
        replace(CONTROL, stamps=((NOW, EAST), (Millis(0), Region("us-west")))),
        LISTING_ASKED,
        replace(LISTING_ASKED, after="", told=0),
        LISTING_TOLD,
        replace(LISTING_TOLD, entries=(), last=False, rebuilding=False),
    ],
)
def test_what_daemons_say_comes_back_whole(message: Heartbeat | Control | StateRequest | StatePage) -> None:
    sent = encode(message)
    assert decode(sent.payload, sent.properties) == message


def test_a_native_region_reads_what_it_applies_without_harm() -> None:
    """Options an empty array, no expected version, a source: anything else makes a broker drop it or hang."""
    record = fastavro.schemaless_reader(
        io.BytesIO(encode(CHANGE, native_names={EAST: "pulsar-1"}).payload),
        fastavro.parse_schema(json.loads(SCHEMA_TEXT)),
        None,
    )
    assert record == {
        "expectedVersion": None,
        "lastUpdatedTimestamp": NOW,
        "options": [],
        "path": PATH,
        "sourceCluster": "pulsar-1",
        "type": "Modified",
        "value": b'{"deleted":false}',
        "version": 0,
    }
    assert decode_native(encode(DELETE).payload)[:4] == (PATH, None, "us-east", NativeType.DELETED)


def test_the_region_survives_a_native_name() -> None:
    sent = encode(CHANGE, native_names={EAST: "pulsar-1"})
    assert decode(sent.payload, sent.properties) == CHANGE


def test_transport_properties_of_pulsar_do_no_harm() -> None:
    sent = encode(CHANGE)
    assert decode(sent.payload, {**sent.properties, "__MSG_PROP_REPL_SOURCE_POSITION": "4:7"}) == CHANGE
    assert isinstance(decode(native(), {"__MSG_PROP_REPL_SOURCE_POSITION": "4:7"}), MetadataChangeEvent)


def test_a_broker_event_has_the_cluster_as_author() -> None:
    by = "us-west~native"
    assert decode(native(), {}) == MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=ResourceKind.NAMESPACE,
        resource_name="acme/orders",
        path=PATH,
        value=b"{}",
        stamp=Stamp(NOW, WEST),
        by=by,  # type: ignore[arg-type]  # a literal counter
        seen={by: NOW},  # type: ignore[dict-item]  # the same
        whole=False,
    )
    gone = decode(native(type=NativeType.DELETED, value=None), {})
    assert isinstance(gone, MetadataChangeEvent)
    assert gone.type is EventType.DELETED


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (native(path="/pulsar-syncer/us-east/heartbeat"), "echo-of-own-path"),
        (native(path="/pulsar-syncer"), "echo-of-own-path"),
        (native(path="/loadbalance/leader"), "no-resource"),
        (native(options=frozenset({NativeOption.EPHEMERAL})), "ephemeral-or-sequential"),
        (native(options=frozenset(NativeOption)), "ephemeral-or-sequential"),
        (native(type=NativeType.CHILDREN_CHANGED, value=None), "children-changed"),
    ],
)
def test_broker_events_that_are_none_of_our_business(payload: bytes, reason: str) -> None:
    ignored = decode(payload, {})
    assert isinstance(ignored, Ignored)
    assert ignored.reason == reason


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "truncated AVRO"),
        (native()[:-1], "truncated AVRO"),
        (native()[:20], "truncated AVRO: path announces"),
        (native() + b"\x00", "1 trailing bytes"),
        (b"\x01" + native()[1:], "expectedVersion is neither null nor a value"),
        (b'{"path":"/p"}', "expectedVersion is neither null nor a value"),
        (b"\x00" + b"\xff" * 11, "longer than 64 bits"),
        (b"\x00" + b"\xff" * 9 + b"\x7f", "longer than 64 bits"),
        (bytes.fromhex("0080a0abfef962020002042f70020875732d7702080204616200"), "unknown NotificationType 4"),
        (bytes.fromhex("0080a0abfef962020002042f70020875732d7702020204616280808080808010"), "does not fit 32 bits"),
        (bytes.fromhex("0080a0abfef96202020400"), "unknown CreateOption 2"),
        (bytes.fromhex("0080a0abfef9620280808001"), "options announce"),
        (bytes.fromhex("0080a0abfef962020002042fff020875732d7702020204616200"), "path is not UTF-8"),
        (bytes.fromhex("0080a0abfef96202000203"), "path has a negative length"),
        (native(path=None), "no path"),
        (native(path="relative"), "illegal path"),
        (native(path="/a//b"), "illegal path"),
        (native(path="/admin/policies/"), "illegal path"),
        (native(path="/admin/policies/.."), "illegal path"),
        (native(path="/admin/policies/a\x00b"), "illegal path"),
        (native(source_cluster=None), "without sourceCluster"),
        (native(source_cluster="a/b"), "no region id"),
        (native(type=None), "without a type"),
        (native(value=None), "without a value"),
        (native(type=NativeType.DELETED), "a delete of .* with a value"),
        (native(timestamp_ms=0), "outside the sane range"),
        (native(timestamp_ms=-1), "outside the sane range"),
        (native(timestamp_ms=7), "outside the sane range"),
        (native(timestamp_ms=LATEST_TIME_MS + 1), "outside the sane range"),
    ],
)
def test_unsound_broker_events_are_refused_by_reason(payload: bytes, reason: str) -> None:
    with pytest.raises(PayloadInvalid, match=reason):
        decode(payload, {})


@pytest.mark.parametrize(
    "name", ["v", "kind", "region", "sender", "seq", "type", "resource", "name", "by", "seen"], ids="missing-{}".format
)
def test_a_missing_property_is_named(name: str) -> None:
    sent = encode(CHANGE)
    properties = {key: text for key, text in sent.properties.items() if key != f"syncer.{name}"}
    with pytest.raises(PayloadInvalid, match=f"missing property syncer.{name}"):
        decode(sent.payload, properties)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"v": "2"}, "unknown codec version '2'"),
        ({"kind": "gossip"}, "unknown kind of message 'gossip'"),
        ({"kind": "heartbeat"}, "the properties say heartbeat of region 'us-east', the payload's path is"),
        ({"kind": "control"}, "the properties say control"),
        ({"type": "Renamed"}, "malformed property syncer.type"),
        ({"type": "Deleted"}, "the properties say Deleted of .*, the payload says MODIFIED"),
        ({"resource": "tenant"}, "the properties say tenant"),
        ({"name": "acme/other"}, "the properties say namespace 'acme/other'"),
        ({"region": ""}, "no region id"),
        ({"region": "a/b"}, "no region id"),
        ({"by": "us-west~1"}, "no counter of region 'us-east'"),
        ({"by": "1"}, "no counter of region"),
        ({"seen": "{"}, "malformed property syncer.seen"),
        ({"seen": "[]"}, "no JSON object"),
        ({"seen": '{"us-east~1":"1"}'}, "has no time"),
        ({"seen": '{"us-east~1":true}'}, "has no time"),
        ({"seen": '{"us-east~1":0}'}, "outside the sane range"),
        ({"seen": "{}"}, "is not in it"),
        ({"seen": '{"us-east~1":1699999999999}'}, "is not in it"),
        ({"base": "yesterday"}, "malformed property syncer.base"),
        ({"base": "x@us-west"}, "is not a number"),
        ({"base": "253402300800000@us-west"}, "outside the sane range"),
        ({"sender": ""}, "syncer.sender: it is empty"),
        ({"seq": "-1"}, "is not a number"),
        ({"seq": "1.5"}, "is not a number"),
        ({"seq": "9" * 19}, "is not a number"),
        ({"seq": str(2**53)}, r"is not a number below 2\^53"),
        ({"seq": "\u0663"}, "is not a number"),
    ],
)
def test_a_malformed_property_is_named(changes: dict[str, str], reason: str) -> None:
    sent = encode(CHANGE)
    properties = {**sent.properties, **{f"syncer.{name}": text for name, text in changes.items()}}
    with pytest.raises(PayloadInvalid, match=reason):
        decode(sent.payload, properties)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"timestamp_ms": 0}, "outside the sane range"),
        ({"timestamp_ms": LATEST_TIME_MS + 1}, "outside the sane range"),
        ({"value": None}, "without a value"),
        ({"type": None}, "the payload says none"),
        ({"type": NativeType.DELETED}, "the payload says DELETED"),
        ({"path": "/admin/policies/acme"}, "the path /admin/policies/acme is tenant"),
        ({"path": "/admin/local-policies/acme/orders"}, "no resource known here"),
    ],
)
def test_a_change_whose_payload_does_not_fit_is_refused(changes: dict[str, Any], reason: str) -> None:
    sent = encode(CHANGE)
    with pytest.raises(PayloadInvalid, match=reason):
        decode(native(source_cluster="us-east", **changes), sent.properties)


def test_a_baseline_may_travel_but_no_native_event_may_claim_one() -> None:
    old = replace(CHANGE, stamp=Stamp(Millis(1), EAST), seen={BY: Millis(1)}, base=None)
    sent = encode(old)
    assert decode(sent.payload, sent.properties) == old


def test_oversize_is_refused_before_it_is_read() -> None:
    sent = encode(replace(CHANGE, value=b"x" * 2000))
    with pytest.raises(PayloadInvalid, match=r"oversize: the payload has \d+ bytes, the limit is 1000"):
        decode(sent.payload, sent.properties, max_bytes=1000)


def test_a_change_that_contradicts_itself_is_never_sent() -> None:
    with pytest.raises(InvariantBroken):
        encode(replace(CHANGE, value=None))
    with pytest.raises(InvariantBroken):
        encode(replace(CHANGE, type=EventType.DELETED))


@pytest.mark.parametrize(
    "event", [replace(CHANGE, stamp=Stamp(Millis(1 << 63), EAST)), replace(CHANGE, path=MetaPath("/\ud800"))]
)
def test_what_the_record_cannot_hold_is_refused(event: MetadataChangeEvent) -> None:
    with pytest.raises(PayloadInvalid):
        encode(event)


@pytest.mark.parametrize(("field", "number"), [("version", 1 << 31), ("expected_version", 1 << 63)])
def test_numbers_too_large_for_their_field_are_refused(field: str, number: int) -> None:
    with pytest.raises(PayloadInvalid, match="does not fit"):
        native(**{field: number})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"region": "us-west"}, "names another region or sender"),
        ({"sender": "other"}, "names another region or sender"),
        ({"sent_at_ms": NOW + 1}, "two times"),
        ({"generation": "2"}, "generation: Input should be a valid integer"),
        ({"tie_order": "coin"}, "tie_order"),
        ({"consumed": {"a": "b"}}, "consumed.a"),
        ({"consumed": None}, "consumed"),
        ({"generation": 0}, "generation: 0 is none"),
        ({"generations": {"us-west": [10**12, "db"]}}, "generation: 1000000000000 is none"),
        ({"generations": {"us-west": [1]}}, "generations"),
        ({"clusters": "west"}, "clusters"),
        ({"names": {"pulsar-w": 7}}, "names.pulsar-w"),
        ({"names": {"pulsar-w": "we\u202est"}}, "a name is none"),
        ({"clusters": ["x" * 513]}, "too many characters"),
        ({"clusters": ["x"] * 4097}, "it lists too much"),
        ({"excluded": {"/admin/**": ["x"] * 4097}}, "it lists too much"),
        ({"excluded": {"/admin/**": ["x" * 500] * 300}}, "it lists too much"),
        ({"excluded": {"/admin/\u0000": ["ttl"]}}, "a name is none"),
    ],
)
def test_a_malformed_heartbeat_is_refused_by_field(changes: dict[str, Any], reason: str) -> None:
    sent = encode(HEARTBEAT)
    record = decode_native(sent.payload)
    assert record.value is not None
    spoilt = record._replace(value=orjson.dumps({**orjson.loads(record.value), **changes}))
    with pytest.raises(PayloadInvalid, match=reason):
        decode(encode_native(spoilt), sent.properties)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"value": None}, "without a value"),
        ({"value": b"{"}, "malformed heartbeat"),
        ({"type": NativeType.DELETED}, "does not say Modified"),
        ({"path": "/pulsar-syncer/us-west/heartbeat"}, "the payload's path is"),
        ({"path": str(PATH)}, "the payload's path is"),
    ],
)
def test_a_heartbeat_in_a_wrong_record_is_refused(changes: dict[str, Any], reason: str) -> None:
    sent = encode(HEARTBEAT)
    with pytest.raises(PayloadInvalid, match=reason):
        decode(encode_native(decode_native(sent.payload)._replace(**changes)), sent.properties)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"region": "us-west"}, "names another region or sender"),
        ({"sender": "other"}, "names another region or sender"),
        ({"entries": [["/admin/policies/acme", NOW, "us-east", "us-east~1", {}]]}, "entries.0"),
        ({"entries": [["/admin/policies/acme", "soon", "us-east", "us-east~1", {}, None]]}, "entries.0.1"),
        ({"entries": [["/admin/policies/acme", NOW, "us-east", "us-east~1", {"a": "b"}, None]]}, "entries.0.4.a"),
        ({"entries": None}, "entries"),
        ({"last": 1}, "last"),
        ({"total": "5"}, "total"),
    ],
)
def test_a_malformed_page_of_a_listing_is_refused_by_field(changes: dict[str, Any], reason: str) -> None:
    sent = encode(LISTING_TOLD)
    record = decode_native(sent.payload)
    assert record.value is not None
    spoilt = record._replace(value=orjson.dumps({**orjson.loads(record.value), **changes}))
    with pytest.raises(PayloadInvalid, match=reason):
        decode(encode_native(spoilt), sent.properties)


def test_a_question_for_a_listing_that_is_malformed_is_refused() -> None:
    sent = encode(LISTING_ASKED)
    record = decode_native(sent.payload)
    assert record.value is not None
    spoilt = record._replace(value=orjson.dumps({**orjson.loads(record.value), "told": "many"}))
    with pytest.raises(PayloadInvalid, match="malformed listing-asked"):
        decode(encode_native(spoilt), sent.properties)


@pytest.mark.parametrize(
    ("properties", "number"),
    [
        ({"syncer.seq": "41"}, 41),
        ({}, 0),
        ({"syncer.seq": "-1"}, 0),
        ({"syncer.seq": "9" * 40}, 0),
        ({"syncer.seq": str(2**53)}, 0),
    ],
)
def test_the_number_of_a_change_is_told_without_decoding_it(properties: dict[str, str], number: int) -> None:
    assert sequence_of(properties) == number


def test_a_heartbeat_from_before_time_began_is_refused() -> None:
    sent = encode(replace(HEARTBEAT, sent_at_ms=Millis(5)))
    with pytest.raises(PayloadInvalid, match="outside the sane range"):
        decode(sent.payload, sent.properties)


def test_names_of_clusters_and_excluded_fields_come_back_whole_and_are_left_out_where_there_are_none() -> None:
    beat = replace(
        HEARTBEAT,
        clusters=("west",),
        names={"pulsar-w": "west"},
        excluded={"/admin/policies/acme/*": ("backlog_quota_map", "message_ttl_in_seconds")},
    )
    sent = encode(beat)
    assert decode(sent.payload, sent.properties) == beat
    told = orjson.loads(decode_native(encode(HEARTBEAT).payload).value or b"{}")
    assert not {"clusters", "names", "excluded"} & told.keys()


def test_fields_of_a_newer_heartbeat_are_no_error() -> None:
    sent = encode(HEARTBEAT)
    record = decode_native(sent.payload)
    assert record.value is not None
    newer = record._replace(value=orjson.dumps({**orjson.loads(record.value), "mood": "fine"}))
    assert decode(encode_native(newer), sent.properties) == HEARTBEAT


@pytest.mark.parametrize(
    "number", [-1, 2**53, 2**62, 2**64, 10**30, 10**400], ids=["minus", "53", "62", "64", "30", "400"]
)
@pytest.mark.parametrize(
    "field",
    [
        "generation",
        "generations",
        "last_sequence",
        "alive",
        "unseated_deletes",
        "unfolded",
        "watermark",
        "oldest_unseated_ms",
        "consumed",
        "reached",
        "retold",
    ],
)
def test_a_heartbeat_with_a_number_that_nobody_counted_is_refused(field: str, number: int) -> None:
    shapes = {"consumed": {"x": number}, "reached": {"x": number}, "retold": (0, number)}
    told: Any = {**shapes, "generations": {"x": (number, "db")}}.get(field, number)
    sent = encode(HEARTBEAT)
    record = decode_native(sent.payload)
    assert record.value is not None
    spoilt = json.dumps({**orjson.loads(record.value), field: told}).encode()
    with pytest.raises(
        PayloadInvalid, match=r"is not within 0 and 2\^53|outside the sane range|malformed heartbeat"
    ) as caught:
        decode(encode_native(record._replace(value=spoilt)), sent.properties)
    assert caught.value.code == "payload-invalid"
    assert len(caught.value.message) < 500


@pytest.mark.parametrize("message", [replace(LISTING_ASKED, told=2**53), replace(LISTING_TOLD, total=-1)])
def test_a_listing_with_a_number_that_nobody_counted_is_refused(message: StateRequest | StatePage) -> None:
    sent = encode(message)
    with pytest.raises(PayloadInvalid, match="is not within 0 and"):
        decode(sent.payload, sent.properties)


@pytest.mark.parametrize(
    "refused", [(("", "x"),), (("a/b", "x"),), (("a", ""),), (("a", "x" * 201),), (("a", "x"),) * 513]
)
def test_a_heartbeat_that_names_no_sound_refusals_is_refused(refused: tuple[tuple[str, str], ...]) -> None:
    sent = encode(replace(HEARTBEAT, refused=refused))
    with pytest.raises(PayloadInvalid, match="refused"):
        decode(sent.payload, sent.properties)


def test_refusals_come_back_whole() -> None:
    beat = replace(HEARTBEAT, refused=(("us-old", "aa"), ("us-old", "bb")))
    sent = encode(beat)
    assert decode(sent.payload, sent.properties) == beat


@pytest.mark.parametrize(
    ("value", "ignored"),
    [
        (b'{"action":"dance","region":"us-east"}', True),
        (b'{"action":"pause"}', False),
        (b'{"action":7}', False),
        (b"[]", False),
        (b"{", False),
    ],
)
def test_a_control_message_of_a_newer_version_is_ignored_and_a_broken_one_refused(value: bytes, ignored: bool) -> None:
    sent = encode(CONTROL)
    payload = encode_native(decode_native(sent.payload)._replace(value=value))
    if ignored:
        assert decode(payload, sent.properties) == Ignored("unknown-action", "/pulsar-syncer/us-east/control")
    else:
        with pytest.raises(PayloadInvalid, match="malformed control"):
            decode(payload, sent.properties)


@pytest.mark.parametrize(
    "stamps",
    [((NOW, EAST),), ((NOW, EAST),) * 3, ((NOW, EAST), (Millis(-1), EAST)), ((NOW, EAST), (NOW, Region("a/b")))],
)
def test_a_control_message_whose_stamps_are_not_those_of_its_paths_is_refused(
    stamps: tuple[tuple[Millis, Region], ...],
) -> None:
    sent = encode(replace(CONTROL, stamps=stamps))
    with pytest.raises(PayloadInvalid, match="stamps"):
        decode(sent.payload, sent.properties)


def test_a_wrong_resource_without_a_name_is_refused_like_any_other() -> None:
    sent = encode(CHANGE)
    properties = {name: text for name, text in sent.properties.items() if name != "syncer.name"}
    with pytest.raises(PayloadInvalid, match=r"missing property syncer\.name"):
        decode(sent.payload, {**properties, "syncer.resource": "bookie"})
