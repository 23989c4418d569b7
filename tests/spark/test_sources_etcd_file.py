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

from deploy.lab.software import etcd_binary
from spark_snapshot.sources import StorePlace, facts
from spark_snapshot.sources.etcd import live
from spark_snapshot.sources.etcd.snapshot_file import EtcdFile, parts, read
from spark_snapshot.sources.etcd.snapshot_file import SnapshotFile as SavedFile
from spark_snapshot.sources.found import Found
from spark_snapshot.sources.reach import Reach
from syncer.errors import ConfigError, StoreFilesDamaged
from syncer.model import MetaPath
from syncer.stores.etcd.config import EtcdConfig
from syncer.waiting import wait_until
from tests.conftest import require
from tests.spark.stores import EVERYTHING, collected
from tests.support.etcd import EtcdGateway, EtcdServer, save_snapshot

pytestmark = pytest.mark.real("etcd")

NAMESPACE: Final = "/pulsar"
LARGE: Final = 1_000_000
MANY: Final = 6_000
SLOW_COMPACTION: Final = ("--experimental-compaction-batch-limit=1",)
"""One write at a time, and a pause of 10 ms after each: more than a minute for all of them."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A file, and what the server served when it was saved."""

    place: EtcdFile
    revision: int
    served: dict[MetaPath, Found] = field(repr=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Saved]]:
    """One store's files: fresh, after a long history, in the midst of a compaction, after it, after one of all."""
    require(etcd_binary)
    directory = tmp_path_factory.mktemp("etcd")
    files: dict[str, Saved] = {}

    def save(name: str, server: EtcdServer, gateway: EtcdGateway) -> None:
        config, file = EtcdConfig(endpoints=(server.endpoint,), namespace=NAMESPACE), directory / f"{name}.db"
        file.unlink(missing_ok=True)
        place = EtcdFile(file=save_snapshot(server.endpoint, file), namespace=NAMESPACE)
        files[name] = Saved(place, gateway.revision(), collected(live.read(config, Reach())))

    slow, usual = EtcdServer(directory, flags=SLOW_COMPACTION), EtcdServer(directory)
    try:
        slow.start()
        with slow.gateway() as gateway:
            save("fresh", slow, gateway)
            _history(gateway)
            save("written", slow, gateway)
            gateway.call("kv/compaction", {"revision": str(gateway.revision())})

            def has_begun() -> bool:
                save("compacting", slow, gateway)
                return writes(files["compacting"]) < writes(files["written"])

            wait_until(has_begun, "the compaction has begun")
        slow.stop()
        usual.start()
        with usual.gateway() as gateway:
            gateway.put(f"{NAMESPACE}/admin/policies/t0/n00", b'{"after":1}')
            gateway.compact()
            save("compacted", usual, gateway)
            gateway.delete(f"{NAMESPACE}/admin/policies/t0/n01")
            gateway.compact()
            save("deleted", usual, gateway)
        usual.stop()
        shutil.copyfile(usual.data_directory / "member" / "snap" / "db", directory / "member.db")
        yield files
    finally:
        slow.remove()
        usual.remove()


def writes(saved: Saved) -> int:
    """How many writes a file has, the older ones with them."""
    with SavedFile(saved.place) as opened:
        return sum(len(leaf.elements) for leaf in opened._bolt().backwards(b"key"))


def _history(gateway: EtcdGateway) -> None:
    """Everything that the other readers find, and a namespace of many keys that are written, deleted, made again."""
    gateway.write(dict.fromkeys([NAMESPACE + path for path in EVERYTHING][:100], b"what a compaction takes first"))
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


@pytest.mark.parametrize("name", ["fresh", "written", "compacting", "compacted", "deleted"])
def test_the_file_holds_what_the_server_served(saved: dict[str, Saved], name: str) -> None:
    file = saved[name]
    assert collected(read(file.place, Reach())) == file.served
    assert len(file.served) > 1_000 or name == "fresh"
    told = facts(StorePlace.offline(file.place.file, prefix=NAMESPACE, region="here"))
    assert (told.kind, told.position) == ("etcd-file", str(file.revision))
    assert told.identity == (None if name == "fresh" else "the-store")


def test_the_file_of_a_compaction_under_way_is_one(saved: dict[str, Saved]) -> None:
    assert writes(saved["written"]) > writes(saved["compacting"]) > writes(saved["compacted"])


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


@settings(max_examples=60)
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
