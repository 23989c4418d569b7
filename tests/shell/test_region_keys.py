"""Whole daemons with a key pair per region: nobody speaks as another one, and a group moves there without a gap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from anyio.abc import TaskGroup

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import PROOF, SIGNATURE, sealed
from syncer.bus.wire.messages import Control, ControlAction
from syncer.daemon import Daemon
from syncer.model import Region, database_id
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, change, heartbeat, messages_on
from tests.shell.region import TENANT, Site, active, equal, heard, path_of, tenant
from tests.support.group_keys import signing
from tests.support.region_keys import pair, ring, tables

REGIONS: Final = ("east", "north", "west")
KNOWN: Final = {name: [name] for name in REGIONS}
IMPOSTOR: Final = "speaks-for-another"


@pytest.fixture
def make(make_site: MakeSite, tmp_path: Path) -> Callable[..., list[Site]]:
    """Make regions that require keys of regions."""

    def made(*names: str, required: bool = True, group: Sequence[str] = ()) -> list[Site]:
        return [make_site(name, **tables(tmp_path, name, KNOWN, group=group, required=required)) for name in names]

    return made


def lies(of: str, database: str) -> list[Any]:
    """What somebody says in the name of a region, by its database."""
    now = wall_clock_ms()
    return [
        Control(region=Region(of), sender=database, action=ControlAction.PAUSE, sent_at_ms=now, number=7),
        Control(region=Region(of), sender=database, action=ControlAction.FORGET, paths=("east", "x"), sent_at_ms=now),
        change(TENANT, tenant("evil"), region=of, sender=database, sequence=10_000),
        change(TENANT, None, region=of, sender=database, sequence=10_001),
        heartbeat(of, sender=database, mode="left"),
    ]


# -- speaking as another one


async def test_regions_with_keys_of_their_own_become_equal_and_know_who_speaks(
    make: Callable[..., list[Site]], bus_file: Path
) -> None:
    east, west = make("east", "west")
    async with east.running(), west.running():
        await active(east, west)
        for number in range(10):
            (east, west)[number % 2].writer.put(path_of(f"t{number}"), tenant(str(number)))
        await until(lambda: len(east.picture()) == len(west.picture()) == 10, "all arrive")
        await east.do("pause", everywhere="true")
        await until(lambda: west.status().identity.paused, "a request is obeyed")
        await east.do("resume", everywhere="true")
        await until(lambda: not west.status().identity.paused, "and its end")
        await until(lambda: heard(east) == ["west"] and heard(west) == ["east"], "heartbeats are heard")
        ids = {name: pair(name).public.id for name in REGIONS}
        await until(lambda: [each["key_id"] for each in east.report()["peers"]] == [ids["west"]], "its key is shown")
        told = east.report()["signing"]
        assert (told["signs_with"], told["region_key"], told["region_keys_required"]) == (None, ids["east"], True)
        assert told["region_keys"] == {name: [ids[name]] for name in REGIONS}
        assert not east.conditions().keys() & {"messages-unsigned", "unsigned-accepted", "region-keys-optional"}
        assert east.report()["tally"]["believed.region-key"] > 0
    for message in messages_on(bus_file):
        speaker = ring(None, REGIONS, required=True).check(message.payload, message.properties)
        assert speaker is not None
        assert speaker.region == message.properties["syncer.region"]
        assert SIGNATURE not in message.properties
    assert not east.quarantined()
    assert not west.quarantined()


async def test_a_member_that_speaks_as_another_one_is_not_believed(
    make: Callable[..., list[Site]], bus_file: Path
) -> None:
    """North's key is in hostile hands; it is used to speak as west."""
    east, west = make("east", "west")
    north = ring("north", REGIONS, required=True)
    async with east.running(), west.running(), Bystander(bus_file, "mallory") as mallory:
        await active(east, west)
        west.writer.put(TENANT, tenant("ours"))
        await equal(east, west)
        await until(lambda: heard(east) == ["west"], "west is heard")
        own, database = east.report()["database_id"], west.report()["database_id"]
        said = [sealed(each, north) for each in lies("west", database)]
        said.append(sealed(change(TENANT, tenant("evil"), region="east", sender=own, sequence=10_000), north))
        said.append(sealed(heartbeat("north", sender=database, generation=99, last_sequence=2**50), north))
        await mallory.say(*said, *(sealed(heartbeat("west", sender=database), north) for _ in range(20)))
        await until(lambda: len(east.quarantined()) == 5, "what changes something is kept aside, talk is counted")
        assert set(east.codes()) == {IMPOSTOR}
        await until(lambda: east.report()["tally"].get(f"refused.{IMPOSTOR}") == 27, "all are counted")
        assert "a member has signed them in the name of another one" in east.conditions()[IMPOSTOR]
        assert pair("north").public.id in east.conditions()[IMPOSTOR]
        west.writer.put(path_of("later"), tenant("ours"))
        await until(lambda: east.get(path_of("later")) == tenant("ours"), "west goes on")
        assert heard(east) == ["west"], "north has never spoken for itself"
        assert east.report()["database_id"] == own, "it was not told that it is an old copy"
        assert [each["member"] for each in east.report()["peers"]] == [True]
    assert east.get(TENANT) == west.get(TENANT) == tenant("ours")
    assert east.status().identity.paused is None
    assert west.status().identity.paused is None


