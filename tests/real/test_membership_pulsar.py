"""Who belongs to the group, between real clusters: regions that join, leave, are forgotten and are replaced.

Every test has regions of its own, with a topic and tenants of their own. ``north`` is one more, beside the broker of
us-east, whose store is a part of that ZooKeeper into which no broker looks.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.lab.process import ServerFailed
from deploy.lab.region import LabRegion, differing
from syncer.conflict.register import HoldReason
from syncer.conflict.tombstones import EpochPhase
from syncer.dispositions import ExitCode
from syncer.errors import StateError
from syncer.inspection.first_contact import plan_of_contact
from syncer.log import configure
from syncer.model import MetaPath
from syncer.paths import CLUSTERS, PARTITIONED_TOPICS, POLICIES, namespace_path, tenant_path
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.support.logs import logging_restored
from tests.support.synced import BOTH, Side, Synced, bus_topic, tenant

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd")

ASK: Final = {"first_contact": "ask"}
WAIT: Final = ("--timeout", "40")
JOIN: Final = ("regions", "join", "--confirm", "--yes", *WAIT)
LEAVE: Final = ("regions", "leave", "--yes", *WAIT)
SILENCE: Final = "3s"
FIELD: Final = "replication_clusters"
ROWS: Final = 1000
REFUSED: Final = rf"(?s)exit code {ExitCode.REFUSED}: .* has left the group, or was forgotten.*that was never used"

_numbers = itertools.count(1)


class Group:
    """The regions of one test, and the names of its tenants.

    Args:
        pair: The pair of clusters.
        folder: Holds the regions' files.
        chroot: Store of ``north``, in us-east's ZooKeeper.
    """

    def __init__(self, pair: PulsarPair, folder: Path, chroot: str) -> None:
        self._clusters, self._folder, self._chroot = pair.clusters, folder, chroot
        self._mark = f"member-{os.getpid()}-{next(_numbers)}"
        self._topic = bus_topic("bus-of-members")
        self.regions: list[LabRegion] = []

    def pair(self, *, asking: bool = False) -> Synced:
        """A region beside each cluster, the daemons not started yet.

        Args:
            asking: us-west waits to be let in by a person.
        """
        peers: dict[str, object] = {"expected": [self.named("east")], **ASK} if asking else {}
        here, there = self.region("us-east", "east"), self.region("us-west", "west", peers=peers)
        return Synced(Side(self._clusters["us-east"], here), Side(self._clusters["us-west"], there), self._topic)

    def north(self, pair: Synced) -> LabRegion:
        """A third region, whose store knows the clusters and holds nothing else."""
        store = {**pair.east.cluster.store_config, "chroot": self._chroot}
        with pair.zookeeper() as zookeeper:
            for name in BOTH:
                zookeeper.create(f"{self._chroot}{CLUSTERS}/{name}", b"{}", makepath=True)
        return self.region("us-east", "north", subscription="north", store=store)

    def region(
        self, cluster: str, name: str, *, subscription: str | None = None, **tables: Mapping[str, object]
    ) -> LabRegion:
        """A region of the group."""
        rules = [
            {"pattern": f"{tree}/{self._mark}-*{below}", "direction": "both"}
            for tree in (POLICIES, PARTITIONED_TOPICS)
            for below in ("", "/**")
        ]
        made = LabRegion.beside(
            self._clusters[cluster],
            self._folder / name,
            name=self.named(name),
            topic=self._topic,
            subscription=subscription,
            heartbeat="250ms",
            scope={"rules": rules},
            limits={"min_deletes": 1000, "tombstone_grace": "1ms"},  # of a few tenants, any delete is many
            **{**tables, "peers": {"silence": SILENCE, **tables.get("peers", {})}},
        )
        self.regions.append(made)
        return made

    def named(self, name: str) -> str:
        """A region or a tenant of this group."""
        return f"{self._mark}-{name}"

    def path(self, name: str) -> MetaPath:
        """Of that tenant."""
        return tenant_path(self.named(name))

    def make(self, side: Side, name: str, *roles: str) -> MetaPath:
        """Have a broker make a tenant; its path."""
        side.send("PUT", f"tenants/{self.named(name)}", tenant(*roles))
        return self.path(name)

    def write_in_north(self, pair: Synced, name: str, *roles: str) -> None:
        """Somebody writes into the store of ``north``, where the tenant is."""
        with pair.zookeeper() as zookeeper:
            zookeeper.set(self._chroot + self.path(name), json.dumps(tenant(*roles)).encode())

    def roles(self, region: LabRegion, name: str) -> list[str] | None:
        """Roles of a tenant, as a store holds them; ``None``: there is no such tenant."""
        value = region.entries().get(self.path(name))
        return None if value is None else json.loads(value)["adminRoles"]


@pytest.fixture
def group(pulsar_pair: PulsarPair, tmp_path: Path, fresh_prefix: MetaPath) -> Iterator[Group]:
    """No daemon of it outlives the test."""
    made = Group(pulsar_pair, tmp_path, fresh_prefix)
    with logging_restored():
        configure(level="error", form="console")  # looking into a store opens it; no need to tell every time
        yield made
    for region in made.regions:
        region.stop()


def start(*regions: LabRegion) -> None:
    """Have all their daemons running."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(LabRegion.start, regions))


