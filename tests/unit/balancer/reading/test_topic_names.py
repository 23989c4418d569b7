"""Names of topics, of both stores: one whose hash no bundle holds is among them; half of them are not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncer.balancer.ranges import FULL_UPPER_BOUND, topic_hash
from syncer.balancer.reading.topic_names import MOST_PARTITIONS, PARTITIONED, topic_names
from tests.support.load_sources import failing, store_with

pytestmark = pytest.mark.anyio

LOADED = "persistent://acme/orders/topic-616bbq"
DECLARED = "persistent://acme/orders/topic-n8ucpf5-partition-1"
DOCUMENTS = {
    "/managed-ledgers/acme/orders/persistent/topic-616bbq": b"",
    "/managed-ledgers/acme/orders/persistent/topic-616bbq/sub": b"x",
    "/managed-ledgers/acme/orders/persistent/a%2Fb": b"x",
    "/managed-ledgers/acme/west/orders/persistent/old": b"x",
}
CONFIGURED = {
    "/admin/partitioned-topics/acme/orders/persistent/topic-n8ucpf5": {"partitions": 2},
    "/admin/partitioned-topics/acme/orders/persistent/two+words": {"partitions": 1},
}


def test_these_names_have_the_hash_that_no_bundle_holds() -> None:
    assert {topic_hash(LOADED), topic_hash(DECLARED)} == {FULL_UPPER_BOUND}


async def test_loaded_topics_and_declared_partitions_are_named(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    async with store_with(tmp_path / "own", DOCUMENTS) as own, store_with(tmp_path, CONFIGURED) as configured:
        found = await topic_names(own, [configured])
        assert found is not None
        assert found.value == {
            LOADED,
            "persistent://acme/orders/a/b",
            "persistent://acme/orders/topic-n8ucpf5-partition-0",
            DECLARED,
            "persistent://acme/orders/two words-partition-0",
        }
        assert await topic_names(own, [configured], most=3) is None
        assert await topic_names(own, [], most=1) is None


async def test_what_was_not_read_whole_is_not_known(tmp_path: Path) -> None:
    assert await topic_names(None, []) is None
    async with store_with(tmp_path, DOCUMENTS) as own:
        assert await topic_names(own, [failing(own, PARTITIONED)]) is None


@pytest.mark.parametrize("document", [b"{", {"partitions": True}, {"partitions": MOST_PARTITIONS + 1}, {}])
async def test_where_a_document_does_not_tell_the_partitions_names_are_not_known(
    tmp_path: Path, document: object
) -> None:
    async with store_with(tmp_path, {"/admin/partitioned-topics/acme/orders/persistent/t": document}) as own:
        assert await topic_names(own, []) is None
