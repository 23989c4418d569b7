"""The jobs from snapshots to what a person gets: numbers, rows with fields, a plan that repairs, changes over time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_snapshot.format.layout import Snapshot
from spark_snapshot.format.places import place
from spark_snapshot.format.selection import Selection
from spark_snapshot.jobs.compare import Compared, CompareOptions, between, compare
from spark_snapshot.runtime.phases import Cancel, Job
from spark_snapshot.runtime.progress import Progress
from syncer.errors import JobCancelled, PreconditionFailed, SnapshotsIncomparable
from syncer.model import EventType, Millis
from syncer.repair.repair_file import RepairFile
from tests.spark.pictures import TAKEN_MS, Held, Stamped, snapshot_of, synced

TENANT, SPACE, NEW = "/admin/policies/acme", "/admin/policies/acme/orders", "/admin/policies/acme/new"
GONE, FROZEN = "/admin/policies/acme/gone", "/admin/policies/acme/frozen"
FOREIGN = "/admin/policies/other"
T = 1_700_000_000_000


def doc(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


@pytest.fixture(scope="module")
def pair(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Snapshot, Snapshot]:
    """East and west: one path equal, and one of each class."""
    folder = place(tmp_path_factory.mktemp("snapshots"))
    both = {TENANT: Stamped(value=doc(adminRoles=["a", "b"]), at=T, by="east")}
    east = synced(
        {
            **both,
            SPACE: Stamped(value=doc(ttl=60, bundles={"n": 4}), at=T + 5, by="east"),
            NEW: Stamped(value=doc(ttl=1), at=T + 6, by="east"),
            GONE: Stamped(value=None, at=T + 7, by="east"),
            FROZEN: Stamped(value=doc(ttl=2), at=T + 8, by="east"),
            FOREIGN: Stamped(value=doc(adminRoles=["x"]), at=T, by="east"),
        }
    )
    west = synced(
        {
            **both,
            SPACE: Stamped(value=doc(ttl=120, bundles={"n": 8}), at=T + 4, by="west"),
            GONE: Stamped(value=doc(ttl=3), at=T + 3, by="west"),
            FROZEN: Stamped(value=doc(ttl=9), at=T + 2, by="west", hold="mass-delete"),
        }
    )
    return snapshot_of(spark, folder, "east", east), snapshot_of(
        spark, folder, "west", west, taken_ms=TAKEN_MS + 90_000
    )


def compared(spark: SparkSession, snapshots: tuple[Snapshot, ...], **wish: Any) -> Compared:
    return compare(Job(spark), snapshots, CompareOptions(**wish), now=Millis(TAKEN_MS), made_by="tests")


def test_a_comparison_counts_names_and_explains(
    spark: SparkSession, pair: tuple[Snapshot, Snapshot], tmp_path: Path
) -> None:
    plan = tmp_path / "repair.jsonl"
    told: list[Progress] = []
    found = compare(
        Job(spark, told.append), pair, CompareOptions(fields=True, plan=plan), now=Millis(TAKEN_MS), made_by="tests"
    )
    assert found.summary.by_class == {"only-in": 2, "differs": 1, "deleted": 1, "held": 1}
    assert (found.summary.same, found.summary.different) == (1, 5)
    assert {each.name: each.total for each in found.summary.tenants} == {"acme": 4, "other": 1}
    assert found.summary.losers == {"west": 5}
    assert found.summary.winners == {"east": 5}
    assert found.summary.days == {"2023-11-14": 5}
    by_path = {each.path: each for each in found.findings}
    assert list(by_path) == sorted(by_path)
    assert (by_path[FROZEN].of_class, by_path[FROZEN].underlying) == ("held", "differs")
    fields = by_path[SPACE].fields
    assert fields is not None
    assert [(each.pointer, each.values) for each in fields.replicated] == [("/ttl", {"east": "60", "west": "120"})]
    assert [each.pointer for each in fields.local] == ["/bundles/n"]
    assert any("2 minutes apart" in note for note in found.notes)
    assert [each.phase for each in told if each.ended] == ["compare", "summarise", "fields", "plan"]

    file = RepairFile(plan)
    with file.reading() as (head, lines):
        tellings = {str(each.path): each for each in lines}
    assert file.whole
    assert [each.region for each in head.regions] == ["east", "west"]
    assert set(tellings) == set(by_path)
    space, gone = tellings[SPACE].event, tellings[GONE].event
    assert space is not None
    assert gone is not None
    assert (space.value, str(space.stamp), space.by) == (doc(ttl=60, bundles={"n": 4}), f"{T + 5}@east", "east~1")
    assert space.seen == {"east~1": T + 5}
    assert (gone.type, gone.value) == (EventType.DELETED, None)
    assert tellings[FROZEN].held == {"west": "mass-delete"}
    assert found.plan is not None
    assert (found.plan.paths, found.plan.deletes, found.plan.unstamped) == (5, 1, 0)


def test_only_the_selection_is_looked_at(spark: SparkSession, pair: tuple[Snapshot, Snapshot]) -> None:
    found = compared(spark, pair, selection=Selection(tenants=frozenset({"other"})))
    assert [each.path for each in found.findings] == [FOREIGN]
    assert found.summary.same == 0
    found = compared(spark, pair, selection=Selection(namespaces=frozenset({"acme/orders"})), shown=0)
    assert found.findings == ()
    assert found.summary.different == 1


def test_without_a_daemon_it_is_only_a_picture(
    spark: SparkSession, pair: tuple[Snapshot, Snapshot], tmp_path: Path
) -> None:
    folder = place(tmp_path / "more")
    blind = snapshot_of(
        spark, folder, "north", Held(store={TENANT: doc(adminRoles=["c"])}, registers=None, modified_ms=T + 9)
    )
    plan = tmp_path / "repair.jsonl"
    found = compared(spark, (pair[0], blind), selection=Selection(paths=frozenset({TENANT})), plan=plan)  # type: ignore[arg-type]
    assert any("Taken without the registers of a daemon: north" in note for note in found.notes)
    tenant = next(each for each in found.findings if each.path == TENANT)
    assert (tenant.winner, tenant.origin) == ("north", "store")
    assert found.plan is not None
    with RepairFile(plan).reading() as (_, lines):
        unstamped = [each for each in lines if each.event is None]
    assert [each.path for each in unstamped] == [TENANT]
    assert found.plan.unstamped == 1


def test_what_one_region_changed_between_two_moments(spark: SparkSession, tmp_path: Path) -> None:
    folder = place(tmp_path)
    monday = synced(
        {
            TENANT: Stamped(value=doc(adminRoles=["a"]), at=T, by="east"),
            SPACE: Stamped(value=doc(ttl=60), at=T, by="east"),
            GONE: Stamped(value=doc(ttl=1), at=T, by="east"),
            FROZEN: Stamped(value=doc(ttl=1), at=T, by="east"),
        }
    )
    now = synced(
        {
            TENANT: Stamped(value=doc(adminRoles=["a"]), at=T + 9, by="west"),
            SPACE: Stamped(value=doc(ttl=61), at=T + 1, by="west"),
            NEW: Stamped(value=doc(ttl=1), at=T + 2, by="east"),
            GONE: Stamped(value=None, at=T + 3, by="east"),
        }
    )
    before = snapshot_of(spark, folder, "east", monday)
    after = snapshot_of(spark, folder, "east", now, taken_ms=TAKEN_MS + 1)
    found = between(Job(spark), before, after, CompareOptions(fields=True))
    assert {each.path: (each.change, each.stamp and str(each.stamp)) for each in found.changes} == {
        SPACE: ("modified", f"{T + 1}@west"),
        NEW: ("created", f"{T + 2}@east"),
        GONE: ("deleted", f"{T + 3}@east"),
        FROZEN: ("deleted", None),
    }
    assert found.counts == {"created": 1, "modified": 1, "deleted": 2}
    fields = next(each.fields for each in found.changes if each.path == SPACE)
    assert fields is not None
    assert fields.replicated[0].values == {"before": "60", "after": "61"}
    with pytest.raises(SnapshotsIncomparable, match="twice"):
        between(Job(spark), before, before, CompareOptions())


def test_a_job_that_was_asked_to_stop_leaves_no_plan(
    spark: SparkSession, pair: tuple[Snapshot, Snapshot], tmp_path: Path
) -> None:
    cancel = Cancel()
    plan = tmp_path / "repair.jsonl"

    def stop(progress: Progress) -> None:
        if progress.phase == "fields" and progress.ended:
            cancel.ask()

    with pytest.raises(JobCancelled):
        compare(Job(spark, stop, cancel), pair, CompareOptions(fields=True, plan=plan), now=Millis(0), made_by="tests")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_never_goes_over_a_file(spark: SparkSession, pair: tuple[Snapshot, Snapshot], tmp_path: Path) -> None:
    plan = tmp_path / "mine"
    plan.write_text("mine", encoding="utf-8")
    with pytest.raises(PreconditionFailed, match="is left as it is"):
        compared(spark, pair, plan=plan)
    assert plan.read_text(encoding="utf-8") == "mine"


def test_a_region_twice_is_refused(spark: SparkSession, pair: tuple[Snapshot, Snapshot]) -> None:
    with pytest.raises(SnapshotsIncomparable, match="region east is there twice"):
        compared(spark, (pair[0], pair[0]))


def test_a_newer_field_that_a_snapshot_without_registers_lacks_is_unknown(spark: SparkSession, tmp_path: Path) -> None:
    folder, newer = place(tmp_path), {"is_allow_auto_update_schema_with_replicator": False}
    whole = {
        SPACE: doc(message_ttl_in_seconds=60, **newer),
        NEW: doc(message_ttl_in_seconds=60, **newer),
        FROZEN: doc(message_ttl_in_seconds=60),
    }
    east = snapshot_of(
        spark, folder, "east", synced({path: Stamped(value=at, at=T, by="east") for path, at in whole.items()})
    )
    raw = {
        SPACE: doc(message_ttl_in_seconds=60),
        NEW: doc(message_ttl_in_seconds=61),
        FROZEN: doc(message_ttl_in_seconds=60, **newer),
    }
    west = snapshot_of(spark, folder, "west", Held(store=raw, registers=None, modified_ms=T + 9))
    found = compared(spark, (east, west), fields=True)
    assert found.summary.same == 1, "what it lacks of SPACE is unknown, what it has of FROZEN is not"
    fields = {each.path: each.fields for each in found.findings}
    assert fields.keys() == {NEW, FROZEN}
    told = fields[NEW]
    assert told is not None
    assert [each.pointer for each in told.replicated] == ["/message_ttl_in_seconds"]
    assert any("counts as unknown" in note for note in found.notes)
    before = snapshot_of(spark, folder, "west", synced({SPACE: Stamped(value=whole[SPACE], at=T, by="west")}))
    changes = between(Job(spark), before, west, CompareOptions()).changes
    assert [(each.path, each.change) for each in changes] == [(FROZEN, "created"), (NEW, "created")]
