"""Whole daemons with a key of the group: who is believed, and that nothing is lost by not believing somebody."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import structlog

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import SIGNATURE, sealed
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Control, ControlAction
from syncer.bus.wire.native import NativeEvent, NativeType, encode_native
from syncer.model import Region
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.waiting import WAIT_S, until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, backlog, change, heartbeat, messages_on
from tests.shell.region import TENANT, Site, active, equal, heard, path_of, tenant
from tests.support.group_keys import key, key_file, keyring, signing

REFUSED = "signature-invalid"


def kinds(messages: list[Outgoing]) -> set[str]:
    """Of these messages."""
    return {message.properties["syncer.kind"] for message in messages}


def registers(site: Site) -> list[tuple[object, ...]]:
    """All that a region knows, row by row."""
    with closing(sqlite3.connect(site.database, timeout=WAIT_S)) as db:
        return db.execute("SELECT * FROM registers ORDER BY path").fetchall()


def consumed(site: Site, sender: str) -> bool:
    """Whether anything of a sender counts as consumed."""
    with closing(sqlite3.connect(site.database, timeout=WAIT_S)) as db:
        return bool(db.execute("SELECT count(*) FROM consumed WHERE sender = ?", (sender,)).fetchone()[0])


def ignored(site: Site) -> int:
    """How many requests a region did not obey since they came again."""
    return int(site.report()["tally"].get("ignored.asked-before", 0))


async def test_regions_with_the_key_become_equal_and_everything_they_say_is_signed(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    east, west = (make_site(name, signing=signing(tmp_path, "ours")) for name in ("east", "west"))
    async with east.running(), west.running():
        await active(east, west)
        for number in range(10):
            (east, west)[number % 2].writer.put(path_of(f"t{number}"), tenant(str(number)))
        await until(lambda: len(east.picture()) == len(west.picture()) == 10, "all arrive")
        east.writer.delete(path_of("t1"))
        await equal(east, west)
        await until(lambda: len(west.picture()) == 9, "the delete too")
        await east.do("pause", everywhere="true")
        await until(lambda: west.status().identity.paused, "a request is obeyed")
        await east.do("resume", everywhere="true")
        await until(lambda: not west.status().identity.paused, "and its end")
        await until(lambda: len(east.report()["peers"]) == 1, "heartbeats are heard")
        assert "messages-unsigned" not in east.conditions()
        told = east.report()["signing"]
        assert (told["signs_with"], told["accepts"], told["region_key"]) == (key("ours").id, [key("ours").id], None)
    said = messages_on(bus_file)
    assert kinds(said) >= {"change", "heartbeat", "control"}
    ring = keyring("ours")
    for message in said:
        ring.check(message.payload, message.properties)
    assert not east.quarantined()
    assert not west.quarantined()


async def test_who_lacks_the_key_is_not_believed_whatever_he_says(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    east, west = (make_site(name, signing=signing(tmp_path, "ours")) for name in ("east", "west"))
    theirs, stranger = keyring("theirs"), "e" * 32
    async with east.running(), west.running(), Bystander(bus_file, "mallory") as mallory:
        await active(east, west)
        west.writer.put(TENANT, tenant("ours"))
        await equal(east, west)
        own = east.report()["database_id"]
        order = Control(
            region=Region("west"), sender=stranger, action=ControlAction.PAUSE, sent_at_ms=wall_clock_ms(), number=7
        )
        forget = Control(
            region=Region("west"),
            sender=stranger,
            action=ControlAction.FORGET,
            paths=("east", own),
            sent_at_ms=wall_clock_ms(),
        )
        lies: list[Any] = [
            change(TENANT, tenant("evil"), sender=stranger, sequence=1),
            change(TENANT, None, sender=stranger, sequence=2),
            change(
                TENANT, tenant("evil"), region="east", sender=own, sequence=10_000
            ),  # "your database is an old copy"
            order,
            forget,
        ]
        for lie in lies:
            await mallory.say(lie, sealed(lie, theirs))
        await mallory.say(*(heartbeat("mars", sender=stranger) for _ in range(50)))
        await mallory.say(sealed(heartbeat("west", sender=stranger, mode="left"), theirs))
        await until(lambda: len(east.quarantined()) == 2 * len(lies), "what is not believed is kept aside")
        assert set(east.codes()) == {REFUSED}
        west.writer.put(path_of("later"), tenant("ours"))
        await until(lambda: east.get(path_of("later")) == tenant("ours"), "the others go on")
        await until(lambda: REFUSED in east.conditions(), "the status says it")
        assert "says that it comes from region 'west'" in east.conditions()[REFUSED]
        await until(lambda: heard(east) == ["west"], "who has the key is heard, nobody else")
        assert east.report()["database_id"] == own
        refused = 2 * len(lies) + 51
        await until(lambda: east.report()["tally"].get("refused.signature-invalid") == refused, "all are counted")
    assert east.get(TENANT) == tenant("ours")
    assert east.status().identity.paused is None
    assert not consumed(east, stranger), "the gap stays seen"


@pytest.mark.parametrize("recovery", ["retry", "anti-entropy"])
async def test_what_a_region_with_another_key_did_meanwhile_is_not_lost(
    recovery: str, make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    east = make_site("east", signing=signing(tmp_path, "new"))
    west = make_site("west", signing=signing(tmp_path, "old"))
    async with east.running(), west.running():
        await active(east, west)
        for number in range(5):
            west.writer.put(path_of(f"w{number}"), tenant("west"))
            east.writer.put(path_of(f"e{number}"), tenant("east"))
        await until(lambda: east.codes().count(REFUSED) == 5, "east refuses west's")
        await until(lambda: west.codes().count(REFUSED) == 5, "west refuses east's")
        sender = west.report()["database_id"]
    assert not consumed(east, sender)
    assert len(east.picture()) == len(west.picture()) == 5
    for site in (east, west):
        site.overrides["signing"] = signing(tmp_path, "new", "old")
    async with east.running(), west.running():
        if recovery == "anti-entropy":
            for site in (east, west):
                for row in site.quarantined():
                    await site.do("quarantine-discard", id=str(row.id))
        else:
            for row in east.quarantined():
                assert (await east.do("quarantine-retry", id=str(row.id))).answer == "decoded and handled"
            assert len(east.picture()) <= 10
        await equal(east, west)
        await until(lambda: len(east.picture()) == 10, "nothing is lost")
        await until(lambda: len(west.picture()) == 10, "nor there")


async def test_a_message_that_is_refused_again_stays_in_the_quarantine(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    east = make_site("east", signing=signing(tmp_path, "ours"))
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(change(TENANT, tenant("x")))
        await until(east.quarantined, "it is refused")
        answer = await east.do("quarantine-retry", id=str(east.quarantined()[0].id))
        assert answer.answer == "it cannot be handled still: the message is not signed"
    assert east.codes() == [REFUSED]
    assert east.get(TENANT) is None


async def test_everything_that_was_ever_said_may_be_said_again_and_changes_nothing(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    """Whoever can publish can say again what members have signed: changes, deletes, requests, heartbeats, listings."""
    east, west = (make_site(name, signing=signing(tmp_path, "ours")) for name in ("east", "west"))
    async with east.running(), west.running(), Bystander(bus_file, "mallory") as mallory:
        await active(east, west)
        for number in range(6):
            east.writer.put(path_of(f"t{number}"), tenant("first"))
        await until(lambda: len(west.picture()) == 6, "all arrive")
        for number in range(4):
            west.writer.put(path_of(f"t{number}"), tenant("second"))
        west.writer.delete(path_of("t5"))
        await equal(east, west)
        east.writer.put(path_of("t5"), tenant("again"))  # what was deleted, lives again
        await until(lambda: west.get(path_of("t5")) == tenant("again"), "it does")
        for site in (east, west):
            await site.do("pause", everywhere="true")
            await site.do("resume", everywhere="true")
            await until(lambda: not east.status().identity.paused, "east goes on")
            await until(lambda: not west.status().identity.paused, "west goes on")
        await until(lambda: {"change", "heartbeat", "control"} <= kinds(messages_on(bus_file)), "every kind was said")
        await until(lambda: east.status().outbox.depth == west.status().outbox.depth == 0, "nothing waits")
        await equal(east, west)
        history = messages_on(bus_file)
        before = {site.name: (site.picture(), registers(site), site.status().counts.conflicts) for site in (east, west)}
        for order in (history, history[::-1]):
            await mallory.say(*order)
            east.writer.put(path_of("mark"), tenant(str(len(messages_on(bus_file)))))
            await equal(east, west)
            mark = east.get(path_of("mark"))
            await until(lambda mark=mark: west.get(path_of("mark")) == mark, "what comes after is read")  # type: ignore[misc]
        await until(lambda: backlog(bus_file, "west") <= 2, "west has read all")
        await until(lambda: backlog(bus_file, "east") <= 2, "east has read all")
        for site in (east, west):
            await until(lambda site=site: ignored(site) >= 4, "old requests are not obeyed again")  # type: ignore[misc, arg-type]
            assert site.status().identity.paused is None
            site.writer.delete(path_of("mark"))
        await until(lambda: not east.get(path_of("mark")) and not west.get(path_of("mark")), "the mark is gone")
    for site in (east, west):
        picture, known, conflicts = before[site.name]
        assert site.picture() == picture
        assert [row for row in registers(site) if row[0] != path_of("mark")] == known
        assert site.status().counts.conflicts == conflicts
        assert not site.quarantined()


async def test_old_requests_are_known_after_a_restart(make_site: MakeSite, bus_file: Path, tmp_path: Path) -> None:
    east, west = (make_site(name, signing=signing(tmp_path, "ours")) for name in ("east", "west"))
    async with east.running(), west.running():
        await active(east, west)
        await until(lambda: west.report()["peers"], "west has heard east")
        await east.do("pause", everywhere="true")
        await until(lambda: west.status().identity.paused, "it is obeyed")
        await west.do("resume")
    asked = [each for each in messages_on(bus_file) if each.properties["syncer.kind"] == "control"]
    assert asked
    async with west.running(), Bystander(bus_file, "mallory") as mallory:
        await active(west)
        await mallory.say(*asked, sealed(change(TENANT, tenant("later"), region="north"), keyring("ours")))
        await until(lambda: west.get(TENANT) == tenant("later"), "what comes after is read")
    assert west.status().identity.paused is None


async def test_a_native_region_that_is_named_is_heard_and_another_one_is_not(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    east = make_site("east", signing=signing(tmp_path, "ours", native_regions=["pulsar-north"]))

    def native(cluster: str, name: str) -> Outgoing:
        event = NativeEvent(path_of(name), tenant(cluster), cluster, NativeType.MODIFIED, wall_clock_ms())
        return Outgoing(encode_native(event), {})

    async with east.running(), Bystander(bus_file) as bystander:
        await active(east)
        await bystander.say(native("pulsar-south", "other"), native("pulsar-north", "named"))
        await until(lambda: east.get(path_of("named")) == tenant("pulsar-north"), "it is heard")
        await until(east.quarantined, "the other one is not")
    assert east.codes() == [REFUSED]
    assert east.get(path_of("other")) is None


async def test_a_group_gets_its_first_key_region_by_region(make_site: MakeSite, bus_file: Path, tmp_path: Path) -> None:
    east, west = make_site("east", signing=signing(tmp_path, "ours", accept_unsigned=True)), make_site("west")
    async with east.running(), west.running():
        await active(east, west)
        west.writer.put(path_of("w"), tenant("unsigned"))
        east.writer.put(path_of("e"), tenant("signed"))
        await until(lambda: len(east.picture()) == len(west.picture()) == 2, "both take what the other says")
        await until(lambda: "unsigned-accepted" in east.conditions(), "the status warns")
        await until(lambda: "messages-unsigned" in west.conditions(), "and there too")
    assert not east.quarantined()
    properties = [each.properties for each in messages_on(bus_file)]
    assert {SIGNATURE in each for each in properties if each["syncer.region"] == "east"} == {True}
    assert {SIGNATURE in each for each in properties if each["syncer.region"] == "west"} == {False}


async def test_without_a_key_the_log_and_the_status_warn_once(east: Site) -> None:
    with structlog.testing.capture_logs() as logs:
        async with east.running():
            await active(east)
            await until(lambda: "messages-unsigned" in east.conditions(), "the status warns")
    warned = [line for line in logs if line["event"] == "messages_unsigned"]
    assert [line["log_level"] for line in warned] == ["warning"]
    assert "[signing] key_files" in warned[0]["cause"]


async def test_a_bad_key_file_ends_the_start_before_anything_is_opened(east: Site, tmp_path: Path) -> None:
    file = Path(key_file(tmp_path, "ours"))
    file.chmod(0o644)
    with pytest.raises(BaseExceptionGroup) as caught:
        async with east.running(signing={"key_files": [str(file)]}):
            await until(lambda: False, "it ends")
    assert "mode 0644" in str(caught.value.exceptions)
    assert not east.database.exists()


def test_the_helper_signs_as_a_region_does() -> None:
    """Else the tests above would refuse for another reason than they say."""
    message = sealed(heartbeat(), keyring("theirs"))
    keyring("theirs").check(message.payload, message.properties)
    assert encode(heartbeat()).properties.keys() | {SIGNATURE} == message.properties.keys()
