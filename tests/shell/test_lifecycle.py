"""Start, stop, kill, stand by, observe, pause: nothing in flight is lost, nothing is said twice."""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio

from syncer.errors import SyncerError
from syncer.model import MetaPath
from syncer.state.contract.operations import OperationState
from syncer.state.views.region import Views
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, backlog, change, changes_on, distinct_changes_on
from tests.shell.region import TENANT, Site, active, equal, path_of, tenant
from tests.support.parts import parts_of

KILLS = 30 if os.environ.get("TEST_FORM") == "long" else 8
PATHS = 12


def each_value_once(bus_file: Path, *, told_again: bool = False) -> None:
    """Every value (each is written once) was published under one stamp and one number, if at all.

    Args:
        bus_file: Of the bus.
        told_again: A peer that has missed values for long enough may have asked for them: each has one stamp still.
    """
    said: dict[tuple[MetaPath, bytes | None], set[tuple[object, str, int]]] = defaultdict(set)
    for event in changes_on(bus_file):
        if event.value is not None:
            number = 0 if told_again else event.sequence
            said[event.path, event.value].add((event.stamp, event.sender, number))
    twice = {key: told for key, told in said.items() if len(told) > 1}
    assert twice == {}


async def test_what_was_written_right_before_a_graceful_stop_is_published_once_after_it(
    east: Site, west: Site, bus_file: Path
) -> None:
    async with west.running():
        await active(west)
        for _ in range(3):
            async with east.running():
                await active(east)
                first = len(east.picture())
                for number in range(first, first + 100):
                    east.writer.put(path_of(f"t{number}"), tenant(str(number)))
                await anyio.sleep(random.uniform(0, 0.3))  # stops at whatever it is doing
        async with east.running():
            await until(lambda: len(west.picture()) == 300, "everything arrives")
            await equal(east, west)
            await until(lambda: backlog(bus_file, "east") == 0, "and is acknowledged")
    each_value_once(bus_file)
    assert len(distinct_changes_on(bus_file)) == 300


async def test_a_process_stops_on_sigterm_with_status_zero(east: Site) -> None:
    east.start()
    await active(east)
    assert east.stop() == 0


async def test_kill_9_at_random_moments_loses_nothing_and_repeats_nothing(
    east: Site, west: Site, bus_file: Path
) -> None:
    rng = random.Random()
    last: dict[MetaPath, bytes] = {}
    written = 0

    def write(site: Site) -> None:
        nonlocal written
        written += 1
        path = path_of(f"{site.name}{rng.randrange(PATHS)}")
        last[path] = tenant(f"{site.name} {written}")
        site.writer.put(path, last[path])

    async with west.running():
        for _ in range(KILLS):
            fence = east.report().get("epoch") if east.database.exists() else None
            east.start()

            def up(fence: object = fence) -> bool:
                write(east)
                write(west)
                return east.database.exists() and _epoch(east) not in {None, fence}

            await until(up, "it is active")
            end = time.monotonic() + rng.uniform(0, 0.4)
            while time.monotonic() < end:
                write(east)
                write(west)
                await anyio.sleep(0.005)
            east.kill()
        async with east.running():
            await until(
                lambda: all(site.get(path) == value for path, value in last.items() for site in (east, west)),
                "both hold what was written last",
            )
            await equal(east, west)
            await until(lambda: east.status().outbox.depth == 0, "everything is published")
    assert written > KILLS
    each_value_once(bus_file)
    assert east.status().counts.conflicts == west.status().counts.conflicts == 0
    assert east.quarantined() == west.quarantined() == []


def _epoch(site: Site) -> int | None:
    """The epoch of the database, ``None`` while its schema is being made."""
    try:
        return site.status().identity.epoch or None
    except SyncerError:
        return None


async def test_a_standby_on_the_same_database_takes_over_when_the_active_one_is_killed(
    east: Site, west: Site, bus_file: Path
) -> None:
    east.start()
    await active(east)
    async with east.running() as standby, west.running():
        await active(west)
        await standby.started.wait()
        for number in range(100):
            east.writer.put(path_of(f"e{number}"), tenant(f"e{number}"))
            west.writer.put(path_of(f"w{number}"), tenant(f"w{number}"))
        await until(lambda: changes_on(bus_file), "replication is on its way")
        assert standby.pumps is None, "it stands by"
        east.kill()
        await until(lambda: standby.pumps is not None, "it takes over")
        await until(lambda: len(west.picture()) == 200, "everything leaves")
        await equal(east, west)
    each_value_once(bus_file)
    assert len(distinct_changes_on(bus_file)) == 200


async def test_an_active_daemon_that_lost_the_role_steps_back(east: Site, west: Site, bus_file: Path) -> None:
    """A second daemon on the same database, with a lease of its own: whoever became active last is the only writer."""
    async with west.running(), east.running() as former:
        await active(east, west)
        async with east.running(bus={"region": "east-two"}) as later:
            await until(
                lambda: later.pumps is not None and parts_of(later.pumps.driver).core.fence, "the later one is active"
            )
            east.writer.put(TENANT, tenant("x"))
            await until(lambda: west.get(TENANT) == tenant("x"), "changes leave once")
        await until(
            lambda: former.pumps is not None and parts_of(former.pumps.driver).core.fence, "the former one is back"
        )
        east.writer.put(path_of("y"), tenant("y"))
        await until(lambda: west.get(path_of("y")) == tenant("y"), "and does its work")
    each_value_once(bus_file)
    assert len(distinct_changes_on(bus_file)) == 2


