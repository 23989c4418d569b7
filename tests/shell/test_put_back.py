"""A store or a sidecar database put back from a copy, with real daemons: known by the mark that the copy lacks."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio

from syncer.daemon import Daemon
from syncer.errors import PreconditionFailed, StoreUnavailable, SyncerError
from syncer.model import Region
from syncer.paths import fence_path
from syncer.replication.fence import Fence
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.state.views.region import Views
from syncer.stores.contract import Put, Write, Written
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from syncer.waiting import WAIT_S, until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import changes_on, distinct_changes_on
from tests.shell.region import Site, active, equal, path_of, tenant
from tests.shell.test_identity import ending

ONE, TWO = path_of("one"), path_of("two")
OFTEN = {"mark_interval": "100ms"}


def copied(file: Path, target: Path) -> Path:
    """Copy an SQLite file that may be in use, over another one that may be, too."""
    with (
        closing(sqlite3.connect(file, timeout=WAIT_S)) as source,
        closing(sqlite3.connect(target, timeout=WAIT_S)) as copy,
    ):
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


def kept(site: Site) -> list[tuple[str, bytes]]:
    """What the region's conflicts hold, with their reasons."""

    def question(views: Views) -> list[tuple[str, bytes]]:
        rows = [views.conflict(each.id) for each in views.conflicts(10)]
        return [(row.reason, row.value or b"") for row in rows if row is not None]

    found: list[tuple[str, bytes]] = site.ask(question)
    return found


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
        await until(east.database.exists, "the process has come up")
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
                await until(lambda name=name: west.get(ONE) == tenant(name), "west has it")  # type: ignore[misc, arg-type]
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


class Forgetful(SqliteStore):
    """A store whose answers to the first two marks are lost: one of them had landed."""

    tried = 0

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Write; what is only a fence, and no raising of it, gets lost twice."""
        answers: tuple[Written, ...] = ()
        fence = writes[0]
        marks = len(writes) == 1 and isinstance(fence, Put) and Fence.decode(fence.value).mark > 1
        if not marks or Forgetful.tried != 1:
            answers = await super().apply(writes)
        if marks:
            Forgetful.tried += 1
            if Forgetful.tried <= 2:
                raise StoreUnavailable("the answer is lost")
        return answers


class Unlucky(Daemon):
    """A daemon on such a store."""

    def _make_store(self) -> Forgetful:
        return Forgetful(SqliteConfig(path=Path(self.config.store.raw["path"])))


async def test_a_mark_whose_answer_is_lost_is_set_all_the_same(make_site: MakeSite) -> None:
    east, west = make_site("east", limits=OFTEN), make_site("west")
    Forgetful.tried = 0
    async with west.running(), anyio.create_task_group() as tasks:
        daemon = Unlucky(east.config())
        tasks.start_soon(daemon.run)
        await active(east, west)
        for name in ("early", "late"):
            east.writer.put(ONE, tenant(name))
            await until(lambda name=name: west.get(ONE) == tenant(name), "west has it")  # type: ignore[misc, arg-type]
            before = mark(east)
            west.writer.put(TWO, tenant(name))
            await until(lambda name=name: east.get(TWO) == tenant(name), "and back")  # type: ignore[misc, arg-type]
            await until(lambda before=before: mark(east) > before, "a mark is set")  # type: ignore[misc]
            await marked(east)
        assert Forgetful.tried > 2
        assert daemon.leadership is not None
        assert daemon.leadership.turn == 1
        assert east.status().identity.epoch == 1, "it was the writer all the time"
        tasks.cancel_scope.cancel()


async def _lost_with_its_fence(east: Site, west: Site, ahead_ms: int) -> int:
    """East loses its database, and its store is made anew with another value; the generation that it had."""
    async with east.running():
        await active(east, west)
        east.writer.put(ONE, tenant("the group's"))
        await until(lambda: west.get(ONE) == tenant("the group's"), "west has it")
        former = east.status().identity.generation
    forget(east)
    east.writer.delete(fence_path(Region(east.name)))
    east.writer.put(ONE, tenant("of the new store"))
    east.ahead_ms = ahead_ms
    return former


async def test_a_database_that_is_lost_with_its_fence_is_born_anew_and_loses_no_value(make_site: MakeSite) -> None:
    east = make_site("east", peers={"expected": ["west"]})
    west = make_site("west", peers={"expected": ["east"]})
    async with west.running():
        former = await _lost_with_its_fence(east, west, 0)
        await until(lambda: wall_clock_ms() // 1000 > former, "a second later")
        async with east.running():
            await active(east)
            assert east.status().identity.generation > former
            await until(lambda: set(east.holds()) == {ONE}, "what differs is held")
            assert (east.get(ONE), west.get(ONE)) == (tenant("of the new store"), tenant("the group's"))
            await east.join()
            await equal(east, west)
        assert east.get(ONE) == tenant("the group's")
        assert kept(east) == [("concurrent", tenant("of the new store"))]


async def test_one_whose_clock_went_back_learns_from_a_peer_that_its_generation_was_used(make_site: MakeSite) -> None:
    east = make_site("east", peers={"expected": ["west"]})
    west = make_site("west", peers={"expected": ["east"]})
    async with west.running():
        former = await _lost_with_its_fence(east, west, -20_000)
        async with east.running():
            await active(east)
            await until(lambda: east.status().identity.generation > former, "it begins anew")
            await active(east)
            await equal(east, west)
        assert east.get(ONE) == tenant("the group's")
        assert kept(east) == [("unknown-provenance", tenant("of the new store"))]
