"""Whatever arrives on the bus: a clear refusal, or a message that means what it says. Never a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import PROOF, SIGNATURE, UNSIGNED, Keyring, sealed
from syncer.bus.wire.codec import decode, encode
from syncer.bus.wire.fields import LATEST_TIME_MS, NUMBERS, is_id
from syncer.bus.wire.messages import (
    Control,
    ControlAction,
    Heartbeat,
    Ignored,
    Message,
    StatePage,
    StateRequest,
    TreeMessage,
)
from syncer.bus.wire.native import decode_native, encode_native
from syncer.bus.wire.tree_bodies import (
    Listing,
    TreeEntry,
    buckets_body,
    buckets_of,
    groups_body,
    groups_of,
    listing_body,
    listing_of,
)
from syncer.conflict.digest_tree import BUCKETS, GROUPS
from syncer.errors import PayloadInvalid, SignatureInvalid
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind, Stamp
from syncer.paths import checked, classify
from tests.fuzz.shares import drawing
from tests.property.test_codec import natives
from tests.support.group_keys import key, keyring, unsealed
from tests.support.region_keys import ring
from tests.unit.bus.trust.test_signing import TREE
from tests.unit.bus.wire.test_codec import CHANGE, CONTROL, DELETE, EAST, HEARTBEAT, LISTING_ASKED, LISTING_TOLD, NOW

OURS = keyring("ours")
BY_REGION = ring(EAST, (EAST, "us-west"), required=True)
"""Keys of regions: every sound message here is one of us-east."""
RINGS = (UNSIGNED, OURS, Keyring([key("ours")], native=[Region("us-west")]), BY_REGION, ring(EAST, (EAST,)))

names = st.sampled_from(
    [
        "proof",
        "v",
        "kind",
        "region",
        "sender",
        "seq",
        "type",
        "resource",
        "name",
        "by",
        "seen",
        "base",
        "target",
        "label",
    ]
    + ["step", "round", "signature", "other"]
).map("syncer.{}".format)
texts = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["", "1", "2", "-1", "9" * 18, "9" * 400, "1e9", "change", "heartbeat", "control", "tree", "listing-told"]
        + ["Created", "Deleted", "{}", '{"a~1":1}', '{"a":' * 2000, "[" * 100_000, "a~1", "1@a", "@", "NaN", "us-east"]
    ),
)
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 2**70),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from([[], {}, "", "us-east", -1, 2**53, 2**63, [["a", "b"]], {"a": 1}, "x" * 2000]),
    st.lists(st.integers() | st.text(max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)
SOUND = (
    CHANGE,
    DELETE,
    replace(CHANGE, path=MetaPath("/admin/policies/acme"), resource=ResourceKind.TENANT, resource_name="acme"),
    replace(CHANGE, stamp=Stamp(Millis(1), EAST), base=None, seen={CHANGE.by: Millis(1)}, value=b""),
    replace(DELETE, sequence=2**53 - 1, sender="é" * 40),
    HEARTBEAT,
    replace(HEARTBEAT, refused=(("us-west", "db"),), retold=(1, 2), unfolded=0, oldest_unseated_ms=NOW),
    CONTROL,
    replace(CONTROL, action=ControlAction.PAUSE, paths=(), number=7),
    LISTING_ASKED,
    LISTING_TOLD,
    TREE,
)
"""One of each sort; that every other one comes back whole is shown by tests/property."""
messages: st.SearchStrategy[Any] = st.sampled_from(SOUND)


def means_something(message: Message) -> None:
    """What is taken keeps every rule on which all that follows relies, and can be said again word for word."""
    if isinstance(message, Ignored):
        return
    if isinstance(message, MetadataChangeEvent):
        resource = classify(message.path)
        assert resource is not None
        assert checked(message.path) == message.path
        assert (resource.kind, resource.name) == (message.resource, message.resource_name)
        assert (message.value is None) == (message.type.value == "Deleted")
        assert 0 < message.stamp.updated_at_ms <= LATEST_TIME_MS
        assert is_id(message.stamp.region)
        assert message.seen[message.by] >= message.stamp.updated_at_ms
        assert all(0 < time_ms <= LATEST_TIME_MS for time_ms in message.seen.values())
        assert 0 <= message.sequence < NUMBERS
        if not message.sender:
            return  # a broker's: it has no words for what we would add
    else:
        assert is_id(message.region)
        assert 0 < message.sent_at_ms <= LATEST_TIME_MS
    said = encode(message)
    assert decode(said.payload, said.properties) == message


def heard(payload: bytes, properties: Mapping[str, str], ring: Keyring) -> Message | None:
    """What a message means to who has these keys; ``None``: it is refused."""
    try:
        message = unsealed(payload, properties, ring)
    except PayloadInvalid as exc:
        assert exc.message
        return None
    means_something(message)
    return message


@drawing("garbage")
@given(
    st.binary(max_size=400) | natives.map(encode_native),
    st.dictionaries(names, texts, max_size=12),
    st.sampled_from(RINGS),
)
def test_garbage(payload: bytes, properties: dict[str, str], ring: Keyring) -> None:
    message = heard(payload, properties, ring)
    if ring in {OURS, BY_REGION}:
        assert message is None or isinstance(message, Ignored)


@st.composite
def spoilt(draw: st.DrawFn) -> Outgoing:
    """A sound message with something wrong in bytes, properties, or the fields of its JSON."""
    sent = encode(draw(messages))
    payload, properties = bytearray(sent.payload), dict(sent.properties)
    where = draw(st.sampled_from(["bytes", "cut", "properties", "fields", "record"]))
    if where == "bytes":
        for at, bits in draw(st.lists(st.tuples(st.integers(0, len(payload) - 1), st.integers(1, 255)), max_size=4)):
            payload[at] ^= bits
    elif where == "cut":
        start = draw(st.integers(0, len(payload)))
        payload[start : draw(st.integers(start, len(payload)))] = draw(st.binary(max_size=10))
    elif where == "properties":
        properties |= draw(st.dictionaries(names, texts, min_size=1, max_size=3))
        for name in draw(st.lists(st.sampled_from(sorted(properties)), max_size=2)):
            properties.pop(name, None)
    else:
        record = decode_native(sent.payload)
        if where == "record":
            other = draw(natives)
            field = draw(st.sampled_from(record._fields))
            record = record._replace(**{field: getattr(other, field)})
        elif properties["syncer.kind"] in {"heartbeat", "control", "listing-asked", "listing-told"}:
            fields: dict[str, Any] = orjson.loads(record.value or b"{}")
            for name in draw(st.lists(st.sampled_from([*sorted(fields), "later"]), min_size=1, max_size=2)):
                fields[name] = draw(odd)
            try:
                record = record._replace(value=orjson.dumps(fields))
            except orjson.JSONEncodeError:  # an integer beyond 64 bits, as another writer would put it
                record = record._replace(value=repr(fields).encode("utf-8", "replace"))
        payload = bytearray(encode_native(record))
    return Outgoing(bytes(payload), properties)


@drawing("spoilt")
@given(spoilt())
def test_sound_messages_with_something_wrong(message: Outgoing) -> None:
    heard(message.payload, message.properties, UNSIGNED)


@drawing("signed")
@given(messages, st.sampled_from([(OURS, SIGNATURE), (BY_REGION, PROOF)]), st.data())
def test_no_change_of_a_signed_message_goes_unseen(
    message: Any, signing: tuple[Keyring, str], data: st.DataObject
) -> None:
    keys, signature = signing
    sent = sealed(message, keys)
    payload, properties = sent.payload, dict(sent.properties)
    match data.draw(st.sampled_from(["bit", "cut", "longer", "text", "less", "more", "signature"])):
        case "bit":
            at = data.draw(st.integers(0, 8 * len(payload) - 1))
            changed = bytearray(payload)
            changed[at // 8] ^= 1 << at % 8
            payload = bytes(changed)
        case "cut":
            payload = payload[: data.draw(st.integers(0, len(payload) - 1))]
        case "longer":
            payload += data.draw(st.binary(min_size=1, max_size=5))
        case "text":
            name = data.draw(st.sampled_from(sorted(properties)))
            properties[name] = data.draw(texts.filter(lambda text: text != sent.properties[name]))
        case "less":
            del properties[data.draw(st.sampled_from(sorted(properties)))]
        case "more":
            properties["syncer.other"] = data.draw(texts)
        case _:
            other = sealed(data.draw(messages.filter(lambda each: each != message)), keys)
            properties[signature] = other.properties[signature]
    try:
        unsealed(payload, properties, keys)
    except SignatureInvalid:
        return
    raise AssertionError("a message was taken that its author did not send")


entries = st.builds(
    TreeEntry,
    path=st.text("abé%.", min_size=1, max_size=5).map(lambda name: MetaPath(f"/admin/policies/x{name}")),
    digest=st.binary(min_size=16, max_size=16).map(Digest),
    stamp=st.builds(Stamp, st.integers(0, 2**61).map(Millis), st.sampled_from([EAST, Region("é")])),
)
listings = st.builds(
    Listing,
    buckets=st.lists(st.integers(0, GROUPS * BUCKETS - 1), max_size=5),
    entries=st.lists(entries, max_size=4),
    differing=st.integers(0, 2**31 - 1),
)


@drawing("tree bodies")
@given(
    st.binary(max_size=300) | listings.map(listing_body) | st.just(groups_body([3] * GROUPS)),
    st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 255)), max_size=2),
)
def test_bodies_of_trees(body: bytes, flips: list[tuple[int, int]]) -> None:
    changed = bytearray(body)
    for at, bits in flips:
        if at < len(changed):
            changed[at] ^= bits
    both: tuple[Callable[[bytes], bytes], ...] = (
        lambda raw: groups_body(groups_of(raw)),
        lambda raw: buckets_body(buckets_of(raw)),
    )
    for there_and_back in both:
        try:
            again = there_and_back(bytes(changed))
            assert len(again) <= len(changed), "a group that comes twice counts once"
            assert there_and_back(again) == again
        except PayloadInvalid as exc:
            assert exc.message
    try:
        listing = listing_of(bytes(changed))
    except PayloadInvalid as exc:
        assert exc.message
        return
    assert all(checked(entry.path) == entry.path and len(entry.digest) == 16 for entry in listing.entries)
    assert all(0 <= bucket < GROUPS * BUCKETS for bucket in listing.buckets)
    assert listing_of(listing_body(listing)) == listing


def test_every_kind_is_drawn_from() -> None:
    kinds = {type(each) for each in SOUND}
    assert kinds == {MetadataChangeEvent, Heartbeat, Control, StateRequest, StatePage, TreeMessage}
    for each in SOUND:
        sent = encode(each)
        assert decode(sent.payload, sent.properties) == each
