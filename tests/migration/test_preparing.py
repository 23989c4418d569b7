"""Green is prepared on simulated clusters: complete in the end, whichever call fails and wherever it is interrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from syncer.admin.calls import AdminRefused
from syncer.errors import AdminError, AdminUnreachable
from syncer.migration.checks.finding import ClusterPair
from syncer.migration.checks.resources import CHECKS
from syncer.migration.evidence import ClusterSeen, ClusterUrls
from syncer.migration.preparing import prepare, restoring
from syncer.migration.preparing.step import PreparationStep
from syncer.migration.reading.cluster import read_cluster
from syncer.migration.running.preparing import READINGS, Report, StepOutcome, StepReport, perform, prepare_green
from syncer.migration.scope import MigrationBounds, MigrationScope
from syncer.replacing import replace
from tests.migration.calls import SimulatedCalls
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.pair import ClusterPairPlay
from tests.migration.plays import LONG, NAMESPACE, topic
from tests.migration.rest import AdminApi
from tests.migration.rest_calls import Answer
from tests.migration.rest_faults import CALM, ROUGH, FaultyApi, RestFaults

pytestmark = pytest.mark.anyio
BASE = "/admin/v2"
NS = f"{BASE}/namespaces/{NAMESPACE}"
TOPICS = f"{BASE}/persistent/{NAMESPACE}"
EARLIEST = {"ledgerId": -1, "entryId": -1}
EVICTS = {"limitSize": 1_000, "limitTime": -1, "policy": "consumer_backlog_eviction"}
SCHEMA = {"type": "JSON", "schema": "{}", "properties": {}}
BLUE: tuple[tuple[str, str, object], ...] = (
    ("PUT", f"{BASE}/clusters/north", {"serviceUrl": "http://north:8080", "brokerServiceUrl": "pulsar://north:6650"}),
    ("PUT", f"{BASE}/tenants/acme", {"adminRoles": ["ops"], "allowedClusters": ["blue", "north"]}),
    ("PUT", NS, {"replication_clusters": ["blue", "north"], "allowed_clusters": ["blue", "north"]}),
    ("POST", f"{NS}/messageTTL", 3600),
    ("POST", f"{NS}/backlogQuota?backlogQuotaType=destination_storage", EVICTS),
    ("POST", f"{NS}/retention", {"retentionTimeInMinutes": 60, "retentionSizeInMB": -1}),
    ("POST", f"{NS}/dispatchRate", {"dispatchThrottlingRateInMsg": 500}),
    ("POST", f"{NS}/subscribeRate", {"subscribeThrottlingRatePerConsumer": 5}),
    ("POST", f"{NS}/maxProducersPerTopic", 30),
    ("PUT", f"{NS}/schemaCompatibilityStrategy", "FULL"),
    ("POST", f"{NS}/autoTopicCreation", {"allowAutoTopicCreation": False}),
    ("POST", f"{NS}/permissions/app", ["produce", "consume"]),
    ("PUT", f"{TOPICS}/plain", None),
    ("PUT", f"{TOPICS}/idle", None),
    ("PUT", f"{TOPICS}/parted/partitions", 3),
    ("POST", f"{TOPICS}/plain/permissions/reader", ["consume"]),
    ("POST", f"{BASE}/schemas/{NAMESPACE}/plain/schema", SCHEMA),
    ("POST", f"{TOPICS}/plain/messageTTL", 60),
    ("POST", f"{TOPICS}/parted/maxConsumers", 7),
    ("POST", f"{TOPICS}/parted/backlogQuota?backlogQuotaType=message_age", EVICTS),
    ("POST", f"{TOPICS}/plain/replication", ["blue", "north"]),
    ("PUT", f"{TOPICS}/plain/subscription/audit", {**EARLIEST, "properties": {"team": "billing"}}),
    ("PUT", f"{TOPICS}/plain/subscription/geo?replicated=true", EARLIEST),
    ("PUT", f"{TOPICS}/parted/subscription/all", EARLIEST),
    ("PUT", f"{TOPICS}/parted-partition-1/subscription/one", EARLIEST),
)
"""All that a namespace can have, asked of blue."""
GREEN: tuple[tuple[str, str, object], ...] = (
    ("PUT", f"{BASE}/tenants/acme", {"adminRoles": ["own"], "allowedClusters": ["green"]}),
    ("PUT", NS, {"allowed_clusters": ["green"]}),
    ("POST", f"{NS}/messageTTL", 60),
    ("POST", f"{NS}/maxConsumersPerTopic", 3),
    ("POST", f"{NS}/permissions/own", ["consume"]),
    ("PUT", f"{TOPICS}/parted/partitions", 2),
    ("PUT", f"{TOPICS}/own", None),
    ("POST", f"{TOPICS}/parted/maxProducers", 3),
    ("PUT", f"{TOPICS}/parted-partition-0/subscription/all", EARLIEST),
)
"""A green that has some of it already, and more of its own."""


class Interrupted(Exception):
    """The controller is killed."""


class OneFault(FaultyApi):
    """An API of which one write goes wrong, and all reads are answered."""

    def __init__(self, cluster: Cluster, fault: str, number: int) -> None:
        super().__init__(cluster, Random(0))
        self.writes = 0
        self._fault_name, self._number = fault, number

    def answer(self, method: str, path: str, body: object = None) -> Answer:
        self.writes += method != "GET"
        hit = method != "GET" and self.writes == self._number
        self.faults = RestFaults(**{self._fault_name: 1.0}) if hit else CALM
        return super().answer(method, path, body)


class RoughDay(FaultyApi):
    """An API that fails, is silent or sends on by chance; of the many reads none fails for good."""

    def answer(self, method: str, path: str, body: object = None) -> Answer:
        self.faults = replace(ROUGH, failed=0.0, failed_after=0.0) if method == "GET" else ROUGH
        return super().answer(method, path, body)


class PreparationPlay(ClusterPairPlay):
    """Blue with a namespace; green with nothing, or with some of it."""

    def __init__(self, *, green: tuple[tuple[str, str, object], ...] = ()) -> None:
        super().__init__(0)
        self.green.known = {"green": self.green.known["green"]}
        self.api: AdminApi | FaultyApi = AdminApi(self.green)
        for cluster, asked in ((self.blue, BLUE), (self.green, green)):
            for method, path, body in asked:
                status, json = AdminApi(cluster).answer(method, path, body)
                assert status in {200, 204}, f"{method} {path}: {status} {json}"

    async def read(self) -> ClusterPair:
        return ClusterPair(
            scope=MigrationScope(canary=(NAMESPACE,)),
            bounds=MigrationBounds(),
            blue=await self._read(AdminApi(self.blue)),
            green=await self._read(self.api),
        )

    async def _read(self, api: AdminApi | FaultyApi) -> ClusterSeen:
        calls, now_ms = SimulatedCalls(api), self.clock.now_ms()
        return await read_cluster(calls, urls=urls_of(api.cluster), namespaces=[NAMESPACE], now_ms=now_ms, load=True)

    @property
    def clock(self) -> SimulatedClock:
        return SimulatedClock(self.timeline)

    async def prepare(self, report: Report | None = None) -> None:
        await prepare_green(
            SimulatedCalls(self.api),
            self.read,
            clock=self.clock,
            bounds=MigrationBounds(),
            report=report or heard([]),
        )

    async def perform(self, steps: tuple[PreparationStep, ...]) -> None:
        calls = SimulatedCalls(self.api)
        await perform(calls, steps, clock=self.clock, bounds=MigrationBounds(), report=heard([]))

    async def assert_complete(self) -> None:
        self.api = AdminApi(self.green)
        pair = await self.read()
        assert prepare(pair).steps == ()
        assert [finding for check in CHECKS for finding in check.look(pair)] == []
        green, blue = self.green, self.blue
        assert green.namespaces[NAMESPACE].policies["replication_clusters"] == ["green", "north"]
        for name, ledger in blue.ledgers.items():
            assert green.ledgers[name].cursors.keys() == ledger.cursors.keys()
            for each, cursor in ledger.cursors.items():
                there = green.ledgers[name].cursors[each]
                assert (there.mark, there.replicated, there.properties) == (0, cursor.replicated, cursor.properties)


def urls_of(cluster: Cluster) -> ClusterUrls:
    urls = cluster.urls
    return ClusterUrls(http=urls.http, https=urls.https, pulsar=urls.pulsar, pulsar_ssl=urls.pulsar_ssl)


def heard(reports: list[StepReport], *, until: int = -1) -> Callable[[StepReport], Awaitable[None]]:
    async def report(news: StepReport) -> None:
        reports.append(news)
        if len(reports) == until:
            raise Interrupted

    return report


async def writes_of(green: tuple[tuple[str, str, object], ...]) -> int:
    play = PreparationPlay(green=green)
    return len(prepare(await play.read()).steps)


async def test_green_gets_everything_and_each_step_is_reported() -> None:
    play, reports = PreparationPlay(), list[StepReport]()
    await play.prepare(heard(reports))
    await play.assert_complete()
    assert [each.outcome for each in reports] == [StepOutcome.BEGUN, StepOutcome.DONE] * (len(reports) // 2)
    kinds = Counter(each.step.kind.value for each in reports if each.outcome is StepOutcome.DONE)
    assert kinds == {
        "cluster": 2,
        "tenant": 1,
        "namespace": 1,
        "partitions": 1,
        "topic": 2,
        "schema": 1,
        "topic-policy": 4,
        "subscription": 4,
    }
    policies = play.green.namespaces[NAMESPACE].policies
    assert policies["topicDispatchRate"] == {"green": {"dispatchThrottlingRateInMsg": 500}}
    assert policies["message_ttl_in_seconds"] == 0
    assert policies["autoTopicCreationOverride"] == {"allowAutoTopicCreation": False}
    assert play.green.tenants["acme"]["allowedClusters"] == ["blue", "green", "north"]


async def test_what_green_has_stays_and_the_rest_comes() -> None:
    play = PreparationPlay(green=GREEN)
    await play.prepare()
    await play.assert_complete()
    assert play.green.tenants["acme"]["adminRoles"] == ["ops", "own"]
    assert play.green.namespaces[NAMESPACE].partitions == {topic("parted"): 3}
    assert topic("own") in play.green.ledgers
    assert play.green.namespaces[NAMESPACE].policies["auth_policies"]["namespace_auth"]["own"] == ["consume"]


async def test_topics_that_nobody_uses_yet_are_kept() -> None:
    play = PreparationPlay()
    await play.prepare()
    play.timeline.run(600_000)
    await play.assert_complete()


@pytest.mark.parametrize("green", [(), GREEN], ids=["bare", "partly"])
@pytest.mark.parametrize("fault", ["failed", "failed_after", "unavailable", "silent_before", "silent_after"])
async def test_a_call_that_fails_is_made_again(fault: str, green: tuple[tuple[str, str, object], ...]) -> None:
    for number in range(1, await writes_of(green) + 1):
        play = PreparationPlay(green=green)
        play.api = OneFault(play.green, fault, number)
        await play.prepare()
        await play.assert_complete()


@pytest.mark.parametrize("green", [(), GREEN], ids=["bare", "partly"])
async def test_whoever_is_interrupted_begins_anew(green: tuple[tuple[str, str, object], ...]) -> None:
    for number in range(1, 2 * await writes_of(green) + 1):
        play = PreparationPlay(green=green)
        with pytest.raises(Interrupted):
            await play.prepare(heard([], until=number))
        await play.prepare()
        await play.assert_complete()


@pytest.mark.parametrize("seed", range(400 if LONG else 20))
async def test_on_a_rough_day_green_is_prepared_in_the_end(seed: int) -> None:
    play = PreparationPlay(green=GREEN if seed % 2 else ())
    for attempt in range(20):
        play.api = RoughDay(play.green, Random(100 * seed + attempt))
        try:
            await play.prepare()
        except AdminError:
            continue
        break
    await play.assert_complete()


async def test_a_refusal_stops_at_the_step_that_was_refused() -> None:
    play, reports = PreparationPlay(), list[StepReport]()
    play.api = api = OneFault(play.green, "forbidden", 4)
    with pytest.raises(AdminRefused, match=rf"^namespace {NAMESPACE}: .*Don't have permission") as caught:
        await play.prepare(heard(reports))
    assert caught.value.status == 403
    assert api.writes == 4
    assert reports[-1].outcome is StepOutcome.STOPPED
    assert "Don't have permission" in reports[-1].answer
    assert NAMESPACE not in play.green.namespaces


async def test_silence_ends_it_after_a_while() -> None:
    play = PreparationPlay()
    steps = prepare(await play.read()).steps
    play.api = FaultyApi(play.green, Random(0), RestFaults(silent_before=1.0))
    began = play.timeline.now
    with pytest.raises(AdminUnreachable, match=r"^cluster blue: .*no answer"):
        await play.perform(steps)
    assert play.timeline.now - began < 100_000


async def test_what_is_there_already_counts_as_done() -> None:
    play, reports = PreparationPlay(), list[StepReport]()
    steps = prepare(await play.read()).steps
    await play.perform(steps)
    calls = SimulatedCalls(play.api)
    created = tuple(step for step in steps if step.creates)
    await perform(calls, created, clock=play.clock, bounds=MigrationBounds(), report=heard(reports))
    assert {each.outcome for each in reports} == {StepOutcome.BEGUN, StepOutcome.EXISTED}


async def test_a_schema_that_green_refuses_is_not_tried_again() -> None:
    play = PreparationPlay()
    (step,) = (each for each in prepare(await play.read()).steps if each.kind.value == "schema")

    class Incompatible(OneFault):
        def answer(self, method: str, path: str, body: object = None) -> Answer:
            self.writes += 1
            return 409, {"reason": "Incompatible schema"}

    play.api = api = Incompatible(play.green, "failed", 0)
    with pytest.raises(AdminRefused, match="Incompatible schema"):
        await play.perform((step,))
    assert api.writes == 1


async def test_subscriptions_come_no_faster_than_they_may() -> None:
    play = PreparationPlay()
    for number in range(60):
        AdminApi(play.blue).answer("PUT", f"{TOPICS}/plain/subscription/s{number}", EARLIEST)
    began = play.timeline.now
    await play.prepare()
    assert play.timeline.now - began > 60 / MigrationBounds().subscriptions_per_s * 1000


async def test_a_green_that_is_changed_meanwhile_is_given_up() -> None:
    play = PreparationPlay()
    first = await play.read()

    async def read() -> ClusterPair:
        return first

    calls = SimulatedCalls(play.api)
    with pytest.raises(AdminError, match=f"prepared {READINGS} times and still lacks"):
        await prepare_green(calls, read, clock=play.clock, bounds=MigrationBounds(), report=heard([]))


async def test_at_the_end_green_is_as_blue_was() -> None:
    play = PreparationPlay()
    await play.prepare()
    await play.perform(restoring(await play.read()))
    assert restoring(await play.read()) == ()
    blue, green = play.blue.namespaces[NAMESPACE], play.green.namespaces[NAMESPACE]
    of_cluster: dict[str, Any] = {
        "allowed_clusters": ["green", "north"],
        "replication_clusters": ["green", "north"],
        "topicDispatchRate": {"green": {"dispatchThrottlingRateInMsg": 500}},
        "clusterSubscribeRate": {"green": {"subscribeThrottlingRatePerConsumer": 5}},
    }
    same = {name: value for name, value in blue.policies.items() if name != "clusterDispatchRate"}
    assert green.policies == {**same, **of_cluster}
    own = {name: dict(policies) for name, policies in blue.topic_policies.items()}
    own[topic("plain")]["replication"] = ["green", "north"]
    assert green.topic_policies == own