def report(region: LabRegion) -> Mapping[str, Any]:
    """What the daemon last said of itself; nothing while its database is being made."""
    try:
        return region.status().document or {}
    except StateError:
        return {}


def codes(region: LabRegion) -> set[str]:
    """What the daemon says that a person should look at."""
    return {each["code"] for each in report(region).get("conditions", ())}


def compared(region: LabRegion) -> dict[str, str]:
    """How each peer's tree and that of the region stand."""
    return {peer: each["state"] for peer, each in report(region).get("comparisons", {}).items()}


def gone_for(region: LabRegion, other: LabRegion) -> bool:
    """Whether a region does not count any more, by what the daemon of another one says."""
    return any(each["region"] == other.name and not each["member"] for each in report(region).get("peers", ()))


def members(region: LabRegion) -> dict[str, bool]:
    """Every region that was heard, and whether it counts, as ``syncer regions list`` tells it."""
    listed = region.command("regions", "list")["items"]
    return {each["region"]: each["member"] for each in listed if not each["here"]}


def all_told(region: LabRegion) -> bool:
    """Whether every other region that was heard has told that it has all changes of this one."""
    with region.views() as views:
        identity, peers = views.identity(), views.peers()
    told: list[Mapping[str, Any]] = [each.document for each in peers if each.region != region.name]
    return all(each["consumed"].get(identity.database_id, 0) >= identity.last_sequence for each in told)


def remembers(region: LabRegion, path: MetaPath) -> bool:
    """Whether the region knows anything of a path, be it that it was deleted."""
    with region.views() as views:
        return views.register(path) is not None


def planned(region: LabRegion) -> dict[str, str]:
    """What first contact would do to each path."""
    with region.views() as views:
        return {each.path: each.becomes for each in plan_of_contact(views, ROWS, waits=True).items}


def settled(*regions: LabRegion) -> bool:
    """Whether all stores hold the same, nothing waits, and every daemon knows it of all the others that count."""
    for region in regions:
        others = {each.name for each in regions} - {region.name}
        told = compared(region)
        if not region.quiet() or any(told.get(other) != "equal" for other in others):
            return False
    return not any(differing((regions[0], other)) for other in regions[1:])


def serve(pair: Synced, spaces: Iterable[str]) -> bool:
    """Whether both brokers have these namespaces."""
    found = {tuple(sorted(side.policy(space, FIELD) or ())) for side in pair.sides for space in spaces}
    return found == {BOTH}


def told_by(pair: Synced, region: LabRegion) -> set[MetaPath]:
    """Paths of which a region of us-west has published a change of its own, as its own cluster keeps them."""
    return {event.path for event in pair.changes(pair.west) if event.stamp.region == region.name}


def tally(region: LabRegion, what: str) -> int:
    """What the daemon has counted since it was started."""
    return int(report(region).get("tally", {}).get(what, 0))


def kept_for(region: LabRegion, other: LabRegion) -> bool:
    """Whether deletes are kept in the first of two phases, for nobody but another region."""
    state = report(region).get("tombstones", {})
    waited_for = [each["region"] for each in state.get("held_up_by", ())]
    return (state.get("phase"), waited_for) == (EpochPhase.SEATING, [other.name])


def answer(said: Any) -> str:
    """What the daemon answered to the one operation that was asked for."""
    (operation,) = said["items"]
    return str(operation["answer"])


