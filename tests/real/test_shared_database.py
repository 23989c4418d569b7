"""Two daemons of one region on a shared PostgreSQL: one is active, the other takes over; nothing is lost or said twice.

Store and bus are files, so that take-over is timed without the noise of larger servers.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from deploy.lab.postgres import PostgresServer
from deploy.lab.process import freeze
from syncer.daemon import STALLED_S
from syncer.documents.status import DaemonDocument, StatusDocument
from syncer.errors import SyncerError
from syncer.inspection.status import collect
from syncer.model import MetaPath
from syncer.waiting import starvation, until
from tests.shell.conftest import MakeSite, bus_file, make_site  # noqa: F401 - fixtures
from tests.shell.on_bus import backlog, distinct_changes_on
from tests.shell.region import Site, equal, locked, path_of, tenant
from tests.shell.test_lifecycle import each_value_once

pytestmark = pytest.mark.real("postgres")

TAKE_OVER_S = 5.0
AWAY_S = 60.0 if os.environ.get("TEST_FORM") == "long" else 6.0
HANGS_S = 60.0
BUS = {"lease": "2s"}
SOME = 20


@dataclass(slots=True)
class Pair:
    """Two daemons beside one store, each a process, and a region that listens."""

    east: tuple[Site, Site]
    west: Site
    written: dict[MetaPath, bytes]

    def status(self) -> StatusDocument:
        """What ``syncer status`` prints."""
        site = self.east[0]
        found: StatusDocument = site.ask(lambda views: collect(views, site.config()))
        return found

    def daemons(self) -> dict[int, DaemonDocument]:
        """The daemons by process."""
        return {each.pid: each for each in self.status().daemons}

    def roles(self) -> dict[str, int]:
        """Process by role; empty while the database cannot be asked."""
        try:
            return {each.role: each.pid for each in self.status().daemons}
        except SyncerError:
            return {}

    def active(self) -> Site:
        """The site whose process is active."""
        return next(site for site in self.east if pid_of(site) == self.roles()["active"])

    def standby(self) -> Site:
        """The other one."""
        active = self.active()
        return next(site for site in self.east if site is not active)

    async def started(self) -> None:
        """Wait until one is active and the other one stands by."""
        await until(lambda: set(self.roles()) == {"active", "standby"}, "one is active, one stands by")
        await until(lambda: self.status().watch_whole and self.status().baseline_done, "the store was read")

    def write(self, name: str) -> None:
        """An outside write in east."""
        path, value = path_of(name), tenant(name)
        self.east[0].writer.put(path, value)
        self.written[path] = value

    async def everything_arrives(self, bus: Path) -> None:
        """Wait until west has all, and the bus is told."""
        await until(lambda: all(self.west.get(path) == value for path, value in self.written.items()), "all arrives")
        await equal(self.east[0], self.west)
        await until(lambda: self.status().outbox.depth == 0, "everything is published")
        await until(lambda: backlog(bus, "east") == 0, "everything is acknowledged")


def pid_of(site: Site) -> int:
    assert site.process is not None
    return site.process.pid


@pytest.fixture
def pair(make_site: MakeSite, postgres_url: str) -> Iterator[Pair]:  # noqa: F811 - the fixture
    sites = tuple(make_site("east", bus=BUS) for _ in range(2))
    for site in sites:
        site.shared = postgres_url
        site.start()
    yield Pair((sites[0], sites[1]), make_site("west"), {})
    for site in sites:
        if site.process is not None:
            os.kill(site.process.pid, signal.SIGCONT)


async def writing(pair: Pair, name: str, pace_s: float = 0.01) -> None:
    """Write on and on."""
    for number in count():
        pair.write(f"{name}{number}")
        await anyio.sleep(pace_s)


async def during(task: Callable[[], Any], seconds: Callable[[], Any]) -> None:
    """Run the task as long as the other one takes."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(task)
        await seconds()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("how", ["killed", pytest.param("stopped", marks=pytest.mark.slow)])
async def test_the_standby_takes_over_when_the_active_one_is_gone(
    pair: Pair,
    bus_file: Path,  # noqa: F811
    how: str,
) -> None:
    async with pair.west.running():
        await pair.started()
        took: list[float] = []

        async def end_it() -> None:
            await until(lambda: len(pair.written) >= SOME, "some is written")
            going, other = pair.active(), pid_of(pair.standby())
            began = time.monotonic()
            await anyio.to_thread.run_sync({"killed": going.kill, "stopped": going.stop}[how])
            await until(lambda: pair.roles().get("active") == other, "the standby is active")
            took.append(time.monotonic() - began)
            pair.write("after")
            await until(lambda: pair.west.get(path_of("after")) is not None, "a later write arrives")
            took.append(time.monotonic() - began)

        await during(lambda: writing(pair, "k"), end_it)
        await pair.everything_arrives(bus_file)
    print(
        f"{how}: another one active after {took[0]:.1f} s, its first change in the other region after {took[1]:.1f} s"
    )
    assert took[0] < TAKE_OVER_S * starvation.patience()
    each_value_once(bus_file)
    assert len(distinct_changes_on(bus_file)) == len(pair.written)
    assert pair.status().waiting.conflicts == pair.status().waiting.quarantine == 0


