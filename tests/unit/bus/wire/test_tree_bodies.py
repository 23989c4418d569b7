"""Bodies of a comparison's messages: they come back whole, and nothing else passes for one."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable

import orjson
import pytest

from syncer.bus.limits import message_bytes
from syncer.bus.wire.codec import decode, encode
from syncer.bus.wire.messages import TreeMessage
from syncer.bus.wire.tree_bodies import (
    BUCKETS_PER_MESSAGE,
    ENTRIES_PER_MESSAGE,
    GROUPS_PER_MESSAGE,
    Listing,
    TreeEntry,
    TreeStep,
    buckets_body,
    buckets_of,
    groups_body,
    groups_of,
    listing_body,
    listing_of,
)
from syncer.conflict.digest_tree import SHAPE
from syncer.errors import PayloadInvalid
from syncer.model import Digest, MetaPath, Millis, Region, Stamp

PATH = MetaPath("/admin/policies/acme/ü")
ENTRY = TreeEntry(PATH, Digest(bytes(range(16))), Stamp(Millis(1_700_000_000_000), Region("us@west")))


def message(step: TreeStep, body: bytes) -> TreeMessage:
    return TreeMessage(
        region=Region("east"),
        sender="d" * 32,
        sent_at_ms=Millis(1_700_000_000_000),
        target="west",
        label=f"{SHAPE}/0123456789ab",
        step=step.value,
        round=7,
        body=body,
    )


def test_sums_of_groups_come_back_whole() -> None:
    sums = [0, 1, (1 << 128) - 1] + [group << 64 for group in range(253)]
    assert groups_of(groups_body(sums)) == sums


def test_sums_of_buckets_come_back_by_their_lower_part() -> None:
    sums = {0: [5] * 256, 255: [(1 << 100) + place for place in range(256)]}
    assert buckets_of(buckets_body(sums)) == {0: [5] * 256, 255: list(range(256))}
    assert buckets_of(b"") == {}


def test_a_listing_comes_back_whole() -> None:
    listing = Listing(buckets=[0, 65_535], entries=[ENTRY], differing=3)
    assert listing_of(listing_body(listing)) == listing


def spoilt(document: object) -> bytes:
    return zlib.compress(orjson.dumps(document))


GOOD = ["/admin/policies/a", "00" * 16, 5, "west"]


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (groups_of, b""),
        (groups_of, b"\0" * (256 * 16 + 1)),
        (buckets_of, b"\0"),
        (buckets_of, b"\0" * (257 * (1 + 256 * 8))),
        (listing_of, b""),
        (listing_of, b"no zlib"),
        (listing_of, zlib.compress(b"no JSON")),
        (listing_of, zlib.compress(b" " * 9_000_000 + b"[0,[],[]]")),
        (listing_of, zlib.compress(os.urandom(100))[:-8]),
        (listing_of, spoilt({})),
        (listing_of, spoilt([0, []])),
        (listing_of, spoilt([-1, [], []])),
        (listing_of, spoilt([0, [65_536], []])),
        (listing_of, spoilt([0, [True], []])),
        (listing_of, spoilt([0, [], 5])),
    ],
)
def test_anything_else_is_refused_by_reason(read: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(PayloadInvalid):
        read(body)


@pytest.mark.parametrize(
    "bad",
    [
        5,
        None,
        [],
        GOOD[:3],
        [*GOOD[:3], ""],
        [*GOOD[:3], "we\0st"],
        [5, *GOOD[1:]],
        ["relative", *GOOD[1:]],
        ["/admin/policies/a\0b", *GOOD[1:]],
        ["/admin/policies/" + "x" * 40_000, *GOOD[1:]],
        [GOOD[0], "00", *GOOD[2:]],
        [GOOD[0], "zz" * 16, *GOOD[2:]],
        [*GOOD[:2], "5", "west"],
        [*GOOD[:2], -5, "west"],
    ],
    ids=lambda each: str(each)[:24] + str(each)[-40:],
)
def test_one_entry_that_is_none_stops_no_other_one(bad: object) -> None:
    found = listing_of(spoilt([2, [7], [GOOD, bad, GOOD]]))
    assert [entry.path for entry in found.entries] == ["/admin/policies/a"] * 2
    assert (found.differing, found.buckets, found.refused) == (2, [7], 1)
    assert found.fault


@pytest.mark.parametrize("step", TreeStep)
def test_a_step_comes_back_whole_from_the_topic(step: TreeStep) -> None:
    said = message(step, os.urandom(50))
    sent = encode(said)
    assert decode(sent.payload, sent.properties) == said


def test_the_largest_messages_fit_into_a_quarter_of_the_default_limit_of_pulsar() -> None:
    entries = [
        TreeEntry(
            MetaPath(f"/admin/partitioned-topics/{os.urandom(40).hex()}/{os.urandom(40).hex()}/persistent/{number}"),
            Digest(os.urandom(16)),
            Stamp(Millis(1_700_000_000_000 + number), Region(f"region-{number}")),
        )
        for number in range(ENTRIES_PER_MESSAGE)
    ]
    listing = listing_body(Listing(buckets=range(BUCKETS_PER_MESSAGE), entries=entries))
    buckets = buckets_body({group: range(1 << 60, (1 << 60) + 256) for group in range(GROUPS_PER_MESSAGE)})
    for body in (listing, buckets):
        assert message_bytes(encode(message(TreeStep.LISTING, body))) < 5 * 1024 * 1024 / 4


@pytest.mark.parametrize("name", ["target", "label", "step", "round", "sender", "region"])
def test_a_step_without_a_property_is_refused(name: str) -> None:
    sent = encode(message(TreeStep.GROUPS, b""))
    properties = {key: text for key, text in sent.properties.items() if key != f"syncer.{name}"}
    with pytest.raises(PayloadInvalid, match=f"missing property syncer.{name}"):
        decode(sent.payload, properties)


def test_a_step_under_another_regions_path_is_refused() -> None:
    sent = encode(message(TreeStep.GROUPS, b""))
    with pytest.raises(PayloadInvalid, match="the properties say tree of region 'west'"):
        decode(sent.payload, {**sent.properties, "syncer.region": "west"})