def test_a_cluster_with_metadata_of_its_own_joins_once_its_plan_is_confirmed(group: Group) -> None:
    pair = group.pair(asking=True)
    (east, west), (here, there) = pair.sides, (side.region for side in pair.sides)
    theirs, mine = group.make(east, "theirs", "theirs"), group.make(west, "mine", "mine")
    spaces = {side: f"{group.named(name)}/orders" for side, name in ((east, "theirs"), (west, "mine"))}
    for side, space in spaces.items():
        side.send("PUT", f"namespaces/{space}", {FIELD: list(BOTH)})
    theirs_below, mine_below = (namespace_path(*space.split("/")) for space in spaces.values())
    for side in pair.sides:
        both = group.make(side, "both", side.cluster.name)
        group.make(side, "same", "same")
    with pair.over_its_topic():
        here.start()
        wait_until(here.quiet, "us-east has published what it holds")
        before = here.entries(), there.entries()
        there.start()
        wanted = {both: "replaced", theirs: "created", theirs_below: "created"}
        wait_until(lambda: planned(there) == wanted, "the plan is whole")
        shown = there.command("regions", "join")
        assert {each["path"]: each["becomes"] for each in shown["items"]} == wanted
        assert (shown["waits"], shown["created"], shown["replaced"], shown["deleted"]) == (True, 2, 1, 0)
        assert shown["authors"] == {here.name: 3}
        assert shown["sent"] >= 2, "what only us-west has, and what it found before it heard of it"
        later, own = group.make(east, "later"), group.make(west, "own")
        wait_until(lambda: planned(there) == {**wanted, later: "created"}, "the plan grows by what is done there")
        wait_until(lambda: there.status().outbox.depth > shown["sent"], "and by what is done here")
        assert {path: value for path, value in here.entries().items() if path != later} == before[0]
        assert {path: value for path, value in there.entries().items() if path != own} == before[1]
        assert told_by(pair, there) == set()

        assert "takes part now" in answer(there.command(*JOIN))
        gained = {mine, mine_below, own, theirs, theirs_below, later}
        wait_until(
            lambda: all(gained <= side.region.entries().keys() for side in pair.sides), "what one had, both have"
        )
        wait_until(lambda: set(there.holds()) == {both}, "what differs is held")
        assert there.holds()[both].hold.reason is HoldReason.FIRST_CONTACT
        assert [side.roles(group.named("both")) for side in pair.sides] == [["us-east"], ["us-west"]]
        assert answer(there.command(*JOIN)).startswith("1 changes")
        wait_until(lambda: settled(here, there), "both are equal, and say so")
        wait_until(lambda: west.roles(group.named("both")) == ["us-east"], "the broker there serves the group's value")
        (kept,) = west.conflicts(both)
        assert json.loads(kept.value or b"{}")["adminRoles"] == ["us-west"], "what gave way is kept"
        wait_until(lambda: serve(pair, spaces.values()), "both brokers serve both namespaces")


