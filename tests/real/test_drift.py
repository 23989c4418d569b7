"""Two real clusters that have drifted apart, by what the bus has lost or by people: daemons, plans, backups mend it.

The regions carry tenants of this module alone: what other tests leave in the same stores is none of their business.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.lab.region import LabRegion, differing
from syncer.bus.wire.messages import Control, Heartbeat, TreeMessage
from syncer.log import configure
from syncer.model import MetadataChangeEvent, MetaPath, Stamp
from syncer.paths import PARTITIONED_TOPICS, POLICIES, namespace_path, tenant_path
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.support.logs import logging_restored
from tests.support.synced import BOTH, Side, Synced, bus_topic, tenant

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd")

OURS: Final = f"drift-{os.getpid()}-"
SUBSCRIPTION: Final = "drift"
RULES: Final = [
    {"pattern": f"{tree}/{OURS}*{below}", "direction": "both"}
    for tree in (POLICIES, PARTITIONED_TOPICS)
    for below in ("", "/**")
]


@pytest.fixture(scope="module")
def module_pair(pulsar_pair: PulsarPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synced]:
    """Both clusters in sync, as regions of this module's own, which hear from each other often."""
    folder, topic = tmp_path_factory.mktemp("drift"), bus_topic("bus-of-drift")
    clusters = pulsar_pair.clusters
    east, west = (
        Side(
            clusters[name],
            LabRegion.beside(
                clusters[name],
                folder / name,
                name=f"drift-{name}",
                topic=topic,
                subscription=SUBSCRIPTION,
                heartbeat="500ms",
                scope={"rules": RULES},
                limits={"min_deletes": 1000},  # a few tenants are all there is: any delete is a large share of them
            ),
        )
        for name in BOTH
    )
    with Synced(east, west, topic).over_its_topic() as synced:
        yield synced


@pytest.fixture(autouse=True)
def _quiet_log() -> Iterator[None]:
    """Looking into a store opens it; no need to tell every time."""
    with logging_restored():
        configure(level="error", form="console")
        yield


@pytest.fixture
def pair(module_pair: Synced) -> Synced:
    """Both daemons running and equal, whatever the test before did to them."""
    module_pair.start()
    wait_until(lambda: settled(module_pair), "both regions are equal, and say so")
    return module_pair


def path_of(name: str) -> MetaPath:
    return tenant_path(OURS + name)


def value(*roles: str) -> bytes:
    return json.dumps(tenant(*roles)).encode()


def report(side: Side) -> Mapping[str, Any]:
    return side.region.status().document or {}


def settled(pair: Synced) -> bool:
    """Whether both stores hold the same, nothing waits, and both daemons know it of each other."""
    told = [state for side in pair.sides for state in compared(side).values()]
    return told == ["equal"] * 2 and all(side.region.quiet() for side in pair.sides) and not apart(pair)


def compared(side: Side) -> dict[str, str]:
    return {peer: each["state"] for peer, each in report(side).get("comparisons", {}).items()}


def apart(pair: Synced) -> set[MetaPath]:
    return differing((pair.east.region, pair.west.region))


def tally(side: Side) -> Counter[str]:
    """What a daemon has counted since it was started."""
    return Counter(report(side)["tally"])


def conditions(pair: Synced) -> set[str]:
    return {each["code"] for side in pair.sides for each in report(side)["conditions"]}


def agreed(pair: Synced, *paths: MetaPath) -> bool:
    """Whether both regions know the same version of each path, written or not."""

    def known(side: Side) -> list[Stamp | None]:
        with side.region.views() as views:
            registers = [views.register(path) for path in paths]
        return [each.known.stamp if each is not None and each.known is not None else None for each in registers]

    here, there = map(known, pair.sides)
    return here == there and None not in here


def of(events: list[MetadataChangeEvent], *paths: MetaPath) -> list[MetadataChangeEvent]:
    return [event for event in events if event.path in paths]


