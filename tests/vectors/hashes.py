"""Play ``bundle-hash.json``: names of topics, their hashes and their bundles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from syncer.balancer.ranges import (
    boundary_text,
    bundle_range,
    completed,
    default_boundaries,
    namespace_of_topic,
    parsed_boundaries,
    topic_hash,
)
from syncer.errors import TopicUnservable
from tests.vectors.comparing import same


def differences(case: Mapping[str, Any], meta: Mapping[str, Any]) -> Iterator[str]:
    """Yield what differs in a case."""
    topic = completed(case["given"])
    position = topic_hash(topic)
    yield from same("topic", case["topic"], topic)
    yield from same("namespace", case["namespace"], namespace_of_topic(topic))
    yield from same("hash", (case["hash"], case["hashHex"]), (position, boundary_text(position)))
    by_count = meta.get("boundariesByCount", {})
    for count, wanted in case["ranges"].items():
        boundaries = default_boundaries(int(count))
        if count in by_count:
            yield from same(f"boundaries of {count}", by_count[count], [boundary_text(each) for each in boundaries])
        yield from same(f"range among {count}", wanted, _range(boundaries, position))
    for custom in case.get("custom", []):
        boundaries = parsed_boundaries(custom["boundaries"])
        yield from same("range among the given ones", custom["range"], _range(boundaries, position))


def _range(boundaries: Sequence[int], position: int) -> str:
    try:
        return bundle_range(boundaries, position)
    except TopicUnservable:
        return "ERROR:IndexOutOfBoundsException"
