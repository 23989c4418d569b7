"""Deletes that are forgotten, and who must have them before: three real daemons with hardly any grace."""

from __future__ import annotations

from pathlib import Path

from syncer.conflict.register import HoldReason
from syncer.inspection.first_contact import plan_of_contact
from syncer.state.contract.membership import JOINING
from syncer.state.contract.operations import OperationState
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, changes_on, distinct_changes_on, heartbeat
from tests.shell.region import Site, active, equal, path_of, tenant
from tests.shell.test_anti_entropy import lose_all

SHORTLY = {"limits": {"tombstone_grace": "1ms"}}
GONE = path_of("gone")


def remembers(site: Site) -> bool:
    """Whether the region has a register of the deleted path."""
    return site.ask(lambda views: views.register(GONE)) is not None


async def test_deletes_are_forgotten_once_every_region_has_them(make_site: MakeSite) -> None:
    east, west, north = (make_site(name, **SHORTLY) for name in ("east", "west", "north"))
    async with east.running(), west.running():
        async with north.running():
            await active(east, west, north)
            await until(lambda: all(len(each.report()["peers"]) == 2 for each in (east, west, north)), "all are heard")
            east.writer.put(GONE, tenant("a"))
            await until(lambda: north.get(GONE) is not None, "north has it")
            await equal(east, west, north)
        east.writer.delete(GONE)
        await until(lambda: west.get(GONE) is None, "west has deleted it")
        await until(lambda: "north" in str(east.report().get("tombstones")), "east waits for north")
        assert remembers(east)
        assert remembers(west)
        async with north.running():
            await until(lambda: not any(map(remembers, (east, west, north))), "all have forgotten it")
            assert north.get(GONE) is None
            west.writer.put(GONE, tenant("b"))
            await until(lambda: north.get(GONE) == tenant("b"), "it can be made again")
            await equal(east, west, north)


async def test_a_delete_is_forgotten_although_its_messages_were_lost(make_site: MakeSite, bus_file: Path) -> None:
    east, west = (make_site(name, **SHORTLY) for name in ("east", "west"))
    async with east.running(), west.running():
        await active(east, west)
        await until(lambda: all(each.report()["peers"] for each in (east, west)), "both are heard")
        await until(lambda: not any(each.status().outbox.depth for each in (east, west)), "all is published")
    async with east.running():  # west is away
        await until(lambda: east.report().get("watch_whole"), "east watches again")
        east.writer.put(GONE, tenant("a"))
        await until(lambda: GONE in {event.path for event in changes_on(bus_file)}, "east has published it")
        east.writer.delete(GONE)
        await until(lambda: [event.path for event in distinct_changes_on(bus_file)].count(GONE) == 2, "and its delete")
        await until(lambda: east.status().outbox.depth == 0, "which the bus has acknowledged")
    assert lose_all(bus_file) >= 2
    assert remembers(east)
    async with east.running(), west.running():
        await until(lambda: "gaps.retold" in east.report().get("tally", {}), "east has told it again")
        await until(lambda: not any(map(remembers, (east, west))), "and both have forgotten it")
    assert west.get(GONE) is None


async def test_a_region_that_is_forgotten_holds_nothing_up_and_is_refused(make_site: MakeSite, bus_file: Path) -> None:
    east, west = (make_site(name, **SHORTLY) for name in ("east", "west"))
    async with east.running(), west.running(), Bystander(bus_file, "north") as north:
        await active(east, west)
        await north.say(heartbeat("north", sender="n" * 32))
        await until(lambda: all(len(each.report()["peers"]) == 2 for each in (east, west)), "all are heard")
        east.writer.put(GONE, tenant("a"))
        await equal(east, west)
        await until(lambda: west.get(GONE) is not None, "west has it")
        east.writer.delete(GONE)
        await until(lambda: west.get(GONE) is None, "west has deleted it")
        refused = await east.do("regions-forget", region="north")
        assert refused.state is OperationState.FAILED
        assert "it is there" in refused.answer
        unknown = await east.do("regions-forget", region="nobody")
        assert unknown.code == "not-found"
        assert remembers(east)
        done = await east.do("regions-forget", region="north", force="true")
        assert done.state is OperationState.DONE, done.answer
        await until(lambda: not any(map(remembers, (east, west))), "both have forgotten the delete")
        await north.say(heartbeat("north", sender="n" * 32))
        await until(lambda: "forgotten-database" in west.conditions(), "west refuses the former database")


