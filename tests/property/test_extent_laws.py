"""Laws of extents: a part of a snapshot says of itself what the whole says of it, and nothing of anything else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow.fs as pafs
from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.diff.verdict import judge
from spark_snapshot.format.extent import WHOLE, Extent, shared
from spark_snapshot.format.layout import Snapshot, new_id
from spark_snapshot.format.manifest import SnapshotManifest, read_manifest
from spark_snapshot.format.places import Place
from spark_snapshot.format.retention import expendable
from spark_snapshot.format.selection import Selection
from syncer.model import MetaPath, Millis, Region, TieOrder
from syncer.plan.diffing import diff
from syncer.plan.losses import LossBounds
from tests.property.strategies import ties
from tests.property.test_plan_laws import HERE, PATHS, stores
from tests.property.test_verdict_laws import sides
from tests.support.snapshot_files import NOW, described

T = TypeVar("T")
TENANTS: Final = ("acme", "zeta", "persistent")

extents = st.one_of(st.just(WHOLE), st.frozensets(st.sampled_from(TENANTS), max_size=3).map(Extent))
paths = st.sampled_from(PATHS)
bounds = st.builds(LossBounds, max_fraction=st.floats(0, 1), min_lost=st.integers(1, 50))


def restricted(held: Mapping[MetaPath, T], extent: Extent) -> dict[MetaPath, T]:
    return {path: each for path, each in held.items() if extent.covers(path)}


@given(extents, extents, extents, paths)
def test_what_is_shared_is_what_lies_in_all(one: Extent, two: Extent, three: Extent, path: MetaPath) -> None:
    assert (one & two).covers(path) == (one.covers(path) and two.covers(path))
    assert one & two == two & one
    assert (one & two) & three == one & (two & three) == shared([one, two, three])
    assert one & one == one & WHOLE == shared([one]) == one
    assert one.includes(two) == (one & two == two)
    assert shared([]) == WHOLE


@given(st.dictionaries(paths, sides, max_size=6), extents, ties)
def test_a_part_compared_is_that_part_of_the_whole_compared(
    world: dict[MetaPath, Mapping[Region, Any]], extent: Extent, order: TieOrder
) -> None:
    """restrict(diff(a, b, …)) == diff(restrict(a), restrict(b), …)."""

    def verdicts(of: Mapping[MetaPath, Mapping[Region, Any]]) -> dict[MetaPath, Any]:
        return {path: judge(states, order) for path, states in of.items()}

    assert restricted(verdicts(world), extent) == verdicts(restricted(world, extent))


@given(here=stores, there=stores, extent=extents, other=extents)
def test_a_plan_of_a_part_is_that_part_of_the_plan_and_touches_nothing_else(
    here: dict[MetaPath, bytes], there: dict[MetaPath, bytes], extent: Extent, other: Extent
) -> None:
    both = extent & other

    def planned(left: dict[MetaPath, bytes], right: dict[MetaPath, bytes]) -> dict[MetaPath, Any]:
        made = diff(left, right, region=HERE, source="x", made_at_ms=Millis(1), deletes=True)
        return {each.path: each for each in made.operations}

    narrow = planned(restricted(here, both), restricted(there, both))
    assert narrow == restricted(planned(here, there), both)
    made = diff(
        restricted(here, both), restricted(there, both), region=HERE, source="x", made_at_ms=Millis(1), deletes=True
    )
    after = made.apply_to(here)
    assert {path: value for path, value in after.items() if not both.covers(path)} == {
        path: value for path, value in here.items() if not both.covers(path)
    }


@given(extents, paths, st.booleans())
def test_a_selection_inside_of_an_extent_covers_what_both_do(extent: Extent, path: MetaPath, of_tenant: bool) -> None:
    plain = Selection(tenants=extent.tenants or frozenset()) if of_tenant else Selection()
    inside = plain.inside(extent)
    assert inside.covers(path) == (plain.covers(path) and extent.covers(path))
    if inside.narrowed_to is not None:
        assert inside.narrowed_to <= (extent.tenants if extent.tenants is not None else inside.narrowed_to)
    assert inside.everything == (not plain.named and extent.whole)


def snapshot(region: str, at: int, extent: Extent) -> Snapshot:
    tenants = None if not extent.tenants else sorted(extent.tenants)
    about = described(region, NOW + at, tenants=tenants)
    manifest = SnapshotManifest(
        version=about.version, id=new_id(NOW + at, "000000"), taken_at="", about=about, buckets=1, kinds={}, files=()
    )
    return Snapshot(Place(pafs.LocalFileSystem(), f"/{region}/{at}", ""), manifest.sealed())


kept = st.lists(
    st.tuples(st.sampled_from(["east", "west"]), st.integers(0, 9), extents), unique_by=lambda each: each[:2]
).map(lambda each: [snapshot(*one) for one in each])


@given(kept, st.integers(1, 3))
def test_each_extent_of_a_region_is_retained_by_itself(every: list[Snapshot], keep: int) -> None:
    going = expendable(every, now_ms=NOW + 10, keep=keep)
    alike = {(each.region, each.extent) for each in every}
    for region, extent in alike:
        group = [each for each in every if (each.region, each.extent) == (region, extent)]
        alone = expendable(group, now_ms=NOW + 10, keep=keep)
        assert [each for each in going if each in group] == alone
        assert max(group, key=lambda each: each.id) not in going, "the last good one of each extent always stays"


@given(extents)
def test_a_manifest_says_its_extent_and_only_a_part_is_of_the_second_version(extent: Extent) -> None:
    written = snapshot("east", 0, extent)
    read = read_manifest(written.manifest.text().encode(), str(Path("/m")))
    assert read == written.manifest
    assert read.about.extent == (extent if extent.tenants else WHOLE)
    assert read.version == (2 if extent.tenants else 1)
    assert ('"tenants"' in written.manifest.text()) == (read.version == 2)


@given(bounds, st.integers(0, 200), st.integers(0, 200), st.integers(0, 20))
def test_to_lose_more_never_passes_where_less_is_refused(bound: LossBounds, held: int, left: int, more: int) -> None:
    if bound.exceeded(held, left):
        assert left < held
        assert bound.exceeded(held, left - more)
