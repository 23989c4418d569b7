"""A store read by the group's names of clusters: every call goes through, with its paths and values renamed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from syncer.model import MetaPath, Revision
from syncer.naming.cluster_names import ClusterNames
from syncer.naming.mapped_store import mapped
from syncer.stores.contract import Armed, BatchRefused, Changed, Delete, MetadataStore, Put, TellsNames
from syncer.stores.sqlite import OutsideWriter, SqliteConfig, SqliteStore

NAMES: Final = ClusterNames({"pulsar-eu": "eu-west"})
HERE, THERE = MetaPath("/admin/clusters/pulsar-eu"), MetaPath("/admin/clusters/eu-west")
SPACE: Final = MetaPath("/admin/policies/acme/orders")
OURS, THEIRS = b'{"replication_clusters":["pulsar-eu"]}', b'{"replication_clusters":["eu-west"]}'


class TellingStore(SqliteStore):
    """A store that can tell names alone."""

    async def names(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Sequence[str]]:
        """What a test wants told."""
        return dict.fromkeys(paths, ("pulsar-eu", "us"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[MetadataStore]:
    found = mapped(SqliteStore(SqliteConfig(path=file, timeout=timedelta(seconds=60))), NAMES)
    await found.open()
    yield found
    await found.close()


async def test_what_is_read_and_written_is_renamed_both_ways(file: Path, store: MetadataStore) -> None:
    outside = OutsideWriter(file)
    outside.put(HERE, b"{}")
    outside.put(SPACE, OURS)
    found = await store.read([SPACE, THERE, HERE])
    space, cluster = found[SPACE], found[THERE]
    assert space is not None
    assert cluster is not None
    assert (space.value, cluster.path, found[HERE]) == (THEIRS, THERE, None)
    new = b'{"replication_clusters":["eu-west"],"message_ttl_in_seconds":1}'
    written = await store.apply(
        [
            Put(path=SPACE, value=new, expected=space.revision),
            Put(path=THERE, value=b'{"peerClusterNames":["eu-west"]}', expected=cluster.revision),
        ]
    )
    assert [each.path for each in written] == [SPACE, THERE]
    assert json.loads(outside.get(SPACE) or b"") == {"replication_clusters": ["pulsar-eu"], "message_ttl_in_seconds": 1}
    assert outside.get(HERE) == b'{"peerClusterNames":["pulsar-eu"]}'
    with pytest.raises(BatchRefused) as refused:
        await store.apply([Delete(path=THERE, expected=Revision("77"))])
    assert refused.value.index == 0
    revision = written[1].revision
    assert revision is not None
    (gone,) = await store.apply([Delete(path=THERE, expected=revision)])
    assert (gone.path, outside.get(HERE)) == (THERE, None)
    outside.close()


async def test_scans_and_watches_tell_the_groups_paths(file: Path, store: MetadataStore) -> None:
    outside = OutsideWriter(file)
    outside.put(HERE, b"{}")
    entries = [entry async for page in store.scan(MetaPath("/admin/clusters")) for entry in page]
    assert {entry.path for entry in entries if entry.value} == {THERE}
    below = [entry async for page in store.scan(THERE) for entry in page]
    assert [entry.path for entry in below] == [THERE]
    signals = store.watch([MetaPath("/admin")])
    assert await anext(signals) == Armed()
    outside.put(HERE, b'{"serviceUrl":"http://h"}')
    async for signal in signals:
        if isinstance(signal, Changed):
            assert set(signal.paths) == {THERE}
            break
    outside.close()


async def test_names_alone_are_renamed_where_a_store_tells_them(file: Path) -> None:
    plain = TellingStore(SqliteConfig(path=file, timeout=timedelta(seconds=60)))
    assert mapped(plain, ClusterNames({})) is plain
    found = mapped(plain, NAMES)
    assert isinstance(found, TellsNames)
    assert not isinstance(mapped(SqliteStore(SqliteConfig(path=file)), NAMES), TellsNames)
    assert found.capabilities == plain.capabilities
    clusters, other = MetaPath("/admin/clusters"), MetaPath("/topics/acme")
    assert await found.names([clusters, other]) == {clusters: ["eu-west", "us"], other: ["pulsar-eu", "us"]}
