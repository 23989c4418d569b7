"""Real regions that were driven apart are made equal by HTTP alone, while their daemons are killed in everything.

Two regions stand each beside a cluster of its own, one on ZooKeeper, one on etcd. The long form has a third one: a
daemon with a part of the same ZooKeeper for its store, and a subscription of its own at the first cluster for its bus.
It has missed what the first region did, and changed nothing itself.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from kazoo.client import KazooClient

from deploy.lab.ports import free_ports
from deploy.lab.region import LabRegion, differing
from syncer.log import configure
from syncer.model import MetaPath
from syncer.paths import CLUSTERS, POLICIES, namespace_path, tenant_path
from syncer.waiting import WAIT_S, wait_until
from tests.conftest import PulsarPair
from tests.support.driven_apart import bus_loses_all
from tests.support.logs import logging_restored
from tests.support.region_by_http import Follower, HttpRegion, api_table
from tests.support.synced import BOTH, Side, Synced, bus_topic, tenant

pytestmark = [pytest.mark.real("pulsar", "zookeeper", "etcd"), pytest.mark.timeout(900)]

PEOPLE: Final = ("ann", "bob")
SELDOM: Final = "1h"
"""Regions compare what they know when they hear from each other: not within these tests."""
SKEW_S: Final = 1
MANY: Final = 700
"""More than twice as many as wait for the bus: a sync that has no bus stands still in the middle."""
WAIT: Final = "wait=40"

_numbers = itertools.count(1)

Request = Callable[[], httpx2.Response]
Moment = Callable[[], bool]


def value(*roles: str) -> bytes:
    return json.dumps(tenant(*roles)).encode()


@dataclass(frozen=True, slots=True)
class Group:
    """Regions of a test's own; ``name``: how the names of its tenants begin."""

    synced: Synced
    name: str
    east: HttpRegion
    west: HttpRegion
    south: HttpRegion | None = None

    @property
    def all(self) -> list[HttpRegion]:
        """All of them."""
        return [self.east, self.west, *([self.south] if self.south is not None else [])]

    def path(self, name: str) -> MetaPath:
        """The path of a tenant."""
        return tenant_path(self.name + name)

    def apart(self) -> set[MetaPath]:
        """Where the stores differ."""
        others = [each.region for each in self.all[1:]]
        return {path for other in others for path in differing((self.east.region, other))}


@contextmanager
def grouped(pair: PulsarPair, folder: Path, *, south: bool = False) -> Iterator[Group]:
    """Regions of a test's own, their daemons running."""
    name = f"by-http-{os.getpid()}-{next(_numbers)}-"
    topic, ports = bus_topic("bus-by-http"), free_ports(3)
    rules = [{"pattern": f"{POLICIES}/{name}*{below}", "direction": "both"} for below in ("", "/**")]
    tables: dict[str, dict[str, object]] = {
        "scope": {"rules": rules},
        "limits": {"min_deletes": 1000, "max_deletes": 5000, "max_clock_skew": f"{SKEW_S}s"},
        "snapshots": {"folder": str(folder / "snapshots"), "memory": "512m", "buckets": 2},
    }

    def beside(cluster: str, region: str, port: int, **more: dict[str, object]) -> HttpRegion:
        place = folder / region
        api, tokens = api_table(place, port, *PEOPLE)
        made = LabRegion.beside(
            pair.clusters[cluster],
            place,
            name=f"{name}{region}",
            topic=topic,
            subscription=f"of-{region}",
            heartbeat=SELDOM,
            **{**tables, "api": api, **more},
        )
        return HttpRegion(made, port, tokens)

    east, west = (beside(each, each, port) for each, port in zip(BOTH, ports, strict=False))
    here, there = (Side(pair.clusters[each], found.region) for each, found in zip(BOTH, (east, west), strict=True))
    synced = Synced(here, there, topic)
    third = None
    with logging_restored(), ExitStack() as stack:
        configure(level="error", form="console")
        if south:
            store = {**pair.clusters["us-east"].store_config, "chroot": f"/{name}south"}
            third = beside("us-east", "us-south", ports[2], store=store)
            with synced.zookeeper() as zookeeper:
                zookeeper.ensure_path(f"{store['chroot']}{POLICIES}")
                for known in (f"{CLUSTERS}/{each}" for each in BOTH):
                    zookeeper.create(f"{store['chroot']}{known}", zookeeper.get(known)[0], makepath=True)
            stack.callback(third.region.stop)
        stack.enter_context(synced.over_its_topic())
        synced.start()
        if third is not None:
            third.region.start()
        yield Group(synced, name, east, west, third)


