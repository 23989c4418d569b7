"""What others say of a region: running daemons are told lies about one another, and nothing that lasts comes of it.

Each liar once where the group has no key, and once as a member that has it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from syncer.bus.trust.signing import UNSIGNED, Keyring
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import LEFT, Control, ControlAction, Heartbeat
from syncer.model import MetaPath, Millis, Region, TieOrder
from syncer.replication.recovery import doubt
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.state.contract.operations import OperationState
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, change, heartbeat
from tests.shell.region import TENANT, Site, active, equal, path_of, tenant
from tests.support.group_keys import keyring, signing
from tests.support.region_keys import ring, tables

LIAR: Final = "e" * 32
SILENCE: Final = {"silence": "5s"}
"""More than a machine stalls."""


@pytest.fixture(params=["member", pytest.param("open", marks=pytest.mark.slow)])
def mouth(request: pytest.FixtureRequest) -> Keyring:
    """What the liar signs with."""
    return keyring("ours") if request.param == "member" else UNSIGNED


@pytest.fixture
def pair(mouth: Keyring, make_site: MakeSite, tmp_path: Path) -> tuple[Site, Site]:
    """Two honest regions."""
    extra: dict[str, Any] = {} if mouth is UNSIGNED else {"signing": signing(tmp_path, "ours")}
    return make_site("east", peers=SILENCE, **extra), make_site("west", peers=SILENCE, **extra)


def database_of(site: Site) -> str:
    """The id of the region's database."""
    found: str = site.status().identity.database_id
    return found


def holds(site: Site, path: MetaPath, value: bytes) -> bool:
    """Whether its store holds a value."""
    return site.get(path) == value


async def agree(east: Site, west: Site, mark: str) -> None:
    """Each of them takes what is written in the other one."""
    east.writer.put(path_of(f"{mark}-east"), tenant(mark))
    west.writer.put(path_of(f"{mark}-west"), tenant(mark))
    for site in (east, west):
        for name in ("east", "west"):
            await until(
                partial(holds, site, path_of(f"{mark}-{name}"), tenant(mark)), f"{mark}: each has what {name} wrote"
            )
    await equal(east, west)


def members(site: Site) -> dict[str, bool]:
    """Who counts, as the region has last reported."""
    return {peer["region"]: peer["member"] for peer in site.report()["peers"]}


def standing(site: Site) -> bool:
    """Whether it takes part."""
    return site.report().get("mode") == "active" and site.status().identity.paused is None


def forget(*paths: str) -> Control:
    return Control(
        region=Region("liar"), sender=LIAR, action=ControlAction.FORGET, paths=paths, sent_at_ms=wall_clock_ms()
    )


