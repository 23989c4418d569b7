"""Topics of a namespace in its own store: what brokers would list, asked of nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from syncer.admin.client import AdminSettings
from syncer.admin.topic_probe import BOOKKEEPER_NODES
from syncer.bus.pulsar.client import PulsarBusConfig
from syncer.errors import StoreUnavailable, TopicPoliciesWithheld
from syncer.model import MetaPath
from syncer.stores.contract import MetadataStore
from syncer.stores.sqlite import OutsideWriter, SqliteConfig, SqliteStore
from syncer.system_topics import stored_topics
from syncer.system_topics.pulsar import PulsarTopicLogs
from syncer.system_topics.stored_topics import StoredTopics, stored_topics_of
from tests.support.admin_server import Asked, serving

pytestmark = pytest.mark.anyio
SPACE = "acme/orders"
LEDGERS = f"/managed-ledgers/{SPACE}/persistent"
WHOLE = f"persistent://{SPACE}/__change_events"


class Naming:
    """The names below paths of a store that is scanned for them."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self.trouble: StoreUnavailable | None = None
        self.asked: list[Sequence[MetaPath]] = []

    async def names(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Sequence[str]]:
        self.asked.append(paths)
        if self.trouble is not None:
            raise self.trouble
        found: dict[MetaPath, dict[str, None]] = {path: {} for path in paths}
        for path in paths:
            async for page in self._store.scan(path):
                for entry in page:
                    if entry.path != path:
                        found[path][entry.path.removeprefix(f"{path}/").partition("/")[0]] = None
        return {path: tuple(names) for path, names in found.items()}


@pytest.fixture
def outside(file: Path) -> OutsideWriter:
    return OutsideWriter(file)


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqliteStore]:
    found = SqliteStore(SqliteConfig(path=file))
    await found.open()
    yield found
    await found.close()


@pytest.fixture
def naming(store: SqliteStore) -> Naming:
    return Naming(store)


@pytest.fixture
def asked() -> list[Asked]:
    """What a broker was asked for."""
    return []


@pytest.fixture
async def logs(store: SqliteStore, naming: Naming, asked: list[Asked]) -> AsyncIterator[PulsarTopicLogs]:
    bus = PulsarBusConfig(region="east", service_url="pulsar://127.0.0.1:1", topic="persistent://public/default/bus")

    def answer(question: Asked) -> tuple[int, str]:
        asked.append(question)
        return 200, f'["{WHOLE}"]'

    with serving(answer) as url:
        found = PulsarTopicLogs("east", bus, AdminSettings(url=url), StoredTopics(store, naming))
        yield found
        await found.close()


async def test_the_store_of_a_cluster_tells_of_its_topics(
    logs: PulsarTopicLogs, outside: OutsideWriter, asked: list[Asked]
) -> None:
    outside.put(BOOKKEEPER_NODES[0], b"layout")
    for name in ("__change_events-partition-1", "__change_events-partition-0", "a%2Fb+c", "two-partition-3"):
        outside.put(MetaPath(f"{LEDGERS}/{name}"), b"ledger")
    outside.put(MetaPath(f"{LEDGERS}/two-partition-3/cursor"), b"cursor")

    found = await logs.find(SPACE)

    assert found.system_topics == (f"{WHOLE}-partition-0", f"{WHOLE}-partition-1")
    assert found.topics == {WHOLE, f"persistent://{SPACE}/a/b c", f"persistent://{SPACE}/two"}
    assert (await logs.find("acme/empty")).system_topics == ()
    assert asked == []


async def test_a_store_without_topics_leaves_the_question_to_the_brokers(
    logs: PulsarTopicLogs, outside: OutsideWriter, asked: list[Asked]
) -> None:
    assert (await logs.find(SPACE)).system_topics == (WHOLE,)
    assert [each.path for each in asked] == [f"/admin/v2/persistent/{SPACE}?includeSystemTopic=true"]

    outside.put(BOOKKEEPER_NODES[1], b"instance")
    assert (await logs.find(SPACE)).system_topics == (), "it has become the cluster's own"
    assert len(asked) == 1


async def test_a_store_that_does_not_answer_has_policies_withheld(
    logs: PulsarTopicLogs, naming: Naming, outside: OutsideWriter, asked: list[Asked]
) -> None:
    outside.put(BOOKKEEPER_NODES[0], b"layout")
    naming.trouble = StoreUnavailable("no session")
    with pytest.raises(TopicPoliciesWithheld, match="no session") as raised:
        await logs.find(SPACE)
    assert not raised.value.lasting
    assert asked == []


async def test_namespaces_that_are_foreseen_are_listed_at_once_and_count_once(
    logs: PulsarTopicLogs, naming: Naming, outside: OutsideWriter
) -> None:
    outside.put(BOOKKEEPER_NODES[0], b"layout")
    outside.put(MetaPath(f"{LEDGERS}/__change_events"), b"ledger")

    await logs.foresee([SPACE, "acme/empty"])
    assert [len(each) for each in naming.asked] == [2]
    assert (await logs.find(SPACE)).system_topics == (WHOLE,)
    assert (await logs.find("acme/empty")).system_topics == ()
    assert len(naming.asked) == 1

    outside.put(MetaPath(f"{LEDGERS}/new"), b"ledger")
    assert f"persistent://{SPACE}/new" in (await logs.find(SPACE)).topics, "it is asked for anew"
    naming.trouble = StoreUnavailable("no session")
    await logs.foresee([SPACE])


async def test_what_was_foreseen_long_ago_does_not_count(
    logs: PulsarTopicLogs, outside: OutsideWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside.put(BOOKKEEPER_NODES[0], b"layout")
    await logs.foresee([SPACE])
    outside.put(MetaPath(f"{LEDGERS}/__change_events"), b"ledger")
    monkeypatch.setattr(stored_topics, "FORESEEN_S", -1.0)
    assert (await logs.find(SPACE)).system_topics == (WHOLE,)


async def test_a_store_that_tells_no_names_lists_nothing(store: SqliteStore) -> None:
    assert stored_topics_of(store) is None
