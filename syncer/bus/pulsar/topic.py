"""``topic init``: what the bus needs in each cluster, planned from a picture of the clusters and then made.

Planning is pure: pictures in, steps out, each either present or needed. A second run finds every step present.

    tenant, allowed in all clusters             namespace, replicated to all clusters: kept for a while after it was
    local namespace with the regions' locks     read, never expired, never dropped, not compacted (events have no key)
                                                topic without partitions, subscription from the earliest message
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeVar

import stamina

from syncer.admin.calls import AdminRefused, namespace_url, tenant_url, topic_url
from syncer.admin.client import AdminClient, may_pass
from syncer.bus.pulsar.names import local_namespace_of, lock_topic_of, namespace_of
from syncer.errors import AdminError, AdminUnreachable, ConfigError, PreconditionFailed

T = TypeVar("T")

PATIENCE_S: Final = 60.0
"""How long all steps take together at most, while brokers are busy."""
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 3.0
HOLD: Final = "producer_request_hold"
UNLIMITED: Final = -1
_KEEP_TOPICS: Final = {
    "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
    "maxInactiveDurationSeconds": 60,
    "deleteWhileInactive": False,
}


class StepState(StrEnum):
    """What is known of a step."""

    PRESENT = "present"
    NEEDED = "needed"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTopic:
    """What is to exist.

    Args:
        topic: Full name of the bus's topic, without partitions.
        regions: Cluster → regions that it serves; each gets a lock topic there.
        subscription: Subscription of each region's daemon; one per cluster.
        retention: How long acknowledged messages are kept, for regions that join or come back.
        retention_mb: How much of them, in MiB; ``UNLIMITED`` for no bound.
    """

    topic: str
    regions: Mapping[str, tuple[str, ...]]
    subscription: str = "pulsar-syncer"
    retention: timedelta = timedelta(days=7)
    retention_mb: int = UNLIMITED

    @property
    def tenant(self) -> str:
        """Tenant of the topic."""
        return self.namespace.partition("/")[0]

    @property
    def namespace(self) -> str:
        """Namespace of the topic."""
        return namespace_of(self.topic)

    @property
    def local_namespace(self) -> str:
        """Namespace of the locks; each cluster has its own of that name."""
        return local_namespace_of(self.topic)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One cluster as it is now; ``None`` for what does not exist."""

    cluster: str
    known_clusters: frozenset[str]
    tenant: Mapping[str, Any] | None
    namespace: Mapping[str, Any] | None
    local_namespace: Mapping[str, Any] | None
    topics: frozenset[str]
    subscriptions: frozenset[str]
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that is to be so, and the call that makes it so."""

    cluster: str
    subject: str
    wanted: str
    state: StepState
    found: str = ""
    method: str = field(default="", repr=False)
    path: str = field(default="", repr=False)
    body: object = field(default=None, repr=False)


def plan(wanted: WantedTopic, pictures: Sequence[Picture]) -> tuple[Step, ...]:
    """Plan what is missing; steps of all clusters, tenants first, so that no cluster replicates into nothing.

    Raises:
        PreconditionFailed: A cluster does not know another one, or the topic has partitions.
    """
    _check(wanted, pictures)
    names = sorted(wanted.regions)
    phases = [
        [_tenant_step(wanted, picture, names) for picture in pictures],
        [step for picture in pictures for step in _namespace_steps(wanted, picture, names)],
        [step for picture in pictures for step in _local_steps(wanted, picture)],
        [step for picture in pictures for step in _topic_steps(wanted, picture)],
    ]
    return tuple(step for phase in phases for step in phase)


def _check(wanted: WantedTopic, pictures: Sequence[Picture]) -> None:
    for picture in pictures:
        unknown = sorted(set(wanted.regions) - picture.known_clusters)
        if unknown:
            raise PreconditionFailed(
                f"cluster {picture.cluster} does not know {', '.join(unknown)}",
                hint=f"Make it known first: 'pulsar-admin clusters create {unknown[0]}' at {picture.cluster}.",
            )
        if picture.partitions:
            raise PreconditionFailed(
                f"{wanted.topic} exists in {picture.cluster} with {picture.partitions} partitions; order would be lost",
                hint="Choose another topic, or delete this one if nobody uses it.",
            )


def _step(
    picture: Picture, subject: str, wanted: str, *, present: bool, found: str, call: tuple[str, str, object]
) -> Step:
    if present:
        return Step(cluster=picture.cluster, subject=subject, wanted=wanted, state=StepState.PRESENT, found=found)
    method, path, body = call
    return Step(
        cluster=picture.cluster,
        subject=subject,
        wanted=wanted,
        state=StepState.NEEDED,
        found=found,
        method=method,
        path=path,
        body=body,
    )


def _tenant_step(wanted: WantedTopic, picture: Picture, names: list[str]) -> Step:
    info = picture.tenant
    allowed = set(info.get("allowedClusters", ())) if info is not None else set()
    body = {
        "adminRoles": sorted(info.get("adminRoles", ())) if info is not None else [],
        "allowedClusters": sorted(allowed | set(names)),
    }
    return _step(
        picture,
        f"tenant {wanted.tenant}",
        f"allowed in {', '.join(names)}",
        present=info is not None and allowed >= set(names),
        found="absent" if info is None else ", ".join(sorted(allowed)),
        call=("PUT" if info is None else "POST", tenant_url(wanted.tenant), body),
    )


def _namespace_steps(wanted: WantedTopic, picture: Picture, names: list[str]) -> list[Step]:
    name = wanted.namespace
    url = namespace_url(name)
    policies = picture.namespace
    replicated = set(policies.get("replication_clusters", ())) if policies is not None else set()
    if policies is None:
        first = _step(
            picture,
            f"namespace {name}",
            f"replicated to {', '.join(names)}",
            present=False,
            found="absent",
            call=("PUT", url, {"replication_clusters": names}),
        )
    else:
        first = _step(
            picture,
            f"namespace {name}",
            f"replicated to {', '.join(names)}",
            present=replicated >= set(names),
            found=", ".join(sorted(replicated)),
            call=("POST", f"{url}/replication", sorted(replicated | set(names))),
        )
    minutes = int(wanted.retention.total_seconds() // 60)
    now = policies or {}
    quota = (now.get("backlog_quota_map") or {}).get("destination_storage")
    settings: list[tuple[str, object, object, tuple[str, str, object]]] = [
        (
            "retention",
            {"retentionTimeInMinutes": minutes, "retentionSizeInMB": wanted.retention_mb},
            now.get("retention_policies"),
            ("POST", f"{url}/retention", None),
        ),
        ("message TTL (s)", 0, now.get("message_ttl_in_seconds"), ("POST", f"{url}/messageTTL", None)),
        (
            "backlog quota",
            {"limitSize": UNLIMITED, "limitTime": UNLIMITED, "policy": HOLD},
            quota
            and {"limitSize": quota.get("limitSize"), "limitTime": quota.get("limitTime"), "policy": quota["policy"]},
            ("POST", f"{url}/backlogQuota?backlogQuotaType=destination_storage", None),
        ),
        ("compaction threshold", 0, now.get("compaction_threshold"), ("PUT", f"{url}/compactionThreshold", None)),
        _keep_topics(url, now),
    ]
    return [first, *(_policy_step(picture, name, *each) for each in settings)]


def _local_steps(wanted: WantedTopic, picture: Picture) -> list[Step]:
    name = wanted.local_namespace
    url = namespace_url(name)
    policies = picture.local_namespace
    found = sorted(policies.get("replication_clusters", ())) if policies is not None else []
    only = [picture.cluster]
    steps = [
        _step(
            picture,
            f"namespace {name}",
            f"only in {picture.cluster}",
            present=policies is not None and found == only,
            found="absent" if policies is None else ", ".join(found),
            call=("PUT", url, {"replication_clusters": only})
            if policies is None
            else ("POST", f"{url}/replication", only),
        ),
        _policy_step(picture, name, *_keep_topics(url, policies or {})),
    ]
    for region in wanted.regions[picture.cluster]:
        topic = lock_topic_of(wanted.topic, region)
        steps.append(_made(picture, f"topic {topic}", "without partitions", topic in picture.topics, topic_url(topic)))
    return steps


def _topic_steps(wanted: WantedTopic, picture: Picture) -> list[Step]:
    url = topic_url(wanted.topic)
    subscribed = wanted.subscription in picture.subscriptions
    earliest = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
    return [
        _made(picture, f"topic {wanted.topic}", "without partitions", wanted.topic in picture.topics, url),
        _made(
            picture,
            f"subscription {wanted.subscription}",
            "from the earliest message",
            subscribed,
            f"{url}/subscription/{wanted.subscription}",
            earliest,
        ),
    ]


def _made(picture: Picture, subject: str, how: str, present: bool, path: str, body: object = None) -> Step:  # noqa: FBT001
    found = "present" if present else "absent"
    return _step(picture, subject, how, present=present, found=found, call=("PUT", path, body))


def _keep_topics(url: str, policies: Mapping[str, Any]) -> tuple[str, object, object, tuple[str, str, object]]:
    call = ("POST", f"{url}/inactiveTopicPolicies", None)
    return "inactive topics", _KEEP_TOPICS, policies.get("inactive_topic_policies"), call


def _policy_step(
    picture: Picture, namespace: str, what: str, wanted: object, found: object, call: tuple[str, str, object]
) -> Step:
    return _step(
        picture,
        f"{what} of {namespace}",
        _words(wanted),
        present=found == wanted,
        found=_words(found),
        call=(call[0], call[1], wanted),
    )


def _words(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in sorted(value.items()))
    return str(value)


async def look(wanted: WantedTopic, cluster: str, admin: AdminClient) -> Picture:
    """Take the picture of one cluster.

    Raises:
        AdminError: The cluster does not answer, or refuses.
    """
    namespace = await admin.namespace(wanted.namespace) if await admin.tenant(wanted.tenant) else None
    local = await admin.namespace(wanted.local_namespace) if await admin.tenant(wanted.tenant) else None
    topics: set[str] = set()
    if namespace is not None:
        topics |= set(await admin.topics(wanted.namespace))
    if local is not None:
        topics |= set(await admin.topics(wanted.local_namespace))
    stats = await admin.stats(wanted.topic) if wanted.topic in topics else None
    return Picture(
        cluster=cluster,
        known_clusters=frozenset(await admin.clusters()),
        tenant=await admin.tenant(wanted.tenant),
        namespace=namespace,
        local_namespace=local,
        topics=frozenset(topics),
        subscriptions=frozenset((stats or {}).get("subscriptions", {})),
        partitions=await admin.partitions(wanted.topic) if namespace is not None else 0,
    )


async def plan_topic(
    wanted: WantedTopic, admins: Mapping[str, AdminClient], *, within_s: float = PATIENCE_S
) -> tuple[Step, ...]:
    """Look at every cluster and plan.

    Args:
        wanted: What is to exist; its clusters are the keys of ``regions``.
        admins: Cluster → its admin client, for the same clusters.
        within_s: How long to go on asking a cluster that does not answer, or is not ready.

    Raises:
        ConfigError: The clusters of both arguments differ.
        PreconditionFailed: See :func:`plan`.
        AdminUnreachable: A cluster has not answered in all that time.
        AdminRefused: A cluster refuses.
    """
    if set(admins) != set(wanted.regions):
        raise ConfigError(f"clusters {sorted(wanted.regions)} are wanted, admin URLs are given for {sorted(admins)}")
    deadline = time.monotonic() + within_s
    looks = (
        _patiently(f"{cluster} was not looked at", partial(look, wanted, cluster, admins[cluster]), deadline)
        for cluster in sorted(admins)
    )
    return plan(wanted, await asyncio.gather(*looks))


async def apply_topic(
    steps: Sequence[Step], admins: Mapping[str, AdminClient], *, within_s: float = PATIENCE_S
) -> tuple[Step, ...]:
    """Do the steps that are needed, in order; answers all steps, those done marked so.

    Each may be done twice without harm. So one that a busy broker has not answered is done again, with pauses that
    grow, until the time for all of them is over. What somebody else made meanwhile counts as present.

    Args:
        steps: As planned.
        admins: Cluster → its admin client.
        within_s: How long to go on, in all, while a cluster does not answer, or is not ready.

    Raises:
        AdminUnreachable: A cluster has not answered in all that time; the steps before are done. Run it again.
        AdminRefused: A cluster refused a step; the steps before it are done.
    """
    deadline = time.monotonic() + within_s
    outcome: list[Step] = []
    for step in steps:
        state = step.state
        if state is StepState.NEEDED:
            undone = f"{step.cluster}: {step.subject} was not made, {len(outcome)} of {len(steps)} steps before it are"
            state = await _patiently(undone, _Doing(step, admins[step.cluster]), deadline)
        outcome.append(
            Step(cluster=step.cluster, subject=step.subject, wanted=step.wanted, state=state, found=step.found)
        )
    return tuple(outcome)


class _Doing:
    """Does one step, once each time that it is called."""

    def __init__(self, step: Step, admin: AdminClient) -> None:
        self._step = step
        self._admin = admin
        self._tried = False

    async def __call__(self) -> StepState:
        """Do it.

        Raises:
            AdminError: It was refused, or not answered.
        """
        again, self._tried = self._tried, True
        try:
            await self._admin.send(self._step.method, self._step.path, self._step.body)
        except AdminRefused as exc:
            if exc.status != 409:
                raise
            return StepState.DONE if again else StepState.PRESENT  # it was made the first time, and nobody said so
        return StepState.DONE


async def _patiently(undone: str, call: Callable[[], Awaitable[T]], deadline: float) -> T:
    """Call until it is answered, with pauses that grow.

    Args:
        undone: What to say when it is not.
        call: May be repeated.
        deadline: On the monotonic clock; what is under way then is waited for.

    Raises:
        AdminUnreachable: It was not answered.
        AdminRefused: It was refused.
    """
    began, tries = time.monotonic(), 0
    try:
        async for attempt in stamina.retry_context(
            on=may_pass, attempts=None, timeout=max(deadline - began, FIRST_PAUSE_S), wait_max=LONGEST_PAUSE_S
        ):
            with attempt:
                tries = attempt.num
                return await call()
    except AdminError as exc:
        if not may_pass(exc):
            raise
        waited = f"{tries} {'try' if tries == 1 else 'tries'} in {time.monotonic() - began:.0f} s"
        raise AdminUnreachable(
            f"{undone}; {waited}: {exc.message}",
            hint="See whether the broker is up and not overloaded, then run the same command again: what is done stays "
            "so. --timeout lets it try for longer.",
        ) from exc
    raise AssertionError("unreachable: the last attempt raises")  # pragma: no cover
