"""Regions of different scopes: each pair is judged by what both carry, and nothing else is found, changed or told."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession

from spark_snapshot.capture.writing import write_snapshot
from spark_snapshot.diff.carried import parted
from spark_snapshot.diff.comparison import compared, compared_rows
from spark_snapshot.diff.sharing import NOT_SHARED, Tally, carrying, shared_paths
from spark_snapshot.diff.verdict import judge
from spark_snapshot.format.layout import Snapshot
from spark_snapshot.format.manifest import Described, StoreFacts, described_scope
from spark_snapshot.format.places import place
from spark_snapshot.format.selection import Selection
from spark_snapshot.format.words import PathClass
from spark_snapshot.jobs.compare import Compared, CompareOptions, between, compare
from spark_snapshot.runtime.phases import Job
from syncer.conflict.classes.pairs import RegionScopes, class_of
from syncer.conflict.exclusion.rules import Exclusion
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import SnapshotShrunken
from syncer.model import MetaPath, Millis, Region, TieOrder
from syncer.repair.repair_file import RepairFile
from tests.spark.pictures import TAKEN_MS, Held, Stamped, snapshot_of, synced
from tests.spark.rows import frame, random_regions
from tests.spark.test_diff import expected, found

T: Final = 1_700_000_000_000
IGNORE, APPLY, PUBLISH = Direction.IGNORE, Direction.APPLY, Direction.PUBLISH


def doc(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def scope(*rules: tuple[str, Direction]) -> Scope:
    return Scope([*(Rule(pattern, direction) for pattern, direction in rules), *DEFAULT_RULES])


MIXED: Final = {
    "a": scope(("/admin/policies/tenant-000/*7", IGNORE), ("/admin/policies/tenant-001/**", APPLY)),
    "b": scope(("/admin/policies/tenant-000/*1", PUBLISH), ("/admin/policies/tenant-000/*2", APPLY)),
    "c": scope(("/admin/policies/tenant-001/*", IGNORE), ("/admin/policies/tenant-000/*3", IGNORE)),
}


def test_spark_says_what_the_referee_says_of_those_that_share_a_path(spark: SparkSession, tmp_path: Path) -> None:
    named = {Region(name): each for name, each in MIXED.items()}
    scopes = RegionScopes(named)
    carriers = carrying(scopes)
    assert carriers is not None
    held = {
        name: {path: state for path, state in states.items() if MIXED[name].contains(MetaPath(path))}
        for name, states in random_regions(11, MIXED, 1_600).items()
    }
    every = {path for states in held.values() for path in states}
    wanted: dict[str, tuple[Any, ...]] = {}
    ends = set[PathClass]()
    for path in every:
        states = {Region(name): held[name].get(path) for name in MIXED}
        verdict = judge(states, TieOrder.NATIVE, scopes.sharing(MetaPath(path)))
        if verdict is not None:
            ends.add(verdict.finding)
        if verdict is not None and verdict.finding is not PathClass.SAME:
            wanted[path] = expected(path, verdict)
    assert ends == set(PathClass)
    living = {path for path in every if any((state := held[name].get(path)) and state.alive for name in MIXED)}
    snapshots = {
        name: write_snapshot(frame(spark, held[name]), place(tmp_path), _described(name), buckets=2) for name in MIXED
    }
    frames = {name: frame(spark, states) for name, states in held.items()}

    def by_files(observed: Observation) -> DataFrame:
        return compared(spark, snapshots, TieOrder.NATIVE, carriers=carriers, observed=observed)

    def by_rows(observed: Observation) -> DataFrame:
        return compared_rows(frames, TieOrder.NATIVE, carriers, observed=observed)

    for way in (by_files, by_rows):
        observed = Observation()
        told = way(observed).cache()
        findings, tally = parted(told)
        assert found(findings) == wanted
        assert observed.get == {"paths": len(every), "living": len(living)}
        _check_pairs(scopes, tally, living, held)
        told.unpersist()


def _check_pairs(scopes: RegionScopes, tally: Tally, living: set[str], held: dict[str, Any]) -> None:
    """Each pair counts what a look at every path counts."""
    assert tally[NOT_SHARED] == sum(not scopes.sharing(MetaPath(path)) for path in living)
    pairs = {each.regions: each for each in shared_paths(scopes, tally, len(living))}
    for one, other in combinations(scopes.scopes, 2):
        both = class_of(scopes.scopes[one], scopes.scopes[other])
        there = [
            path for path in living if any((state := held[name].get(path)) and state.alive for name in (one, other))
        ]
        shared = sum(both.contains(MetaPath(path)) for path in there)
        pair = pairs[one, other]
        assert (pair.label, pair.shared, pair.unshared) == (both.label, shared, len(there) - shared)


def _described(region: str) -> Described:
    return Described(
        region=region,
        taken_at_ms=TAKEN_MS,
        made_by="tests",
        store=StoreFacts(kind="none"),
        registers=True,
        scope=described_scope(MIXED[region]),
        scope_fingerprint=MIXED[region].fingerprint,
        ties=TieOrder.NATIVE,
    )


ACME, OURS, THEIRS = "/admin/policies/acme", "/admin/policies/ours", "/admin/policies/theirs"
SPACE, STALE, DRIFT = f"{ACME}/orders", f"{ACME}/stale", f"{ACME}/drift"
HALF: Final = scope((OURS, IGNORE), (f"{OURS}/**", IGNORE), (DRIFT, APPLY))
OTHER_HALF: Final = scope((THEIRS, IGNORE))


@pytest.fixture(scope="module")
def trio(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Snapshot, ...]:
    """East carries everything, north half of the tenants, west all but one that north has alone."""
    folder = place(tmp_path_factory.mktemp("snapshots"))
    both = {path: Stamped(value=doc(adminRoles=["a"]), at=T, by="east") for path in (ACME, SPACE)}
    ours = {f"{OURS}/{number}": Stamped(value=doc(ttl=number), at=T, by="east") for number in range(5)}
    drift = {DRIFT: Stamped(value=doc(ttl=1), at=T, by="east")}
    east = synced({**both, **ours, **drift, STALE: Stamped(value=doc(ttl=2), at=T + 5, by="east")})
    north = synced({**both, **drift, STALE: Stamped(value=doc(ttl=1), at=T, by="east"), THEIRS: both[ACME]})
    west = synced({**both, **ours, **drift, STALE: Stamped(value=doc(ttl=2), at=T + 5, by="east")})
    north_store = {**north.store, DRIFT: doc(ttl=77)}
    return (
        snapshot_of(spark, folder, "east", east, scope=OTHER_HALF),
        snapshot_of(spark, folder, "north", Held(store=north_store, registers=north.registers), scope=HALF),
        snapshot_of(spark, folder, "west", west, scope=OTHER_HALF),
    )


def judged(spark: SparkSession, snapshots: tuple[Snapshot, ...], **wish: Any) -> Compared:
    return compare(Job(spark), snapshots, CompareOptions(**wish), now=Millis(TAKEN_MS), made_by="tests")


def test_a_region_with_half_of_the_tenants_gives_no_false_findings(
    spark: SparkSession, trio: tuple[Snapshot, ...], tmp_path: Path
) -> None:
    plan = tmp_path / "plan"
    found = judged(spark, trio, fields=True, plan=plan)
    assert [(each.path, each.of_class, each.winner, each.losers) for each in found.findings] == [
        (DRIFT, "differs", "east", ("north",)),
        (STALE, "differs", "east", ("north",)),
    ]
    assert found.findings[0].reason == "not-published", "the edit of a region that only applies wins over nothing"
    summary = found.summary
    assert (summary.same, summary.different, summary.unshared, summary.excluded) == (7, 2, 1, 0)
    assert {each.regions: (each.shared, each.unshared) for each in summary.pairs} == {
        ("east", "north"): (4, 6),
        ("east", "west"): (9, 0),
        ("north", "west"): (4, 6),
    }
    labels: dict[tuple[str, str], str] = {each.regions: each.label for each in summary.pairs}
    assert labels["east", "north"] == class_of(OTHER_HALF, HALF).label == labels["north", "west"]
    assert any("different scopes" in note for note in found.notes)
    with RepairFile(plan).reading() as (head, lines):
        told = {str(each.path): each.losers for each in lines}
    assert told == {DRIFT: ("north",), STALE: ("north",)}
    assert (head.scope, set(head.scopes or ())) == ("", {"east", "north", "west"})

    part = judged(spark, trio, selection=Selection(tenants=frozenset({"ours", "theirs"})))
    assert (part.findings, part.summary.same, part.summary.unshared) == ((), 5, 1)


def test_fields_that_a_region_has_for_itself_are_no_difference_without_registers_either(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, ttl = place(tmp_path), "message_ttl_in_seconds"
    mine = [Exclusion(f"{ACME}/*", (ttl,))]
    limit = {"max_topics_per_namespace": 1}
    own = {SPACE: doc(**{ttl: 5}), STALE: doc(**{ttl: 5}), ACME: doc(adminRoles=["a"])}
    group = {SPACE: doc(**{ttl: 60}), STALE: doc(**{ttl: 60}, **limit), ACME: doc(adminRoles=["a"])}
    west = synced({path: Stamped(value=value, at=T, by="west") for path, value in group.items()})
    blind = snapshot_of(spark, folder, "east", Held(store=own, registers=None, modified_ms=T + 9), exclude=mine)
    plan = tmp_path / "plan"
    found = judged(spark, (blind, snapshot_of(spark, folder, "west", west)), fields=True, plan=plan)
    assert [each.path for each in found.findings] == [STALE]
    assert (found.summary.same, found.summary.different, found.summary.excluded) == (1, 1, 1)
    fields = found.findings[0].fields
    assert fields is not None
    assert [each.pointer for each in fields.replicated] == ["/max_topics_per_namespace"]
    assert [(each.pointer, each.values) for each in fields.excluded] == [(f"/{ttl}", {"east": "5", "west": "60"})]
    with RepairFile(plan).reading() as (_, lines):
        assert [each.path for each in lines] == [STALE]
    later = {**own, SPACE: doc(**{ttl: 6})}
    again = Held(store=later, registers=None, modified_ms=T + 10)
    after = snapshot_of(spark, folder, "east", again, exclude=mine, taken_ms=TAKEN_MS + 1)
    assert between(Job(spark), blind, after, CompareOptions()).changes == ()


def test_what_leaves_a_scope_is_neither_deleted_nor_lost(spark: SparkSession, tmp_path: Path) -> None:
    folder = place(tmp_path)
    many = {f"{OURS}/{number:02}": Stamped(value=doc(ttl=number), at=T, by="east") for number in range(30)}
    some = {f"{ACME}/{number:02}": Stamped(value=doc(ttl=number), at=T, by="east") for number in range(25)}
    before = snapshot_of(spark, folder, "east", synced({**many, **some}))
    after = snapshot_of(spark, folder, "east", synced(some), scope=HALF, taken_ms=TAKEN_MS + 1)
    found = between(Job(spark), before, after, CompareOptions())
    assert (found.counts, found.unshared) == ({"created": 0, "modified": 0, "deleted": 0}, 30)
    few = dict(list(some.items())[:2])
    with pytest.raises(SnapshotShrunken, match=r"holds 2 paths; .* had 25"):
        snapshot_of(spark, folder, "east", synced({**many, **few}), taken_ms=TAKEN_MS + 2)
