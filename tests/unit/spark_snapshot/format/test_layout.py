"""The layout of snapshots: what is believed, what is refused and by which code. Files by Arrow, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_snapshot.format.files import examine
from spark_snapshot.format.layout import DATA, comparable, is_id, latest, new_id, open_snapshot, snapshots_in, verify
from spark_snapshot.format.manifest import (
    MANIFEST,
    check_noted,
    current_projections,
    described_scope,
    read_manifest,
)
from spark_snapshot.format.places import Place, place
from spark_snapshot.format.retention import DAY_MS, expendable, prune
from spark_snapshot.format.selection import Selection
from spark_snapshot.format.side import SnapshotSide
from spark_snapshot.format.uncarried import UNCARRIED, FirstFormNamespaces, Uncarried
from syncer.conflict.classes.telling import NOTED_CHARACTERS, RULES_NOTED
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.scope import Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import (
    NotFound,
    PreconditionFailed,
    SnapshotDamaged,
    SnapshotError,
    SnapshotInvalid,
    SnapshotsIncomparable,
)
from syncer.model import MetaPath, TieOrder
from tests.support.snapshot_files import NOW, described, made, write_file


def test_what_was_written_is_what_is_opened(tmp_path: Path) -> None:
    written = made(tmp_path)
    opened = open_snapshot(str(tmp_path / "east" / written.id))
    assert opened.manifest == written.manifest
    assert (opened.region, opened.manifest.rows, opened.manifest.alive) == ("east", 5, 5)
    assert opened.manifest.about.projections == current_projections()
    verify(opened)


def test_names_sort_by_time() -> None:
    names = [new_id(NOW + step, "ffffff") for step in (0, 1, 1_000, 86_400_000)]
    assert names == sorted(names)
    assert names[0] == "20231114T221320123Z-ffffff"
    assert all(map(is_id, names))


def _cut(here: Path) -> None:
    file = next((here / DATA).iterdir())
    file.write_bytes(file.read_bytes()[:-7])


def _foreign(here: Path) -> None:
    file = next((here / DATA).iterdir())
    pq.write_table(pa.table({"path": ["/a"]}), file)


def _foreign_of_its_size(here: Path) -> None:
    file = next((here / DATA).iterdir())
    file.write_bytes(b"x" * file.stat().st_size)


def _extra(here: Path) -> None:
    write_file(here / DATA / "part-9_00001.c000.parquet", ["/x"])


def _edited(here: Path) -> None:
    text = (here / MANIFEST).read_text()
    (here / MANIFEST).write_text(text.replace('"region": "east"', '"region": "west"'))


def _next_version(here: Path) -> None:
    document = json.loads((here / MANIFEST).read_text()) | {"version": 4}
    (here / MANIFEST).write_text(json.dumps(document))


def _renamed(here: Path) -> None:
    here.rename(here.parent / "20300101T000000000Z-000000")


BAD: dict[str, tuple[Callable[[Path], object], type[SnapshotError], str]] = {
    "no manifest": (lambda here: (here / MANIFEST).unlink(), SnapshotInvalid, "never finished"),
    "another document": (lambda here: (here / MANIFEST).write_text("{}"), SnapshotInvalid, "no manifest"),
    "half a manifest": (
        lambda here: (here / MANIFEST).write_text((here / MANIFEST).read_text()[:100]),
        SnapshotDamaged,
        "cannot be read",
    ),
    "not text": (lambda here: (here / MANIFEST).write_bytes(b"\xff\xfe"), SnapshotDamaged, "cannot be read"),
    "another version": (_next_version, SnapshotInvalid, "version 4"),
    "an edited manifest": (_edited, SnapshotDamaged, "checksum"),
    "a file cut off": (_cut, SnapshotDamaged, "were written"),
    "a foreign file": (_foreign, SnapshotDamaged, "were written"),
    "a foreign file of its size": (_foreign_of_its_size, SnapshotDamaged, "no Parquet"),
    "a file missing": (lambda here: next((here / DATA).iterdir()).unlink(), SnapshotDamaged, "is missing"),
    "a file too many": (_extra, SnapshotDamaged, "does not belong"),
    "another's manifest": (_renamed, SnapshotDamaged, "another snapshot"),
}


@pytest.mark.parametrize(("break_it", "error", "says"), BAD.values(), ids=BAD.keys())
def test_bad_input(tmp_path: Path, break_it: Callable[[Path], object], error: type[SnapshotError], says: str) -> None:
    written = made(tmp_path)
    break_it(tmp_path / "east" / written.id)
    here = next((tmp_path / "east").iterdir())
    with pytest.raises(error, match=says) as caught:
        open_snapshot(str(here))
    assert type(caught.value) is error


MANY = [{"pattern": f"/admin/policies/{number}", "direction": "both"} for number in range(RULES_NOTED // 2 + 1)]
LONG = [{"pattern": "/admin/policies/" + "a*" * NOTED_CHARACTERS, "direction": "both"}]
FIELDS = [{"pattern": each["pattern"], "fields": ["message_ttl_in_seconds"]} for each in MANY]


@pytest.mark.parametrize(
    "costly",
    [{"scope": [*MANY, *MANY]}, {"scope": LONG}, {"exclude": [*FIELDS, *FIELDS]}, {"scope": MANY, "exclude": FIELDS}],
    ids=["many rules", "a long one", "many exclusions", "many of both"],
)
def test_a_manifest_with_more_rules_than_are_read_is_refused(tmp_path: Path, costly: dict[str, Any]) -> None:
    """As its writer would have sealed it: the refusal is of their cost, and not of a checksum."""
    written = made(tmp_path, described(**costly))
    with pytest.raises(SnapshotInvalid, match="where at most") as caught:
        open_snapshot(str(tmp_path / "east" / written.id))
    assert caught.value.code == "snapshot-invalid"


def test_nobody_takes_a_snapshot_that_would_not_be_read() -> None:
    many = Scope([Rule(each["pattern"], Direction.BOTH) for each in MANY])
    own = Exclusions([Exclusion(each["pattern"], ("message_ttl_in_seconds",)) for each in MANY], told=True)
    check_noted("east", many, Exclusions())
    with pytest.raises(PreconditionFailed, match="the scope of region east has"):
        check_noted("east", many, own)


def test_one_side_of_a_restore_tells_what_it_does_not_hold(tmp_path: Path) -> None:
    snapshot = made(tmp_path)
    plain = SnapshotSide(snapshot, Selection()).first_form
    assert (plain.count, plain.named) == (0, ())
    told = Uncarried(first_form=FirstFormNamespaces(count=5, named=("'a/c/n'",)))
    (Path(snapshot.place.path) / UNCARRIED).write_text(told.text(), encoding="utf-8")
    found = SnapshotSide(snapshot, Selection()).first_form
    assert (found.count, found.named) == (5, ("'a/c/n'",))


def test_a_snapshot_whose_scope_has_a_rule_that_is_none_is_not_restored(tmp_path: Path) -> None:
    rules = [{"pattern": "/elsewhere/**", "direction": "both"}]
    snapshot = made(tmp_path, described(scope=rules))
    with pytest.raises(SnapshotInvalid, match="lies outside what may be replicated"):
        SnapshotSide(snapshot, Selection())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_snapshot(str(tmp_path / "nothing"))


@given(st.data())
@settings(max_examples=60)
def test_any_byte_that_is_another_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    written = made(tmp_path_factory.mktemp("flipped"))
    files = [written.place / MANIFEST, *[written.place / DATA / each.name for each in written.manifest.files]]
    file = Path(data.draw(st.sampled_from(files), label="file").path)
    content = bytearray(file.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1), label="at")
    content[at] ^= data.draw(st.integers(1, 255), label="by")
    file.write_bytes(bytes(content))
    try:
        opened = open_snapshot(written.place)
        verify(opened)
    except SnapshotError:
        return
    assert opened.manifest == written.manifest, "only white space or an equal spelling of the manifest may pass"
    assert file.name == MANIFEST


def test_paths_out_of_order_and_paths_twice(tmp_path: Path) -> None:
    for at, paths in enumerate((["/b", "/a"], ["/a", "/a"], ["/a", "/b", "/b"], ["/c", "/d", "/a"])):
        file = tmp_path / f"{at}_00000.parquet"
        write_file(file, paths)
        with pytest.raises(SnapshotDamaged, match="twice, or out of order"):
            examine(place(file), 0)


def test_an_empty_file_is_in_order(tmp_path: Path) -> None:
    write_file(tmp_path / "x_00000.parquet", [])
    assert examine(place(tmp_path / "x_00000.parquet"), 0).rows == 0


def test_a_folder_is_listed_with_what_is_wrong_in_it(tmp_path: Path) -> None:
    first, second = made(tmp_path), made(tmp_path, described(taken_at_ms=NOW + 1))
    west = made(tmp_path, described("west"))
    broken = made(tmp_path, described("west", NOW + 5))
    (Path(broken.place.path) / MANIFEST).write_text("{")
    (tmp_path / "east" / f".{new_id(NOW + 9, '000000')}.partial").mkdir()
    (tmp_path / "east" / "notes").mkdir()
    found = snapshots_in(place(tmp_path))
    assert [each.id for each in found.snapshots] == [first.id, second.id, west.id]
    assert [(where.name, type(error)) for where, error in found.broken] == [(broken.id, SnapshotDamaged)]
    assert [each.name for each in found.unfinished] == [".20231114T221320132Z-000000.partial"]
    assert latest(place(tmp_path), "east") == second
    assert latest(place(tmp_path), "north") is None


INCOMPARABLE = {
    "a region twice": ("east", {}, "east is there twice"),
    "a scope of other rules": ("west", {"scope_fingerprint": "0"}, "another scope than that of its rules"),
    "another order": ("west", {"ties": "native"}, "another order of ties"),
    "other projections": ("west", {"projections": {"tenant": "tenant/2"}}, "another projections"),
}


@pytest.mark.parametrize(("region", "more", "says"), INCOMPARABLE.values(), ids=INCOMPARABLE.keys())
def test_what_was_taken_by_other_rules_is_not_compared(
    tmp_path: Path, region: str, more: dict[str, object], says: str
) -> None:
    other = described(region, NOW + 1, **more)
    with pytest.raises(SnapshotsIncomparable, match=says):
        comparable([made(tmp_path), made(tmp_path, other)])


def test_snapshots_of_different_scopes_can_be_compared(tmp_path: Path) -> None:
    other = Scope([Rule("/admin/policies/**", Direction.APPLY)])
    about = described("west", scope=described_scope(other), scope_fingerprint=other.fingerprint)
    assert comparable([made(tmp_path), made(tmp_path, about)]) is TieOrder.SMALLER_REGION


OWN = [{"pattern": "/admin/policies/acme/*", "fields": ["message_ttl_in_seconds", "of_a_later_version"]}]


def test_a_manifest_notes_the_excluded_fields_and_older_programs_refuse_it(tmp_path: Path) -> None:
    written = made(tmp_path, described(exclude=OWN, registers=False))
    opened = open_snapshot(str(tmp_path / "east" / written.id))
    assert opened.manifest.version == 3
    (rule,) = opened.manifest.about.own_fields
    assert (rule.pattern, rule.fields) == ("/admin/policies/acme/*", ("message_ttl_in_seconds", "of_a_later_version"))
    assert described(exclude=OWN).own_fields == (), "registers have the group's values in their place"
    assert described(exclude=OWN, tenants=["acme"]).version == 3
    plain = json.loads((Path(made(tmp_path, described("west")).place.path) / MANIFEST).read_text())
    assert plain["version"] == 1
    assert not {"exclude", "tenants"} & plain["about"].keys(), "any other one is written as ever"


def test_one_side_of_a_restore_has_for_itself_what_no_register_completes(tmp_path: Path) -> None:
    space = MetaPath("/admin/policies/acme/orders")
    for registers, own in ((False, {"message_ttl_in_seconds"}), (True, set())):
        snapshot = made(tmp_path, described(exclude=OWN, registers=registers), random=f"00000{int(registers)}")
        assert SnapshotSide(snapshot, Selection()).excluded(space) == own


def test_what_can_be_compared(tmp_path: Path) -> None:
    east, west = made(tmp_path), made(tmp_path, described("west"))
    later = made(tmp_path, described(taken_at_ms=NOW + 1))
    assert comparable([east, west]) is TieOrder.SMALLER_REGION
    assert comparable([east, later], one_region=True) is TieOrder.SMALLER_REGION
    for bad in ([east], [east, east]):
        with pytest.raises(SnapshotsIncomparable):
            comparable(bad, one_region=True)


def test_retention(tmp_path: Path) -> None:
    days = [made(tmp_path, described(taken_at_ms=NOW - day * DAY_MS)) for day in range(4)]
    only = made(tmp_path, described("west", NOW - 100 * DAY_MS))
    every = [*days, only]
    assert expendable(every, now_ms=NOW, keep=2) == days[:1:-1]
    assert expendable(every, now_ms=NOW, keep_days=1.5) == days[:1:-1]
    assert expendable(every, now_ms=NOW, keep=3, keep_days=1.5) == days[:2:-1]
    assert expendable(every, now_ms=NOW, keep=1, keep_days=2.5) == [days[3]]
    for bad in ({}, {"keep": 0}, {"keep_days": -1.0}):
        with pytest.raises(PreconditionFailed):
            expendable(every, now_ms=NOW, **bad)
    assert prune(place(tmp_path), now_ms=NOW, keep=2, dry_run=True) == days[:1:-1]
    assert len(snapshots_in(place(tmp_path)).snapshots) == 5
    assert prune(place(tmp_path), now_ms=NOW, keep=2) == days[:1:-1]
    assert [each.id for each in snapshots_in(place(tmp_path)).snapshots] == [days[1].id, days[0].id, only.id]


@pytest.mark.parametrize(
    "name", ["snapshots", "./snapshots", "file://snapshots", "nosuch://bucket/x", "/a/[b]", "/a/*", "/a\\b"]
)
def test_a_place_that_spark_would_look_for_elsewhere(name: str) -> None:
    with pytest.raises(PreconditionFailed):
        place(name)


def test_places(tmp_path: Path) -> None:
    here: Place = place(f"file://{tmp_path}/a%20b")
    assert (here.local, here.location) == (tmp_path / "a b", f"file://{tmp_path}/a b")
    assert (here / "x").name == "x"
    assert str(here / "x") == f"{tmp_path}/a b/x"


def test_a_manifest_that_is_nested_without_end_is_damaged() -> None:
    with pytest.raises(SnapshotDamaged):
        read_manifest(b"[" * 100_000, "a manifest")


@pytest.mark.parametrize("buckets", [(7,), (0, 0)])
def test_a_file_of_no_bucket_and_a_second_one_of_a_bucket_are_damage(tmp_path: Path, buckets: tuple[int, ...]) -> None:
    """Rows would be compared with others than theirs, or those of one file by nobody."""
    written = made(tmp_path)
    here = tmp_path / "east" / written.id
    (record,) = written.manifest.files[:1]
    files = tuple(record.model_copy(update={"bucket": bucket}) for bucket in buckets)
    forged = written.manifest.model_copy(update={"files": files, "buckets": 1}).sealed()
    (here / MANIFEST).write_text(forged.text())
    with pytest.raises(SnapshotDamaged, match="one file for each of its 1 buckets at most"):
        open_snapshot(str(here))
