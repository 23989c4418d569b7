"""Topics lie in the range that Pulsar finds, and what cannot be a range is refused."""

from __future__ import annotations

import pytest

from syncer.balancer.ranges import bundle_range, completed, default_boundaries, parsed_boundaries
from syncer.errors import BoundariesInvalid, TopicUnservable


def test_the_last_hash_is_in_no_bundle() -> None:
    boundaries = default_boundaries(4)
    assert bundle_range(boundaries, 0xFFFFFFFE) == "0xc0000000_0xffffffff"
    with pytest.raises(TopicUnservable, match="0xffffffff"):
        bundle_range(boundaries, 0xFFFFFFFF)


def test_short_names_are_completed() -> None:
    assert completed("t") == "persistent://public/default/t"
    assert completed("a/b/c") == "persistent://a/b/c"
    assert completed("non-persistent://a/b/c/d") == "non-persistent://a/b/c/d"


@pytest.mark.parametrize("name", ["a/b", "a/b/c/d", "persistent://a/b", "http://a/b/c"])
def test_what_is_no_topic_is_refused(name: str) -> None:
    with pytest.raises(TopicUnservable, match=name):
        completed(name)


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["0x00000000"],
        ["0x00000001", "0xffffffff"],
        ["0x00000000", "0x8", "0x4", "0xffffffff"],
        ["zero", "0xffffffff"],
    ],
)
def test_boundaries_that_do_not_cut_the_ring_are_refused(texts: list[str]) -> None:
    with pytest.raises(BoundariesInvalid, match="boundaries of a/b"):
        parsed_boundaries(texts, "a/b")


@pytest.mark.parametrize("count", [0, -1, 2**32])
def test_a_namespace_has_at_least_one_bundle(count: int) -> None:
    with pytest.raises(BoundariesInvalid, match=f"cannot have {count} bundles"):
        default_boundaries(count)
