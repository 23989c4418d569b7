"""Faults of what the daemon depends on: it waits, says why, loses nothing, and goes on by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from syncer import daemon
from syncer.bus.embedded import set_link
from syncer.daemon import Daemon
from syncer.state.sql.database import SqlState
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import backlog, changes_on, distinct_changes_on
from tests.shell.region import Site, active, equal, locked, path_of, tenant
from tests.support.parts import parts_of
from tests.support.patience import SHORT_BUS


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[SqlState]:
    """The sidecar databases that daemons of this test open; they wait shortly for a lock."""
    states: list[SqlState] = []

    class Impatient(SqlState):
        @classmethod
        def open(cls, *args: Any, **kwargs: Any) -> SqlState:
            states.append(super().open(*args, busy_timeout_s=0.2, **kwargs))
            return states[-1]

    monkeypatch.setattr(daemon, "SqlState", Impatient)
    return states


def put(site: Site, prefix: str, count: int = 20, **fields: object) -> None:
    """Make tenants."""
    for number in range(count):
        site.writer.put(path_of(f"{prefix}{number}"), tenant(**fields))


@contextmanager
def away(*files: Path) -> Iterator[None]:
    """Take files away, with what SQLite keeps beside them, and bring them back."""
    every = [each for file in files for each in file.parent.glob(f"{file.name}*")]
    for each in every:
        each.rename(each.with_name(f"away-{each.name}"))
    try:
        yield
    finally:
        for file in files:
            for each in file.parent.glob(f"{file.name}*"):
                each.unlink()
        for each in every:
            moved = each.with_name(f"away-{each.name}")
            if moved.exists():  # SQLite may have removed the log of a database that it closed
                moved.rename(each)


def troubled(running: Daemon, code: str) -> bool:
    """Whether the daemon has met the trouble, and tried again, a few times."""
    return running.pumps is not None and parts_of(running.pumps.driver).telemetry.tally["repeats", code] >= 3


def once_each(bus_file: Path) -> bool:
    """Whether every change stands on the bus under one stamp and one number only."""
    events = changes_on(bus_file)
    stamps = {(event.path, event.stamp) for event in events}
    numbers = {(event.sender, event.sequence) for event in events}
    return len(stamps) == len(numbers) == len({(event.path, event.stamp, event.sequence) for event in events})


async def test_a_bus_that_is_away_for_a_while_gets_everything_afterwards(
    make_site: MakeSite, west: Site, bus_file: Path
) -> None:
    east = make_site("east", bus=SHORT_BUS)
    async with east.running() as running, west.running():
        await active(east, west)
        put(east, "before")
        await equal(east, west)
        with locked(bus_file):
            put(east, "during")
            put(west, "there")
            await until(lambda: running.leadership and running.leadership.role == "standby", "the lease runs out")
        await until(lambda: len(west.picture()) == 60, "everything arrives")
        await equal(east, west)
    assert once_each(bus_file)
    assert len(distinct_changes_on(bus_file)) == 60


async def test_a_store_that_is_away_for_a_while_is_brought_up_to_date(east: Site, west: Site, bus_file: Path) -> None:
    async with east.running(), west.running():
        await active(east, west)
        put(east, "before")
        await equal(east, west)
        with away(east.store_file):
            put(west, "during")
            await until(lambda: east.report().get("watch_whole") is False, "the gap is noticed")
            await until(lambda: len(distinct_changes_on(bus_file)) == 40, "the other region has published")
        await until(lambda: len(east.picture()) == 40, "what came meanwhile is written")
        put(east, "after")
        await until(lambda: len(west.picture()) == 60, "and changes leave again")
    assert once_each(bus_file)
    assert not east.quarantined()


async def test_a_locked_sidecar_database_acknowledges_nothing_and_loses_nothing(
    east: Site, west: Site, bus_file: Path, opened: list[SqlState]
) -> None:
    async with east.running() as running, west.running():
        await active(east, west)
        with locked(east.database):
            put(east, "ours")
            put(west, "theirs")
            await until(lambda: len(distinct_changes_on(bus_file)) == 20, "the other region has published")
            await until(lambda: troubled(running, "state-unavailable"), "the daemon has met the lock")
            assert backlog(bus_file, "east") >= 20, "nothing is acknowledged here"
            assert len(east.picture()) == 20
        await until(lambda: len(west.picture()) == 40, "everything arrives there")
        await equal(east, west)
        await until(lambda: backlog(bus_file, "east") == 0, "and is acknowledged here")
    assert opened
    assert once_each(bus_file)


async def test_a_sidecar_database_locked_while_becoming_active_is_waited_for(
    east: Site, bus_file: Path, opened: list[SqlState]
) -> None:
    async with east.running():
        await active(east)
    async with east.running() as running:
        await running.started.wait()
        with locked(east.database):
            put(east, "ours")
            await until(lambda: running.leadership and running.leadership.role == "active", "the bus says so")
        await until(lambda: len(distinct_changes_on(bus_file)) == 20, "it becomes active once it can")


async def test_a_full_disk_under_the_sidecar_database_is_waited_out(
    east: Site, west: Site, bus_file: Path, opened: list[SqlState]
) -> None:
    async with east.running() as running, west.running():
        await active(east, west)
        state = next(state for state in opened if str(east.database) in str(state._url))
        full = True

        def limit(connection: Any, _record: object) -> None:
            connection.execute(f"PRAGMA max_page_count = {1 if full else 2**30}")

        event.listen(state.engine, "connect", limit)
        with state._turn():
            state._hang_up()
        for number in range(30):
            east.writer.put(path_of(f"ours{number}"), tenant(text="x" * 20_000))
            west.writer.put(path_of(f"theirs{number}"), tenant(text="y" * 20_000))
        await until(lambda: troubled(running, "state-unavailable"), "the daemon has met the full disk")
        await until(lambda: backlog(bus_file, "east") >= 30, "what comes is not acknowledged")
        assert len(east.picture()) < 60
        full = False
        with state._turn():
            state._hang_up()
        await until(lambda: len(east.picture()) == 60, "there is room again: everything is written")
        await equal(east, west)
    assert once_each(bus_file)


async def test_a_sidecar_database_taken_away_is_waited_for_and_never_made_anew(
    east: Site, west: Site, bus_file: Path, opened: list[SqlState]
) -> None:
    async with east.running() as running, west.running():
        await active(east, west)
        put(east, "before")
        await equal(east, west)
        with away(east.database):
            put(east, "during")
            west.writer.put(path_of("theirs"), tenant())
            await until(lambda: troubled(running, "state-unavailable"), "the daemon has missed it")
            assert backlog(bus_file, "east") > 0, "nothing is acknowledged"
            assert len(distinct_changes_on(bus_file)) == 21
            assert not east.database.exists()
        await until(lambda: len(west.picture()) == 41, "it is back: everything arrives")
        await equal(east, west)
    assert once_each(bus_file)


async def test_a_link_that_is_cut_heals_in_order(make_site: MakeSite, bus_file: Path) -> None:
    east, west = make_site("east"), make_site("west")
    async with east.running(), west.running():
        await active(east, west)
        set_link(bus_file, "west", up=False)
        for number, text in enumerate("abc", 1):
            east.writer.put(path_of("one"), tenant(text=text))
            await until(lambda number=number: len(distinct_changes_on(bus_file)) == number, text)  # type: ignore[misc]
        assert west.get(path_of("one")) is None
        set_link(bus_file, "west", up=True)
        await until(lambda: west.get(path_of("one")) == tenant(text="c"), "the last one stands")
    assert west.status().counts.conflicts == 0
