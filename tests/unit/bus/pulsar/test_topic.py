"""``topic init``: what is missing, in which order, and what is refused; and how long it goes on with a busy broker."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from syncer.admin.calls import AdminRefused
from syncer.admin.client import AdminClient, AdminSettings
from syncer.bus.pulsar.topic import HOLD, Picture, Step, StepState, WantedTopic, apply_topic, plan, plan_topic
from syncer.errors import AdminUnreachable, PreconditionFailed
from syncer.waiting import WAIT_S
from tests.support.admin_server import Asked, serving

pytestmark = pytest.mark.anyio

TOPIC = "persistent://ops/meta/changes"
WANTED = WantedTopic(topic=TOPIC, regions={"east": ("r1",), "west": ("r2", "r3")}, retention_mb=512)


def empty(cluster: str) -> Picture:
    return Picture(
        cluster=cluster,
        known_clusters=frozenset({"east", "west"}),
        tenant=None,
        namespace=None,
        local_namespace=None,
        topics=frozenset(),
        subscriptions=frozenset(),
        partitions=0,
    )


KEEP = {
    "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
    "maxInactiveDurationSeconds": 60,
    "deleteWhileInactive": False,
}
POLICIES: Mapping[str, Any] = {
    "replication_clusters": ["west", "east"],
    "retention_policies": {"retentionTimeInMinutes": 10080, "retentionSizeInMB": 512},
    "message_ttl_in_seconds": 0,
    "backlog_quota_map": {"destination_storage": {"limit": -1, "limitSize": -1, "limitTime": -1, "policy": HOLD}},
    "compaction_threshold": 0,
    "inactive_topic_policies": KEEP,
}


def complete(cluster: str) -> Picture:
    return replace(
        empty(cluster),
        tenant={"adminRoles": ["ops"], "allowedClusters": ["west", "east", "old"]},
        namespace=POLICIES,
        local_namespace={"replication_clusters": [cluster], "inactive_topic_policies": KEEP},
        topics=frozenset({TOPIC, *(f"persistent://ops/meta-local/{region}-lock" for region in ("r1", "r2", "r3"))}),
        subscriptions=frozenset({"pulsar-syncer", "other"}),
    )


def needed(*pictures: Picture) -> list[Step]:
    return [step for step in plan(WANTED, pictures) if step.state is StepState.NEEDED]


def test_complete_clusters_need_nothing() -> None:
    steps = plan(WANTED, [complete("east"), complete("west")])
    assert {step.state for step in steps} == {StepState.PRESENT}
    assert all(step.method == "" for step in steps)


def test_empty_clusters_need_all_tenants_first_and_topics_last() -> None:
    steps = needed(empty("east"), empty("west"))
    assert [(step.cluster, step.method, step.path) for step in steps[:2]] == [
        ("east", "PUT", "/admin/v2/tenants/ops"),
        ("west", "PUT", "/admin/v2/tenants/ops"),
    ]
    assert [step.path for step in steps[-2:]] == [
        "/admin/v2/persistent/ops/meta/changes",
        "/admin/v2/persistent/ops/meta/changes/subscription/pulsar-syncer",
    ]
    locks = [(step.cluster, step.path) for step in steps if step.path.endswith("-lock")]
    assert locks == [
        ("east", "/admin/v2/persistent/ops/meta-local/r1-lock"),
        ("west", "/admin/v2/persistent/ops/meta-local/r2-lock"),
        ("west", "/admin/v2/persistent/ops/meta-local/r3-lock"),
    ]


def test_nothing_is_ever_dropped_expired_or_compacted() -> None:
    bodies = {step.path.partition("/meta/")[2]: step.body for step in needed(empty("east")) if "/meta/" in step.path}
    assert bodies["backlogQuota?backlogQuotaType=destination_storage"] == {
        "limitSize": -1,
        "limitTime": -1,
        "policy": "producer_request_hold",
    }
    assert bodies["messageTTL"] == 0
    assert bodies["compactionThreshold"] == 0
    assert bodies["retention"] == {"retentionTimeInMinutes": 7 * 24 * 60, "retentionSizeInMB": 512}


def test_a_tenant_keeps_its_roles_and_its_other_clusters() -> None:
    picture = replace(complete("east"), tenant={"adminRoles": ["ops"], "allowedClusters": ["east", "old"]})
    (step,) = needed(picture)
    assert (step.method, step.body) == ("POST", {"adminRoles": ["ops"], "allowedClusters": ["east", "old", "west"]})


def test_a_namespace_keeps_clusters_that_it_has_beyond_the_wanted() -> None:
    picture = replace(complete("east"), namespace={**POLICIES, "replication_clusters": ["east", "old"]})
    (step,) = needed(picture)
    assert (step.path, step.body) == ("/admin/v2/namespaces/ops/meta/replication", ["east", "old", "west"])


@pytest.mark.parametrize(
    ("policy", "value", "path"),
    [
        ("retention_policies", {"retentionTimeInMinutes": 1, "retentionSizeInMB": 512}, "retention"),
        ("message_ttl_in_seconds", 3600, "messageTTL"),
        ("message_ttl_in_seconds", None, "messageTTL"),
        ("compaction_threshold", 1, "compactionThreshold"),
        (
            "backlog_quota_map",
            {"destination_storage": {"limitSize": -1, "limitTime": -1, "policy": "consumer_backlog_eviction"}},
            "backlogQuota?backlogQuotaType=destination_storage",
        ),
        ("backlog_quota_map", {}, "backlogQuota?backlogQuotaType=destination_storage"),
        ("inactive_topic_policies", None, "inactiveTopicPolicies"),
    ],
)
def test_a_policy_that_could_lose_messages_is_set_right(policy: str, value: object, path: str) -> None:
    (step,) = needed(replace(complete("east"), namespace={**POLICIES, policy: value}))
    assert step.path == f"/admin/v2/namespaces/ops/meta/{path}"


def test_the_lock_namespace_is_never_replicated() -> None:
    local = {"replication_clusters": ["east", "west"], "inactive_topic_policies": KEEP}
    (step,) = needed(replace(complete("west"), local_namespace=local))
    assert (step.path, step.body) == ("/admin/v2/namespaces/ops/meta-local/replication", ["west"])


def test_a_cluster_that_does_not_know_the_other_is_refused_by_name() -> None:
    with pytest.raises(PreconditionFailed, match="cluster west does not know east"):
        plan(WANTED, [empty("east"), replace(empty("west"), known_clusters=frozenset({"west"}))])


def test_a_partitioned_topic_is_refused() -> None:
    with pytest.raises(PreconditionFailed, match="exists in west with 4 partitions"):
        plan(WANTED, [complete("east"), replace(complete("west"), partitions=4)])


def test_retention_is_said_in_minutes() -> None:
    wanted = replace(WANTED, retention=timedelta(hours=2))
    step = next(step for step in plan(wanted, [complete("east")]) if step.state is StepState.NEEDED)
    assert step.body == {"retentionTimeInMinutes": 120, "retentionSizeInMB": 512}


# -- brokers that are busy

PICTURE = replace(complete("east"), topics=frozenset(), subscriptions=frozenset())
ALONE = replace(WANTED, regions={"east": ("r1",)})
NEEDED = tuple(step for step in plan(ALONE, [PICTURE]) if step.state is StepState.NEEDED)


def client(url: str, times_out_s: float = 30.0) -> AdminClient:
    return AdminClient(AdminSettings(url=url, timeout=timedelta(seconds=times_out_s), retry_for=timedelta(0)))


async def test_a_step_that_was_not_answered_is_done_again_and_counts_as_done() -> None:
    """The broker makes it, and says so too late; then it says that it is there."""
    asked: list[Asked] = []
    again = threading.Event()

    def answer(request: Asked) -> tuple[int, str]:
        asked.append(request)
        if len(asked) == 1:
            again.wait(WAIT_S)
            return 204, ""
        again.set()
        return (409, "it exists") if request.path == asked[0].path else (204, "")

    with serving(answer) as url:
        async with client(url, times_out_s=3.0) as admin:
            steps = await apply_topic(NEEDED, {"east": admin})
    assert {step.state for step in steps} == {StepState.DONE}
    assert {each.path for each in asked} == {step.path for step in NEEDED}


async def test_a_step_is_done_again_while_the_broker_is_not_ready() -> None:
    answers = deque([(503, "starting"), (502, ""), (504, "")])
    with serving(lambda _: answers.popleft() if answers else (204, "")) as url:
        async with client(url) as admin:
            steps = await apply_topic(NEEDED, {"east": admin})
    assert {step.state for step in steps} == {StepState.DONE}


async def test_what_somebody_else_made_is_present() -> None:
    with serving(lambda _: (409, "it exists")) as url:
        async with client(url) as admin:
            steps = await apply_topic(NEEDED, {"east": admin})
    assert {step.state for step in steps} == {StepState.PRESENT}


async def test_it_gives_up_in_the_end_and_says_how_far_it_came() -> None:
    done: list[str] = []

    def answer(request: Asked) -> tuple[int, str]:
        if not done:
            done.append(request.path)
            return 204, ""
        return 503, "too busy"

    with serving(answer) as url:
        async with client(url) as admin:
            with pytest.raises(AdminUnreachable, match="too busy") as caught:
                await apply_topic(NEEDED, {"east": admin}, within_s=0.5)
    assert f"east: {NEEDED[1].subject} was not made, 1 of {len(NEEDED)} steps before it are; " in caught.value.message
    assert re.search(r"; \d+ (try|tries) in \d+ s: ", caught.value.message)
    assert "run the same command again" in caught.value.hint


async def test_a_refusal_is_final() -> None:
    asked: list[Asked] = []

    def answer(request: Asked) -> tuple[int, str]:
        asked.append(request)
        return 403, "not you"

    with serving(answer) as url:
        async with client(url) as admin:
            with pytest.raises(AdminRefused, match="not you"):
                await apply_topic(NEEDED, {"east": admin})
    assert len(asked) == 1


async def test_a_cluster_is_looked_at_again_while_it_is_not_ready() -> None:
    answers = deque([(503, "starting"), (404, ""), (502, "")])

    def answer(request: Asked) -> tuple[int, str]:
        if answers:
            return answers.popleft()
        return (200, '["east"]') if request.path == "/admin/v2/clusters" else (404, "")

    with serving(answer) as url:
        async with client(url) as admin:
            steps = await plan_topic(ALONE, {"east": admin})
    assert {step.state for step in steps} == {StepState.NEEDED}


async def test_a_cluster_that_never_answers_is_said() -> None:
    with serving(lambda _: (503, "starting")) as url:
        async with client(url) as admin:
            with pytest.raises(AdminUnreachable, match=r"east was not looked at; .* starting"):
                await plan_topic(ALONE, {"east": admin}, within_s=0.5)
