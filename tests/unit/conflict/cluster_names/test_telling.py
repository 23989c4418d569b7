"""Names of clusters as a region tells them."""

from __future__ import annotations

from syncer.conflict.cluster_names.telling import NAMES_CHARACTERS, NAMES_TOLD, NO_NAMES, RegionNames


def test_every_name_on_either_side_of_a_table_is_one_that_it_moves() -> None:
    names = RegionNames(own=("west",), table={"pulsar-w": "west", "same": "same"})
    assert names.moved == {"pulsar-w", "west"}
    assert names.maps
    assert not RegionNames(own=("west",), table={"same": "same"}).maps
    assert not NO_NAMES.maps


def test_more_than_can_be_told_is_not() -> None:
    assert NO_NAMES.tellable
    full = {f"a{number}": f"b{number}" for number in range(NAMES_TOLD)}
    assert RegionNames(table=full).tellable
    assert not RegionNames(table={**full, "one": "more"}).tellable
    assert not RegionNames(own=tuple(map(str, range(NAMES_TOLD + 1)))).tellable
    assert RegionNames(own=("x" * NAMES_CHARACTERS,)).tellable
    assert not RegionNames(own=("x" * NAMES_CHARACTERS,), table={"a": "b"}).tellable
