"""Regions that were driven apart, compared as snapshots are, and made equal by telling: whole daemons, real files."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from syncer.bus.wire.messages import Control, TreeMessage
from syncer.conflict.classes.telling import told_rules
from syncer.errors import PlanInvalid
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.repair.preview import Consent
from syncer.repair.repair_file import DifferingPath, RepairFile, write
from syncer.replacing import replace
from syncer.replication.antientropy import protocol
from syncer.replication.antientropy.part import AntiEntropy
from syncer.state.contract.operations import OperationState
from syncer.state.contract.repairs import RepairState
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import change, changes_on
from tests.shell.region import Site, active, equal, path_of, tenant
from tests.shell.snapshots import asked, head, picture, plan_of, state_of, synced
from tests.shell.test_anti_entropy import lose_all

LIMITS = {"limits": {"max_clock_skew": "100ms"}}
MANY = 2_000
APART = (0, 1, 2, 3, 4, 5, 10, 11)


@pytest.fixture
def uncompared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regions sum up what they know, and never compare it: what the bus has lost stays lost."""

    def work(antientropy: AntiEntropy, now: Millis) -> list[TreeMessage | Control]:
        del now
        if antientropy.tree_state.busy:
            antientropy.tree_state.work(antientropy.core.state)
        return []

    monkeypatch.setattr(protocol, "work", work)


def settled(site: Site, name: str) -> bool:
    """Whether the region's daemon knows that its store holds what is known."""
    register = site.ask(lambda views: views.register(path_of(name)))
    return register is not None and register.stored is not None and not register.due and register.intent is None


async def grown_up(*sites: Site) -> None:
    """Wait until no snapshot can be older than these databases."""

    def born_ms(site: Site) -> int:
        return site.status().identity.generation * 1000

    await until(lambda: all(site.clock() > born_ms(site) + 1_000 for site in sites), "the databases are old enough")


def said_by(site: Site, bus_file: Path, before: int) -> set[str]:
    """Paths of the changes of a region's own that stand on the bus behind so many others."""
    return {event.path for event in changes_on(bus_file)[before:] if event.stamp.region == site.name}


async def alone(site: Site, bus_file: Path, changes: dict[str, bytes | None]) -> None:
    """Somebody changes a region while the others are away, and the bus loses what its daemon has said of it."""
    before = len(changes_on(bus_file))
    async with site.running() as daemon:
        daemon.spoken = True  # it need not wait for peers that are away
        await active(site)
        await until(lambda: site.report().get("watch_whole"), "it watches")
        for name, value in changes.items():
            if value is None:
                site.writer.delete(path_of(name))
            else:
                site.writer.put(path_of(name), value)
        await until(lambda: {path_of(name) for name in changes} <= said_by(site, bus_file, before), "it has published")
        await until(lambda: site.status().outbox.depth == 0, "nothing waits")
    assert lose_all(bus_file) >= len(changes)


