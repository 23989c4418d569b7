"""What the embedded bus does beyond the contract: cut links, retention, leases, and its file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from syncer.bus.contract import Role
from syncer.bus.embedded import EmbeddedBus, EmbeddedConfig, set_link, sweep
from syncer.errors import BusUnavailable
from syncer.waiting import WAIT_S
from tests.contract.bus_suite import message, numbers, opened, take, until_role

pytestmark = pytest.mark.anyio


def config(path: Path, region: str = "us-east", **changes: object) -> EmbeddedConfig:
    return EmbeddedConfig.model_validate(
        {
            "path": path / "bus.sqlite",
            "region": region,
            "lease": timedelta(milliseconds=500),
            "poll_interval": timedelta(milliseconds=10),
            "retention": timedelta(0),
            **changes,
        }
    )


def rows(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path / "bus.sqlite")) as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


async def test_a_cut_link_holds_back_both_ways_and_loses_nothing(tmp_path: Path) -> None:
    east, west = EmbeddedBus(config(tmp_path)), EmbeddedBus(config(tmp_path, "us-west"))
    file = tmp_path / "bus.sqlite"
    async with opened(east, west):
        set_link(file, "us-west", up=False)
        assert not (await west.position()).connected
        await east.publish([message(1), message(2)])
        await west.publish([message(1, region="us-west")])
        assert (await east.position()).backlog == 2
        assert (await west.position()).backlog == 1  # its own: acknowledged by its own side
        assert numbers(await take(west, 1), "us-west") == [1]
        set_link(file, "us-west", up=True)
        await east.publish([message(3)])
        assert numbers(await take(west, 3)) == [1, 2, 3]
        got = await take(east, 4)
        assert (numbers(got), numbers(got, "us-west")) == ([1, 2, 3], [1])


async def test_a_region_that_joins_later_starts_at_the_earliest_message(tmp_path: Path) -> None:
    east = EmbeddedBus(config(tmp_path))
    async with opened(east):
        await east.publish([message(1), message(2)])
        west = EmbeddedBus(config(tmp_path, "us-west"))
        async with opened(west):
            assert numbers(await take(west, 2)) == [1, 2]


async def test_only_what_every_region_has_acknowledged_is_removed(tmp_path: Path) -> None:
    east, west = EmbeddedBus(config(tmp_path)), EmbeddedBus(config(tmp_path, "us-west"))
    async with opened(east, west):
        await east.publish([message(n) for n in range(1, 6)])
        await take(east, 5)
        assert sweep(config(tmp_path)) == 0
        set_link(tmp_path / "bus.sqlite", "us-west", up=False)
        await east.publish([message(6)])
        await take(east, 1)
        await take(west, 5)
        assert sweep(config(tmp_path, retention=timedelta(hours=1))) == 0
        assert sweep(config(tmp_path)) == 5
        assert sweep(config(tmp_path)) == 0  # the sixth has not reached the west
        set_link(tmp_path / "bus.sqlite", "us-west", up=True)
        assert numbers(await take(west, 1)) == [6]
        assert sweep(config(tmp_path)) == 1
    assert (rows(tmp_path, "message"), rows(tmp_path, "log")) == (0, 0)


async def test_a_redelivered_message_says_so(tmp_path: Path) -> None:
    first = EmbeddedBus(config(tmp_path))
    async with opened(first):
        await first.publish([message(1)])
        assert [each.redelivered for each in await take(first, 1, ack=False)] == [0]
        assert [each.redelivered for each in await take(first, 1, ack=False)] == [1]


async def test_a_daemon_whose_lease_was_taken_gets_and_acknowledges_nothing_more(tmp_path: Path) -> None:
    bus = EmbeddedBus(config(tmp_path, lease=timedelta(seconds=60)))
    async with opened(bus):
        await until_role(bus, Role.ACTIVE)
        await bus.publish([message(1)])
        deliveries = bus.receive()
        with anyio.fail_after(WAIT_S):
            delivery = await anext(deliveries)
        with closing(sqlite3.connect(tmp_path / "bus.sqlite")) as db, db:
            db.execute("UPDATE region SET owner = 'another'")
        await bus.acknowledge(delivery)
        assert (await bus.position()).backlog == 1

        async def nothing_more() -> None:
            got = await anext(deliveries)
            raise AssertionError(f"a daemon without the lease got {got}")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(nothing_more)
            await until_role(bus, Role.STANDBY)
            tasks.cancel_scope.cancel()
        assert numbers(delivery.messages) == [1]


async def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    bus = EmbeddedBus(config(tmp_path / "none"))
    with pytest.raises(BusUnavailable, match=r"none/bus\.sqlite cannot be used now"):
        await bus.open()
    await bus.close()


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "bus.sqlite").write_bytes(b"this is not SQLite" * 100)
    bus = EmbeddedBus(config(tmp_path))
    with pytest.raises(BusUnavailable, match="file is not a database"):
        await bus.open()
