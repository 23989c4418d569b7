"""Regions whose brokers call clusters otherwise: values travel by the group's names, and nothing differs by a name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from syncer.model import MetaPath
from syncer.paths import CLUSTERS
from syncer.replication.group.participation import NAMES_CONTRADICT as CONTRADICT
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import changes_on
from tests.shell.region import Site, active, equal, path_of, tenant

SPACE: Final = MetaPath("/admin/policies/acme/orders")
HERE: Final = {"pulsar-e": "east", "pulsar-w": "west"}
SWAPPED: Final = {"pulsar-e": "west", "pulsar-w": "east"}


def policies(*clusters: str, **more: Any) -> bytes:
    rates = {name: {"dispatchThrottlingRateInMsg": 7} for name in clusters[:1]}
    return json.dumps({"replication_clusters": list(clusters), "topicDispatchRate": rates, **more}).encode()


def held(site: Site, path: MetaPath = SPACE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(site.get(path) or b"{}")
    return found


def west_of(make_site: MakeSite, names: dict[str, str] = HERE) -> Site:
    """A region whose brokers have names of their own for both clusters."""
    west = make_site("west", clusters=["pulsar-w"], cluster_names=names)
    for name in ("east", "west"):
        west.writer.delete(f"{CLUSTERS}/{name}")
    for name in HERE:
        west.writer.put(f"{CLUSTERS}/{name}", b'{"serviceUrl":"http://%s:8080"}' % name.encode())
    return west


async def test_each_region_has_its_own_names_and_the_group_has_one(make_site: MakeSite, bus_file: Path) -> None:
    east, west = make_site("east"), west_of(make_site)
    async with east.running(), west.running():
        await active(east)
        await active(west)
        east.writer.put(path_of("acme"), tenant("a", allowedClusters=["east", "west"]))
        east.writer.put(SPACE, policies("east", "west", message_ttl_in_seconds=1))
        await until(lambda: held(west).get("replication_clusters") == ["pulsar-e", "pulsar-w"], "by the names here")
        assert held(west)["topicDispatchRate"].keys() == {"pulsar-e"}
        assert held(west, path_of("acme"))["allowedClusters"] == ["pulsar-e", "pulsar-w"]
        west.writer.put(SPACE, policies("pulsar-e", "pulsar-w", message_ttl_in_seconds=2))
        await until(lambda: held(east).get("message_ttl_in_seconds") == 2, "and back by the names there")
        assert held(east)["replication_clusters"] == ["east", "west"]
        assert held(east)["topicDispatchRate"].keys() == {"east"}
        assert all(b"pulsar-" not in (each.value or b"") for each in changes_on(bus_file)), "told by the group's names"
        await until(lambda: (east.status().counts.due, west.status().counts.due) == (0, 0), "nothing is left to do")
        published = len(changes_on(bus_file))
        east.writer.put(SPACE, policies("east", message_ttl_in_seconds=3))
        await until(lambda: west.status().counts.holds == 1, "who leaves this cluster out is asked about")
        assert held(west)["replication_clusters"] == ["pulsar-e", "pulsar-w"]
        assert len(changes_on(bus_file)) == published + 1, "nothing flips"


async def test_another_mapping_is_another_way_to_read_the_store(make_site: MakeSite, bus_file: Path) -> None:
    east, west = make_site("east"), west_of(make_site, {"pulsar-w": "west"})
    async with east.running():
        await active(east)
        async with west.running():
            await active(west)
            east.writer.put(path_of("acme"), tenant("a"))
            west.writer.put(SPACE, policies("pulsar-e", "pulsar-w"))
            await until(lambda: any(each.path == SPACE for each in changes_on(bus_file)), "it is told")
            await until(lambda: east.status().counts.holds == 1, "nobody knows that cluster in the east")
        before = west.get(SPACE)
        async with west.running(cluster_names=HERE):
            await active(west)
            await until(lambda: held(east).get("replication_clusters") == ["east", "west"], "told by its right name")
            await until(lambda: east.status().counts.holds == 0, "and nothing waits for anybody")
        assert west.get(SPACE) == before, "a mapping writes nothing here"


async def test_a_table_changed_in_one_region_alone_writes_nothing_wrong_and_loses_nothing(
    make_site: MakeSite, bus_file: Path
) -> None:
    """Every name is known everywhere, so that only what regions tell of their own clusters shows the mistake."""
    east, north, west = make_site("east"), make_site("north"), west_of(make_site)
    far, near = MetaPath("/admin/policies/acme/far"), MetaPath("/admin/policies/acme/near")
    async with east.running(), north.running():
        await active(east, north)
        async with west.running():
            await active(west)
            east.writer.put(path_of("acme"), tenant("a", allowedClusters=["east", "north", "west"]))
            for path in (SPACE, far, near):
                east.writer.put(path, policies("east", "north", "west", message_ttl_in_seconds=1))
            await until(
                lambda: all(held(site, path) for site in (north, west) for path in (SPACE, far, near)), "it is shared"
            )
            await until(lambda: not any(each.status().counts.due for each in (east, north, west)), "all have it")
        before = {(site.name, path): site.get(path) for site in (east, north, west) for path in (SPACE, far, near)}
        async with west.running(cluster_names=SWAPPED):
            await active(west)
            await until(lambda: all(CONTRADICT in each.conditions() for each in (east, north, west)), "all say so")
            await until(
                lambda: {SPACE, far, near} <= set(east.holds()) and {SPACE, far, near} <= set(north.holds()),
                "what the west has published by other names waits",
            )
            assert {str(row.hold.reason) for row in east.holds().values()} == {"unknown-cluster"}
            east.writer.put(near, policies("east", "north", "west", message_ttl_in_seconds=3))
            await until(lambda: near in west.holds(), "what comes in waits there, too")
        now = {(site.name, path): site.get(path) for site in (east, north, west) for path in (SPACE, far, near)}
        del before["east", near], now["east", near]
        assert now == before, "nothing is written by a name that nobody can tell the meaning of"
        async with west.running():
            await active(west)
            await until(
                lambda: not any(CONTRADICT in each.conditions() for each in (east, north, west)), "all say so no more"
            )
            await until(lambda: not any(each.holds() for each in (east, north, west)), "nothing waits for anybody")
            east.writer.put(far, policies("east", "north", "west", message_ttl_in_seconds=4))
            await until(lambda: held(west, far).get("message_ttl_in_seconds") == 4, "and it goes on")
            await until(lambda: not any(each.status().counts.due for each in (east, north, west)), "all have it")
        assert held(west, far)["replication_clusters"] == ["pulsar-e", "north", "pulsar-w"]
        assert held(west, far)["topicDispatchRate"].keys() == {"pulsar-e"}
        await equal(east, north)
        for path in (SPACE, far, near):
            assert held(east, path)["topicDispatchRate"].keys() == {"east"}, "nothing is deleted"
            assert held(west, path)["topicDispatchRate"].keys() == {"pulsar-e"}
        kept = held(east, near)["message_ttl_in_seconds"] == 3 or west.status().counts.conflicts
        assert kept, "an edit of meanwhile stands, or is kept"