@pytest.mark.usefixtures("uncompared")
async def test_three_regions_driven_apart_are_made_equal_while_they_are_written_to(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    sites = east, west, north = [make_site(name, **LIMITS) for name in ("east", "west", "north")]
    async with AsyncExitStack() as stack:
        for site in sites:
            await stack.enter_async_context(site.running())
        await active(*sites)
        for number in range(30):
            east.writer.put(path_of(f"both{number}"), tenant("old"))
        await equal(*sites)
        await grown_up(*sites)
    await alone(
        east,
        bus_file,
        {
            **{f"both{number}": tenant("east") for number in range(5)},
            **{f"new{number}": tenant("east") for number in range(5)},
            "both10": None,
            "both11": None,
        },
    )
    await alone(
        west, bus_file, {"both4": tenant("west"), "both5": tenant("west"), "only": tenant("west"), "both10": None}
    )
    north.writer.put(path_of("outside"), tenant("north"))  # its daemon finds that by itself
    async with AsyncExitStack() as stack:
        for site in sites:
            await stack.enter_async_context(site.running())
        await until(
            lambda: all(settled(site, "outside") for site in sites), "all are there, and know that they have it"
        )
        await until(lambda: all(site.report().get("watch_whole") for site in sites), "all watch")
        assert len({str(sorted(site.picture().items())) for site in sites}) == 3, "nothing else makes them equal"
        plan = plan_of(tmp_path, *sites)
        apart = {"only", *(f"new{number}" for number in range(5)), *(f"both{each}" for each in APART)}
        with plan.reading() as (_, findings):
            assert {each.path for each in findings} == {path_of(name) for name in apart}
        west.writer.put(path_of("both0"), tenant("after the snapshot"))
        north.writer.delete(path_of("both1"))
        north.writer.put(path_of("both10"), tenant("made anew"))
        repair = await synced(north, plan, Consent(deletes=True))
        await equal(*sites)
        for site in sites:
            assert site.get(path_of("both0")) == tenant("after the snapshot")
            assert site.get(path_of("both1")) is None
            assert site.get(path_of("both4")) == tenant("west"), "it is the later one"
            assert site.get(path_of("both10")) == tenant("made anew")
            assert site.get(path_of("both11")) is None
            assert site.get(path_of("new3")) == tenant("east")
            assert site.get(path_of("only")) == tenant("west")
        assert (repair.state, repair.done, repair.refused) == (RepairState.DONE, len(apart), 0)
        before, said = east.picture(), len(changes_on(bus_file))
        again = await synced(east, plan, Consent(deletes=True))
        await until(lambda: len(changes_on(bus_file)) == said + again.told, "all of it is told again")
        await until(lambda: all(site.status().outbox.depth == 0 for site in sites), "nothing waits")
        for site in sites:
            assert site.picture() == before, "and changes nothing"
            assert not site.quarantined()
        assert list(plan_of(tmp_path, *sites).path.read_bytes().splitlines())[1].startswith(b'{"end":{"paths":0')


def many(folder: Path, site: Site, number: int) -> RepairFile:
    """A plan of so many paths that nobody knows."""
    at_ms = site.clock() - 50

    def findings() -> list[DifferingPath]:
        found = []
        for each in range(number):
            event: MetadataChangeEvent = replace(
                change(path_of(f"n{each}"), tenant("north"), region="west", time_ms=at_ms), sender="", sequence=0
            )
            found.append(
                DifferingPath(
                    path=event.path, found_in=Region("west"), cls="only-in", losers=(Region("east"),), event=event
                )
            )
        return found

    path = folder / "many"
    write(path, head(site.clock(), "east", "west"), findings())
    return RepairFile(path)


async def test_a_daemon_that_is_killed_in_the_middle_goes_on_where_it_was(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    east, west = (make_site(name, **LIMITS) for name in ("east", "west"))
    async with west.running():
        east.start()
        await active(east, west)
        await grown_up(east)
        await until(lambda: east.report().get("peers"), "west is heard")
        plan = many(tmp_path, east, MANY)
        repair, operation = await asked(east, plan)
        assert operation.state is OperationState.DONE, operation.answer
        await until(lambda: state_of(east, repair).done, "it has begun")
        east.kill()
        cut, identity = state_of(east, repair), east.status().identity
        assert cut.told == cut.done == identity.last_sequence, "what is counted as told is in the outbox, or published"
        east.start()
        await until(lambda: state_of(east, repair).state is RepairState.DONE, "it went on")
        await until(lambda: len(west.picture()) == MANY, "west has all of it")
        await equal(east, west)
        done = state_of(east, repair)
        assert (done.told, done.refused, done.superseded) == (MANY, 0, 0)
        assert east.stop() == 0


async def test_what_is_refused_as_a_whole_is_told_by_nobody(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    east = make_site("east", **LIMITS)
    async with east.running():
        await active(east)
        plan = many(tmp_path, east, 3)
        _, operation = await asked(east, plan)
        assert operation.code == "precondition-failed"
        assert "west: not a region of the group" in operation.answer
        assert not [event for event in changes_on(bus_file) if event.path == path_of("n0")]


HALF = {
    "scope": {
        "rules": [
            {"pattern": path_of("ours"), "direction": "ignore"},
            {"pattern": "/admin/policies/**", "direction": "both"},
        ]
    }
}


def between_scopes(folder: Path, name: str, east: str, west: str, *findings: DifferingPath) -> RepairFile:
    """A plan between regions with these rules."""
    told = head(int(findings[0].event.stamp.updated_at_ms) if findings[0].event else 0, "east", "west")
    path = folder / name
    write(path, told.model_copy(update={"scope": "", "scopes": {"east": east, "west": west}}), findings)
    return RepairFile(path)


async def test_regions_of_different_scopes_are_made_equal_where_they_share_a_path_and_nowhere_else(
    make_site: MakeSite, tmp_path: Path
) -> None:
    east, west = make_site("east", **LIMITS), make_site("west", **LIMITS, **HALF)
    async with east.running(), west.running():
        await active(east, west)
        for name in ("ours", "shared"):
            east.writer.put(path_of(name), tenant("east"))
        await until(lambda: west.get(path_of("shared")) == tenant("east"), "what both carry is carried")
        rules = {site.name: told_rules(site.config().compiled_scope()) for site in (east, west)}
        held = picture(east)
        shared, ours = (
            DifferingPath(
                path=path, found_in=Region("east"), cls="differs", losers=(Region("west"),), event=replace(held[path])
            )
            for path in (path_of("shared"), path_of("ours"))
        )
        repair = await synced(east, between_scopes(tmp_path, "right", rules["east"], rules["west"], shared))
        assert (repair.state, repair.told) == (RepairState.DONE, 1)
        former = between_scopes(tmp_path, "former", rules["west"], rules["east"], shared)
        _, operation = await asked(east, former)
        assert "compared by another scope" in operation.answer
        with pytest.raises(PlanInvalid, match="west does not carry /admin/policies/ours"):
            await asked(east, between_scopes(tmp_path, "wrong", rules["east"], rules["west"], ours))
        assert west.get(path_of("ours")) is None