def test_what_the_topic_has_lost_for_good_reaches_the_other_cluster(pair: Synced) -> None:
    kept = [path_of(f"kept{number:02}") for number in range(30)]
    updated, deleted = kept[:10], kept[10:12]
    created = [path_of(f"created{number:02}") for number in range(10)]
    lost, last = {*updated, *deleted, *created}, path_of("last")
    with pair.zookeeper() as zookeeper:
        for path in kept:
            zookeeper.create(path, value("first"))
        wait_until(lambda: settled(pair) and set(kept) <= pair.west.region.picture().keys(), "all are in us-west")
        pair.west.region.stop()
        for path in updated:
            zookeeper.set(path, value("second"))
        for path in created:
            zookeeper.create(path, value("created"))
        for path in deleted:
            zookeeper.delete(path)
        wait_until(
            lambda: {event.path for event in pair.changes(pair.west) if event.value != value("first")} >= lost,
            "all changes are in us-west's topic",
        )
        wait_until(pair.east.region.quiet, "all is acknowledged")
        topic = pair.topic.replace("://", "/")
        pair.west.send("POST", f"{topic}/subscription/{SUBSCRIPTION}/skip_all")
        before = len(pair.messages(pair.west))
        told, counted = pair.changes(pair.west), tally(pair.east)
        zookeeper.create(last, value("last"))
    assert apart(pair) == {*lost, last}

    began = time.monotonic()
    pair.west.region.start()
    started = time.monotonic()
    wait_until(lambda: not apart(pair), "the clusters hold the same")
    took = time.monotonic() - started
    wait_until(lambda: settled(pair), "both say so")

    assert [pair.west.roles(path.rpartition("/")[2]) for path in (updated[0], created[0], deleted[0], last)] == [
        ["second"],
        ["created"],
        None,
        ["last"],
    ]
    assert not {*deleted} & (pair.east.region.entries().keys() | pair.west.region.entries().keys())
    everything = pair.messages(pair.west)
    changes = [each for each in everything if isinstance(each, MetadataChangeEvent)]
    again = changes[len(told) :]
    assert {event.path for event in again} == {*lost, last}, "only what was lost is sent again"
    stamps = {path: {event.stamp for event in of(changes, path)} for path in {*kept, *created, last}}
    assert {path: len(found) for path, found in stamps.items()} == {
        path: 2 if path in {*updated, *deleted} else 1 for path in stamps
    }, "sent again under the stamp that it had: nothing became a change twice"
    assert {event.stamp.region for event in of(changes, *stamps)} == {"drift-us-east"}
    assert [row for side in pair.sides for path in stamps for row in side.conflicts(path)] == []
    assert [side.region.status().counts.quarantine for side in pair.sides] == [0, 0]
    assert not conditions(pair) & {"comparison-malformed", "comparison-silent", "not-compared", "regions-differ"}
    cost = tally(pair.east) - counted + tally(pair.west)
    steps = [each for each in everything[before:] if isinstance(each, TreeMessage | Control)]
    beats = [each for each in everything[before:] if isinstance(each, Heartbeat)]
    print(
        f"{len(lost)} changes lost by a real topic: equal {took:.1f} s after the daemon was back (its start took "
        f"{started - began:.1f} s), by {len(steps)} messages of {cost['comparisons.begun']} comparison(s), "
        f"{cost['compared.bytes']} bytes, {cost['comparisons.asked']} asked for and {cost['comparisons.told']} told, "
        f"and {len(again) - 1} changes sent again; {len(beats)} heartbeats meanwhile"
    )


def test_a_difference_is_planned_tried_applied_and_taken_back_beside_running_daemons(
    pair: Synced, tmp_path: Path
) -> None:
    east, west = pair.east.region, pair.west.region
    here, gone, new = (path_of(name) for name in ("planned", "planned-away", "planned-new"))
    with_east = ("diff", "--with", str(east.file), "--delete")
    plan, undo = str(tmp_path / "plan.json"), str(tmp_path / "undo.json")
    with pair.zookeeper() as zookeeper:
        for path in (here, gone):
            zookeeper.create(path, value("first"))
        wait_until(lambda: {here, gone} <= west.picture().keys(), "both are in us-west")
        wait_until(lambda: settled(pair), "the regions are equal")
        original = west.picture()
        code, equal = west.ask(*with_east)
        assert (code, equal["different"], equal["compared"]) == (0, False, len(original))

        west.command("pause")
        zookeeper.set(here, value("second"))
        zookeeper.create(new, value("new"))
        zookeeper.delete(gone)
    wait_until(lambda: agreed(pair, here, gone, new), "us-west has been told, and writes nothing")
    wanted = {("update", here), ("create", new), ("delete", gone)}
    code, found = west.ask(*with_east, "--save", plan)
    assert (code, found["different"]) == (3, True)
    assert {(each["action"], each["path"]) for each in found["operations"]} == wanted
    shown = west.command("plan", "show", plan)
    assert {(each["action"], each["path"]) for each in shown["operations"]} == wanted
    tried = west.command("plan", "apply", plan, "--dry-run", "--delete")
    assert (tried["dry_run"], tried["counts"]["applied"]) == (True, 3)
    assert west.picture() == original, "a dry run writes nothing"

    began = time.monotonic()
    done = west.command("plan", "apply", plan, "--delete", "--undo", undo, "--yes")
    took = time.monotonic() - began
    assert (done["counts"]["applied"], done["undo"], apart(pair)) == (3, undo, set())
    west.command("resume")
    wait_until(lambda: settled(pair), "the regions are equal, and say so")
    assert agreed(pair, here, gone, new), "what the plan has written is what was known: no change of its own"
    assert [row for side in pair.sides for path in (here, gone, new) for row in side.conflicts(path)] == []

    reverse = str(tmp_path / "reverse.json")
    assert west.ask("plan", "reverse", plan, "--save", reverse) == (0, None)
    back = west.command("plan", "apply", reverse, "--delete", "--yes")
    assert back["counts"]["applied"] == 3
    wait_until(lambda: east.picture() == original, "what was taken back in us-west is taken back in us-east")
    wait_until(lambda: settled(pair), "and the regions agree")
    assert west.picture() == original
    print(f"a plan of 3 among {len(original)} paths, on two live clusters: applied in {took:.1f} s, taken back")


