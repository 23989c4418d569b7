"""Corners of ZooKeeper's files that a random history seldom reaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_snapshot.sources.reach import Reach
from spark_snapshot.sources.zookeeper.files import ZooKeeperFolder, read
from syncer.errors import StoreFilesDamaged
from tests.support import zookeeper_files as files
from tests.support.zookeeper_files import Znode

PATH = "/admin/policies/t"
SESSION = 501
PASSING = Znode(path=PATH, value=b"{}", czxid=1, mzxid=1, mtime=10, owner=SESSION)
LASTING = Znode(path=PATH, value=b'{"stays":1}', czxid=4, mzxid=4, mtime=40)


def found(folder: Path) -> list[tuple[str, bytes, int | None, str]]:
    batches = read(ZooKeeperFolder(folder=folder), Reach())
    return [(each.path, each.value, each.modified_ms, each.revision) for batch in batches for each in batch]


def test_what_is_made_where_a_session_had_a_node_stays(tmp_path: Path) -> None:
    """The snapshot has the session's node; that it was written, and went with its session, only the log tells."""
    log = [
        files.record(2, 20, files.set_data(PATH, b'{"written":1}', 1), session=SESSION),
        files.record(3, 30, files.close_session(), session=SESSION),
        files.record(4, 40, files.create(LASTING)),
    ]
    files.written(tmp_path, {"snapshot.1": files.snapshot([PASSING]), "log.2": files.log(log)})
    assert found(tmp_path) == [(PATH, b'{"stays":1}', 40, "4.0.4")]


@pytest.mark.parametrize("extras", [True, False])
def test_snapshots_of_older_servers_are_read(tmp_path: Path, *, extras: bool) -> None:
    files.written(tmp_path, {"snapshot.4": files.snapshot([LASTING], extras=extras)})
    assert found(tmp_path) == [(PATH, b'{"stays":1}', 40, "4.0.4")]


@pytest.mark.parametrize("padding", [0, 4, 11])
def test_a_log_that_just_ends_is_refused(tmp_path: Path, padding: int) -> None:
    """It may have been cut between two records, or behind the zeros that a record begins with."""
    record = files.record(5, 50, files.delete(PATH))
    files.written(tmp_path, {"snapshot.4": files.snapshot([LASTING]), "log.5": files.log([record], padding=padding)})
    with pytest.raises(StoreFilesDamaged, match="without the zeros"):
        found(tmp_path)


def test_a_snapshot_that_knows_more_than_the_log_is_refused(tmp_path: Path) -> None:
    files.written(tmp_path, {"snapshot.3": files.snapshot([LASTING]), "log.1": files.log([])})
    with pytest.raises(StoreFilesDamaged, match="0x4"):
        found(tmp_path)


def test_a_new_epoch_follows_the_one_before_and_a_gap_does_not(tmp_path: Path) -> None:
    later = (1 << 32) + 1
    first, second = files.record(5, 50, files.error()), files.record(later, 60, files.delete(PATH))
    files.written(tmp_path, {"snapshot.4": files.snapshot([LASTING]), "log.5": files.log([first, second])})
    assert found(tmp_path) == []
    files.written(tmp_path, {"log.5": files.log([files.record(6, 60, files.error())])})
    with pytest.raises(StoreFilesDamaged, match="missing"):
        found(tmp_path)


def test_a_transaction_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    log = files.log([files.record(5, 50, (99, b""))])
    files.written(tmp_path, {"snapshot.4": files.snapshot([LASTING]), "log.5": log})
    with pytest.raises(StoreFilesDamaged, match="kind 99"):
        found(tmp_path)