async def test_an_observer_reads_and_reports_and_does_nothing_else(east: Site, west: Site, bus_file: Path) -> None:
    observed = f"sqlite:///{east.database}.observe"
    async with west.running(), east.running(mode="observe") as observer:
        await active(west)
        await until(lambda: observer.pumps is not None, "it observes")
        east.writer.put(path_of("ours"), tenant("ours"))
        west.writer.put(path_of("theirs"), tenant("theirs"))
        with closing(Views.open(observed)) as views:
            await until(lambda: views.status().counts.alive == 1, "it has read the store")
            await until(lambda: views.status().counts.due == 1, "it says what it would write")
            await until(lambda: (views.status().document or {}).get("mode") == "observe", "it says what it is")
            assert views.status().outbox.depth == 0
        assert east.get(path_of("theirs")) is None
        assert {event.stamp.region for event in changes_on(bus_file)} == {"west"}
        async with east.running():
            await until(lambda: east.get(path_of("theirs")) == tenant("theirs"), "the active one missed nothing")
            await until(lambda: west.get(path_of("ours")) == tenant("ours"), "and publishes")
            east.writer.put(path_of("more"), tenant("more"))
            west.writer.put(path_of("ours"), tenant("changed"))
            await equal(east, west)
            with closing(Views.open(observed)) as views:
                await until(lambda: views.status().counts.due == 0, "the observer sees that it is done")
                assert views.quarantine(10) == []
                document: dict[str, Any] = dict(views.status().document or {})
                assert [each["code"] for each in document["conditions"]] == ["messages-unsigned"]
    each_value_once(bus_file)
    assert east.quarantined() == []


async def test_an_observer_has_nothing_to_write_where_the_store_held_the_value_before_it_was_heard(
    east: Site, bus_file: Path
) -> None:
    east.writer.put(TENANT, tenant("same"))
    async with east.running(mode="observe") as observer, Bystander(bus_file) as west:
        await until(lambda: observer.pumps is not None, "it observes")
        with closing(Views.open(f"sqlite:///{east.database}.observe")) as views:
            await until(lambda: views.status().counts.alive == 1, "it has read the store")
            await west.say(change(TENANT, tenant("same")), change(path_of("theirs"), tenant(), sequence=2))
            await until(lambda: views.register(path_of("theirs")) is not None, "it has heard both")
            await until(lambda: views.status().counts.due == 1, "it would write the other one alone")


async def test_one_region_is_paused_and_resumed(east: Site, west: Site, bus_file: Path) -> None:
    async with east.running(), west.running():
        await active(east, west)
        assert (await east.do("pause")).state is OperationState.DONE
        assert east.status().identity.paused == "because"
        east.writer.put(path_of("ours"), tenant("ours"))
        west.writer.put(path_of("theirs"), tenant("theirs"))
        await until(lambda: east.status().outbox.depth == 1, "it is kept")
        await until(lambda: east.status().counts.due == 1, "it is known")
    async with east.running(), west.running():  # a restart resumes nothing
        await until(lambda: east.report().get("fence") == 2, "it is active again")
        assert east.status().identity.paused == "because"
        assert west.get(path_of("ours")) is None
        assert east.get(path_of("theirs")) is None
        await east.do("resume")
        await until(lambda: len(west.picture()) == 2, "everything leaves")
        await equal(east, west)


async def test_all_regions_are_paused_and_resumed_by_an_event(
    east: Site, west: Site, make_site: MakeSite, bus_file: Path
) -> None:
    north = make_site("north")
    async with east.running(), west.running(), north.running():
        await active(east, west, north)
        await east.do("pause", everywhere="true")
        for site in (west, north):
            await until(lambda site=site: site.status().identity.paused, "it is paused")  # type: ignore[misc]
            assert site.status().identity.paused == "asked by east: because"
        west.writer.put(TENANT, tenant("w"))
        await until(lambda: west.status().outbox.depth == 1, "it is kept")
        assert changes_on(bus_file) == []
        await north.do("resume", everywhere="true")
        for site in (east, north):
            await until(lambda site=site: site.get(TENANT) == tenant("w"), "it is resumed")  # type: ignore[misc]


async def test_the_store_is_written_no_faster_than_allowed(make_site: MakeSite, bus_file: Path) -> None:
    east = make_site("east", limits={"max_writes_per_s": 10})
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        began = time.monotonic()
        await west.say(*(change(path_of(f"t{number}"), tenant(), sequence=number + 1) for number in range(35)))
        await until(lambda: len(east.picture()) == 35, "all are written")
        took = time.monotonic() - began
    assert took > 2.0, "35 writes, of which 10 may go at once, need 2.5 s"


async def test_the_journal_is_pruned(east: Site, bus_file: Path) -> None:
    async with east.running():
        await active(east)
        east.writer.put(TENANT, tenant())
        await until(lambda: east.ask(lambda views: views.journal(TENANT, 10)), "a decision is kept")
        await east.do("pause")
    async with east.running(limits={"journal_retention": "1ms", "delete_window": "1ms", "audit_retention": "1ms"}):
        await until(lambda: not east.ask(lambda views: views.journal(TENANT, 10)), "it is dropped")
        await until(lambda: east.ask(lambda views: views.operation(1)) is None, "so are finished operations")
    assert east.ask(lambda views: views.register(TENANT)) is not None
