"""A snapshot of a tenant, and one of an odd store, by the commands that an operator types."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from pyspark.sql import SparkSession

from syncer.documents.snapshots import RepairPreview, SnapshotDiffDocument, SnapshotDocument, SnapshotList
from syncer.model import MetaPath
from tests.spark.test_end_to_end import good, region, run
from tests.support.planning import resources, value
from tests.support.snapshot_files import NOW, described, holding

ACME, BETA = resources("acme", topics=20), resources("beta", topics=20)
NEW = MetaPath("/admin/policies/acme/new")


def test_a_tenant_is_compared_alone_and_most_of_a_store_is_not_lost_unseen(spark: SparkSession, tmp_path: Path) -> None:
    """What is compared with is made by Arrow, for the time that each job of Spark takes."""
    del spark  # the session that the commands use
    folder = tmp_path / "snapshots"
    words = ("--folder", str(folder), "-o", "json")
    take = ("take", "--buckets", "1", "--progress", "none", *words)
    whole = holding(
        folder, ACME | {NEW: value(), MetaPath("/admin/policies/gamma"): value()}, described("west", NOW - 1)
    )
    first = holding(folder, ACME | BETA, described("east"))
    with contextlib.closing(region(tmp_path, "east")), (tmp_path / "east.toml").open("a", encoding="utf-8") as config:
        config.write("[snapshots]\nmax_lost_fraction = 0.4\n")
        config.flush()
        part = SnapshotDocument.model_validate_json(good(run(*take, "--tenant", "acme", "--tenant", "nobody")))
        refused = run(*take)
        listed = SnapshotList.model_validate_json(good(run("list", *words)))
        accepted = SnapshotDocument.model_validate_json(good(run(*take, "--accept-shrunken")))

    assert part.extent == ["acme", "nobody"], "and the first of its extent has nothing to be held to"
    assert part.alive == {"namespace": 2, "partitioned-topic": 20, "tenant": 1}
    found = SnapshotDiffDocument.model_validate_json(
        good(run("diff", part.id, whole.id, *words, "--plan", "repair.jsonl"), 3)
    )
    assert found.extent == ["acme", "nobody"]
    assert [(each.path, each.cls) for each in found.items] == [(NEW, "only-in")]
    assert found.same == 23, "what west holds of gamma is no difference"
    assert any("no further reach the snapshots of east (tenant acme, tenant nobody)" in note for note in found.notes)
    head = (tmp_path / "repair.jsonl").read_text(encoding="utf-8").partition("\n")[0]
    assert json.loads(head)["tenants"] == found.extent
    preview = RepairPreview.model_validate_json(good(run("sync", "repair.jsonl", "--dry-run", "-o", "json")))
    assert [each.path for each in preview.items] == [NEW]
    outside = run("diff", part.id, whole.id, *words, "--tenant", "gamma")
    assert (outside.exit_code, "tenant gamma is not in what these snapshots hold" in outside.stderr) == (5, True)

    assert refused.exit_code == 5
    assert f"holds 23 paths; the last snapshot, {first.id}, had 46: more than 40% of them" in refused.stderr
    assert "--accept-shrunken" in refused.stderr
    assert ({each.id for each in listed.items}, listed.unfinished) == ({first.id, part.id, whole.id}, [])
    assert (accepted.extent, sum(accepted.alive.values())) == (None, 23)