async def test_a_frozen_one_that_wakes_up_writes_and_commits_nothing(pair: Pair, bus_file: Path) -> None:  # noqa: F811
    async with pair.west.running():
        await pair.started()
        frozen, other = pair.active(), pid_of(pair.standby())
        took: list[float] = []

        async def freeze_it() -> None:
            await until(lambda: len(pair.written) >= SOME, "some is written")
            with (
                locked(pair.east[0].store_file),
                locked(bus_file),
            ):  # at whatever it is doing, but for a write to these:
                freeze(pid_of(frozen))  # it would keep their locks, and all others out
            began = time.monotonic()
            await until(lambda: pair.roles().get("active") == other, "the standby is active")
            took.append(time.monotonic() - began)

        async def both_write() -> None:
            for number in count():
                pair.write(f"f{number}")
                pair.west.writer.put(path_of(f"w{number}"), tenant(f"w{number}"))
                await anyio.sleep(0.01)

        await during(both_write, freeze_it)
        shown = pair.daemons()[pid_of(frozen)]
        assert shown.role == "former", shown
        epoch = pair.status().epoch

        async def wake_it() -> None:
            os.kill(pid_of(frozen), signal.SIGCONT)
            await until(lambda: pair.daemons()[pid_of(frozen)].role == "standby", "it has noticed, and stands by")

        await during(both_write, wake_it)
        await pair.everything_arrives(bus_file)
        assert pair.status().epoch == epoch, "it never became the writer again"
        assert pair.roles() == {"active": other, "standby": pid_of(frozen)}
    print(f"frozen: another one active after {took[0]:.1f} s")
    each_value_once(bus_file)
    numbers = [(event.sender, event.sequence) for event in distinct_changes_on(bus_file)]
    assert len(numbers) == len(pair.east[0].picture())
    assert pair.status().waiting.conflicts == pair.status().waiting.quarantine == 0
    assert pair.west.status().counts.conflicts == 0


@pytest.mark.parametrize("how", [pytest.param("stopped", marks=pytest.mark.slow), "killed", "frozen"])
async def test_a_database_that_is_away_for_a_while_gets_everything_afterwards(
    pair: Pair,
    postgres_server: PostgresServer,
    bus_file: Path,  # noqa: F811
    how: str,
) -> None:
    async with pair.west.running():
        await pair.started()
        processes = {pid_of(site) for site in pair.east}

        async def be_away() -> None:
            await until(lambda: len(pair.written) >= SOME, "some is written")
            act = {"stopped": postgres_server.stop, "killed": postgres_server.kill, "frozen": postgres_server.pause}
            await anyio.to_thread.run_sync(act[how])
            pair.west.writer.put(path_of("meanwhile"), tenant("meanwhile"))
            await anyio.sleep(AWAY_S)  # the length of the outage is what is tried
            postgres_server.resume()
            await anyio.to_thread.run_sync(postgres_server.start)

        await during(lambda: writing(pair, "a", 0.02), be_away)
        began = time.monotonic()
        await until(lambda: "active" in pair.roles(), "the database answers")
        await pair.everything_arrives(bus_file)
        assert pair.east[0].get(path_of("meanwhile")) == tenant("meanwhile")
        print(f"{how} for {AWAY_S:.0f} s: equal {time.monotonic() - began:.1f} s later")
        assert {pid_of(site) for site in pair.east if site.process and site.process.poll() is None} == processes
    each_value_once(bus_file, told_again=True)
    assert len(distinct_changes_on(bus_file)) == len(pair.written) + 1


@pytest.mark.slow
async def test_a_database_that_hangs_does_not_make_the_daemon_look_hung(
    make_site: MakeSite,  # noqa: F811
    postgres_server: PostgresServer,
    postgres_url: str,
) -> None:
    site = make_site("east")
    site.shared = postgres_url
    async with site.running() as daemon:
        await until(lambda: daemon.role == "active", "it is active")
        postgres_server.pause()
        end, oldest = time.monotonic() + HANGS_S, 0.0
        while time.monotonic() < end:
            await anyio.sleep(0.2)
            assert daemon.pumps is not None
            oldest = max(oldest, time.monotonic() - daemon.pumps.alive_at, time.monotonic() - daemon.turned_at)
        postgres_server.resume()
        site.writer.put(path_of("x"), tenant("x"))
        await until(lambda: site.status().counts.alive == 1, "it goes on")
    print(f"frozen for {HANGS_S:.0f} s: the oldest sign of life was {oldest:.1f} s old")
    assert oldest < STALLED_S * starvation.patience(), "else its supervisor would restart it, for nothing"


async def test_daemons_wait_for_a_database_that_is_not_up_yet(pair: Pair, postgres_server: PostgresServer) -> None:
    await pair.started()
    for site in pair.east:
        assert site.stop() == 0
    assert pair.daemons() == {}, "who ends in order takes its line along"
    postgres_server.stop()
    for site in pair.east:
        site.start()
    waiting = pair.east[0].folder / "daemon.log"
    await until(lambda: waiting.read_text().count('"what": "state"') >= 2, "both wait")
    postgres_server.start()
    await pair.started()


async def test_status_shows_both(pair: Pair) -> None:
    await pair.started()
    await until(
        lambda: all(not each.silent and each.seen_age_s < 10 for each in pair.daemons().values()), "both are seen"
    )
    found = pair.status()
    assert [each.role for each in found.daemons] == ["active", "standby"]
    assert all(each.since_ms <= each.seen_at_ms for each in found.daemons)
    config = str(pair.east[0].file)
    command = [sys.executable, "-c", "from syncer.cli.main import main; main()", "--config", config, "status"]
    shown = (await anyio.run_process(command)).stdout.decode()
    print(shown)
    for each in found.daemons:
        line = next(line for line in shown.splitlines() if f" {each.pid} " in line)
        assert each.role in line
    assert postgres_secret(pair) not in shown


def postgres_secret(pair: Pair) -> str:
    return pair.east[0].shared.split("@", maxsplit=1)[0].rpartition(":")[2]
