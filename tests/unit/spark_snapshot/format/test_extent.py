"""Snapshots of some tenants: who is meant by a region's name, what is compared, kept, restored. Without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.format.extent import WHOLE, Extent, extent_of
from spark_snapshot.format.layout import comparable, latest, open_snapshot, snapshots_in
from spark_snapshot.format.manifest import MANIFEST, read_manifest
from spark_snapshot.format.naming import before, named
from spark_snapshot.format.places import place
from spark_snapshot.format.retention import prune
from spark_snapshot.format.selection import Selection
from spark_snapshot.format.side import SnapshotSide
from syncer.errors import PlanInvalid, PreconditionFailed, SnapshotDamaged, SnapshotsIncomparable
from syncer.model import MetaPath, Millis
from syncer.repair.repair_file import RepairFile, write
from tests.support.snapshot_files import NOW, described, holding, made
from tests.unit.repair.test_repair_file import HEAD, finding

ACME, BETA = Extent(frozenset({"acme"})), Extent(frozenset({"beta"}))
BOTH = Extent(frozenset({"acme", "beta"}))

OF_VERSION_1 = """\
{"format": "pulsar-syncer-snapshot", "version": 1, "id": "20231114T221320123Z-000001",
 "taken_at": "2023-11-14T22:13:20Z", "about": {"region": "east", "taken_at_ms": 1700000000123, "made_by": "test",
 "store": {"kind": "sqlite", "identity": "one", "revision_before": "", "revision_after": "", "cluster_id": ""},
 "registers": true, "watermark": {}, "scope": [{"pattern": "/admin/policies/**", "direction": "both"}],
 "scope_fingerprint": "f", "ties": "smaller", "projections": {"tenant": "tenant/1"}}, "buckets": 1, "kinds": {},
 "files": [], "sha256": "7bb737d3e911f3b0a066fbe1561b2db37e10ab201a057e39caeca97d95d4d629"}
