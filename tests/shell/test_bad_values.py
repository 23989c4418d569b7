"""Bad values in the region's own store: left as they are, kept with the reason, and good again by themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from syncer.conflict.register import HoldReason
from syncer.daemon import Daemon
from syncer.model import MetaPath
from syncer.stores.contract import Entry, MetadataStore
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, change, changes_on, distinct_changes_on
from tests.shell.region import TENANT, Site, active, path_of, tenant


async def test_an_unreadable_value_is_held_while_a_remote_change_waits_and_heals_when_corrected(
    east: Site, west: Site, bus_file: Path
) -> None:
    async with east.running(), west.running():
        await active(east, west)
        east.writer.put(TENANT, tenant("first"))
        await until(lambda: west.get(TENANT) == tenant("first"), "both hold it")
        east.writer.put(TENANT, b'{"adminRoles": [')
        await until(lambda: TENANT in east.holds(), "it is held")
        assert east.holds()[TENANT].hold.reason is HoldReason.UNREADABLE
        (row,) = east.quarantined()
        assert (row.poison.origin, row.poison.code, row.poison.path) == ("store", "value-invalid", TENANT)
        assert row.poison.payload == b'{"adminRoles": ['

        west.writer.put(TENANT, tenant("remote"))
        west.writer.put(path_of("other"), tenant())
        await until(lambda: east.get(path_of("other")) is not None, "other paths go on")
        assert east.get(TENANT) == b'{"adminRoles": ['
        refused = await east.decide("confirm", TENANT)
        assert refused.code == "precondition-failed"

        east.writer.put(TENANT, tenant("first"))  # corrected to what it was: the remote change may be written now
        await until(lambda: east.get(TENANT) == tenant("remote"), "the remote change lands")
        await until(lambda: TENANT not in east.holds(), "nothing is held any more")
    assert [event.value for event in distinct_changes_on(bus_file) if event.path == TENANT] == [
        tenant("first"),
        tenant("remote"),
    ]


async def test_what_brokers_could_not_read_stays_where_it_was_written(east: Site, west: Site, bus_file: Path) -> None:
    async with east.running(), west.running():
        await active(east, west)
        east.writer.put(TENANT, tenant("first"))
        await until(lambda: west.get(TENANT) == tenant("first"), "both hold it")
        east.writer.put(TENANT, b'{"adminRoles":5}')
        await until(lambda: TENANT in east.holds(), "it is held")
        hold = east.holds()[TENANT].hold
        assert hold.reason is HoldReason.UNREADABLE
        assert hold.detail == "brokers here cannot read it: adminRoles: an array is due, found a number 5"
        assert west.get(TENANT) == tenant("first")
        assert (await east.decide("confirm", TENANT)).code == "precondition-failed"

        east.writer.put(TENANT, b"\xef\xbb\xbf" + tenant("second") + b"\n")
        await until(lambda: west.get(TENANT) == tenant("second"), "what brokers can read goes on as plain JSON")
        await until(lambda: TENANT not in east.holds(), "nothing is held any more")
    assert [event.value for event in distinct_changes_on(bus_file) if event.path == TENANT] == [
        tenant("first"),
        tenant("second"),
    ]


async def test_what_brokers_could_not_read_is_not_written_without_a_person(east: Site, bus_file: Path) -> None:
    """Its author runs a program that does not ask what brokers can read."""
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(change(TENANT, b'{"adminRoles":5}'))
        await until(lambda: TENANT in east.holds(), "it is held")
        hold = east.holds()[TENANT].hold
        assert hold.reason is HoldReason.UNREADABLE_TO_BROKERS
        assert hold.detail == "brokers here could not read it: adminRoles: an array is due, found a number 5"
        assert east.get(TENANT) is None
        assert (await east.decide("confirm", TENANT)).code == ""
        await until(lambda: east.get(TENANT) is not None, "a person has let it pass")
        assert TENANT not in east.holds()


async def test_a_value_that_still_cannot_be_read_comes_back_when_it_is_tried_again(
    east: Site, west: Site, bus_file: Path
) -> None:
    async with east.running(), west.running():
        await active(east, west)
        east.writer.put(TENANT, b"null")
        await until(lambda: TENANT in east.holds(), "it is held")
        (first,) = east.quarantined()
        west.writer.put(TENANT, tenant("remote"))
        await until(lambda: east.status().counts.due == 1, "the remote change waits")

        assert (await east.do("quarantine-retry", id=str(first.id))).code == ""
        await until(lambda: [row.id for row in east.quarantined()] not in ([], [first.id]), "it is set aside once more")
        (again,) = east.quarantined()
        assert (again.poison.path, again.poison.payload) == (TENANT, b"null")
        assert east.holds()[TENANT].hold.reason is HoldReason.UNREADABLE
        assert east.get(TENANT) == b"null", "what waits was not written over it meanwhile"
    assert [event.value for event in distinct_changes_on(bus_file) if event.path == TENANT] == [tenant("remote")]


async def test_a_correction_that_is_a_change_meets_the_remote_one_as_a_conflict(east: Site, west: Site) -> None:
    async with east.running(), west.running():
        await active(east, west)
        east.writer.put(TENANT, tenant("first"))
        await until(lambda: west.get(TENANT) == tenant("first"), "both hold it")
        east.writer.put(TENANT, b"null")
        await until(lambda: TENANT in east.holds(), "it is held")
        west.writer.put(TENANT, tenant("remote"))
        await until(lambda: east.status().counts.due == 1, "the remote change is known and waits")
        east.writer.put(TENANT, tenant("corrected"))
        for site in (east, west):
            await until(lambda site=site: site.get(TENANT) == tenant("corrected"), "the later one wins")  # type: ignore[misc]
        conflicts = west.ask(lambda views: [views.conflict(each.id) for each in views.conflicts(10)])
        conflicts += east.ask(lambda views: [views.conflict(each.id) for each in views.conflicts(10)])
    assert any(row.value == tenant("remote") for row in conflicts), "the loser is kept whole"


async def test_values_that_are_no_json_at_first_contact_are_kept_and_left(east: Site, bus_file: Path) -> None:
    east.writer.put(TENANT, b"\x00\x01binary")
    east.writer.put(path_of("good"), tenant())
    async with east.running():
        await active(east)
        await until(lambda: len(distinct_changes_on(bus_file)) == 1, "the good one is published")
        await until(lambda: east.codes() == ["value-invalid"], "the bad one is quarantined")
        east.writer.delete(TENANT)
        await until(lambda: not east.holds(), "it is gone, nothing is held")
    assert [event.path for event in distinct_changes_on(bus_file)] == [path_of("good")]
    assert east.status().counts.due == 0


class Ephemeral(SqliteStore):
    """A store in which one path belongs to a session, as a node of ZooKeeper may."""

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        """Read, with the mark."""
        found = await super().read(paths)
        return {path: entry and _marked(entry) for path, entry in found.items()}

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        """Scan, with the mark."""
        async for page in super().scan(prefix):
            yield tuple(_marked(entry) for entry in page)


def _marked(entry: Entry) -> Entry:
    return replace(entry, ephemeral=True) if entry.path == TENANT else entry


class OnEphemeral(Daemon):
    """The daemon on such a store."""

    def _make_store(self) -> MetadataStore:
        settings = self.config.store_settings
        assert isinstance(settings, SqliteConfig)
        return Ephemeral(settings)


async def test_an_ephemeral_node_is_never_replicated_nor_overwritten(east: Site, bus_file: Path) -> None:
    east.writer.put(TENANT, tenant("session"))
    async with anyio.create_task_group() as tasks, Bystander(bus_file) as west:
        tasks.start_soon(OnEphemeral(east.config()).run)
        await active(east)
        await until(lambda: east.codes() == ["value-invalid"], "it is quarantined")
        assert "ephemeral" in east.quarantined()[0].poison.detail
        await west.say(change(TENANT, tenant("remote")), change(path_of("other"), tenant(), sequence=2))
        await until(lambda: east.get(path_of("other")) is not None, "others go on")
        assert east.get(TENANT) == tenant("session")
        tasks.cancel_scope.cancel()
    assert not [event for event in changes_on(bus_file) if event.stamp.region == "east"]


async def test_a_value_too_large_for_the_bus_is_quarantined_and_published_when_it_fits(
    make_site: MakeSite, bus_file: Path
) -> None:
    east = make_site("east")
    huge, small = tenant("a" * 40_000), tenant("b")
    async with east.running(bus={"max_message_bytes": 20_000}):
        await active(east)
        east.writer.put(path_of("before"), small)
        east.writer.put(TENANT, huge)
        east.writer.put(path_of("after"), small)
        await until(lambda: len(distinct_changes_on(bus_file)) == 2, "the others are published")
        await until(lambda: east.codes() == ["unsendable"], "the large one is quarantined")
        assert east.status().outbox.depth == 0
        row = east.quarantined()[0]
        assert (row.poison.origin, row.poison.path, row.poison.payload) == ("outbox", TENANT, huge)
    assert {event.path for event in changes_on(bus_file)} == {path_of("before"), path_of("after")}
    async with east.running():
        await until(lambda: east.report().get("fence") == 2, "it is active again")
        answer = await east.do("quarantine-retry", id=str(east.quarantined()[0].id))
        assert answer.answer == "it is published again"
        await until(lambda: len(distinct_changes_on(bus_file)) == 3, "it is on the bus")
    assert changes_on(bus_file)[-1].value == huge
    assert east.quarantined() == []


async def test_an_unsendable_change_that_was_replaced_is_not_published_late(east: Site, bus_file: Path) -> None:
    async with east.running(bus={"max_message_bytes": 20_000}):
        await active(east)
        east.writer.put(TENANT, tenant("a" * 40_000))
        await until(lambda: east.codes() == ["unsendable"], "it is quarantined")
        east.writer.put(TENANT, tenant("small"))
        await until(lambda: len(distinct_changes_on(bus_file)) == 1, "the newer one is published")
        answer = await east.do("quarantine-retry", id=str(east.quarantined()[0].id))
    assert answer.answer == "a newer change has taken its place: there is nothing left to publish"
    assert [event.value for event in distinct_changes_on(bus_file)] == [tenant("small")]


async def test_a_remote_value_that_the_store_refuses_is_held_and_others_go_on(east: Site, bus_file: Path) -> None:
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(change(TENANT, tenant("x" * 1_200_000)), change(path_of("other"), tenant(), sequence=2))
        await until(lambda: east.get(path_of("other")) is not None, "others go on")
        await until(lambda: TENANT in east.holds(), "it is held")
        assert east.holds()[TENANT].hold.reason is HoldReason.STORE_REFUSED
        assert east.codes() == ["value-refused"]
        await west.say(change(TENANT, tenant("small"), sequence=3))
        await until(lambda: east.get(TENANT) == tenant("small"), "a newer one that fits is written")
        await until(lambda: not east.holds(), "nothing is held")
    assert east.holds() == {}
