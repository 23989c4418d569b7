"""Files that a real ZooKeeper has written: read offline they are what it served; cut or changed they are refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kazoo.client import KazooClient

from deploy.lab.software import java, pulsar_home
from deploy.lab.zookeeper import ZooKeeperServer, ZooKeeperSettings
from spark_snapshot.sources import StorePlace, facts
from spark_snapshot.sources.found import Found
from spark_snapshot.sources.reach import Reach, Share
from spark_snapshot.sources.zookeeper import live
from spark_snapshot.sources.zookeeper.files import ZooKeeperFolder, read
from spark_snapshot.sources.zookeeper.snapshot_file import ZooKeeperFileDamaged
from spark_snapshot.sources.zookeeper.transaction_log import LogDamaged
from syncer.errors import ConfigError
from syncer.model import MetaPath
from syncer.stores.zookeeper.config import ZooKeeperConfig
from tests.conftest import require
from tests.spark.stores import collected, fill_zookeeper, kazoo

pytestmark = pytest.mark.real("zookeeper")

SNAP_COUNT: Final = "120"
"""So many transactions between two snapshots, so that they are written while others go on."""
PADDING: Final = bytes(4096)
POLICIES: Final = "/admin/policies"


def _history(client: KazooClient, server: ZooKeeperServer) -> None:
    """Every kind of transaction, before a snapshot, around it and after it."""
    fill_zookeeper(client)
    for number in range(150):
        client.set(f"{POLICIES}/t0/n{number % 20:02d}", b'{"message_ttl_in_seconds":%d}' % number)
    client.delete(f"{POLICIES}/t1/n00")
    client.create(f"{POLICIES}/t1/n00", b'{"again":1}')
    client.delete(f"{POLICIES}/t1/n01")
    with kazoo(server.hosts) as other:
        other.create(f"{POLICIES}/t1/passing", b"{}", ephemeral=True)
        other.create(f"{POLICIES}/t1/gone", b"{}", ephemeral=True)
    client.create(f"{POLICIES}/t1/passing", b'{"stays":1}')
    both = client.transaction()
    both.create(f"{POLICIES}/t2/together", b'{"multi":1}')
    both.set_data(f"{POLICIES}/t2/n03", b'{"multi":2}')
    both.delete(f"{POLICIES}/t2/n04")
    both.commit()
    none = client.transaction()
    none.create(f"{POLICIES}/t2/never", b"{}")
    none.check(f"{POLICIES}/t2", 77)
    none.commit()
    client.ensure_path("/admin/resourcegroups")
    client.create("/admin/resourcegroups/late", b'{"late":1}')


@dataclass(frozen=True, slots=True)
class Written:
    """A server's folder as it was left, a copy whose logs end in few zeros instead of 64 MB, and what was served."""

    folder: Path
    slim: Path
    served: dict[MetaPath, Found] = field(repr=False)


