"""A store or a sidecar database put back from a copy, with real daemons: known by the mark that the copy lacks."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio

from syncer.daemon import Daemon
from syncer.errors import PreconditionFailed, SyncerError
from syncer.paths import fence_path
from syncer.replication.fence import Fence
from tests.shell.conftest import MakeSite
from tests.shell.region import Site, active, changes_on, distinct_changes_on, equal, path_of, tenant, until
from tests.shell.test_identity import ending

ONE, TWO = path_of("one"), path_of("two")
OFTEN = {"mark_interval": "100ms"}


def copied(file: Path, target: Path) -> Path:
    """Copy an SQLite file that may be in use, over another one that may be, too."""
    with closing(sqlite3.connect(file, timeout=20)) as source, closing(sqlite3.connect(target, timeout=20)) as copy:
        source.backup(copy)
    return target


def mark(site: Site) -> int:
    """The mark that stands in the region's fence."""
    value = site.get(fence_path(site.status().identity.region))
    return Fence.decode(value).mark if value is not None else 0


async def marked(site: Site) -> None:
    """Wait until the database has noted that its latest mark stands in the store."""

    def settled() -> bool:
        identity = site.status().identity
        return identity.mark == identity.marked == mark(site)

    await until(settled, "the mark is set")


def forget(site: Site) -> None:
    """Delete the database of a region whose daemon is stopped."""
    for file in site.folder.glob("state.db*"):
        file.unlink()


async def refused(site: Site) -> None:
    """Start the region's daemon: it ends, and says why."""
    cause = await ending(Daemon(site.config()))
    assert isinstance(cause, PreconditionFailed)
    assert "the store is older than the sidecar database" in cause.message


async def test_a_store_of_before_a_local_change_is_refused_when_the_daemon_starts(
    make_site: MakeSite, bus_file: Path
) -> None:
    east = make_site("east", peers={"expected": ["west"]})
    west = make_site("west", peers={"expected": ["east"]})
    async with west.running():
        async with east.running():
            await active(east, west)
            east.writer.put(ONE, tenant("early"))
            await until(lambda: west.get(ONE) == tenant("early"), "west has it")
            before = mark(east)
            copy = copied(east.store_file, east.folder / "copy.db")
            east.writer.put(ONE, tenant("late"))
            await until(lambda: west.get(ONE) == tenant("late"), "west has the later one")
        assert mark(east) > before, "who stops leaves a mark"
        published = len(distinct_changes_on(bus_file))
        copied(copy, east.store_file)
        for _ in range(2):
            await refused(east)
        assert east.get(ONE) == tenant("early")
        assert len(distinct_changes_on(bus_file)) == published
        forget(east)
        async with east.running():
            await active(east)
            await until(lambda: east.get(ONE) == tenant("late"), "what the group has comes back")
        assert west.get(ONE) == tenant("late")


async def test_a_store_put_back_below_a_killed_daemon_is_refused(make_site: MakeSite, bus_file: Path) -> None:
    east = make_site("east", peers={"expected": ["west"]}, limits=OFTEN)
    west = make_site("west", peers={"expected": ["east"]})
    async with west.running():
        east.start()
        await active(east, west)
        east.writer.put(ONE, tenant("early"))
        await until(lambda: west.get(ONE) == tenant("early"), "west has it")
        copy = copied(east.store_file, east.folder / "copy.db")
        before = mark(east)
        east.writer.put(ONE, tenant("late"))
        await until(lambda: west.get(ONE) == tenant("late"), "west has the later one")
        await until(lambda: mark(east) > before, "a mark is set while it runs")
        await marked(east)
        east.kill()
        published = len(distinct_changes_on(bus_file))
        copied(copy, east.store_file)
        await refused(east)
        assert len(distinct_changes_on(bus_file)) == published


async def test_a_store_put_back_below_a_running_daemon_ends_it_before_it_takes_an_old_value(
    make_site: MakeSite, bus_file: Path
) -> None:
    east = make_site("east", peers={"expected": ["west"]}, limits=OFTEN)
    west = make_site("west", peers={"expected": ["east"]})
    ended: list[SyncerError] = []

    async def run() -> None:
        ended.append(await ending(Daemon(east.config())))

    async with west.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await active(east, west)
        for path in (ONE, TWO):
            east.writer.put(path, tenant("early"))
        await equal(east, west)
        await until(lambda: west.get(TWO), "west has them")
        await until(lambda: mark(east) > 1, "a mark is set")
        await marked(east)
        before = mark(east)
        copy = copied(east.store_file, east.folder / "copy.db")
        east.writer.put(ONE, tenant("late"))
        await until(lambda: west.get(ONE) == tenant("late"), "west has the later one")
        await until(lambda: mark(east) > before, "another mark is set")
        await marked(east)
        published = len(distinct_changes_on(bus_file))
        copied(copy, east.store_file)
        await until(lambda: ended, "the daemon ends")
    assert isinstance(ended[0], PreconditionFailed)
    assert "the store is older than the sidecar database" in ended[0].message
    assert len(distinct_changes_on(bus_file)) == published
    assert west.get(ONE) == tenant("late")


async def test_an_old_copy_of_the_database_is_known_without_any_peer(make_site: MakeSite, bus_file: Path) -> None:
    east = make_site("east", peers={"expected": ["west"]})
    west = make_site("west", peers={"expected": ["east"]})
    copy = east.folder / "copy.db"
    async with east.running():
        async with west.running():
            await active(east, west)
            east.writer.put(ONE, tenant("early"))
            await until(lambda: west.get(ONE) == tenant("early"), "west has it")
            copied(east.database, copy)
            for name in ("late", "later"):
                east.writer.put(ONE, tenant(name))
                await until(lambda name=name: west.get(ONE) == tenant(name), "west has it")  # type: ignore[misc]
        generation = east.status().identity.generation
    forget(east)
    shutil.copy(copy, east.database)
    published = len(distinct_changes_on(bus_file))
    async with east.running():
        await until(lambda: "rebuilding" in east.conditions(), "it begins anew, and waits for its peer")
        east.writer.put(TWO, tenant("new"))
        assert east.status().identity.generation > generation
        assert len(distinct_changes_on(bus_file)) == published, "no number is used again"
        async with west.running():
            await active(east)
            await until(lambda: west.get(TWO) == tenant("new"), "what is new arrives")
            await equal(east, west)
    assert east.get(ONE) == tenant("later")
    assert {event.sequence for event in changes_on(bus_file) if event.by.startswith("east")} >= {1, 2, 3}


async def test_a_daemon_that_is_killed_and_started_again_misses_nothing(make_site: MakeSite) -> None:
    east, west = make_site("east", limits=OFTEN), make_site("west")
    async with west.running():
        await active(west)
        for round_ in range(2):
            east.start()
            await active(east)
            east.writer.put(path_of(f"p{round_}"), tenant("x"))
            await until(lambda round_=round_: west.get(path_of(f"p{round_}")), "west has it")  # type: ignore[misc]
            generation = east.status().identity.generation
            east.kill()
    assert east.status().identity.generation == generation
    assert not east.ask(lambda views: views.conflicts(10))
