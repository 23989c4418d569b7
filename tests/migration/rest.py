"""The admin REST API of a simulated cluster: clusters, brokers, tenants, namespaces; the rest is beside it.

Calls take no time. What a write changes in other brokers they learn a moment later, as time passes.
"""

from __future__ import annotations

from typing import Any, Final

from tests.migration import rest_policies, rest_topics
from tests.migration.clusters.answers import ClusterUrl
from tests.migration.clusters.broker import Broker
from tests.migration.clusters.cluster import Cluster, ClusterMark
from tests.migration.clusters.namespace import Namespace
from tests.migration.rest_calls import DONE, Answer, ApiError, Call, NoAnswer, Routes
from tests.migration.rest_forms import VERSION, namespace, runtime, stats
from tests.migration.rest_policies import check_allowed, check_served, check_writable, namespace_of

METADATA_TIMEOUT_MS: Final = 30_000
ROUTES: Final = Routes()
DYNAMIC: Final = frozenset(
    {
        "brokerDeleteInactiveTopicsEnabled",
        "keySharedLookAheadMsgInReplayThresholdPerSubscription",
        "loadBalancerSheddingEnabled",
        "loadBalancerAutoBundleSplitEnabled",
        "loadBalancerAutoUnloadSplitBundlesEnabled",
    }
)


class AdminApi:
    """The API of one cluster, or of one of its brokers: that one sends calls on whose topic another owns."""

    def __init__(self, cluster: Cluster, broker: Broker | None = None) -> None:
        self.cluster = cluster
        self.broker = broker

    def answer(self, method: str, path: str, body: object = None) -> Answer:
        """Answer a call: its status, and its JSON.

        Raises:
            NoAnswer: The broker that owns the topic is deadlocked.
        """
        if self.broker is not None and not self.broker.running:
            return 503, {"reason": "Service Unavailable"}
        try:
            answering, call = ROUTES.find(self, method, path, body)
            if "topic" in call.names and "schemas" not in path:
                check_served(call)
                owner = self.cluster.owner(call.topic)
                if isinstance(owner, Broker) and owner.deadlocked and not path.endswith("/internal-info"):
                    raise NoAnswer(f"{method} {path}")
                if isinstance(owner, Broker) and self.broker is not None and owner is not self.broker:
                    return 307, {"Location": f"http://{owner.address}{path}"}
            return answering(call)
        except ApiError as error:
            return error.status, {"reason": error.reason}


# Clusters


@ROUTES.on("GET", "/admin/v2/clusters")
def _clusters(call: Call) -> Answer:
    cluster = call.api.cluster
    return 200, sorted(cluster.known.keys() | cluster.marks.keys())


@ROUTES.on("GET|PUT|POST|DELETE", "/admin/v2/clusters/{cluster}")
def _cluster(call: Call) -> Answer:
    cluster, name = call.api.cluster, call.names["cluster"]
    known = name in cluster.known
    if name in cluster.marks and (call.method == "DELETE" or (call.method == "GET" and not known)):
        raise ApiError(500, "the node of the cluster has a child, and no data of its own")
    match call.method:
        case "PUT" if known:
            raise ApiError(409, "Cluster already exists")
        case "PUT" | "POST":
            check_writable(call)
            cluster.known[name] = dict(call.body)
            return 200, None
        case _ if not known:
            raise ApiError(404, "Cluster does not exist")
        case "DELETE":
            check_writable(call)
            del cluster.known[name]
            return DONE
    return 200, cluster.known[name]


