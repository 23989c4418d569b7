"""Snapshots that a release has left are opened, verified and compared by the code of the day, with the same outcome."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_snapshot.format.layout import open_snapshot, verify
from spark_snapshot.jobs.compare import CompareOptions, compare
from spark_snapshot.runtime.phases import Job
from syncer.model import Millis
from syncer.repair.repair_file import RepairFile
from tests.golden import files
from tests.golden.test_disk import RELEASES

TOPICS = "/admin/partitioned-topics/acme/orders/persistent/topic-0000"
MADE_MS = Millis(1_795_430_400_000)
"""A little later than the snapshots of the first release were taken."""


@pytest.mark.parametrize("release", RELEASES, ids=lambda folder: folder.name)
def test_snapshots_of_a_release_are_compared_as_it_compared_them(
    spark: SparkSession, release: Path, tmp_path: Path
) -> None:
    folders = [next((release / files.SNAPSHOTS / region).iterdir()) for region in ("east", "west")]
    snapshots = [open_snapshot(str(folder)) for folder in folders]
    for each in snapshots:
        verify(each)
    plan = tmp_path / files.REPAIR
    found = compare(Job(spark), snapshots, CompareOptions(fields=True, plan=plan), now=MADE_MS, made_by="tests")
    assert (found.summary.same, found.summary.different) == (3, 4), "a tenant, two namespaces; two topics, two tenants"
    assert found.summary.by_class == {"only-in": 2, "differs": 2, "deleted": 0, "held": 0}
    assert found.summary.losers == {"east": 3, "west": 1}
    assert [(each.path, str(each.of_class), each.winner, each.origin) for each in found.findings] == [
        (f"{TOPICS}0", "differs", "west", "store"),
        (f"{TOPICS}1", "differs", "west", "store"),
        ("/admin/policies/only-east", "only-in", "east", "store"),
        ("/admin/policies/only-west", "only-in", "west", "store"),
    ]
    fields = found.findings[0].fields
    assert fields is not None
    assert [(each.pointer, each.values) for each in fields.replicated] == [("/partitions", {"east": "4", "west": "6"})]
    assert fields.local == ()
    assert repaired(plan) == repaired(release / files.REPAIR), "a repair says what the release's said"


def repaired(plan: Path) -> list[object]:
    """Every line of a repair plan but its head, which says by whom and when it was made, and its end."""
    with RepairFile(plan).reading() as (_, lines):
        return list(lines)


@pytest.mark.slow
def test_files_that_a_release_leaves_name_no_place_of_this_machine(tmp_path: Path) -> None:
    release = tmp_path / "release"
    release.mkdir()
    files.write(release)
    made = [file for file in sorted(release.rglob("*")) if file.is_file()]
    assert {file.relative_to(release).parts[0] for file in made} == {
        files.PLAN,
        files.BACKUP,
        files.SNAPSHOTS,
        files.REPAIR,
    }
    places = (str(tmp_path), tempfile.gettempdir())
    assert [file for file in made if any(place.encode() in file.read_bytes() for place in places)] == []
