"""What waits, for a person or for its time: held, parked, in conflict; and what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syncer.bus.embedded import set_link
from syncer.conflict.register import HoldReason, ParkReason
from syncer.model import EventType, MetaPath
from syncer.operations.decisions import lost_in
from syncer.paths import CLUSTERS
from syncer.state.contract.operations import OperationState
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, change, distinct_changes_on
from tests.shell.region import NAMESPACE, TENANT, TOPIC, Site, active, equal, path_of, tenant, tenants


def policies(*clusters: str, **fields: object) -> bytes:
    """A namespace's policies."""
    document = {"replication_clusters": list(clusters), "bundles": {"numBundles": 4}, **fields}
    return json.dumps(document, separators=(",", ":")).encode()


def partitions(count: int) -> bytes:
    """A partitioned topic's declaration."""
    return b'{"partitions":%d}' % count


@pytest.mark.parametrize("decision", ["confirm", "undo"])
async def test_a_mass_delete_waits_for_a_person(decision: str, make_site: MakeSite, west: Site, bus_file: Path) -> None:
    east = make_site("east", limits={"max_deletes": 3})
    async with east.running(), west.running():
        await active(east, west)
        for number in range(12):
            east.writer.put(path_of(f"t{number}"), tenant(str(number)))
        await until(lambda: len(west.picture()) == 12, "both hold all")
        west.writer.put(path_of("other"), tenant())
        await until(lambda: east.get(path_of("other")) is not None, "the thirteenth")
    for number in range(8):
        east.writer.delete(path_of(f"t{number}"))
    async with east.running(), west.running():
        await until(lambda: len(east.holds()) == 8, "the deletes are held")
        assert {row.hold.reason for row in east.holds().values()} == {HoldReason.MASS_DELETE}
        west.writer.put(path_of("other"), tenant("changed"))
        await until(lambda: east.get(path_of("other")) == tenant("changed"), "others go on")
        assert len(west.picture()) == 13
        for path in east.holds():
            answer = await east.decide(decision, MetaPath(path))
            assert answer.code == ""
        await equal(east, west)
        await until(lambda: east.holds() == {}, "nothing waits any more")
        assert len(west.picture()) == (5 if decision == "confirm" else 13)
    deletes = [event for event in distinct_changes_on(bus_file) if event.type is EventType.DELETED]
    assert len(deletes) == (8 if decision == "confirm" else 0)


async def test_daemons_that_are_killed_again_and_again_let_no_more_deletes_pass_than_one(
    make_site: MakeSite, west: Site, bus_file: Path
) -> None:
    """Neither a daemon that crashes in a loop nor standbys that take turns."""
    east = make_site("east", limits={"max_deletes": 3, "max_delete_fraction": 0.5, "delete_window": "1h"})
    for number in range(12):
        east.writer.put(path_of(f"t{number}"), tenant(str(number)))
    async with west.running():
        east.start()
        try:
            await active(east)
            await until(lambda: len(west.picture()) == 12, "both hold all")
            for number in range(0, 6, 2):
                for doomed in (number, number + 1):
                    east.writer.delete(path_of(f"t{doomed}"))

                def met(doomed: int = number) -> bool:
                    gone = east.ask(lambda views: views.register(path_of(f"t{doomed}")))
                    return not gone.stored_alive

                await until(met, "it is noticed")
                east.kill()
                east.start()
        finally:
            east.kill()
        passed = [event for event in distinct_changes_on(bus_file) if event.type is EventType.DELETED]
        assert len(passed) <= 3
        assert len(east.holds()) >= 3
        assert {row.hold.reason for row in east.holds().values()} == {HoldReason.MASS_DELETE}