async def test_a_region_that_leaves_stands_still_and_holds_nothing_up(make_site: MakeSite) -> None:
    east, west = (make_site(name, **SHORTLY) for name in ("east", "west"))
    async with east.running(), west.running():
        await active(east, west)
        await until(lambda: all(each.report()["peers"] for each in (east, west)), "both are heard")

        async def leaves() -> bool:
            left = await west.do("regions-leave")
            assert left.state is OperationState.DONE or left.code == "precondition-failed", left.answer
            return left.state is OperationState.DONE

        await until(leaves, "west has left: east's next heartbeat says that it has all")
        await until(lambda: not east.report()["peers"][0]["member"], "east knows")
        east.writer.put(path_of("later"), tenant())
        resumed = await west.do("resume")
        assert resumed.state is OperationState.FAILED
        assert (await west.do("regions-join")).state is OperationState.FAILED
        assert west.report()["mode"] == "left"
        assert west.get(path_of("later")) is None


async def test_joining_lets_everything_pass_that_first_contact_holds(make_site: MakeSite) -> None:
    east, west = make_site("east"), make_site("west")
    paths = [path_of(name) for name in ("one", "two", "three")]
    for path in paths:
        east.writer.put(path, tenant("east"))
        west.writer.put(path, tenant("west"))
    async with east.running(), west.running():
        await active(east, west)
        await until(lambda: len(west.holds()) + len(east.holds()) == 3, "all are held")
        loser = west if west.holds() else east
        assert {row.hold.reason for row in loser.holds().values()} == {HoldReason.FIRST_CONTACT}
        unsaid = await loser.do("regions-join")
        assert (unsaid.code, "look again" in unsaid.answer) == ("precondition-failed", True)
        answer = await loser.join()
        assert answer.answer.startswith("3 changes")
        await equal(east, west)


async def test_a_region_that_asks_first_shows_its_plan_before_anything_is_written(make_site: MakeSite) -> None:
    east, west = make_site("east"), make_site("west", peers={"first_contact": "ask"})
    both, mine, theirs, same = map(path_of, ("both", "mine", "theirs", "same"))
    east.writer.put(theirs, tenant("east"))
    for site in (east, west):
        site.writer.put(both, tenant(site.name))
        site.writer.put(same, tenant("same"))
    west.writer.put(mine, tenant("west"))
    before = west.picture(), east.picture()

    def planned() -> dict[str, str]:
        plan = west.ask(lambda views: plan_of_contact(views, 100, waits=True))
        return {each.path: each.becomes for each in plan.items}

    async with east.running():
        await active(east)  # who was there first is not displaced by what a newcomer brings
    async with east.running(), west.running():
        await active(east, west)
        await until(lambda: planned() == {both: "replaced", theirs: "created"}, "the plan is whole")
        assert west.status().identity.paused == JOINING
        for kind in ("pause", "resume"):
            assert (await west.do(kind)).state is OperationState.FAILED
        assert (await east.do("pause", everywhere="true")).state is OperationState.DONE
        assert (await east.do("resume", everywhere="true")).state is OperationState.DONE
    async with east.running(), west.running():
        await until(lambda: planned() == {both: "replaced", theirs: "created"}, "the plan is whole after a restart")
        assert (west.picture(), east.picture()) == before
        joined = await west.do("regions-join")
        assert "takes part now" in joined.answer
        await until(lambda: east.get(mine) is not None and west.get(theirs) is not None, "what one had, both have")
        await until(lambda: set(west.holds()) == {both}, "what differs is held")
        assert west.get(both) == tenant("west")
        assert (await west.join()).answer.startswith("1 changes")
        await equal(east, west)