async def test_a_living_region_is_not_forgotten_because_somebody_says_so(
    mouth: Keyring, pair: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = pair
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        await agree(east, west, "before")
        lies = [("west", database_of(west)), ("east", database_of(east)), ("invented", database_of(west))]

        def said() -> Heartbeat:
            return heartbeat("liar", sender=LIAR, refused=tuple(lies))

        await liar.say(mouth.sign(encode(said())))
        for database in lies:
            await liar.say(mouth.sign(encode(forget(*database))))
        for site, other in ((east, west), (west, east)):
            for code, words in (
                ("forget-held", f"liar says that {other.name} was forgotten"),
                ("said-to-be-forgotten", "liar says that this region was forgotten"),
                ("hearsay-void", "which is not its own"),
            ):
                await until(
                    partial(_shows, site, code, words), f"{code} is shown in {site.name}", shown=site.conditions
                )
        await agree(east, west, "meanwhile")
        await until(lambda: "forget-held" in east.conditions(), "it is still held")
        for site in (east, west):
            assert standing(site)
            assert (await site.do("regions-forget", region="liar", force="true")).state is OperationState.DONE
            await until(
                lambda site=site: not {"forget-held", "said-to-be-forgotten"} & site.conditions().keys(),  # type: ignore[misc, arg-type]
                "it counts no more once the liar is forgotten",
            )
        await agree(east, west, "after")


async def test_leaving_in_the_name_of_another_is_taken_back_by_its_next_heartbeat(
    mouth: Keyring, pair: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = pair
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        await agree(east, west, "before")
        for _ in range(5):
            await liar.say(mouth.sign(encode(heartbeat("west", sender=database_of(west), mode=LEFT))))
        await agree(east, west, "after")
        await until(lambda: [peer["member"] for peer in east.report()["peers"]] == [True], "west is a member")
        assert "forgotten-database" not in east.conditions()


async def test_a_region_that_was_away_is_forgotten_on_hearsay_and_comes_back_by_command(
    mouth: Keyring, pair: tuple[Site, Site], bus_file: Path
) -> None:
    """What evidence there is agrees with the lie; an operator undoes it, and everything that was written arrives."""
    east, west = pair
    async with east.running(), Bystander(bus_file, "liar") as liar:
        async with west.running():
            await active(east, west)
            await agree(east, west, "before")
            await until(lambda: west.status().identity.heard_until, "west was heard")
        west.writer.put(TENANT, tenant("written while it is off"))

        lie = ("west", database_of(west))
        await liar.say(mouth.sign(encode(heartbeat("liar", sender=LIAR))))
        await until(lambda: len(east.report()["peers"]) == 2, "the liar is heard")
        said = mouth.sign(encode(heartbeat("liar", sender=LIAR, refused=(lie,))))
        await liar.say(said)
        await until(lambda: members(east) == {"liar": True, "west": False}, "it is silent, so it is refused")
        async with west.running():
            await until(lambda: "forgotten-here" in west.conditions(), "it stands still")
            assert (await east.do("regions-admit", region="west")).state is OperationState.DONE
            await until(lambda: standing(west), "a member that waits for it is enough for it to move again")
            for site in (east, west):
                await site.do("regions-forget", region="liar", force="true")
            await until(lambda: members(east) == {"liar": False, "west": True}, "it counts again")
            await until(lambda: east.get(TENANT) == tenant("written while it is off"), "what it had to say arrives")
            await agree(east, west, "after")


async def test_nobody_speaks_by_the_database_of_another_region(
    mouth: Keyring, pair: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = pair
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        await agree(east, west, "before")
        for database in (database_of(west), database_of(east)):
            await liar.say(mouth.sign(encode(heartbeat("liar", sender=database, last_sequence=Millis(10**9)))))
        await until(lambda: "database-of-another-region" in east.conditions(), "it is shown")
        assert [peer["region"] for peer in east.report()["peers"]] == ["west"]
        await agree(east, west, "after")


async def test_one_that_says_that_a_database_is_old_has_nothing_rebuilt(
    mouth: Keyring, pair: tuple[Site, Site], bus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pair publishes nothing until it has asked for a proof, once; then it goes on, and shows what was said."""
    monkeypatch.setattr(doubt, "CHECK_MS", 3_000)
    east, west = pair
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        await agree(east, west, "before")
        former = database_of(east)
        for region, sender in (("west", database_of(west)), ("evil", "e" * 32), ("west", database_of(west))):
            said = heartbeat(region, sender=sender, reached={former: 2**50})
            await liar.say(mouth.sign(encode(said)))
        await until(lambda: "database-doubted" in east.conditions(), "it is shown")
        await agree(east, west, "after")
        assert database_of(east) == former
        assert not east.database.with_name(east.database.name + ".given-up").exists()


def with_keys(folder: Path, name: str, **peers: object) -> dict[str, Any]:
    """The tables of a region of a pair in which each has a key of its own, and has to sign with it."""
    made = tables(folder, name, {"east": ["east"], "west": ["west"]}, required=True)
    return {**made, "peers": {**made["peers"], **SILENCE, **peers}}


async def test_a_member_that_proves_who_it_is_and_lies_again_and_again_holds_a_pair_once(
    make_site: MakeSite, bus_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody is expected by name, the word of one is the word of one, with a key of its own too."""
    monkeypatch.setattr(doubt, "CHECK_MS", 3_000)
    east, west = (make_site(name, **with_keys(tmp_path, name)) for name in ("east", "west"))
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        await agree(east, west, "before")
        former = database_of(east)

        async def lie() -> None:
            said = heartbeat("west", sender=database_of(west), reached={former: 2**50})
            await liar.say(ring("west").sign(encode(said)))

        await lie()
        await until(partial(_shows, east, "database-doubted", "nothing is published"), "it holds back")
        await agree(east, west, "after")
        for number in range(3):
            await lie()
            await agree(east, west, f"after-{number}")
            assert not _shows(east, "database-doubted", "nothing is published"), "it holds back once"
        assert database_of(east) == former


async def test_a_member_that_is_expected_and_proves_who_it_is_has_a_database_rebuilt_once(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    """Its word counts as that of two. Nothing is lost if it lies, and its next lie is only shown."""
    east = make_site("east", **with_keys(tmp_path, "east", expected=["west"]))
    west = make_site("west", **with_keys(tmp_path, "west", expected=["east"]))
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        await agree(east, west, "before")
        former = database_of(east)

        async def lie() -> None:
            said = heartbeat("west", sender=database_of(west), reached={database_of(east): 2**50})
            await liar.say(ring("west").sign(encode(said)))

        await lie()
        await until(lambda: database_of(east) != former, "it begins anew")
        await agree(east, west, "after")
        later = database_of(east)
        await lie()
        await until(partial(_shows, east, "database-doubted", "does not do so again"), "it is shown")
        await agree(east, west, "at last")
        assert database_of(east) == later


async def test_two_members_that_lie_together_have_a_database_rebuilt_once(
    mouth: Keyring, make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    """One of them tells nothing: the rebuild waits for it until an operator excuses it; nothing is lost."""
    signed: dict[str, Any] = {} if mouth is UNSIGNED else {"signing": signing(tmp_path, "ours")}
    east, west = (
        make_site(name, peers={**SILENCE, "expected": [other, "liar"]}, **signed)
        for name, other in (("east", "west"), ("west", "east"))
    )
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        await agree(east, west, "before")
        former = database_of(east)

        async def lie() -> None:
            for region, sender in (("west", database_of(west)), ("liar", LIAR)):
                said = heartbeat(region, sender=sender, reached={database_of(east): 2**50})
                await liar.say(mouth.sign(encode(said)))

        await lie()
        await until(lambda: database_of(east) != former, "it begins anew")
        assert (await east.do("rebuild", without="liar")).state is OperationState.DONE
        await agree(east, west, "after")
        later = database_of(east)
        await lie()
        await until(partial(_shows, east, "database-doubted", "does not do so again"), "it is shown")
        await agree(east, west, "at last")
        assert database_of(east) == later


async def test_a_database_that_meets_a_forged_change_of_its_own_loses_nothing_and_begins_anew_once(
    mouth: Keyring, pair: tuple[Site, Site], bus_file: Path
) -> None:
    """What waits to be published when the lie comes is published after the rebuild; the next lie is only shown."""
    east, west = pair
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        for name in ("changed", "deleted"):
            west.writer.put(path_of(name), tenant("old"))
        await agree(east, west, "before")
        former = database_of(east)
        await east.do("pause")
        east.writer.put(path_of("changed"), tenant("new"))
        east.writer.delete(path_of("deleted"))
        east.writer.put(path_of("made"), tenant("new"))
        await until(lambda: east.status().outbox.depth == 3, "it waits to be published")

        async def lie() -> None:
            said = change(path_of("forged"), tenant("x"), region="east", sender=database_of(east), sequence=2**50)
            await liar.say(mouth.sign(encode(said)))

        await lie()
        await until(lambda: database_of(east) != former, "it begins anew")
        await east.do("resume")
        kept = east.database.with_name(east.database.name + ".given-up")
        assert kept.stat().st_mode & 0o777 == 0o600
        await until(lambda: west.get(path_of("changed")) == tenant("new"), "the change arrives")
        await until(lambda: west.get(path_of("deleted")) is None, "the delete arrives")
        await until(lambda: west.get(path_of("made")) == tenant("new"), "what is new arrives")
        await agree(east, west, "after")
        assert east.status().counts.conflicts == west.status().counts.conflicts == 0
        later = database_of(east)
        for _ in range(3):
            await lie()
        await until(lambda: "database-doubted" in east.conditions(), "it is shown")
        await agree(east, west, "at last")
        assert database_of(east) == later


async def test_a_generation_that_was_never_taken_is_not_believed(
    mouth: Keyring, pair: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = pair
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        await agree(east, west, "before")
        before = east.status().identity.generation
        lies = {"east": (10**12 - 1, "x"), "west": (10**12 - 1, "x")}
        await liar.say(mouth.sign(encode(heartbeat("liar", sender=LIAR, generations=lies))))
        await liar.say(mouth.sign(encode(heartbeat("west", sender=database_of(west), generation=10**12 - 1))))
        for site in (east, west):
            await until(lambda site=site: "generation-claimed" in site.conditions(), "it is shown")  # type: ignore[misc, arg-type]
            assert "liar says that" in site.conditions()["generation-claimed"]
        await agree(east, west, "after")
        assert east.status().identity.generation == before


async def test_a_region_that_nobody_has_stops_nothing_by_its_rules_and_is_refused_by_command(
    mouth: Keyring, pair: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = pair
    async with east.running(), west.running(), Bystander(bus_file, "liar") as liar:
        await active(east, west)
        await agree(east, west, "before")
        other = [
            heartbeat("liar", sender=LIAR, tie_order=TieOrder.NATIVE),
            heartbeat("mars", sender="f" * 32, projections={"tenant": "tenant/99"}),
        ]
        for said in other:
            await liar.say(mouth.sign(encode(said)))
        for site in (east, west):
            await until(lambda site=site: len(site.report()["newcomers"]) == 2, "both are held")  # type: ignore[misc, arg-type]
            await until(partial(_shows, site, "region-held", ""), "the status says it", shown=site.conditions)
        await liar.say(mouth.sign(encode(change(TENANT, tenant("mars"), region="mars", sender="f" * 32))))
        await agree(east, west, "meanwhile")
        await until(lambda: east.codes() == ["region-held"], "what it sends is kept aside")
        assert TENANT not in east.picture()
        assert members(east) == {"west": True}
        for name in ("liar", "mars"):
            assert (await east.do("regions-forget", region=name)).state is OperationState.DONE
        await until(lambda: "region-held" not in east.conditions(), "it is not held any more")
    async with east.running(), west.running():
        await agree(east, west, "after a restart")


async def test_a_newcomer_that_is_admitted_by_command_belongs_to_the_group(
    mouth: Keyring, pair: tuple[Site, Site], bus_file: Path
) -> None:
    east, _ = pair
    async with east.running(), Bystander(bus_file, "mars") as mars:
        await active(east)
        said = mouth.sign(encode(heartbeat("mars", sender=LIAR, projections={"resource-group": "resource-group/99"})))
        await mars.say(said)
        await until(lambda: "region-held" in east.conditions(), "it is shown")
        assert (await east.do("regions-admit", region="mars")).state is OperationState.DONE
        await mars.say(said)
        await until(lambda: members(east) == {"mars": True}, "it is a member")


def _shows(site: Site, code: str, words: str) -> bool:
    """Whether a region reports a condition in these words."""
    found = site.conditions()
    return code in found and words in found[code]
