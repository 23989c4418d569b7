"""Snapshots that are being made: by several at once on a disk; and in an object store, where there are no locks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from spark_snapshot.format.drafts import GIVEN_UP_AFTER_MS, LOCK, READ, SnapshotDraft, begun, resumed
from spark_snapshot.format.files import examine
from spark_snapshot.format.layout import DATA, new_id, open_snapshot, snapshots_in, verify
from spark_snapshot.format.manifest import MANIFEST, Count, SnapshotManifest
from spark_snapshot.format.places import Place, place
from spark_snapshot.jobs.take import Order
from syncer.config import Config
from syncer.errors import JobError, NotFound, PreconditionFailed, SnapshotUnwritten
from tests.support.snapshot_files import NOW, described, write_file


@pytest.fixture
def store(tmp_path: Path) -> Place:
    """A file system that is none of this machine's, as far as anybody can tell."""
    return Place(pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem()), "snapshots", "s3a://bucket/snapshots")


def fill(draft: SnapshotDraft, here: Path) -> SnapshotManifest:
    """What a job leaves in a draft, which is this directory: what it has read, and the rows."""
    draft.write(READ, "{}")
    (here / "store").mkdir()
    (here / DATA).mkdir()
    write_file(here / DATA / "part-0_00000.c000.parquet", ["/a", "/b"])
    return SnapshotManifest(
        id=draft.id,
        taken_at="2023-11-14T22:13:20Z",
        about=described(),
        buckets=1,
        kinds={"namespace": Count(alive=2, dead=0, unseen=0, unstamped=0, held=0)},
        files=(examine(draft.place / DATA / "part-0_00000.c000.parquet", 0),),
    ).sealed()


@contextlib.contextmanager
def given_up(folder: Place) -> Iterator[SnapshotDraft]:
    """A draft whose job is stopped when all was read."""
    with contextlib.suppress(JobError), begun(folder, "east", taken_at_ms=NOW) as draft:
        fill(draft, Path(draft.place.path))
        yield draft
        raise JobError("stopped")


def test_any_number_at_once_and_nobody_clears_what_another_one_makes(tmp_path: Path) -> None:
    folder = place(tmp_path / "snapshots")

    def one(number: int) -> None:
        with begun(folder, "east", taken_at_ms=NOW + number) as draft:
            draft.publish(fill(draft, Path(draft.place.path)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(80)))
    found = snapshots_in(folder)
    assert (len(found.snapshots), found.broken, found.unfinished) == (80, (), ())
    for each in found.snapshots:
        verify(open_snapshot(each.place))
        assert {file.name for file in Path(each.place.path).iterdir()} == {DATA, MANIFEST}


def test_a_draft_is_gone_on_with_by_one_and_cleared_by_the_next(tmp_path: Path) -> None:
    folder = place(tmp_path)
    with pytest.raises(NotFound), resumed(folder, "east"):
        pass
    assert list(tmp_path.iterdir()) == []
    with given_up(folder) as first:
        pass
    with resumed(folder, "east") as draft:
        assert draft.id == first.id
        with pytest.raises(NotFound), resumed(folder, "east"):
            pass
        with begun(folder, "east", taken_at_ms=NOW + 1):
            assert len(snapshots_in(folder).unfinished) == 2, "it is taken"
    with given_up(folder) as second:
        assert [each.name for each in snapshots_in(folder).unfinished] == [second.place.name], (
            "nobody held the first any more"
        )


def test_what_belongs_to_another_user_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place(tmp_path)
    with given_up(folder) as draft:
        pass
    theirs = Path(draft.place.path) / LOCK
    opened = os.open

    def refusing(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if path == theirs:
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, mode)

    monkeypatch.setattr("spark_snapshot.format.drafts.os.open", refusing)
    with begun(folder, "east", taken_at_ms=NOW + 1):
        assert len(snapshots_in(folder).unfinished) == 2


def test_a_place_that_refuses_and_an_error_of_something_else_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SnapshotUnwritten), begun(place(tmp_path / "file"), "east", taken_at_ms=NOW):
        pass
    with (
        pytest.raises(PermissionError, match="of something else"),
        begun(place(tmp_path / "snapshots"), "east", taken_at_ms=NOW),
    ):
        raise PermissionError("of something else")


def test_the_manifest_alone_makes_a_snapshot_of_it_where_there_are_no_locks(store: Place, tmp_path: Path) -> None:
    with begun(store, "east", taken_at_ms=NOW) as draft:
        manifest = fill(draft, tmp_path / draft.place.path)
        found = snapshots_in(store)
        assert (found.snapshots, [each.name for each in found.unfinished]) == ((), [draft.id])
        here = draft.publish(manifest)
    assert open_snapshot(here).manifest == manifest
    assert {each.name for each in (tmp_path / here.path).iterdir()} == {MANIFEST, DATA}
    assert snapshots_in(store).unfinished == ()


def test_without_locks_a_run_that_fails_leaves_nothing_to_go_on_with(store: Place, tmp_path: Path) -> None:
    config = Config.model_validate({"region": "east", "store": {"kind": "sqlite"}, "bus": {"kind": "embedded"}})
    with contextlib.suppress(JobError), begun(store, "east", taken_at_ms=NOW) as draft:
        assert not draft.resumable
        fill(draft, tmp_path / draft.place.path)
        with pytest.raises(PreconditionFailed, match="has no locks"), resumed(store, "east"):
            pass
        with pytest.raises(PreconditionFailed, match="has no locks"):
            Order(config=config, folder=store, resume=True)  # no session of Spark is begun for it
        raise JobError("Spark has failed")
    assert snapshots_in(store).unfinished == ()


def test_what_was_published_stays_whatever_comes_after_it(store: Place, tmp_path: Path) -> None:
    with contextlib.suppress(JobError), begun(store, "east", taken_at_ms=NOW) as draft:
        here = draft.publish(fill(draft, tmp_path / draft.place.path))
        raise JobError("asked to stop")
    verify(open_snapshot(here))


def test_without_locks_only_what_is_a_day_old_is_taken_as_given_up(store: Place, tmp_path: Path) -> None:
    for age_ms in (0, GIVEN_UP_AFTER_MS - 1, GIVEN_UP_AFTER_MS + 1):
        (tmp_path / "snapshots" / "east" / new_id(NOW - age_ms, "00000a")).mkdir(parents=True)
    with begun(store, "east", taken_at_ms=NOW) as draft:
        left = [each.name for each in snapshots_in(store).unfinished]
    assert left == sorted([new_id(NOW - GIVEN_UP_AFTER_MS + 1, "00000a"), new_id(NOW, "00000a"), draft.id])
