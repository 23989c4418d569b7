"""Files that ``etcdctl snapshot save`` has written: read offline they are what the server served; changed, refused."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deploy.lab.etcd import EtcdNode
from deploy.lab.software import etcd_binary
from spark_snapshot.sources import StorePlace, etcd, facts
from spark_snapshot.sources.etcd_file import EtcdFile, parts, read
from spark_snapshot.sources.found import Found
from spark_snapshot.sources.reach import Reach
from syncer.errors import ConfigError, StoreFilesDamaged
from syncer.model import MetaPath
from syncer.stores.etcd.config import EtcdConfig
from tests.conftest import require
from tests.spark.stores import EVERYTHING, collected
from tests.support.etcd import EtcdGateway, save_snapshot

pytestmark = pytest.mark.real("etcd")

NAMESPACE: Final = "/pulsar"
LARGE: Final = 1_000_000
MANY: Final = 6_000


@dataclass(frozen=True, slots=True)
class Saved:
    """A file, and what the server served when it was saved."""

    place: EtcdFile
    revision: int
    served: dict[MetaPath, Found] = field(repr=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Saved]]:
    """One server's files: after a long history, after a compaction, after one that took the newest write."""
    require(etcd_binary)
    directory = tmp_path_factory.mktemp("etcd")
    server = EtcdNode(directory, leashed=True)
    config = EtcdConfig(endpoints=(server.endpoint,), namespace=NAMESPACE)
    files: dict[str, Saved] = {}

    def save(name: str) -> None:
        place = EtcdFile(file=save_snapshot(server.endpoint, directory / f"{name}.db"), namespace=NAMESPACE)
        files[name] = Saved(place, gateway.revision(), collected(etcd.read(config, Reach())))

    try:
        server.start()
        with EtcdGateway(server.endpoint) as gateway:
            save("fresh")
            _history(gateway)
            save("written")
            gateway.compact()
            gateway.put(f"{NAMESPACE}/admin/policies/t0/n00", b'{"after":1}')
            save("compacted")
            gateway.delete(f"{NAMESPACE}/admin/policies/t0/n01")
            gateway.compact()
            save("deleted")
        server.stop()
        shutil.copyfile(server.data_directory / "member" / "snap" / "db", directory / "member.db")
        yield files
    finally:
        server.remove()


def _history(gateway: EtcdGateway) -> None:
    """Everything that the other readers find, and a namespace of many keys that are written, deleted, made again."""
    for path, value in EVERYTHING.items():
        gateway.put(NAMESPACE + path, value)
    gateway.put(f"{NAMESPACE}/admin/policies/t3/session", b"{}", lease=gateway.grant_lease(600))
    for size in (LARGE, LARGE + 1, 3):
        gateway.put(f"{NAMESPACE}/admin/policies/t3/large", orjson.dumps("x" * size))
        gateway.put(f"{NAMESPACE}/admin/policies/t3/larger", orjson.dumps("x" * (LARGE - size % 7)))
    rolls = random.Random(20_210_928)
    names = [f"{NAMESPACE}/admin/policies/many/n{number:04d}" for number in range(MANY // 4)]
    written = 0
    while written < MANY:
        chosen = rolls.sample(names, 100)
        gone = rolls.randrange(60)
        puts = {name: orjson.dumps({"number": written, "text": "y" * rolls.randrange(300)}) for name in chosen[gone:]}
        gateway.write(puts, chosen[:gone])
        written += len(puts)
    gateway.put("/other/admin/policies/t0/n00", b"{}")


@pytest.mark.parametrize("name", ["fresh", "written", "compacted", "deleted"])
def test_the_file_holds_what_the_server_served(saved: dict[str, Saved], name: str) -> None:
    file = saved[name]
    assert collected(read(file.place, Reach())) == file.served
    assert len(file.served) > 1_000 or name == "fresh"
    told = facts(StorePlace.offline(file.place.file, prefix=NAMESPACE, region="here"))
    assert (told.kind, told.position) == ("etcd-file", str(file.revision))
    assert told.identity == (None if name == "fresh" else "the-store")


def test_several_readers_find_everything_once(saved: dict[str, Saved]) -> None:
    file = saved["written"]
    shares = [collected(read(file.place, Reach(), part)) for part in parts(file.place, 3)]
    assert sum(map(len, shares)) == len(file.served)
    assert {path: each for share in shares for path, each in share.items()} == file.served


def test_a_copy_of_a_members_own_file_is_refused(saved: dict[str, Saved]) -> None:
    copy = saved["written"].place.file.with_name("member.db")
    with pytest.raises(ConfigError, match="no checksum at its end") as raised:
        facts(StorePlace.offline(copy))
    assert "etcdctl snapshot save" in raised.value.hint


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 1 << 40), cut=st.booleans(), flip=st.integers(1, 255))
def test_a_cut_or_a_changed_byte_is_refused(saved: dict[str, Saved], *, at: int, cut: bool, flip: int) -> None:
    source = saved["compacted"].place.file
    damaged = source.with_name("damaged.db")
    content = bytearray(source.read_bytes())
    at %= len(content)
    if cut:
        del content[at:]
    else:
        content[at] ^= flip
    damaged.write_bytes(content)
    with pytest.raises((StoreFilesDamaged, ConfigError)):
        list(read(EtcdFile(file=damaged, namespace=NAMESPACE), Reach()))