@pytest.mark.parametrize("decision", ["confirm", "reject"])
async def test_fewer_partitions_wait_for_a_person(decision: str, east: Site, west: Site) -> None:
    async with east.running(), west.running():
        await active(east, west)
        for path, value in ((TENANT, tenant()), (NAMESPACE, policies("east", "west")), (TOPIC, partitions(8))):
            west.writer.put(path, value)
        await until(lambda: east.get(TOPIC) is not None, "both hold it")
        west.writer.put(TOPIC, partitions(4))
        await until(lambda: TOPIC in east.holds(), "it is held")
        assert east.holds()[TOPIC].hold.reason is HoldReason.FEWER_PARTITIONS
        request = east.requests(TOPIC)[decision]
        stale = await east.do(decision, **{**request.arguments, "stamp": "1700000000000@west"})
        assert stale.code == "precondition-failed"
        assert "Look at it again" in stale.answer
        answer = await east.do(decision, **request.arguments)
        assert answer.code == ""
        if decision == "confirm":
            await until(lambda: b'"partitions":4' in (east.get(TOPIC) or b""), "it is written")
        else:
            await until(lambda: b'"partitions":8' in (west.get(TOPIC) or b""), "our value wins everywhere")
        await equal(east, west)
        assert east.holds() == {}
        assert (await east.do(decision, **request.arguments)).code == "precondition-failed"


async def test_a_policy_with_an_unknown_cluster_waits_until_the_cluster_is_known(east: Site, bus_file: Path) -> None:
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(change(TENANT, tenant(allowedClusters=["east", "mars"])))
        await until(lambda: TENANT in east.holds(), "it is held")
        hold = east.holds()[TENANT].hold
        assert (hold.reason, hold.detail) == (HoldReason.UNKNOWN_CLUSTER, "not known here: mars")
        east.writer.put(f"{CLUSTERS}/mars", b"{}")
        await until(lambda: east.get(TENANT) is not None, "the cluster is known now")
    assert east.holds() == {}


async def test_known_clusters_are_known_before_the_first_write(east: Site, bus_file: Path) -> None:
    async with east.running():
        await active(east)
    async with Bystander(bus_file) as west:
        await west.say(change(TENANT, tenant(allowedClusters=["east", "west"])))
        async with east.running():
            await until(lambda: east.get(TENANT) is not None, "what waited on the bus is written")
    assert east.holds() == {}


async def test_the_loser_of_a_conflict_is_restored_everywhere(east: Site, west: Site, bus_file: Path) -> None:
    async with east.running(), west.running():
        await active(east, west)
        east.writer.put(TENANT, tenant("first"))
        await until(lambda: west.get(TENANT) == tenant("first"), "both hold it")
        set_link(bus_file, "west", up=False)
        east.writer.put(TENANT, tenant("loses", extra={"kept": True}))
        await until(lambda: len(distinct_changes_on(bus_file)) == 2, "one is published")
        west.writer.put(TENANT, tenant("wins"))
        await until(lambda: len(distinct_changes_on(bus_file)) == 3, "the later one too")
        set_link(bus_file, "west", up=True)
        await until(lambda: east.get(TENANT) == tenant("wins"), "the later one wins")
        await equal(east, west)
        for site in (east, west):
            await until(lambda site=site: bool(site.ask(lambda views: views.conflicts(10))), "it is recorded")  # type: ignore[misc, arg-type]
            (row,) = site.ask(lambda views: [views.conflict(each.id) for each in views.conflicts(10)])
            assert row.value == tenant("loses", extra={"kept": True})
            assert (row.loser.region, row.winner.region) == ("east", "west")
        unsaid = await west.do("restore", conflict=str(row.id))
        assert (unsaid.code, "look again" in unsaid.answer) == ("precondition-failed", True)
        answer = await west.restore(row.id)
        assert answer.answer.startswith("the value of ")
        for site in (east, west):
            await until(lambda site=site: site.get(TENANT) == tenant("loses", extra={"kept": True}), "it is back")  # type: ignore[misc]
        assert west.ask(lambda views: views.conflict(row.id)).restored_at_ms is not None
        assert (await west.do("restore", conflict="99")).code == "not-found"
        assert (await west.do("restore", conflict="x")).code == "precondition-failed"


