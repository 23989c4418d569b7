"""What a member may make others keep has a room; what finds none is not folded, and comes once there is some."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from syncer.bus.trust.signing import Keyring
from syncer.bus.wire.codec import encode
from syncer.model import Region
from syncer.operations.decisions import lost_in
from syncer.replication import quotas
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.state.contract.conflicts import Amount
from syncer.waiting import until
from tests.shell.on_bus import Bystander, backlog, change
from tests.shell.region import Site, active, equal, path_of, tenant

LARGE: Final = "x" * 20_000
PATHS: Final = 30


@pytest.fixture(params=["member", pytest.param("open", marks=pytest.mark.slow)])
def peer(request: pytest.FixtureRequest) -> str:
    """Who it is: with the key, or where there is none; nothing of who lacks it is folded."""
    return str(request.param)


def said(number: int, name: str, *, time_ms: int, region: str = "evil") -> Any:
    """A large change, which has seen nothing."""
    at = path_of(f"p{number % PATHS}")
    return encode(change(at, tenant(name, LARGE), region=region, sender="e" * 32, sequence=number + 1, time_ms=time_ms))


async def test_a_flood_of_conflicts_takes_no_more_room_than_there_is(
    mouth: Keyring, regions: tuple[Site, Site], bus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "CONFLICTS", Amount(1_000, 200_000))
    monkeypatch.setattr(quotas, "WEIGHED_EACH_MS", 100)
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        for number in range(PATHS):
            west.writer.put(path_of(f"p{number}"), tenant(f"honest {number}"))
        await equal(east, west)
        before, early = east.picture(), wall_clock_ms() - 3_600_000
        await hostile.say(*(mouth.sign(said(number, "flood", time_ms=early + number)) for number in range(120)))
        west.writer.put(path_of("later"), tenant("honest"))
        await until(lambda: east.get(path_of("later")) == tenant("honest"), "the others go on")
        for site in regions:
            await until(lambda site=site: "conflicts-full" in site.conditions(), "it is told")  # type: ignore[misc, arg-type]
        await until(lambda: backlog(bus_file, "east") <= 2, "all of it was read")
        kept = east.ask(lambda views: [row.value_bytes or 0 for row in views.conflicts(1_000)])
        assert 0 < sum(kept) <= 200_000
        assert {path: east.picture()[path] for path in before} == before, "nothing gave way to it"
        assert (await east.do("conflicts-discard", by="evil")).code == "precondition-failed", "who has looked when?"
        count, last = east.ask(lambda views: views.lost_by(Region("evil")))
        assert count == len(kept)
        answer = await east.do("conflicts-discard", by="evil", until=str(last - 1))
        assert answer.answer == f"{count - 1} conflicts are forgotten", "what was not shown stays"
        answer = await east.do("conflicts-discard", by="evil", until=str(last))
        assert answer.answer == "1 conflicts are forgotten"
        await until(lambda: "conflicts-full" not in east.conditions(), "there is room again")
        assert east.status().counts.conflicts < len(kept)
        west.writer.put(path_of("p1"), tenant("still ours"))
        await until(lambda: east.get(path_of("p1")) == tenant("still ours"), "it is editable")


async def test_what_was_restored_makes_room(
    regions: tuple[Site, Site], mouth: Keyring, bus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "CONFLICTS", Amount(1, 1 << 20))
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        for number in range(2):
            west.writer.put(path_of(f"p{number}"), tenant(f"honest {number}"))
        await equal(east, west)
        early = wall_clock_ms() - 3_600_000
        await hostile.say(mouth.sign(said(0, "first", time_ms=early)))
        await until(lambda: east.status().counts.conflicts == 1, "it is kept")
        (row,) = east.ask(lambda views: views.conflicts(9))
        request = east.ask(lambda views: lost_in(views, row.id).restoring)
        assert (await east.do(request.kind, **request.arguments)).code == ""
        await until(lambda: east.get(path_of("p0")) == tenant("first", LARGE), "it is restored")
        await hostile.say(mouth.sign(said(1, "second", time_ms=early)))
        await until(lambda: east.status().counts.conflicts == 1, "another one is kept in its place")
        (other,) = east.ask(lambda views: views.conflicts(9))
        assert other.path == path_of("p1")
        assert (
            await east.do("conflicts-discard", conflict=str(other.id))
        ).answer == f"conflict {other.id} is forgotten"
        assert (await east.do("conflicts-discard", conflict=str(other.id))).code == "not-found"


async def test_a_flood_of_values_that_the_store_refuses_takes_no_more_room_than_there_is(
    mouth: Keyring, regions: tuple[Site, Site], bus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of 2 MB: the store takes 1 MB."""
    monkeypatch.setattr(quotas, "VALUES", Amount(1_000, 7_000_000))
    monkeypatch.setattr(quotas, "WEIGHED_EACH_MS", 100)
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        for number in range(12):
            value = tenant("x" * 2_000_000)
            event = change(path_of(f"large{number}"), value, region="evil", sender="e" * 32, sequence=number + 1)
            await hostile.say(mouth.sign(encode(event)))
        west.writer.put(path_of("later"), tenant("honest", LARGE))
        await until(lambda: backlog(bus_file, "east") <= 2, "all of it was read")
        for site in regions:
            await until(lambda site=site: "values-full" in site.conditions(), "it is told")  # type: ignore[misc, arg-type]
        await until(lambda: east.get(path_of("later")) == tenant("honest", LARGE), "what is small enough arrives")
        assert east.status().counts.due <= 4
        await until(lambda: east.report()["tally"].get("refused.values-full", 0) >= 8, "each is counted")
