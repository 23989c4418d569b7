"""Which snapshot, and which moment, a person means."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_snapshot.format.layout import Snapshot
from spark_snapshot.format.naming import as_text, before, moment_of, named, removable
from spark_snapshot.format.places import place
from syncer.errors import NotFound, PreconditionFailed, SnapshotDamaged, SnapshotError
from syncer.model import Millis
from tests.support.snapshot_files import NOW, described, made

SATURDAY = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-11-16", "2026-11-16 00:00:00 UTC"),
        ("2026-11-16T08:00", "2026-11-16 08:00:00 UTC"),
        (" 2026-11-16T08:00+02:00 ", "2026-11-16 06:00:00 UTC"),
        ("2026-11-16T08:00Z", "2026-11-16 08:00:00 UTC"),
        ("36h", "2026-11-20 00:30:00 UTC"),
        ("2d", "2026-11-19 12:30:00 UTC"),
        ("Monday", "2026-11-16 00:00:00 UTC"),
        ("sunday", "2026-11-15 00:00:00 UTC"),
        ("saturday", "2026-11-21 00:00:00 UTC"),
    ],
)
def test_a_moment(text: str, meant: str) -> None:
    assert as_text(moment_of(text, SATURDAY)) == meant


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "99999999d", "-1d", "tomorrow"])
def test_no_moment(text: str) -> None:
    with pytest.raises(PreconditionFailed, match="is no moment") as refused:
        moment_of(text, SATURDAY)
    assert "Monday" in refused.value.hint


def test_a_snapshot_has_several_names(tmp_path: Path) -> None:
    old = made(tmp_path, described(taken_at_ms=NOW))
    new = made(tmp_path, described(taken_at_ms=NOW + HOUR_MS))
    west = made(tmp_path, described("west", taken_at_ms=NOW + 24 * HOUR_MS))
    folder = place(tmp_path)
    assert named("east", folder).id == new.id, "a region stands for its newest"
    assert named(old.id, folder).id == old.id
    assert named(old.id[:13], folder).id == old.id
    assert named(west.id[:8], folder).id == west.id
    assert named(str(tmp_path / "east" / old.id), None).id == old.id
    with pytest.raises(PreconditionFailed, match="2 snapshots begin"):
        named(old.id[:8], folder)
    with pytest.raises(NotFound, match="north"):
        named("north", folder)
    with pytest.raises(NotFound):
        named(west.id[:7], folder)
    with pytest.raises(PreconditionFailed, match="no folder is known"):
        named("east", None)


def spoil(folder: Path, snapshot: Snapshot) -> None:
    (folder / snapshot.region / snapshot.id / "MANIFEST.json").write_text("{")


def test_a_damaged_snapshot_is_told_to_be_one(tmp_path: Path) -> None:
    broken = made(tmp_path)
    spoil(tmp_path, broken)
    with pytest.raises(SnapshotError):
        named(broken.id, place(tmp_path))


def test_an_older_one_never_stands_in_for_one_that_is_damaged(tmp_path: Path) -> None:
    folder = place(tmp_path)
    old, mid, new = (made(tmp_path, described(taken_at_ms=NOW + hour * HOUR_MS)) for hour in range(3))
    spoil(tmp_path, mid)
    assert named("east", folder).id == new.id, "an older one that is damaged is in nobody's way"
    assert before(folder, "east", Millis(NOW)).id == old.id
    with pytest.raises(SnapshotDamaged, match=mid.id):
        before(folder, "east", Millis(NOW + HOUR_MS))
    spoil(tmp_path, new)
    with pytest.raises(SnapshotDamaged, match=new.id) as refused:
        named("east", folder)
    assert "snapshot remove" in refused.value.hint
    assert named(old.id, folder).id == old.id


def test_what_is_to_be_removed_is_named_whole_and_may_be_damaged(tmp_path: Path) -> None:
    folder = place(tmp_path)
    good, bad = made(tmp_path), made(tmp_path, described("west"), "000002")
    spoil(tmp_path, bad)
    assert removable(good.id, folder) == good.place
    assert removable(bad.id, folder) == bad.place
    assert removable(str(tmp_path / "west" / bad.id), None) == bad.place
    for none in (good.id[:-1], "east", str(tmp_path), str(tmp_path / "east"), str(tmp_path / "east" / bad.id)):
        with pytest.raises(NotFound):
            removable(none, folder)
    made(tmp_path, described("north"))
    with pytest.raises(PreconditionFailed, match="2 snapshots are named"):
        removable(good.id, folder)


def test_the_newest_of_a_moment_or_before(tmp_path: Path) -> None:
    folder = place(tmp_path)
    with pytest.raises(NotFound, match="none at all"):
        before(folder, "east", Millis(NOW))
    old = made(tmp_path, described(taken_at_ms=NOW))
    new = made(tmp_path, described(taken_at_ms=NOW + HOUR_MS))
    assert before(folder, "east", Millis(NOW)).id == old.id
    assert before(folder, "east", Millis(NOW + HOUR_MS - 1)).id == old.id
    assert before(folder, "east", Millis(NOW + 2 * HOUR_MS)).id == new.id
    with pytest.raises(NotFound, match=f"the oldest is {old.id}"):
        before(folder, "east", Millis(NOW - 1))