# -- what is asked for, and kills


def after(seconds: float) -> Moment:
    """So long from now."""
    until = time.monotonic() + seconds
    return lambda: time.monotonic() >= until


def runs(where: HttpRegion, reason: str) -> Moment:
    """When a job of that reason runs."""
    return lambda: any(each["state"] == "running" for each in where.jobs(reason))


def struck(where: HttpRegion, request: Request, moment: Moment, before: Callable[[], None] = lambda: None) -> Any:
    """Kill the daemon at a moment of a request, and of what it leads to; what whoever repeats the request is told.

    Args:
        where: Whose daemon.
        request: Sends it; with a key.
        moment: When it is killed.
        before: What happens before it is started again.
    """
    answers: list[httpx2.Response] = []

    def send() -> None:
        with suppress(httpx2.TransportError):
            answers.append(request())

    thread = threading.Thread(target=send)
    thread.start()
    wait_until(moment, "the moment of the kill has come")
    where.region.kill()
    thread.join(60)
    assert not thread.is_alive()
    before()
    where.region.start()
    answers += [request(), request()]
    assert all((each.status_code, each.json()) == (200, answers[-1].json()) for each in answers), answers
    (operation,) = answers[-1].json()["items"]
    assert where.operations(operation["reason"]) == [operation], "it was asked for once"
    return operation


def job_of(operation: Any) -> int:
    """The job that an operation has queued."""
    return int(operation["answer"].split()[1])


def finished(where: HttpRegion, number: int) -> Any:
    """Wait for the end of a job."""
    found: dict[str, Any] = {}

    def over() -> bool:
        found.update(where.get(f"/jobs/{number}"))
        return found["state"] not in {"queued", "running"}

    wait_until(over, f"job {number} has ended", within_s=2 * WAIT_S, shown=lambda: found)
    assert where.jobs(found["reason"]) == [found], "it is one job"
    return found


def asking(where: HttpRegion, method: str, path: str, body: object = None, tag: str | None = None) -> Request:
    """A request with a key, to be sent as often as is wanted."""
    return partial(where.ask, method, path, body=body, Prefer=WAIT, Idempotency_Key=str(uuid.uuid4()), If_Match=tag)


def syncs(where: HttpRegion, reason: str) -> list[dict[str, Any]]:
    """Syncs of a reason that have begun."""
    items = where.get("/snapshot-syncs")["items"]
    return [each for each in items if each["reason"] == reason and each["state"] not in {"loading", "ready"}]


def amid(where: HttpRegion, reason: str) -> Moment:
    """When something of a sync was told, and something is left."""
    return lambda: any(0 < each["done"] < each["total"] for each in syncs(where, reason))


@contextmanager
def without_bus(group: Group) -> Iterator[Callable[[], None]]:
    """The broker of ``west`` stands still, until the end or until the function is called."""
    broker = group.synced.west.cluster.broker
    broker.pause()
    try:
        yield broker.resume
    finally:
        broker.resume()


# -- the story


def knows_all(region: LabRegion) -> bool:
    """Whether the database is older than a snapshot of now, by as much as the clocks may differ."""
    with region.views() as views:
        return time.time() >= views.identity().generation + SKEW_S


