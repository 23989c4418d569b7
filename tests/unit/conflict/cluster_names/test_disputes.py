"""Names of clusters that regions have told: a contradiction is proved, and nothing else is taken for one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.cluster_names.disputes import ANY_NAME, disputes, doubts, twice, unknown
from syncer.conflict.cluster_names.telling import NO_NAMES, RegionNames
from syncer.model import Region

EAST, NORTH, WEST = Region("east"), Region("north"), Region("west")
PLAIN: Final = {EAST: RegionNames(own=("east",)), NORTH: RegionNames(own=("north",))}
RIGHT: Final = RegionNames(own=("west",), table={"pulsar-e": "east", "pulsar-w": "west"})
SWAPPED: Final = RegionNames(own=("east",), table={"pulsar-e": "west", "pulsar-w": "east"})

some = st.sampled_from(["a", "b", "c", "d"])
tables = st.dictionaries(some, some, max_size=4).filter(lambda table: len(set(table.values())) == len(table))
told = st.dictionaries(
    st.sampled_from([EAST, NORTH, WEST]),
    st.builds(RegionNames, own=st.lists(some, max_size=3).map(tuple), table=tables),
)


def test_two_regions_that_have_one_name_for_clusters_of_their_own_contradict() -> None:
    (found,) = disputes({**PLAIN, WEST: SWAPPED})
    assert (found.name, found.regions, found.mapping) == ("east", (EAST, WEST), (WEST,))
    assert found.text == "east and west each have 'east' for a cluster of their own, and west maps names"


def test_whoever_is_at_fault_what_either_of_them_means_is_in_doubt() -> None:
    names = {**PLAIN, WEST: SWAPPED}
    assert doubts(names, disputes(names)) == {EAST: {"east"}, WEST: {"east", "west", "pulsar-e", "pulsar-w"}}


def test_several_names_in_dispute_are_all_in_doubt() -> None:
    names = {EAST: RegionNames(own=("a", "b")), WEST: RegionNames(own=("b", "a", "a"), table={"x": "a"}), NORTH: RIGHT}
    found = disputes({**names, NORTH: RegionNames(own=("a",), table={"y": "a"})})
    assert [each.name for each in found] == ["a", "b"]
    assert found[0].text == (
        "east, north and west each have 'a' for a cluster of their own, and north and west map names"
    )
    assert doubts(names, disputes(names)) == {EAST: {"a", "b"}, WEST: {"a", "b", "x"}}


def test_whatever_a_region_names_is_in_doubt_until_it_has_settled_another_table() -> None:
    changing = RegionNames(own=("west",), unsettled=True)
    assert doubts({**PLAIN, WEST: changing}, []) == {WEST: {ANY_NAME}}
    names = {**PLAIN, WEST: replace(SWAPPED, unsettled=True)}
    assert ANY_NAME in doubts(names, disputes(names))[WEST], "in dispute or not"


def test_nothing_contradicts_where_names_are_mapped_as_they_should_be() -> None:
    assert disputes({**PLAIN, WEST: RIGHT}) == []
    assert doubts({**PLAIN, WEST: RIGHT}, []) == {}


def test_regions_that_never_mapped_names_are_left_alone() -> None:
    same = RegionNames(own=("pulsar",))
    assert disputes({EAST: same, NORTH: same, WEST: RIGHT}) == []


@given(names=told)
def test_a_dispute_is_about_a_name_that_two_regions_have_and_one_of_them_maps(names: dict[Region, RegionNames]) -> None:
    found = disputes(names)
    for each in found:
        assert all(each.name in names[region].own for region in each.regions)
        assert len(each.regions) > 1
        assert any(names[region].maps for region in each.regions)
    owned = [(name, region) for region in names for name in set(names[region].own)]
    expected = {
        name
        for name, _ in owned
        if len(having := [region for other, region in owned if other == name]) > 1
        and any(names[region].maps for region in having)
    }
    assert {each.name for each in found} == expected, "none is overlooked"
    in_doubt = doubts(names, found)
    assert set(in_doubt) == {region for each in found for region in each.regions}


def test_a_cluster_of_another_region_that_is_not_known_here_is_told() -> None:
    renamed = RegionNames(own=("west-2",), table={"pulsar-w": "west-2"})
    names = {**PLAIN, WEST: renamed}
    assert list(unknown(EAST, names, {"east", "west"})) == [
        "west has a cluster 'west-2' of its own, which is not known here"
    ]
    assert list(unknown(WEST, names, {"east", "west-2"})) == [
        "north has a cluster 'north' of its own, which is not known here"
    ]
    assert list(unknown(WEST, names, {"east", "north"})) == [], "its own are another matter"
    assert list(unknown(EAST, {**PLAIN, WEST: NO_NAMES}, {"east"})) == [], "so it was before there were mappings"


def test_a_cluster_of_this_store_that_has_the_name_of_another_one_is_told() -> None:
    ours = RegionNames(own=("west",), table={"pulsar-w": "west"})
    assert list(twice(ours, {"west", "east"})) == []
    assert list(twice(ours, {"west", "pulsar-w"})) == [
        "the store here has a cluster 'west' without a name in the group, where 'west' is 'pulsar-w' of this store"
    ]
    chain = RegionNames(table={"a": "b", "b": "c"})
    assert list(twice(chain, {"a"})) == [
        "the store here has a cluster 'c' without a name in the group, where 'c' is 'b' of this store"
    ]
    assert list(twice(RIGHT, {"east", "west"})) == []
