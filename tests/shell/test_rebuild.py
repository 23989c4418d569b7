"""A lost sidecar database, with real daemons: the file deleted, an old copy restored, two rebuilds at once."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from syncer.daemon import Daemon
from syncer.errors import PreconditionFailed, StateForeign, StateUnavailable
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import changes_on, distinct_changes_on
from tests.shell.region import Site, active, equal, path_of, tenant
from tests.shell.test_identity import ending


def _pair(make_site: MakeSite) -> tuple[Site, Site]:
    """Two regions that know of each other."""
    return make_site("east", peers={"expected": ["west"]}), make_site("west", peers={"expected": ["east"]})


def _forget(site: Site) -> None:
    """Delete the database of a region whose daemon is stopped."""
    for file in site.folder.glob("state.db*"):
        file.unlink()


def _reasons(site: Site) -> list[str]:
    return [row.reason for row in site.ask(lambda views: views.conflicts(100))]


def _is_waiting(site: Site) -> bool:
    """Whether the region says that it waits for its peers; not while its new database is being made."""
    try:
        return "rebuilding" in site.conditions()
    except (StateForeign, StateUnavailable):
        return False


async def test_a_deleted_database_is_rebuilt_from_the_peer_and_nothing_is_published_again(
    make_site: MakeSite, bus_file: Path
) -> None:
    east, west = _pair(make_site)
    async with west.running():
        async with east.running():
            await active(east, west)
            for name in ("one", "two", "three"):
                east.writer.put(path_of(name), tenant(name))
            await equal(east, west)
            await until(lambda: len(west.picture()) == 3, "west has them")
        former = east.status().identity
        _forget(east)
        east.writer.put(path_of("two"), tenant("mine"))
        east.writer.put(path_of("four"), tenant("only here"))
        published = len(distinct_changes_on(bus_file))
        async with east.running():
            await active(east)
            await equal(east, west)
            await until(lambda: west.get(path_of("four")) == tenant("only here"), "what nobody knew is a baseline")
            assert east.get(path_of("two")) == tenant("two")
            assert _reasons(east) == ["unknown-provenance"]
            identity = east.status().identity
            assert identity.generation > former.generation
            fresh = [event for event in changes_on(bus_file)[published:] if event.by.startswith("east")]
            assert {event.path for event in fresh if event.by == f"east~{identity.generation}"} == {path_of("four")}


async def test_an_old_copy_of_the_database_is_recognised_and_rebuilt(make_site: MakeSite, bus_file: Path) -> None:
    east, west = _pair(make_site)
    async with west.running():
        async with east.running():
            await active(east, west)
            east.writer.put(path_of("one"), tenant("early"))
            await equal(east, west)
            await until(lambda: west.get(path_of("one")) == tenant("early"), "west has it")
        shutil.copy(east.database, east.folder / "copy.db")
        former = east.status().identity.generation
        async with east.running():
            east.writer.put(path_of("one"), tenant("late"))
            await until(lambda: west.get(path_of("one")) == tenant("late"), "west has the later one")
        _forget(east)
        shutil.copy(east.folder / "copy.db", east.database)
        async with east.running():
            await until(lambda: east.status().identity.generation > former, "it begins anew")
            await active(east)
            await equal(east, west)
        assert east.get(path_of("one")) == tenant("late")
        assert _reasons(east) == []
        assert {event.by for event in changes_on(bus_file) if event.value == tenant("late")} == {f"east~{former}"}


async def test_a_store_put_back_from_a_backup_ends_the_daemon_before_it_publishes_old_values(
    make_site: MakeSite, bus_file: Path
) -> None:
    east, west = _pair(make_site)
    backup = east.folder / "backup.db"
    async with west.running():
        async with east.running():
            await active(east, west)
            west.writer.put(path_of("one"), tenant("early"))
            await until(lambda: east.get(path_of("one")) == tenant("early"), "east has it")
        with closing(sqlite3.connect(east.store_file)) as store, closing(sqlite3.connect(backup)) as copy:
            store.backup(copy)
        async with east.running():
            west.writer.put(path_of("one"), tenant("late"))
            west.writer.put(path_of("two"), tenant("late"))
            await until(lambda: east.get(path_of("two")) == tenant("late"), "east has the later ones")
            await equal(east, west)
        before = len(distinct_changes_on(bus_file))
        with closing(sqlite3.connect(backup)) as copy, closing(sqlite3.connect(east.store_file)) as store:
            copy.backup(store)
        cause = await ending(Daemon(east.config()))
        assert isinstance(cause, PreconditionFailed)
        assert "the store is older than the sidecar database" in cause.message
        assert len(distinct_changes_on(bus_file)) == before
        _forget(east)
        async with east.running():
            await active(east)
            await equal(east, west)
            assert west.get(path_of("one")) == east.get(path_of("one")) == tenant("late")
            assert east.get(path_of("two")) == tenant("late")


async def test_two_rebuilds_at_once_wait_for_a_person_and_then_agree(make_site: MakeSite) -> None:
    east, west = _pair(make_site)
    async with east.running(), west.running():
        await active(east, west)
        east.writer.put(path_of("one"), tenant("one"))
        await equal(east, west)
        await until(lambda: west.get(path_of("one")) == tenant("one"), "both have it")
    _forget(east)
    _forget(west)
    async with east.running(), west.running():
        for site in (east, west):
            await until(lambda site=site: _is_waiting(site), "it says so")  # type: ignore[misc, arg-type]
        assert not east.status().identity.first_scan_done
        answer = await east.do("rebuild", alone="true")
        assert "baseline" in answer.answer
        await active(east, west)
        await equal(east, west)
        assert east.get(path_of("one")) == tenant("one")
        assert _reasons(east) == _reasons(west) == []