def test_a_region_that_leaves_loses_nothing_and_a_new_id_takes_its_place(group: Group) -> None:
    pair = group.pair()
    (east, west), (here, there) = pair.sides, (side.region for side in pair.sides)
    north = group.north(pair)
    with pair.over_its_topic():
        start(here, there, north)
        gone = group.make(east, "gone")
        wait_until(lambda: settled(here, there, north), "all three are equal")
        north.daemon.pause()
        last = group.make(west, "last", "of us-west")
        wait_until(lambda: last in here.entries(), "us-east has the last change of us-west")
        wait_until(there.quiet, "and the topic has it")

        def kept_by_north() -> bool:
            code, said = there.ask(*LEAVE)
            assert code == ExitCode.REFUSED
            return f"{north.name} has" in answer(said)

        wait_until(kept_by_north, "leaving is refused, and who lacks the change is named")
        north.daemon.resume()
        wait_until(lambda: all_told(there), "all have told that they have everything")

        def left() -> bool:
            code, _ = there.ask(*LEAVE)
            assert code in {ExitCode.DONE, ExitCode.REFUSED}
            return code == ExitCode.DONE

        wait_until(left, "us-west leaves")
        wait_until(lambda: all(last in each.entries() for each in (here, north)), "its last change is not lost")
        wait_until(lambda: all(gone_for(each, there) for each in (here, north)), "the others know")
        wait_until(lambda: report(there)["mode"] == "left", "and so does us-west")
        said_until_then = told_by(pair, there)

        later, local = group.make(east, "later"), group.make(west, "local")
        east.send("DELETE", f"tenants/{group.named('gone')}")
        wait_until(lambda: later in north.entries() and gone not in north.entries(), "the others go on")
        wait_until(lambda: not any(remembers(each, gone) for each in (here, north)), "and wait for it no more")
        wait_until(lambda: settled(here, north), "they are equal")
        assert there.entries().keys() == {gone, last, local}
        there.stop()
        for file in there.directory.glob("state.db*"):
            file.unlink()
        there.launch()
        wait_until(lambda: "forgotten-here" in codes(there), "its id is refused, with another database too")
        with pytest.raises(ServerFailed, match=REFUSED):
            there.command("regions", "join")
        there.stop()
        assert told_by(pair, there) == said_until_then

        anew = group.region("us-west", "west-anew", peers=ASK)
        found, shown = anew.ask("diff", "--with", str(here.file))
        assert (found, {each["path"] for each in shown["operations"]}) == (ExitCode.DIFFERENT, {later})
        assert {each["path"] for each in shown["left"]} == {gone, local}, "what only us-west has would be news"
        west.send("DELETE", f"tenants/{group.named('gone')}")
        anew.start()
        wait_until(lambda: planned(anew) == {later: "created"}, "the plan is whole")
        assert local not in here.entries()
        assert "takes part now" in answer(anew.command(*JOIN))
        wait_until(lambda: settled(here, anew, north), "all are equal again")
        assert here.entries().keys() == {last, later, local}
        wait_until(lambda: west.roles(group.named("later")) == [], "the broker of us-west serves what it had missed")
        assert members(here) == {there.name: False, anew.name: True, north.name: True}


@pytest.mark.slow  # the short form: tests/shell/test_coming_back.py
def test_a_dead_region_is_forgotten_and_nothing_that_was_deleted_rises_again(group: Group) -> None:
    pair = group.pair()
    (east, west), (here, there) = pair.sides, (side.region for side in pair.sides)
    north = group.north(pair)
    with pair.over_its_topic():
        start(here, there, north)
        gone, kept = group.make(east, "gone", "old"), group.make(west, "kept", "old")
        wait_until(lambda: settled(here, there, north), "all three are equal")
        north.kill()
        east.send("DELETE", f"tenants/{group.named('gone')}")
        wait_until(lambda: west.roles(group.named("gone")) is None, "us-west has deleted it")
        wait_until(lambda: all(kept_for(each, north) for each in (here, there)), "both say who keeps the delete")
        assert remembers(here, gone)
        assert remembers(there, gone)

        forget = ("regions", "forget", north.name, "--yes", *WAIT)
        code, said = here.ask(*forget)
        assert code == ExitCode.REFUSED
        assert "it is there" in answer(said), "it was heard a moment ago"
        here.command(*forget, "--force")
        wait_until(lambda: not any(remembers(each, gone) for each in (here, there)), "both have dropped the tombstone")
        wait_until(lambda: all(tally(each, "tombstones.dropped") for each in (here, there)), "and have counted it")
        wait_until(lambda: all(gone_for(each, north) for each in (here, there)), "both know that it is gone")

        there.stop()
        topic = f"{pair.topic.replace('://', '/')}/subscription/pulsar-syncer"
        west.send("POST", f"{topic}/resetcursor/0")
        old = [event for event in pair.changes(west) if event.stamp.region != there.name]
        assert gone in {event.path for event in old if event.value is not None}
        there.start()
        wait_until(
            lambda: tally(there, "ignored.duplicate") >= len(old),
            "us-west is told everything once more, the old value included",
        )
        wait_until(lambda: settled(here, there), "both are equal")
        assert gone not in there.entries()

        group.write_in_north(pair, "gone", "old", "written anew")
        assert group.roles(north, "gone") == ["old", "written anew"]
        north.launch()
        wait_until(lambda: "forgotten-here" in codes(north), "the dead region hears that it was forgotten")
        assert report(north)["mode"] == "left"
        with pytest.raises(ServerFailed, match=REFUSED):
            north.command(*JOIN)
        east.send("POST", f"tenants/{group.named('kept')}", tenant("new"))
        wait_until(lambda: west.roles(group.named("kept")) == ["new"], "the others go on")
        wait_until(lambda: settled(here, there), "and agree")
        for region in (here, there):
            assert region.entries().keys() == {kept}
        assert group.roles(north, "kept") == ["old"], "it stands still"
