"""A model of green that takes the steps of its preparation, and refuses children without parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from syncer.migration.checks.finding import ClusterPair
from syncer.migration.evidence import (
    ClusterSeen,
    ClusterUrls,
    LedgerSeen,
    NamespaceSeen,
    StatsAnswer,
    SubscriptionSeen,
    TenantSeen,
    TopicSeen,
)
from syncer.migration.policies.calls import NAMESPACE_LEVEL, TOPIC_LEVEL, PolicyLevel
from syncer.migration.preparing.step import PreparationStep
from syncer.replacing import replace


def after(pair: ClusterPair, steps: Iterable[PreparationStep]) -> ClusterPair:
    """Both clusters as they are read when green has taken some steps."""
    green = pair.green
    for step in steps:
        green = _taken(green, step)
    return replace(pair, green=green)


def _taken(green: ClusterSeen, step: PreparationStep) -> ClusterSeen:
    parts = [unquote(part) for part in urlsplit(step.path).path.split("/")[3:]]
    query = dict(parse_qsl(urlsplit(step.path).query))
    body: Any = step.body
    match step.method, parts:
        case "PUT", ["clusters", name]:
            assert name not in green.clusters
            return replace(green, clusters={**green.clusters, name: ClusterUrls(http=body.get("serviceUrl", ""))})
        case ("PUT" | "POST") as method, ["tenants", name]:
            assert (name in green.tenants) is (method == "POST")
            assert set(body["allowedClusters"]) <= {green.name, *green.clusters}
            roles, clusters = frozenset(body["adminRoles"]), frozenset(body["allowedClusters"])
            made = TenantSeen(admin_roles=roles, allowed_clusters=clusters)
            return replace(green, tenants={**green.tenants, name: made})
        case "PUT", ["namespaces", tenant, name]:
            allowed = green.tenants[tenant].allowed_clusters
            assert {*body["replication_clusters"], *body.get("allowed_clusters", ())} <= allowed
            assert f"{tenant}/{name}" not in green.namespaces
            return _with(green, NamespaceSeen(name=f"{tenant}/{name}", policies=body))
        case method, ["namespaces", tenant, name, *policy]:
            namespace = green.namespaces[f"{tenant}/{name}"]
            policies = _policies(green, namespace.policies, method, policy, query, body)
            return _with(green, replace(namespace, policies=policies))
        case method, [("persistent" | "schemas") as what, tenant, name, topic, *rest]:
            namespace = green.namespaces[f"{tenant}/{name}"]
            full = f"persistent://{tenant}/{name}/{topic}"
            if what == "schemas":
                _there(namespace, full)
                schema = {"version": 0, "type": body["type"], "data": body["schema"], "properties": body["properties"]}
                return _with(green, replace(namespace, schemas={**namespace.schemas, full: schema}))
            return _with(green, _topic(namespace, full, method, rest, query, body))
    raise AssertionError(f"no such call: {step.method} {step.path}")


def _with(green: ClusterSeen, namespace: NamespaceSeen) -> ClusterSeen:
    return replace(green, namespaces={**green.namespaces, namespace.name: namespace})


def _there(namespace: NamespaceSeen, topic: str) -> None:
    assert topic in namespace.topics or topic in namespace.partitions, topic


def _policies(
    green: ClusterSeen, given: Mapping[str, Any], method: str, path: list[str], query: dict[str, str], body: Any
) -> dict[str, Any]:
    policies = dict(given)
    match path:
        case ["replication"]:
            assert green.name in body
            assert not policies.get("allowed_clusters") or set(body) <= set(policies["allowed_clusters"])
            policies["replication_clusters"] = body
        case ["allowedClusters"]:
            assert set(policies["replication_clusters"]) <= set(body)
            policies["allowed_clusters"] = body
        case ["permissions", "subscription", name]:
            policies["auth_policies"] = _granted(policies, "subscription_auth_roles", name, body)
        case ["permissions", role]:
            policies["auth_policies"] = _granted(policies, "namespace_auth", role, body)
        case _:
            name, value = _policy(NAMESPACE_LEVEL, method, path, query, body)
            if name.endswith("Rate"):
                held = policies.get(name) or {}
                value = {key: each for key, each in {**held, green.name: value}.items() if each is not None}
            if name == "backlog_quota_map":
                value = _quotas(policies.get(name), value)
            policies[name] = value
    return policies


def _granted(policies: Mapping[str, Any], kind: str, name: str, allowed: Any) -> dict[str, Any]:
    held = policies.get("auth_policies") or {}
    return {**held, kind: {**(held.get(kind) or {}), name: allowed}}


def _quotas(held: Any, changed: Any) -> dict[str, Any]:
    return {kind: quota for kind, quota in {**(held or {}), **changed}.items() if quota is not None}


def _policy(level: PolicyLevel, method: str, path: list[str], query: dict[str, str], body: Any) -> tuple[str, Any]:
    """The policy that a call sets, by its name in the JSON, and its value."""
    if path == ["backlogQuota"]:
        return level.quotas, {query["backlogQuotaType"]: None if method == "DELETE" else body}
    for name, call in level.calls.items():
        removal = call.removal or ("", "")
        if (method, "/".join(path)) == removal:
            return name, None
        first, _, value = call.path.partition("/")
        if method == call.method and path[0] == first:
            return name, (path[1] if value else body) if call.has_body or value else True
    raise AssertionError(f"no policy is set by {method} {path}")


def _topic(
    namespace: NamespaceSeen, topic: str, method: str, path: list[str], query: dict[str, str], body: Any
) -> NamespaceSeen:
    topics = dict(namespace.topics)
    match method, path:
        case "PUT", []:
            assert topic not in topics
            return replace(namespace, topics={**topics, topic: _made(topic)})
        case ("PUT" | "POST") as method, ["partitions"]:
            assert topic not in topics
            assert namespace.partitions.get(topic, 0) <= body
            assert (topic in namespace.partitions) is (method == "POST")
            made = {part: _made(part) for part in (f"{topic}-partition-{number}" for number in range(body))}
            return replace(namespace, topics={**made, **topics}, partitions={**namespace.partitions, topic: body})
        case "POST", ["createMissedPartitions"]:
            parts = (f"{topic}-partition-{number}" for number in range(namespace.partitions[topic]))
            return replace(namespace, topics={**{part: _made(part) for part in parts}, **topics})
        case "POST", ["permissions", role]:
            held = namespace.policies.get("auth_policies") or {}
            grants = dict(held.get("destination_auth") or {}) if isinstance(held, Mapping) else {}
            grants[topic] = {**grants.get(topic, {}), role: body}
            auth = {**held, "destination_auth": grants} if isinstance(held, Mapping) else {}
            return replace(namespace, policies={**namespace.policies, "auth_policies": auth})
        case "PUT", ["subscription", name]:
            _there(namespace, topic)
            count = namespace.partitions.get(topic, 0)
            for part in [f"{topic}-partition-{number}" for number in range(count)] or [topic]:
                seen = topics[part]
                made_here = SubscriptionSeen(
                    kind="",
                    backlog=0,
                    properties=body.get("properties", {}),
                    replicated="replicated" in query and not count,
                )
                topics[part] = replace(seen, subscriptions={name: made_here, **seen.subscriptions})
            return replace(namespace, topics=topics)
        case _:
            _there(namespace, topic)
            own = dict(namespace.topic_policies.get(topic, {}))
            if path == ["replication"]:
                policy, value = "replication", body
            else:
                policy, value = _policy(TOPIC_LEVEL, method, path, query, body)
            own[policy] = _quotas(own.get(policy), value) if policy == TOPIC_LEVEL.quotas else value
            return replace(namespace, topic_policies={**namespace.topic_policies, topic: own})


def _made(name: str) -> TopicSeen:
    return TopicSeen(name=name, ledger=LedgerSeen(terminated=None, migrated=False), answer=StatsAnswer.LOADED)
