"""A region that was forgotten and starts again under its old id on a new database: nobody takes anything of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

from syncer.errors import StateForeign, StateUnavailable
from syncer.state.contract.operations import OperationState
from syncer.waiting import WAIT_S, until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, change, distinct_changes_on, heartbeat
from tests.shell.region import Site, active, equal, path_of, tenant
from tests.shell.test_rebuild import _forget

SHORTLY = {"limits": {"tombstone_grace": "1ms"}}
GONE, KEPT, LATER = path_of("gone"), path_of("kept"), path_of("later")


def remembers(site: Site) -> bool:
    """Whether the region has a register of the deleted path."""
    return site.ask(lambda views: views.register(GONE)) is not None


def stands_still(site: Site) -> bool:
    """Whether the region says that it was forgotten; not while its new database is being made."""
    try:
        return "forgotten-here" in site.conditions()
    except (StateForeign, StateUnavailable):
        return False


def _shows_its_coming_back(site: Site) -> bool:
    return "forgotten-region" in site.conditions()


def lose_backlog(bus_file: Path, region: str) -> None:
    """What waits on the bus for a region expires."""
    with closing(sqlite3.connect(bus_file, timeout=WAIT_S)) as db:
        query = "UPDATE region SET acked = (SELECT max(place) FROM log WHERE region = name) WHERE name = ?"
        db.execute(query, (region,))
        db.commit()


def heard_all(*sites: Site) -> bool:
    """Whether each of these regions has heard all the others."""
    return all(len(site.report().get("peers", ())) >= len(sites) - 1 for site in sites)


async def test_a_forgotten_region_on_a_new_database_raises_no_delete_that_was_forgotten(
    make_site: MakeSite, bus_file: Path
) -> None:
    east, west, south = (make_site(name, **SHORTLY) for name in ("east", "west", "south"))
    async with east.running(), west.running():
        async with south.running():
            await active(east, west, south)
            await until(lambda: heard_all(east, west, south), "all are heard")
            for path in (GONE, KEPT):
                east.writer.put(path, tenant("old"))
            await until(lambda: south.get(GONE) is not None and south.get(KEPT) is not None, "south has both")
            await equal(east, west, south)
        assert (await west.do("regions-forget", region="south", force="true")).state is OperationState.DONE
        east.writer.delete(GONE)
        await until(lambda: not remembers(east) and not remembers(west), "the delete is forgotten")
        _forget(south)
        lose_backlog(bus_file, "south")
        assert south.get(GONE) == tenant("old")
        south.writer.put(LATER, tenant("south"))
        said = len(distinct_changes_on(bus_file))
        async with south.running():
            await until(lambda: stands_still(south), "south hears that it was forgotten")
            assert south.report()["paused"]
            for site in (east, west):
                await until(partial(_shows_its_coming_back, site), "its coming back is shown")
            east.writer.put(KEPT, tenant("new"))
            await until(lambda: west.get(KEPT) == tenant("new"), "the others go on")
            for site in (east, west):
                assert (site.get(GONE), site.get(LATER)) == (None, None)
        assert {event.stamp.region for event in distinct_changes_on(bus_file)[said:]} <= {"east"}


async def test_a_region_that_lost_its_database_does_not_take_what_the_others_refuse(
    make_site: MakeSite, bus_file: Path
) -> None:
    east, west = make_site("east"), make_site("west")
    async with Bystander(bus_file, "south") as south, west.running():
        async with east.running():
            await active(east, west)
            await south.say(heartbeat("south"))
            await until(lambda: heard_all(east, west) and "south" in str(west.report()["peers"]), "south is heard")
            assert (await west.do("regions-forget", region="south", force="true")).state is OperationState.DONE
        _forget(east)
        async with east.running():
            await active(east)
            await until(lambda: _refuses(east, "south"), "west has told what it refuses")
            await south.say(change(GONE, tenant("deleted long ago"), region="south", sequence=2))
            await until(lambda: "forgotten-database" in east.codes() and west.codes(), "both have refused it")
            assert (east.get(GONE), west.get(GONE)) == (None, None)


def _refuses(site: Site, region: str) -> bool:
    """Whether a site refuses a database of a region, which it may never have heard itself."""
    rows = site.ask(lambda views: views.peers())
    return any(row.region == region and row.document.get("refused") for row in rows)