@ROUTES.on("GET|POST", "/admin/v2/clusters/{cluster}/migrate")
def _migrate(call: Call) -> Answer:
    """Neither the cluster's name nor the addresses are checked, but for an idea of emptiness that is inverted."""
    cluster, name = call.api.cluster, call.names["cluster"]
    if call.method == "GET":
        mark = cluster.marks.get(name)
        if mark is None:
            raise ApiError(404, "Cluster does not exist")
        target = {} if mark.url is None else {"migratedClusterUrl": mark.url.json}
        return 200, {"migrated": mark.migrated, **target}
    if call.body is None:
        raise ApiError(500, "HTTP 500 Internal Server Error")
    migrated = call.query.get("migrated", "false") == "true"
    url = ClusterUrl(
        http=call.body.get("serviceUrl") or "",
        https=call.body.get("serviceUrlTls") or "",
        pulsar=call.body.get("brokerServiceUrl") or "",
        pulsar_ssl=call.body.get("brokerServiceUrlTls") or "",
    )
    if migrated and url.counts_as_empty:
        raise ApiError(400, "Cluster url must not be empty")
    check_writable(call)
    cluster.marks[name] = ClusterMark(migrated, url)
    cluster.timeline.tell(cluster.name, f"marked {migrated}, to {url.pulsar or 'nowhere'}")
    return 200, None


# Brokers


@ROUTES.on("GET", "/admin/v2/brokers/version")
def _version(_: Call) -> Answer:
    return 200, VERSION


@ROUTES.on("GET", "/admin/v2/brokers/(?:ready|health)")
def _ready(call: Call) -> Answer:
    brokers = call.api.cluster.active if call.api.broker is None else (call.api.broker,)
    if any(each.deadlocked for each in brokers):
        raise ApiError(500, "Deadlocked threads detected.")
    if not brokers or any(each.is_blocked for each in brokers):
        raise ApiError(500, "HTTP 500 Internal Server Error")
    return 200, "ok"


@ROUTES.on("GET", "/admin/v2/brokers/configuration/runtime")
def _runtime(call: Call) -> Answer:
    return 200, runtime(call.api.broker or call.api.cluster.brokers[0])


@ROUTES.on("GET", "/admin/v2/brokers/configuration")
def _dynamic_names(_: Call) -> Answer:
    return 200, sorted(DYNAMIC)


@ROUTES.on("GET", "/admin/v2/brokers/configuration/values")
def _dynamic_values(call: Call) -> Answer:
    return 200, dict(call.api.cluster.dynamic)


@ROUTES.on("POST", "/admin/v2/brokers/configuration/{key}/{value}")
def _set_dynamic(call: Call) -> Answer:
    if call.names["key"] not in DYNAMIC:
        raise ApiError(412, "Can't update non-dynamic configuration")
    call.api.cluster.dynamic[call.names["key"]] = call.names["value"]
    return DONE


@ROUTES.on("DELETE", "/admin/v2/brokers/configuration/{key}")
def _remove_dynamic(call: Call) -> Answer:
    if call.names["key"] not in DYNAMIC:
        raise ApiError(412, "Can't delete non-dynamic configuration")
    call.api.cluster.dynamic.pop(call.names["key"], None)
    return DONE


@ROUTES.on("GET", "/admin/v2/brokers(?:/{cluster})?")
def _brokers(call: Call) -> Answer:
    return 200, [broker.address for broker in call.api.cluster.active]


@ROUTES.on("GET", "/admin/v2/broker-stats/topics")
def _broker_stats(call: Call) -> Answer:
    brokers = call.api.cluster.active if call.api.broker is None else (call.api.broker,)
    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for broker in brokers:
        for topic in broker.topics.values():
            bundle = found.setdefault(topic.namespace, {}).setdefault(broker.address, {"persistent": {}})
            bundle["persistent"][topic.name] = stats(topic)
    return 200, found


# Tenants and namespaces


@ROUTES.on("GET", "/admin/v2/tenants")
def _tenants(call: Call) -> Answer:
    return 200, sorted(call.api.cluster.tenants)


@ROUTES.on("GET|PUT|POST", "/admin/v2/tenants/{tenant}")
def _tenant(call: Call) -> Answer:
    tenants, name = call.api.cluster.tenants, call.names["tenant"]
    if call.method == "PUT" and name in tenants:
        raise ApiError(409, "Tenant already exist")
    if call.method != "PUT" and name not in tenants:
        raise ApiError(404, "Tenant does not exist")
    if call.method == "GET":
        return 200, tenants[name]
    check_writable(call)
    for each in (call.body or {}).get("allowedClusters", ()):
        if each not in call.api.cluster.known:
            raise ApiError(412, f"Clusters [{each}] do not exist")
    tenants[name] = dict(call.body or {})
    return DONE


