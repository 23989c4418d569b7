"""The file of a history: what is not ours is left alone, what is damaged is set aside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from syncer.balancer.history.thinning import HistoryBounds
from syncer.balancer.recording.reading import HistoryReader
from syncer.balancer.recording.writing import HistoryWriter
from syncer.errors import HistoryForeign, HistoryMissing, HistoryUnavailable
from tests.support.load_samples import sample


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


@pytest.fixture
def recorded(path: Path) -> Path:
    with closing(HistoryWriter(path, "east", HistoryBounds())) as writer:
        for taken_ms in range(1, 20):
            writer.record(sample(taken_ms, more=300))
    return path


def opened(path: Path, cluster: str = "east") -> None:
    HistoryWriter(path, cluster, HistoryBounds()).close()


def test_without_a_file_there_is_nothing_to_read(path: Path) -> None:
    with pytest.raises(HistoryMissing, match="no history of the load of east"):
        HistoryReader(path, "east")


@pytest.mark.parametrize("content", [b"something", b"SQLite format 3\0" + b"x" * 200])
def test_a_file_of_others_is_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for act in (opened, lambda path: HistoryReader(path, "east")):
        with pytest.raises(HistoryForeign, match="is no history of load"):
            act(path)
    assert path.read_bytes() == content


def test_a_database_of_others_is_left_as_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE fact (name, value)")
    with pytest.raises(HistoryForeign, match="is no history of load"):
        opened(path)


def test_another_clusters_history_is_refused(recorded: Path) -> None:
    with pytest.raises(HistoryForeign, match="is of the cluster 'east', not of 'west'"):
        opened(recorded, "west")
    with pytest.raises(HistoryForeign, match="is of the cluster 'east', not of 'west'"):
        HistoryReader(recorded, "west")


def test_a_newer_versions_history_is_refused(recorded: Path) -> None:
    with closing(sqlite3.connect(recorded)) as other:
        other.execute("PRAGMA user_version = 2")
    with pytest.raises(HistoryForeign, match="is of version 2, and this program knows 1"):
        opened(recorded)


def test_a_damaged_history_is_set_aside_and_a_new_one_begins(recorded: Path) -> None:
    whole = recorded.read_bytes()
    torn = whole[:4096] + b"\xff" * (len(whole) - 4096)
    recorded.write_bytes(torn)
    with pytest.raises(HistoryForeign, match="damaged"), HistoryReader(recorded, "east") as reader:
        list(reader.samples())
    with closing(HistoryWriter(recorded, "east", HistoryBounds())) as writer:
        aside = recorded.with_name("history.sqlite.damaged")
        assert writer.set_aside == aside
        assert aside.read_bytes() == torn
        writer.record(sample(1))
    with HistoryReader(recorded, "east") as reader:
        assert reader.extent().samples == 1


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryUnavailable, match="cannot be created: No such file or directory"):
        opened(tmp_path / "none" / "history.sqlite")


def test_a_writer_who_is_in_the_way_is_a_trouble_that_passes(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncer.balancer.recording.opening._BUSY_S", 0.05)
    with closing(HistoryWriter(recorded, "east", HistoryBounds())) as writer:
        with closing(sqlite3.connect(recorded, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(HistoryUnavailable, match="locked"):
                writer.record(sample(100))
        writer.record(sample(100))