"""
"""As the first programs wrote and sealed it."""


def test_a_manifest_without_an_extent_is_of_everything_and_is_written_as_ever() -> None:
    read = read_manifest(OF_VERSION_1.encode(), "m")
    assert read.about.extent == WHOLE
    assert json.loads(read.sealed().text()) == json.loads(OF_VERSION_1)


@pytest.mark.parametrize("change", [{"version": 2}, {"tenants": ["acme"]}, {"version": 2, "tenants": []}])
def test_an_extent_and_its_version_go_together(change: dict[str, object]) -> None:
    document = json.loads(OF_VERSION_1) | {name: value for name, value in change.items() if name == "version"}
    if "tenants" in change:
        document["about"] |= {"tenants": change["tenants"]}
    with pytest.raises(SnapshotDamaged):
        read_manifest(json.dumps(document).encode(), "m")


@pytest.mark.parametrize("name", ["", "acme/orders"])
def test_what_is_no_tenant_is_refused(name: str) -> None:
    with pytest.raises(PreconditionFailed, match="is no tenant"):
        extent_of(["acme", name])
    assert extent_of([]) == extent_of(None) == WHOLE
    assert str(extent_of(["b", "a"])) == "tenant a, tenant b"


def test_a_regions_name_means_the_newest_that_holds_what_is_asked(tmp_path: Path) -> None:
    folder = place(tmp_path)
    first = made(tmp_path, described(taken_at_ms=NOW, tenants=["beta"]))
    assert named("east", folder).id == first.id, "of parts alone, the newest"
    whole = made(tmp_path, described(taken_at_ms=NOW + 1))
    part = made(tmp_path, described(taken_at_ms=NOW + 2, tenants=["acme"]))
    assert named("east", folder).id == whole.id, "a part never stands for the whole"
    assert named("east", folder, asked=ACME).id == part.id
    assert named("east", folder, asked=BETA).id == whole.id
    assert named("east", folder, asked=BOTH).id == whole.id
    assert before(folder, "east", Millis(NOW), asked=ACME).id == first.id
    assert before(folder, "east", Millis(NOW + 2), asked=ACME).id == part.id
    assert before(folder, "east", Millis(NOW + 2)).id == whole.id
    assert [latest(folder, "east", each) for each in (WHOLE, ACME, BOTH)] == [whole, part, None]
    assert open_snapshot(part.place).extent == ACME


def test_only_what_is_in_all_is_compared(tmp_path: Path) -> None:
    acme, beta, both = (
        made(tmp_path, described(region, tenants=tenants))
        for region, tenants in (("east", ["acme"]), ("west", ["beta"]), ("north", ["acme", "beta"]))
    )
    comparable([acme, both])
    with pytest.raises(SnapshotsIncomparable, match=r"no tenant is in all.*of east: tenant acme") as refused:
        comparable([acme, beta, both])
    assert "a whole region goes with any" in refused.value.hint


def test_a_selection_outside_of_an_extent_is_refused_and_not_empty() -> None:
    spaces = Selection(namespaces=frozenset({"acme/orders"}))
    assert spaces.inside(ACME).covers(MetaPath("/admin/policies/acme/orders"))
    trees = Selection(paths=frozenset({MetaPath("/admin/policies")})).inside(ACME)
    assert trees.covers(MetaPath("/admin/policies/acme/orders"))
    assert not trees.covers(MetaPath("/admin/policies/beta"))
    assert (str(trees), str(Selection().inside(BOTH))) == ("/admin/policies", "tenant acme, tenant beta")
    for outside in (
        Selection(tenants=frozenset({"acme", "beta"})),
        Selection(namespaces=frozenset({"beta/orders"})),
        Selection(paths=frozenset({MetaPath("/admin/policies/beta/orders")})),
    ):
        with pytest.raises(PreconditionFailed, match="tenant beta is not in what these snapshots hold: tenant acme"):
            outside.inside(ACME)
    with pytest.raises(PreconditionFailed, match="what belongs to no tenant is not"):
        Selection(paths=frozenset({MetaPath("/admin/resourcegroups/g")})).inside(ACME)


def test_retention_counts_each_extent_by_itself(tmp_path: Path) -> None:
    whole = made(tmp_path, described(taken_at_ms=NOW))
    parts = [made(tmp_path, described(taken_at_ms=NOW + 1 + hour, tenants=["acme"])) for hour in range(3)]
    assert prune(place(tmp_path), now_ms=NOW + 9, keep=1) == parts[:2]
    assert [each.id for each in snapshots_in(place(tmp_path)).snapshots] == [whole.id, parts[2].id]


def test_a_side_of_a_part_is_no_side_of_anything_else(tmp_path: Path) -> None:
    held = {MetaPath(f"/admin/policies/{name}"): b"{}" for name in ("acme", "beta")}
    part = holding(tmp_path, held, described(tenants=["acme"]))
    side = SnapshotSide(part, Selection())
    assert not side.selection.covers(MetaPath("/admin/policies/beta"))
    with pytest.raises(PreconditionFailed, match="tenant beta"):
        SnapshotSide(part, Selection(tenants=frozenset({"beta"})))


def test_a_repair_of_a_part_tells_nothing_else(tmp_path: Path) -> None:
    head = HEAD.model_copy(update={"tenants": ("acme",)})
    good = tmp_path / "good"
    write(good, head, [finding("acme", b"{}"), finding("acme/orders", None)])
    assert RepairFile(good).check().tenants == ("acme",)
    assert b"tenants" not in _written(tmp_path / "whole")
    bad = tmp_path / "bad"
    write(bad, head, [finding("acme", b"{}"), finding("beta", None)])
    with pytest.raises(PlanInvalid, match="line 3: /admin/policies/beta is none of what was compared: tenant acme"):
        RepairFile(bad).check()


def _written(file: Path) -> bytes:
    write(file, HEAD, [])
    return file.read_bytes()


@given(st.integers(0, 2**20))
def test_the_seal_is_over_the_extent_too(flip: int) -> None:
    """A part that says another extent would say of others that they hold nothing."""
    document = json.loads(OF_VERSION_1) | {"version": 2}
    document["about"]["tenants"] = [f"t{flip}"]
    with pytest.raises(SnapshotDamaged, match="checksum"):
        read_manifest(json.dumps(document).encode(), MANIFEST)