def served(pair: Synced, namespaces: Sequence[str]) -> set[tuple[int | None, ...]]:
    """TTLs of namespaces, as the brokers of both clusters tell them."""
    return {tuple(side.policy(name, "message_ttl_in_seconds") for side in pair.sides) for name in namespaces}


def test_a_tenant_that_was_removed_by_mistake_is_restored_into_both_clusters(pair: Synced, tmp_path: Path) -> None:
    name, backup = f"{OURS}mistake", str(tmp_path / "backup")
    east = pair.east.region
    spaces = [f"{name}/n{number}" for number in range(3)]
    declared = f"persistent/{spaces[0]}/declared0"
    topics = [
        MetaPath(f"{PARTITIONED_TOPICS}/{spaces[0]}/persistent/declared{number}") for number in range(4)
    ]  # declared past the broker: it has made no topics that would keep their namespace
    pair.east.send("PUT", f"tenants/{name}", tenant("ops"))
    for space in spaces:
        pair.east.send("PUT", f"namespaces/{space}", {"replication_clusters": list(BOTH)})
        pair.east.send("POST", f"namespaces/{space}/messageTTL", 77)
    paths = [tenant_path(name), *(namespace_path(*space.split("/")) for space in spaces), *topics]
    with pair.zookeeper() as zookeeper:
        for topic in topics:
            zookeeper.create(topic, b'{"partitions":4}', makepath=True)
        wait_until(lambda: set(paths) <= pair.west.region.picture().keys(), "all of it is in us-west")
        wait_until(lambda: settled(pair), "the regions are equal")
        original = east.picture()

        made = east.command("backup", "create", backup)
        assert sum(made["resources"].values()) == len(original)
        assert east.command("backup", "verify", backup)["ok"] is True

        for path in reversed(paths):
            zookeeper.delete(path)
    wait_until(lambda: not set(paths) & pair.west.region.entries().keys(), "the mistake is in us-west")
    wait_until(lambda: pair.west.roles(name) is None, "its broker has seen it")
    code, found = east.ask("backup", "diff", backup)
    assert (code, {each["path"] for each in found["operations"]}) == (3, set(paths))
    tried = east.command("backup", "restore", backup, "--tenant", name, "--dry-run")
    assert (tried["counts"]["applied"], set(paths) & east.entries().keys()) == (len(paths), set())

    began = time.monotonic()
    done = east.command("backup", "restore", backup, "--tenant", name, "--yes")
    assert done["counts"]["applied"] == len(paths)
    restored = time.monotonic()
    wait_until(lambda: pair.west.region.picture() == east.picture() == original, "it is back in both stores")
    arrived = time.monotonic()
    wait_until(lambda: all(side.roles(name) == ["ops"] for side in pair.sides), "both brokers have the tenant")
    wait_until(lambda: served(pair, spaces) == {(77, 77)}, "both brokers have its namespaces")
    wait_until(
        lambda: all((side.get(f"{declared}/partitions") or {}).get("partitions") == 4 for side in pair.sides),
        "both brokers have its topics",
    )
    wait_until(lambda: settled(pair), "the regions agree")
    assert east.ask("backup", "diff", backup)[0] == 0
    print(
        f"a tenant of {len(paths)} resources restored in {restored - began:.1f} s, "
        f"in the other cluster's store {arrived - restored:.1f} s later"
    )