async def in_conflict(east: Site, west: Site, bus_file: Path) -> int:
    """East has lost a conflict against west, and both know of it; its number in west."""
    await active(east, west)
    east.writer.put(TENANT, tenant("first"))
    await until(lambda: west.get(TENANT) == tenant("first"), "both hold it")
    set_link(bus_file, "west", up=False)
    east.writer.put(TENANT, tenant("loses"))
    await until(lambda: len(distinct_changes_on(bus_file)) == 2, "one is published")
    west.writer.put(TENANT, tenant("wins"))
    await until(lambda: len(distinct_changes_on(bus_file)) == 3, "the later one too")
    set_link(bus_file, "west", up=True)
    await until(lambda: east.get(TENANT) == tenant("wins"), "the later one wins")
    await until(lambda: bool(west.ask(lambda views: views.conflicts(10))), "it is recorded")
    (row,) = west.ask(lambda views: views.conflicts(10))
    number: int = row.id
    return number


@pytest.mark.parametrize("writer", ["east", "west"])
async def test_what_is_written_after_a_look_at_a_conflict_is_not_overruled(
    writer: str, east: Site, west: Site, bus_file: Path
) -> None:
    """By the command that looks, waits for a person to type, and asks; somebody writes meanwhile, here or elsewhere."""
    async with east.running(), west.running():
        number = await in_conflict(east, west, bus_file)
        request = west.ask(lambda views: lost_in(views, number)).restoring
        site = east if writer == "east" else west
        site.writer.put(TENANT, tenant("later"))
        for each in (east, west):
            await until(lambda each=each: each.get(TENANT) == tenant("later"), "it is everywhere")  # type: ignore[misc]
            await until(lambda each=each: stored_in(each) == tenants.digest(tenant("later")), "it is known")  # type: ignore[misc, arg-type]
        answer = await west.do(request.kind, **request.arguments)
        assert answer.code == "precondition-failed"
        assert f"Look at it again with 'syncer conflicts show {number}'" in answer.answer
        await equal(east, west)
        assert west.get(TENANT) == tenant("later")
        assert (await west.restore(number)).code == ""
        await until(lambda: east.get(TENANT) == west.get(TENANT) == tenant("loses"), "who looks again may overrule it")


def stored_in(site: Site) -> bytes | None:
    """Digest of what the store of a region is known to hold."""
    register = site.ask(lambda views: views.register(TENANT))
    digest: bytes | None = register.stored_digest
    return digest


async def test_a_write_that_nobody_has_read_yet_survives_a_decision(east: Site, west: Site, bus_file: Path) -> None:
    """The daemon is down when it is asked, and when somebody writes: it meets both at its start."""
    async with east.running(), west.running():
        number = await in_conflict(east, west, bus_file)
    request = west.ask(lambda views: lost_in(views, number)).restoring
    asked = west.ask(lambda views: views.ask(request.kind, request.arguments, "a test", ""))
    west.writer.put(TENANT, tenant("later"))
    async with east.running(), west.running():
        await until(lambda: west.ask(lambda views: views.operation(asked)).state is OperationState.DONE, "it is done")
        await until(lambda: east.get(TENANT) == west.get(TENANT) == tenant("later"), "the later one wins")
        await equal(east, west)
        rows = west.ask(lambda views: [views.conflict(row.id) for row in views.conflicts(10)])
        assert tenant("loses") in [row.value for row in rows]


async def test_what_is_held_after_a_look_is_not_rejected_by_it(east: Site, west: Site) -> None:
    async with east.running(), west.running():
        await active(east, west)
        for path, value in ((TENANT, tenant()), (NAMESPACE, policies("east", "west")), (TOPIC, partitions(8))):
            west.writer.put(path, value)
        await until(lambda: east.get(TOPIC) is not None, "both hold it")
        west.writer.put(TOPIC, partitions(4))
        await until(lambda: TOPIC in east.holds(), "it is held")
        former = east.requests(TOPIC)
        west.writer.put(TOPIC, partitions(6))
        await until(lambda: east.requests(TOPIC)["confirm"] != former["confirm"], "another one is held")
        for kind, request in former.items():
            answer = await east.do(kind, **request.arguments)
            assert answer.code == "precondition-failed"
            assert "another change is held now" in answer.answer
        assert b'"partitions":6' in (west.get(TOPIC) or b"")
        assert b'"partitions":8' in (east.get(TOPIC) or b""), "it waits"
        assert (await east.decide("confirm", TOPIC)).code == ""
        await equal(east, west)
        assert b'"partitions":6' in (east.get(TOPIC) or b"")