def drive_apart(group: Group, zookeeper: KazooClient, kept: list[MetaPath]) -> dict[MetaPath, list[str] | None]:
    """Both regions change, and nobody hears of the other; roles of what the group has to end with."""
    updated, both, deleted = kept[:4], kept[4:6], kept[6:8]
    wanted: dict[MetaPath, list[str] | None] = {}
    west = group.synced.west
    for path in both:
        west.send("POST", f"tenants/{path.rpartition('/')[2]}", tenant("west"))
    wait_until(west.region.quiet, "west has stamped its own")
    for path in (*updated, *both):
        zookeeper.set(path, value("east"))
        wanted[path] = ["east"]
    for path in deleted:
        zookeeper.delete(path)
        wanted[path] = None
    for number in range(MANY):
        path = group.path(f"only-east-{number:03}")
        zookeeper.create(path, value("east"))
        wanted[path] = ["east"]
    for number in range(4):
        path = group.path(f"only-west-{number}")
        west.send("PUT", f"tenants/{path.rpartition('/')[2]}", tenant("west"))
        wanted[path] = ["west"]
    return wanted


def told_once(follower: Follower, lists: list[dict[str, Any]]) -> None:
    """Each state of each was told once, and the last one is what the list says."""
    numbers = {each["id"] for each in lists}
    wait_until(lambda: numbers <= {each.data["id"] for each in follower.got}, "all was told")
    states = Counter((each.data["id"], each.data["state"], each.data.get("cancel_asked_by")) for each in follower.got)
    assert set(states.values()) == {1}, states
    last = {each.data["id"]: each.data["state"] for each in follower.got}
    assert last == {each["id"]: each["state"] for each in lists}
    assert not [each for each in follower.got if each.type == "gap"]


def compared(
    group: Group, wanted: Mapping[MetaPath, object], moment: Callable[[HttpRegion, str], Moment]
) -> tuple[int, str]:
    """Snapshots are taken, compared, and what they lead to is shown: the number of the comparison, and the ETag."""
    assert group.apart() == wanted.keys()
    taken = {}
    for where in group.all:
        reason = f"take of {where.region.name}"
        request = asking(where, "POST", "/snapshots", {"reason": reason})
        taken[where.region.name] = job_of(struck(where, request, moment(where, reason)))
    for where in group.all:
        found = finished(where, taken[where.region.name])
        assert found["state"] == "succeeded", found

    west, names = group.west, [each.region.name for each in group.all]
    request = asking(west, "POST", "/diffs", {"snapshots": names, "plan": True, "reason": "compare"})
    diff = finished(west, job_of(struck(west, request, moment(west, "compare"))))
    assert (diff["state"], diff["different"]) == ("succeeded", True), diff
    assert diff["output"]["different"] == len(wanted)

    dry = west.ask("POST", f"/snapshot-syncs?job={diff['id']}&reason=look")
    assert (dry.status_code, dry.json()["paths"], dry.json()["objections"]) == (200, len(wanted), []), dry.text
    assert group.apart() == wanted.keys(), "a dry run changes nothing"
    return diff["id"], dry.headers["etag"]


def play(group: Group, delay_s: float | None) -> None:
    """The whole story: apart, taken, compared, shown, cancelled, told, equal.

    Args:
        group: The regions.
        delay_s: Daemons are killed so long after each request; ``None``: when what it leads to has begun.
    """
    west = group.west
    kept = [group.path(f"kept{number:02}") for number in range(10)]

    def moment(where: HttpRegion, reason: str) -> Moment:
        return runs(where, reason) if delay_s is None else after(delay_s)

    with ExitStack() as stack:
        zookeeper = stack.enter_context(group.synced.zookeeper())
        follows = {
            (each, stream): stack.enter_context(each.following(stream))
            for each in group.all
            for stream in ("jobs", "operations")
        }
        for path in kept:
            zookeeper.create(path, value("first"))
        wait_until(lambda: not group.apart() and west.region.picture().keys() >= set(kept), "all is everywhere")
        wait_until(lambda: all(knows_all(each.region) for each in group.all), "the databases are old enough")
        with bus_loses_all(group.synced):
            wanted = drive_apart(group, zookeeper, kept)
            wait_until(lambda: all(side.region.quiet() for side in group.synced.sides), "all is known, and lost")
            diff, tag = compared(group, wanted, moment)

        def sync(reason: str) -> Request:
            path = f"/snapshot-syncs?job={diff}&dry_run=false&reason={reason}"
            return asking(west, "POST", path, tag=tag)

        with without_bus(group) as bus_again:
            assert sync("first")().status_code == 200
            wait_until(amid(west, "first"), "the sync stands still in the middle")
            (first,) = syncs(west, "first")
            end = asking(west, "DELETE", f"/snapshot-syncs/{first['id']}?reason=enough")
            struck(west, end, lambda: bool(west.operations("enough")), bus_again)
            (first,) = syncs(west, "first")
            assert (first["state"], first["detail"]) == ("cancelled", "enough")
            assert 0 < first["done"] < first["total"]

        wait_until(west.region.quiet, "what was told has left")
        if delay_s is None:
            with without_bus(group) as bus_again:
                struck(west, sync("second"), amid(west, "second"), bus_again)
        else:
            struck(west, sync("second"), after(delay_s))
        wait_until(lambda: [each["state"] for each in syncs(west, "second")] == ["done"], "all is told")
        (second,) = syncs(west, "second")
        assert (second["done"], second["refused"]) == (second["total"], 0)
        wait_until(lambda: not group.apart(), "the regions are equal")
        for where in group.all:
            held = where.region.entries()
            roles = {path: json.loads(held[path])["adminRoles"] if path in held else None for path in wanted}
            assert roles == wanted
        for (where, stream), follower in follows.items():
            told_once(follower, where.get(f"/{stream}?limit=100")["items"])