@pytest.fixture(scope="module", params=["", "gz", "snappy"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """Files of a real server, packed in each of its ways."""
    require(java, pulsar_home)
    directory = tmp_path_factory.mktemp("written")
    properties = {"zookeeper.snapCount": SNAP_COUNT}
    if request.param:
        properties["zookeeper.snapshot.compression.method"] = request.param
    server = ZooKeeperServer(directory, settings=ZooKeeperSettings(system_properties=properties), leashed=True)
    try:
        server.start()
        with kazoo(server.hosts) as client:
            _history(client, server)
            served = collected(live.read(ZooKeeperConfig(hosts=server.hosts), Reach()))
        server.stop()
        slim = tmp_path_factory.mktemp("slim")
        for file in (server.data_directory / "version-2").iterdir():
            content = file.read_bytes()
            if file.name.startswith("log."):
                content = content.rstrip(b"\0") + PADDING
            if file.name.startswith(("log.", "snapshot.")):
                (slim / file.name).write_bytes(content)
        yield Written(server.data_directory, slim, served)
    finally:
        server.remove()


def test_the_files_hold_what_the_server_served(written: Written) -> None:
    folder, served = written.folder, written.served
    assert sum(file.name.startswith("snapshot.") for file in (folder / "version-2").iterdir()) > 1
    assert collected(read(ZooKeeperFolder(folder=folder), Reach())) == served
    assert served[MetaPath(f"{POLICIES}/t1/passing")].value == b'{"stays":1}'


def test_several_readers_find_everything_once(written: Written) -> None:
    folder, served = written.slim, written.served
    place = ZooKeeperFolder(folder=folder)
    shares = [collected(read(place, Reach(), Share(index, 2))) for index in range(2)]
    assert sum(map(len, shares)) == len(served)
    assert shares[0] | shares[1] == served


def test_the_facts_are_those_of_the_last_transaction(written: Written) -> None:
    folder, served = written.slim, written.served
    told = facts(StorePlace.offline(folder, region="here"))
    newest = max(int(found.revision.split(".")[0]) for found in served.values())
    assert told.identity == "the-store"
    assert newest <= int(told.position, 16) < newest + 100


def test_a_snapshot_that_is_being_written_is_passed_over(written: Written, tmp_path: Path) -> None:
    """The one before and the longer log say the same."""
    folder, served = written.slim, written.served
    _copied(folder, tmp_path)
    newest = max(tmp_path.glob("snapshot.*"), key=lambda file: int(file.name.split(".")[1], 16))
    newest.write_bytes(newest.read_bytes()[:-30])
    assert collected(read(ZooKeeperFolder(folder=tmp_path), Reach())) == served

    for log in tmp_path.glob("log.*"):
        if int(log.name.split(".")[1], 16) < int(newest.name.split(".")[1], 16):
            log.unlink()
    with pytest.raises(ZooKeeperFileDamaged):
        list(read(ZooKeeperFolder(folder=tmp_path), Reach()))


def test_missing_transactions_are_refused(written: Written, tmp_path: Path) -> None:
    folder = written.slim
    _copied(folder, tmp_path)
    logs = sorted(tmp_path.glob("log.*"), key=lambda file: int(file.name.split(".")[1], 16))
    for snapshot in sorted(tmp_path.glob("snapshot.*"), key=lambda file: int(file.name.split(".")[1], 16))[1:]:
        snapshot.unlink()
    logs[1].unlink()
    with pytest.raises(LogDamaged, match="missing"):
        list(read(ZooKeeperFolder(folder=tmp_path), Reach()))


def test_a_snapshot_alone_is_refused_where_it_holds_later_changes(written: Written, tmp_path: Path) -> None:
    """A snapshot is whole with its log only, unless nothing went on while it was written."""
    folder = written.slim
    _copied(folder, tmp_path)
    for log in tmp_path.glob("log.*"):
        log.unlink()
    try:
        found = collected(read(ZooKeeperFolder(folder=tmp_path), Reach()))
    except LogDamaged:
        return
    newest = max(int(file.name.split(".")[1], 16) for file in tmp_path.glob("snapshot.*"))
    assert all(int(each.revision.split(".")[0]) <= newest for each in found.values())


def test_a_folder_without_a_snapshot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no snapshot"):
        list(read(ZooKeeperFolder(folder=tmp_path), Reach()))
    with pytest.raises(ConfigError, match="no folder"):
        list(read(ZooKeeperFolder(folder=tmp_path / "not"), Reach()))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(which=st.integers(0, 9), at=st.integers(0, 1 << 30), cut=st.booleans(), flip=st.integers(1, 255))
def test_a_cut_or_a_changed_byte_is_refused_or_does_no_harm(
    written: Written, tmp_path_factory: pytest.TempPathFactory, *, which: int, at: int, cut: bool, flip: int
) -> None:
    place = tmp_path_factory.mktemp("damaged")
    try:
        _copied(written.slim, place)
        _keep_newest(place)
        files = sorted(place.iterdir())
        file = files[which % len(files)]
        content = bytearray(file.read_bytes())
        at %= len(content)
        if cut:
            del content[at:]
        else:
            content[at] ^= flip
        file.write_bytes(content)
        try:
            found = collected(read(ZooKeeperFolder(folder=place), Reach()))
        except (ZooKeeperFileDamaged, LogDamaged):
            return
        assert found.keys() == written.served.keys(), (
            sorted(found.keys() ^ written.served.keys())[:5],
            len(found),
            len(written.served),
        )
        assert [p for p in found if found[p] != written.served[p]][:3] == []
    finally:
        shutil.rmtree(place)


def _copied(folder: Path, to: Path) -> None:
    for file in folder.iterdir():
        shutil.copyfile(file, to / file.name)


def _keep_newest(place: Path) -> None:
    """Leave one snapshot and the logs that it needs."""
    snapshots = sorted((int(file.name.split(".")[1], 16), file) for file in place.glob("snapshot.*"))
    logs = sorted((int(file.name.split(".")[1], 16), file) for file in place.glob("log.*"))
    number, _ = snapshots[-1]
    needed = max(start for start, _ in logs if start <= number + 1)
    for _, file in [*snapshots[:-1], *((start, file) for start, file in logs if start < needed)]:
        file.unlink()