@pytest.mark.parametrize("kind", ["confirm", "reject", "undo", "release"])
async def test_a_decision_of_an_older_version_is_refused_with_a_hint(kind: str, east: Site, west: Site) -> None:
    """It may stand in the database at an upgrade; it says neither what was shown, nor that anything was."""
    async with east.running(), west.running():
        await active(east, west)
        for path, value in ((TENANT, tenant()), (NAMESPACE, policies("east", "west")), (TOPIC, partitions(8))):
            west.writer.put(path, value)
        await until(lambda: east.get(TOPIC) is not None, "both hold it")
        west.writer.put(TOPIC, partitions(4))
        await until(lambda: TOPIC in east.holds(), "it is held")
        answer = await east.do(kind, path=TOPIC, stamp=str(east.holds()[TOPIC].hold.stamp))
        assert answer.code == "precondition-failed"
        assert "look again, and decide anew" in answer.answer
        assert TOPIC in east.holds()


async def test_a_child_waits_for_its_parent_and_lands_after_it(east: Site, bus_file: Path) -> None:
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(change(TOPIC, partitions(3), sequence=1), change(NAMESPACE, policies("east"), sequence=2))
        await until(lambda: east.status().counts.parked == 2, "both are parked")
        parked = east.ask(lambda views: {row.path: row.parked.reason for row in views.parked(10)})
        assert parked == {NAMESPACE: ParkReason.PARENT_MISSING, TOPIC: ParkReason.PARENT_MISSING}
        await west.say(change(path_of("other"), tenant(), sequence=3))
        await until(lambda: east.get(path_of("other")) is not None, "others go on")
        assert east.get(NAMESPACE) is None
        await west.say(change(TENANT, tenant(), sequence=4))
        await until(lambda: east.get(TOPIC) is not None, "all land")
        await until(lambda: east.status().counts.parked == 0, "nothing is parked")
    assert b"numBundles" in (east.get(NAMESPACE) or b""), "born with its author's bundles"


async def test_a_parents_delete_that_meets_a_living_child_too_long_revives_the_parent(
    make_site: MakeSite, west: Site, bus_file: Path
) -> None:
    east = make_site("east", limits={"park_grace": "1s"})
    async with east.running(), west.running():
        await active(east, west)
        west.writer.put(TENANT, tenant("parent"))
        await until(lambda: east.get(TENANT) is not None, "both hold the parent")
        set_link(bus_file, "west", up=False)
        east.writer.put(NAMESPACE, policies("east", "west"))
        west.writer.delete(TENANT)
        await until(lambda: len(distinct_changes_on(bus_file)) == 3, "both are published")
        set_link(bus_file, "west", up=True)
        await until(lambda: west.get(NAMESPACE) is not None, "the child is everywhere")
        await until(lambda: west.get(TENANT) == tenant("parent"), "under its parent, which is back")
        await equal(east, west)
    assert east.get(TENANT) == tenant("parent")


async def test_an_unknown_operation_and_one_without_its_argument_are_answered(east: Site) -> None:
    async with east.running():
        await active(east)
        assert (await east.do("dance")).code == "not-found"
        assert (await east.do("confirm")).code == "precondition-failed"
        assert (await east.do("confirm", path=MetaPath("/admin/policies/none"))).code == "precondition-failed"
        assert (await east.do("release", path=TENANT, stamp="soon")).code == "precondition-failed"
        assert (await east.do("quarantine-retry", id="9")).code == "not-found"