async def test_the_key_of_the_group_alone_does_not_prevent_that(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    """The other side of it: what keys of regions are for."""
    east = make_site("east", signing=signing(tmp_path, "ours"))
    member = ring("north", group=["ours"])
    async with east.running(), Bystander(bus_file, "mallory") as mallory:
        await active(east)
        await mallory.say(*(sealed(each, member) for each in lies("west", "d" * 32)[:1]))
        await until(lambda: east.status().identity.paused, "it is believed to come from west")


async def test_a_database_of_an_older_version_belongs_to_who_first_proved_it(
    make: Callable[..., list[Site]], bus_file: Path
) -> None:
    (east,) = make("east")
    old = "d" * 32
    assert "@" not in old
    west, north = (ring(name, REGIONS, required=True) for name in ("west", "north"))
    async with east.running(), Bystander(bus_file) as bystander:
        await active(east)
        await bystander.say(sealed(heartbeat("west", sender=old), west))
        await until(lambda: heard(east) == ["west"], "it is heard")
        await bystander.say(
            sealed(change(path_of("lie"), tenant("x"), region="north", sender=old, sequence=5), north),
            sealed(change(path_of("true"), tenant("x"), sender=old, sequence=1), west),
        )
        await until(lambda: east.get(path_of("true")), "west is believed")
        await until(lambda: east.codes() == [IMPOSTOR], "north is not")
    async with east.running(), Bystander(bus_file) as bystander:  # it is known after a restart
        await bystander.say(
            sealed(change(path_of("lie"), tenant("x"), region="north", sender=old, sequence=6), north),
            sealed(change(path_of("later"), tenant("x"), sender=old, sequence=2), west),
        )
        await until(lambda: east.get(path_of("later")), "west is believed")
        await until(lambda: east.codes() == [IMPOSTOR] * 2, "north is not")
    assert east.get(path_of("lie")) is None


async def test_the_journal_shows_who_told_what_another_one_made(
    make: Callable[..., list[Site]], bus_file: Path
) -> None:
    """A member can tell what another one has made; if that was never made, it is known who invented it."""
    (east,) = make("east")
    north = ring("north", REGIONS, required=True)
    database = database_id("e" * 32, Region("north"))
    async with east.running(), Bystander(bus_file) as mallory:
        await active(east)
        await mallory.say(sealed(change(TENANT, tenant("x"), region="west", sender=database), north))
        await until(lambda: east.get(TENANT), "it is told")
        rows = east.ask(lambda views: views.journal(TENANT, 10))
    assert f"told by north, which signed it with key {pair('north').public.id}" in rows[-1].entry.detail


async def test_a_key_does_not_make_a_region_expected(make: Callable[..., list[Site]]) -> None:
    (east,) = make("east")
    east.overrides["peers"]["expected"] = ["west"]
    north, database = ring("north", REGIONS, required=True), database_id("e" * 32, Region("north"))
    async with east.running(), Bystander(east.bus_file) as mallory:
        await active(east)
        for number, author in enumerate(REGIONS, start=1):
            event = change(path_of(author), tenant("x"), region=author, sender=database, sequence=number)
            await mallory.say(sealed(event, north))
        await until(lambda: len(east.quarantined()) == 3, "whoever it says has made it")
    assert set(east.codes()) == {"unknown-region"}
    assert not east.picture()


async def test_a_region_with_an_unknown_key_is_heard_once_its_public_half_is_given(
    make: Callable[..., list[Site]], tmp_path: Path
) -> None:
    """What it said meanwhile is not lost: by retry, or by anti-entropy."""
    east, west = make("east", "west")
    unknown = {**KNOWN, "west": ["new"]}
    west.overrides.update(tables(tmp_path, "new", unknown, required=True))
    async with east.running(), west.running():
        await active(east, west)
        west.writer.put(TENANT, tenant("ours"))
        await until(lambda: east.codes() == ["signature-invalid"], "it is refused")
        assert pair("new").public.id in east.quarantined()[0].poison.detail
    east.overrides.update(tables(tmp_path, "east", unknown, required=True))
    async with east.running(), west.running():
        await equal(east, west)
        await until(lambda: east.get(TENANT) == tenant("ours"), "anti-entropy brings it")
        answer = await east.do("quarantine-retry", id=str(east.quarantined()[0].id))
        assert answer.answer == "decoded and handled"


# -- moving a group from one configuration to the next


@dataclass
class Group:
    """Three regions that are restarted one by one, while in each of them somebody writes all the time."""

    sites: dict[str, Site]
    tasks: TaskGroup
    running: dict[str, tuple[anyio.CancelScope, anyio.Event]] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    writing: bool = True

    async def start(self, name: str) -> None:
        """Start a region's daemon with the configuration that it has now."""
        site, scope, ended = self.sites[name], anyio.CancelScope(), anyio.Event()

        async def run() -> None:
            with scope:
                await Daemon(site.config(), clock=site.clock).run()
            ended.set()

        self.running[name] = scope, ended
        self.tasks.start_soon(run)
        await active(site)

    async def stop(self, name: str) -> None:
        """Stop a region's daemon in order."""
        scope, ended = self.running.pop(name)
        scope.cancel()
        await ended.wait()

    async def step(self, name: str, made: Mapping[str, Any]) -> None:
        """Restart a region with its next configuration; all are equal and nothing was refused when it is done."""
        site = self.sites[name]
        await self.stop(name)
        for table in ("signing", "peers"):
            site.overrides.pop(table, None)
        site.overrides.update(made)
        reported = wall_clock_ms()
        await self.start(name)
        await until(lambda: (site.status().reported_at_ms or 0) > reported, "it reports")
        await self.all_arrives()
        for each in self.sites.values():
            assert not each.quarantined(), (name, each.name, each.codes())
            refused = [count for count in each.report()["tally"] if count.startswith("refused.")]
            assert not refused, (name, each.name, refused)

    async def all_arrives(self) -> None:
        """What was written until now, in any region, is in every region."""
        until_now = {f"{name}-{number}" for name, last in self.written.items() for number in range(last)}
        await until(
            lambda: all(
                {path_of(each) for each in until_now} <= site.writer.items().keys() for site in self.sites.values()
            ),
            "what was written arrives",
        )

    async def write(self, name: str) -> None:
        """Write on and on."""
        while self.writing:
            number = self.written.get(name, 0)
            self.sites[name].writer.put(path_of(f"{name}-{number}"), tenant(name))
            self.written[name] = number + 1
            await anyio.sleep(0.05)

    def say(self, what: str) -> list[object]:
        """The same fact of every region's report."""
        return [site.report()["signing"][what] for site in self.sites.values()]


@asynccontextmanager
async def writing(sites: Sequence[Site]) -> AsyncIterator[Group]:
    """Three running regions with their writers; at the end they are equal, and nothing was refused or lost."""
    async with anyio.create_task_group() as tasks:
        group = Group({site.name: site for site in sites}, tasks)
        for name in group.sites:
            await group.start(name)
            tasks.start_soon(group.write, name)
        yield group
        group.writing = False
        await group.all_arrives()
        await equal(*sites)
        assert len(sites[0].picture()) == sum(group.written.values())
        assert not [site.name for site in sites if site.quarantined() or site.status().counts.conflicts]
        for name in group.sites:
            await group.stop(name)


async def test_a_group_moves_from_its_key_to_keys_of_regions_without_a_gap(
    make_site: MakeSite, tmp_path: Path, bus_file: Path
) -> None:
    """Step by step as the how-to says; the writers never stop."""
    sites = [make_site(name, signing=signing(tmp_path, "ours")) for name in REGIONS]
    async with writing(sites) as group:
        for name in REGIONS:  # 1: everybody signs with both
            await group.step(name, tables(tmp_path, name, {}, group=["ours"]))
        assert group.say("region_key") == [pair(name).public.id for name in REGIONS]
        for name in REGIONS:  # 2: everybody knows the public halves of all
            await group.step(name, tables(tmp_path, name, KNOWN, group=["ours"]))
            assert "region-keys-optional" in group.sites[name].conditions()
        for site in sites:
            others = {other: pair(other).public.id for other in REGIONS if other != site.name}
            await until(
                lambda site=site, others=others: (
                    {  # type: ignore[misc]
                        each["region"]: each["key_id"] for each in site.report()["peers"]
                    }
                    == others
                ),
                "the status shows everybody's key",
            )
        for name in REGIONS:  # 3: the region's own key is required
            await group.step(name, tables(tmp_path, name, KNOWN, group=["ours"], required=True))
            assert not group.sites[name].conditions().keys() & {"region-keys-optional", "unsigned-accepted"}
        assert group.say("region_keys_required") == [True] * 3
        for name in REGIONS:  # 4: the key of the group is given up
            await group.step(name, tables(tmp_path, name, KNOWN, required=True))
        assert group.say("signs_with") == [None] * 3
    last = messages_on(bus_file)[-1].properties
    assert PROOF in last
    assert SIGNATURE not in last


async def test_the_pair_of_one_region_is_rotated_without_a_gap(make_site: MakeSite, tmp_path: Path) -> None:
    """Step by step as the how-to says; the writers never stop."""
    sites = [make_site(name, **tables(tmp_path, name, KNOWN, required=True)) for name in REGIONS]
    both, new = {**KNOWN, "east": ["east", "new"]}, {**KNOWN, "east": ["new"]}
    async with writing(sites) as group:
        for name in REGIONS:  # 1: everybody knows both halves
            await group.step(name, tables(tmp_path, name, both, required=True))
        await group.step("east", tables(tmp_path, "new", both, required=True))  # 2: east signs with the new one
        for name in ("north", "west"):
            site = group.sites[name]
            await until(
                lambda site=site: pair("new").public.id in {each["key_id"] for each in site.report()["peers"]},  # type: ignore[misc, arg-type]
                "the others have heard it",
            )
        for name in REGIONS:  # 3: the old half is taken away
            await group.step(name, tables(tmp_path, "new" if name == "east" else name, new, required=True))
        async with Bystander(sites[0].bus_file) as thief:
            stolen = sealed(heartbeat("east", sender="s" * 32), ring("east"))
            assert isinstance(stolen, Outgoing)
            await thief.say(stolen)
            await until(
                lambda: "signature-invalid" in sites[1].conditions(), "what the old key signs is not believed any more"
            )


@pytest.mark.slow  # the short form goes there from a key of the group
async def test_a_group_without_any_key_gets_keys_of_regions_without_a_gap(make_site: MakeSite, tmp_path: Path) -> None:
    sites = [make_site(name) for name in REGIONS]
    async with writing(sites) as group:
        for known, required in (({}, False), (KNOWN, False), (KNOWN, True)):
            for name in REGIONS:
                await group.step(name, tables(tmp_path, name, known, required=required))
        assert group.say("region_keys_required") == [True] * 3
