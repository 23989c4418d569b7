"""Two daemons of one region, each on a database of its own: the bus says who tries, the fence decides, who takes over
rebuilds. What only the former one's database held is lost with it, and shown.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from syncer.documents.status import StatusDocument
from syncer.errors import StateForeign, StateUnavailable
from syncer.inspection.status import collect
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import changes_on
from tests.shell.region import Site, active, equal, locked, path_of, tenant


@dataclass(frozen=True, slots=True)
class Pair:
    """Two daemons of one region as processes, and another region in this process."""

    one: Site
    other: Site
    west: Site

    async def writes(self, *names: str) -> None:
        """Somebody makes tenants in the region's store; they arrive."""
        for name in names:
            self.one.writer.put(path_of(name), tenant(name))
        for name in names:
            await until(lambda name=name: self.west.get(path_of(name)) == tenant(name), f"{name} arrives")  # type: ignore[misc, arg-type]


def role(site: Site) -> str | None:
    """What the daemon on this database says of itself."""
    if site.process is None or not site.database.exists():
        return None
    try:
        found: StatusDocument = site.ask(lambda views: collect(views, site.config()))
    except (StateForeign, StateUnavailable):  # the schema is being made
        return None
    return next((each.role for each in found.daemons if each.pid == site.process.pid), None)


def generation(site: Site) -> int:
    return site.status().identity.generation


def reasons(site: Site) -> list[str]:
    return [row.reason for row in site.ask(lambda views: views.conflicts(100))]


async def taken_over(site: Site, after: Site, began: float) -> float:
    """Wait until the daemon has rebuilt the database of another one; the seconds since ``began``."""
    former = generation(after)
    await until(
        lambda: generation(site) > former and site.status().identity.first_scan_done and role(site) == "active",
        f"{site.folder.name} has taken over",
    )
    return time.monotonic() - began


def said_on(bus_file: Path) -> list[tuple[str, bytes | None]]:
    """Every change that was ever stamped; a peer that is asked for a value says it again under the same stamp."""
    stamped = {(event.path, event.stamp): event.value for event in changes_on(bus_file)}
    return sorted((path, value) for (path, _), value in stamped.items())


@pytest.fixture
def pair(make_site: MakeSite) -> Pair:
    one = make_site("east", peers={"expected": ["west"]})
    other = make_site("east", folder="east-2", peers={"expected": ["west"]}, store={"path": str(one.store_file)})
    return Pair(one, other, make_site("west", peers={"expected": ["east"]}))


async def test_they_take_over_from_each_other_by_a_rebuild_and_nothing_is_said_twice(
    pair: Pair, bus_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other, west = pair.one, pair.other, pair.west
    async with west.running():
        one.start()
        await active(one, west)
        other.start()
        await until(lambda: role(other) == "standby", "the other one stands by")
        await pair.writes("a", "b", "c")

        one.kill()
        one.writer.put(path_of("b"), tenant("nobody saw"))
        one.writer.put(path_of("d"), tenant("d"))
        former = generation(one)
        first = await taken_over(other, one, time.monotonic())
        await until(lambda: west.get(path_of("d")) == tenant("d"), "what nobody knew arrives")
        await equal(one, west)
        assert one.get(path_of("b")) == tenant("b")
        assert reasons(other) == ["unknown-provenance"]

        one.start()
        await until(lambda: role(one) == "standby", "the old one comes back and stands by")
        await pair.writes("e", "f")
        assert (role(one), role(other), generation(one)) == ("standby", "active", former)

        other.kill()
        second = await taken_over(one, other, time.monotonic())
        await pair.writes("g")
        await equal(one, west)
        assert reasons(one) == []
        assert west.status().counts.conflicts == west.status().counts.quarantine == 0
        assert "region-id-in-use" not in west.conditions()
    with capsys.disabled():
        print(f"\nown databases: taken over, with a rebuild, {first:.1f} s and {second:.1f} s after a kill")
    log = (other.folder / "daemon.log").read_text(encoding="utf-8")
    assert "database_rebuilt" in log
    assert "duration_s" in log
    assert said_on(bus_file) == sorted((path_of(name), tenant(name)) for name in "abcdefg")


async def test_one_that_was_frozen_does_no_harm_when_it_wakes_and_takes_over_again_later(
    pair: Pair, bus_file: Path
) -> None:
    one, other, west = pair.one, pair.other, pair.west
    async with west.running():
        one.start()
        await active(one, west)
        other.start()
        await until(lambda: role(other) == "standby", "the other one stands by")
        await pair.writes("a", "b")
        assert one.process is not None
        with locked(one.store_file), locked(bus_file):  # it would keep its locks on these, and all others out
            os.kill(one.process.pid, signal.SIGSTOP)
        await taken_over(other, one, time.monotonic())
        generations = generation(other), generation(one)
        await pair.writes("c", "d")

        os.kill(one.process.pid, signal.SIGCONT)
        await until(lambda: role(one) == "standby", "it has noticed, and stands by")
        await pair.writes("e")
        assert (role(other), generation(other), generation(one)) == ("active", *generations)

        other.kill()
        await taken_over(one, other, time.monotonic())
        await pair.writes("f")
        await equal(one, west)
        assert one.process.poll() is None
        assert reasons(one) == reasons(other) == reasons(west) == []
    assert said_on(bus_file) == sorted((path_of(name), tenant(name)) for name in "abcdef")