@pytest.mark.slow  # the short form makes clusters equal in tests/spark/test_pulsar.py, and asks by HTTP in tests/api
def test_two_regions_are_made_equal_while_their_daemons_are_killed(pulsar_pair: PulsarPair, tmp_path: Path) -> None:
    with grouped(pulsar_pair, tmp_path) as group:
        play(group, None)


@pytest.mark.slow
@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.5, 3.0])
def test_three_regions_are_made_equal_whenever_their_daemons_are_killed(
    pulsar_pair: PulsarPair, tmp_path: Path, delay_s: float
) -> None:
    with grouped(pulsar_pair, tmp_path, south=True) as group:
        play(group, delay_s)


@pytest.mark.slow  # the short form has tests/contract/test_decided_at_once.py
def test_of_two_people_who_decide_one_hold_one_wins_and_the_other_is_told_what_is_there(
    pulsar_pair: PulsarPair, tmp_path: Path
) -> None:
    with grouped(pulsar_pair, tmp_path) as group, group.synced.zookeeper() as zookeeper:
        owner = group.name + "held"
        path = namespace_path(owner, "orders")
        policies = {"bundles": {"boundaries": [], "numBundles": 4}, "replication_clusters": list(BOTH)}
        zookeeper.create(tenant_path(owner), value("first"))
        zookeeper.create(path, json.dumps(policies).encode())
        wait_until(lambda: path in group.west.region.picture(), "the namespace is in west")
        zookeeper.set(path, json.dumps({**policies, "replication_clusters": ["us-east"]}).encode())
        where = f"/holds{path}"
        wait_until(lambda: group.west.ask("GET", where).status_code == 200, "it is held in west")
        seen = group.west.ask("GET", where)
        answers: dict[str, httpx2.Response] = {}

        def decide(by: str, decision: str) -> None:
            body = {"decision": decision, "reason": f"as {by} says"}
            answers[by] = group.west.ask("POST", where, by=by, body=body, Prefer=WAIT, If_Match=seen.headers["etag"])

        decisions = dict(zip(PEOPLE, ("confirm", "reject"), strict=True))
        threads = [threading.Thread(target=decide, args=each) for each in decisions.items()]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        assert sorted(each.status_code for each in answers.values()) == [200, 412], answers
        (winner,) = (by for by, answer in answers.items() if answer.status_code == 200)
        (late,) = (answer for answer in answers.values() if answer.status_code == 412)
        assert late.json()["code"] == "precondition-failed"
        assert late.json()["now"]["path"] == path, late.text
        clusters = ["us-east"] if decisions[winner] == "confirm" else sorted(BOTH)
        wait_until(
            lambda: sorted(json.loads(group.west.region.entries()[path])["replication_clusters"]) == clusters,
            "west holds what was decided",
        )