@ROUTES.on("GET", "/admin/v2/resourcegroups")
def _groups(call: Call) -> Answer:
    return 200, sorted(call.api.cluster.resource_groups)


@ROUTES.on("GET", "/admin/v2/resourcegroups/{group}")
def _group(call: Call) -> Answer:
    found = call.api.cluster.resource_groups.get(call.names["group"])
    if found is None:
        raise ApiError(404, "ResourceGroup does not exist")
    return 200, found


@ROUTES.on("GET", "/admin/v2/namespaces/{tenant}")
def _namespaces(call: Call) -> Answer:
    tenant = call.names["tenant"]
    if tenant not in call.api.cluster.tenants:
        raise ApiError(404, "Tenant does not exist")
    return 200, sorted(name for name in call.api.cluster.namespaces if name.startswith(f"{tenant}/"))


@ROUTES.on("GET|PUT|DELETE", "/admin/v2/namespaces/{tenant}/{namespace}")
def _one_namespace(call: Call) -> Answer:
    cluster = call.api.cluster
    if call.method == "PUT":
        check_writable(call)
        if call.names["tenant"] not in cluster.tenants:
            raise ApiError(404, "Tenant does not exist")
        if call.namespace in cluster.namespaces:
            raise ApiError(409, "Namespace already exists")
        policies = {"replication_clusters": [cluster.name], **(call.body or {})}
        bundles = policies.pop("bundles", None) or {}
        policies.pop("migrated", None)
        allowed = policies.get("allowed_clusters") or ()
        check_allowed(call, {*allowed, *policies["replication_clusters"]})
        if allowed and not set(policies["replication_clusters"]) <= set(allowed):
            raise ApiError(400, "All replication clusters should be included in allowed clusters")
        made = Namespace(call.namespace, policies, bundles=int(bundles.get("numBundles") or 4))
        cluster.add_namespace(made)
        return DONE
    found = namespace_of(call)
    if call.method == "GET":
        return 200, namespace(cluster, found)
    check_writable(call)
    if any(name.startswith(f"persistent://{found.name}/") for name in cluster.ledgers):
        raise ApiError(409, "Cannot delete non empty namespace")
    cluster.remove_namespace(found.name)
    return DONE


@ROUTES.on("POST", "/admin/v2/namespaces/{tenant}/{namespace}/migration")
def _mark_namespace(call: Call) -> Answer:
    """No check that there is anywhere to go, that policies are not read only, nor that the namespace is there.

    The metadata thread waits for itself where local policies have yet to be made from policies that it does not hold;
    that it may hold those of a namespace that is there is not counted upon.
    """
    cluster = call.api.cluster
    found = cluster.namespaces.get(call.namespace)
    if found is None or not found.looked_up:
        cluster.timeline.tell(call.namespace, "metadata thread waits for itself")
        cluster.timeline.run(METADATA_TIMEOUT_MS)
        raise ApiError(500, f"Failed to set/create /admin/local-policies/{call.namespace}")
    found.marked = call.body is True
    cluster.timeline.tell(found.name, f"marked {found.marked}")
    return DONE


@ROUTES.on("GET", "/lookup/v2/topic/persistent/{tenant}/{namespace}/{name}/bundle")
def _bundle(call: Call) -> Answer:
    """A namespace that is not there is one bundle."""
    found = call.api.cluster.namespaces.get(call.namespace)
    if found is None:
        return 200, "0x00000000_0xffffffff"
    found.looked_up = True
    return 200, f"0x00000000_0x{0xFFFFFFFF // found.bundles:08x}"


@ROUTES.on("PUT", "/admin/v2/namespaces/{tenant}/{namespace}/unload")
def _unload_namespace(call: Call) -> Answer:
    call.api.cluster.unload(namespace_of(call).name)
    return DONE


rest_topics.add_to(ROUTES)
rest_policies.add_to(ROUTES)
