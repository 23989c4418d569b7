"""Paths that stores take and nobody thinks of: long ones, odd signs, and what cannot travel at all."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import pytest

from syncer.model import MetaPath
from syncer.paths import MAX_PATH_BYTES
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.region import NAMESPACE, TENANT, Site, active, equal, path_of, tenant

TOPICS: Final = "/admin/partitioned-topics/acme/orders/persistent"
VARIED: Final = "".join(map(chr, range(0x4E00, 0x4E00 + 3_000)))
"""3,000 different signs: nothing makes an entry of an index of them shorter."""
LONG: Final = [
    MetaPath(f"{TOPICS}/{quote('é' * 700)}"),
    MetaPath(f"{TOPICS}/{quote(VARIED[:900])}"),
    MetaPath(f"{TOPICS}/{VARIED}"),
    MetaPath(f"{TOPICS}/{VARIED}-and-another-one-with-the-same-beginning"),
    MetaPath("/admin/resourcegroups/" + VARIED + "x" * 20_000),
]
ODD: Final = [
    MetaPath(f"/admin/resourcegroups/gold{sign}silver")
    for sign in ("\u202e", "\u00a0", "\u2028", "\n", "\x1b[2J", "\u200b", "😀", "\ufdd0")
]
TRAVELS: Final = [*LONG, *ODD]
STAYS: Final = [f"{TOPICS}/{'x' * MAX_PATH_BYTES}", "/admin/resourcegroups/.."]
PARTITIONS: Final = b'{"partitions":3,"deleted":false}'
MOST: Final = b'{"partitions":5,"deleted":false}'
MORE: Final = b'{"partitions":4,"deleted":false}'


@pytest.fixture
def regions(east: Site, west: Site) -> tuple[Site, Site]:
    """Two regions."""
    return east, west


def hold_what_they_lie_in(site: Site) -> None:
    site.writer.put(TENANT, tenant())
    site.writer.put(NAMESPACE, b"{}")


def put_all(site: Site, value: bytes = PARTITIONS) -> None:
    for path in TRAVELS:
        site.writer.put(path, value)


async def test_whatever_a_store_takes_travels_both_ways_is_changed_and_deleted(regions: tuple[Site, Site]) -> None:
    east, west = regions
    async with east.running(), west.running():
        await active(east, west)
        hold_what_they_lie_in(west)
        put_all(west)
        await until(lambda: all(east.get(path) == PARTITIONS for path in TRAVELS), "all arrive")
        put_all(east, MORE)
        await until(lambda: all(west.get(path) == MORE for path in TRAVELS), "changes")
        for path in TRAVELS[::2]:
            east.writer.delete(path)
        await until(lambda: all(west.get(path) is None for path in TRAVELS[::2]), "deletes arrive")
        await equal(east, west)
        for site in regions:
            assert site.quarantined() == []
        await same_trees(east, west)
    async with east.running(), west.running():  # and after a start, when everything is read from the databases
        west.writer.put(LONG[1], MOST)
        await until(lambda: east.get(LONG[1]) == MOST, "it goes on")
        await equal(east, west)
        await same_trees(east, west)


async def same_trees(*sites: Site) -> None:
    """Wait until the sums of the regions are equal, as each has told."""
    await until(lambda: len({str(site.report().get("tree")) for site in sites}) == 1, "the sums are equal")


async def test_what_cannot_travel_stays_where_it_is_alone_and_seen(regions: tuple[Site, Site]) -> None:
    east, west = regions
    for path in STAYS:
        east.writer.put(path, PARTITIONS)
    async with east.running(), west.running():
        await active(east, west)
        hold_what_they_lie_in(west)
        for number in range(5):
            east.writer.put(path_of(f"honest{number}"), tenant())
        east.writer.put(f"{STAYS[0]}y", PARTITIONS)
        await until(lambda: all(west.get(path_of(f"honest{number}")) for number in range(5)), "the rest")
        await until(lambda: "paths-set-aside" in east.conditions(), "the status says it")
        await until(lambda: len(east.codes()) == 3, "the quarantine shows them")
        assert set(east.codes()) == {"path-set-aside"}
        assert west.quarantined() == []
        await same_trees(east, west)
        assert not west.report()["tally"].get("gaps.asked")


async def test_a_lost_database_learns_long_paths_too(regions: tuple[Site, Site]) -> None:
    """Listed page by page in the order of the keys, whatever kind of database tells and learns."""
    east, west = regions
    hold_what_they_lie_in(east)
    for number in range(40):
        east.writer.put(f"{TOPICS}/{VARIED}{number * 7919 % 40}", PARTITIONS)
    put_all(east)
    async with east.running():
        await active(east)
        async with west.running():
            await active(west)
            await equal(east, west)
        west.database.unlink()
        async with west.running():
            await active(west)
            await until(lambda: west.report() and west.report().get("rebuild") is None, "it is rebuilt")
            await same_trees(east, west)
            await equal(east, west)
        assert west.codes() == []
        assert not west.holds()


@pytest.mark.real("postgres")
async def test_a_path_that_postgresql_cannot_index_is_left_alone_by_its_region_and_ends_nothing(
    make_site: MakeSite, postgres_url: str
) -> None:
    """Its index takes 2,704 bytes, compressed: 700 times é are far below that, 3,000 different signs are not."""
    east, west = make_site("east"), make_site("west")
    east.shared = postgres_url
    too_long = LONG[1:]
    east.writer.put(f"{TOPICS}/{VARIED}-of-east", PARTITIONS)
    async with east.running(), west.running():
        await active(east, west)
        hold_what_they_lie_in(west)
        put_all(west)
        taken = [path for path in TRAVELS if path not in too_long]
        await until(lambda: all(east.get(path) == PARTITIONS for path in taken), "the others arrive")
        east.writer.put(f"{TOPICS}/{VARIED}-later", PARTITIONS)
        east.writer.put(path_of("honest"), tenant())
        await until(lambda: west.get(path_of("honest")), "its own go out")
        await until(lambda: "paths-set-aside" in east.conditions(), "the status says it")
        await until(lambda: set(east.codes()) == {"path-set-aside", "message-untaken"}, "both are shown")
        assert west.quarantined() == []
        for path in too_long:
            west.writer.delete(path)
        west.writer.put(path_of("still"), tenant())
        await until(lambda: east.get(path_of("still")), "and it goes on")
