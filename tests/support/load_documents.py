"""Documents of a cluster's load as Pulsar 4.0.8 writes them, and a small cluster of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from syncer.balancer.decoding.entries import take_cluster, take_entry
from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.picture import FigureOrigin, LoadSource

NOW_MS: Final = 1_800_000_000_000
MODULAR: Final = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
EXTENSIBLE: Final = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
FIRST: Final = "shop/orders/0x00000000_0x80000000"
SECOND: Final = "shop/orders/0x80000000_0xffffffff"
PATH: Final = "/loadbalance/brokers/b1:8080"
STORE: Final = FigureOrigin(LoadSource.STORE, PATH, NOW_MS)


def stats(**changed: object) -> dict[str, Any]:
    """NamespaceBundleStats."""
    return {
        "msgRateIn": 10.0,
        "msgThroughputIn": 1000.0,
        "msgRateOut": 20.0,
        "msgThroughputOut": 2000.0,
        "consumerCount": 2,
        "producerCount": 1,
        "topics": 3,
        "cacheSize": 0,
        **changed,
    }


def usages() -> dict[str, Any]:
    """The five usages of a report."""
    return {
        "cpu": {"usage": 120.5, "limit": 800.0},
        "memory": {"usage": 100.0, "limit": 512.0},
        "directMemory": {"usage": 10.0, "limit": 256.0},
        "bandwidthIn": {"usage": 8.0, "limit": -1000.0},
        "bandwidthOut": {"usage": 16.0, "limit": 10_000_000.0},
    }


def local_broker(broker: str = "b1:8080", *bundles: str, **changed: object) -> dict[str, Any]:
    """LocalBrokerData, owner of some bundles."""
    host = broker.partition(":")[0]
    return {
        "webServiceUrl": f"http://{broker}",
        "pulsarServiceUrl": f"pulsar://{host}:6650",
        "persistentTopicsEnabled": True,
        "nonPersistentTopicsEnabled": True,
        **usages(),
        "msgThroughputIn": 1000.0,
        "msgThroughputOut": 2000.0,
        "msgRateIn": 10.0,
        "msgRateOut": 20.0,
        "lastUpdate": NOW_MS - 4000,
        "lastStats": {bundle: stats() for bundle in bundles},
        "numTopics": 3,
        "numBundles": len(bundles),
        "numConsumers": 2,
        "numProducers": 1,
        "bundles": list(bundles),
        "lastBundleGains": [],
        "lastBundleLosses": [],
        "brokerVersionString": "4.0.8",
        "protocols": {},
        "advertisedListeners": {},
        "loadManagerClassName": MODULAR,
        "startTimestamp": NOW_MS - 10_000_000,
        "maxResourceUsage": 0.15,
        "loadReportType": "LocalBrokerData",
        **changed,
    }


def lookup_data(broker: str = "b1:8080", **changed: object) -> dict[str, Any]:
    """BrokerLookupData."""
    return {
        "webServiceUrl": f"http://{broker}",
        "pulsarServiceUrl": f"pulsar://{broker.partition(':')[0]}:6650",
        "advertisedListeners": {},
        "protocols": {},
        "persistentTopicsEnabled": True,
        "nonPersistentTopicsEnabled": True,
        "loadManagerClassName": EXTENSIBLE,
        "startTimestamp": NOW_MS - 10_000_000,
        "brokerVersion": "4.0.8",
        "properties": {},
        **changed,
    }


def broker_load(**changed: object) -> dict[str, Any]:
    """BrokerLoadData."""
    return {
        **usages(),
        "msgThroughputIn": 1000.0,
        "msgThroughputOut": 2000.0,
        "msgRateIn": 10.0,
        "msgRateOut": 20.0,
        "bundleCount": 1,
        "topics": 3,
        "maxResourceUsage": 0.15,
        "weightedMaxEMA": 0.14,
        "msgThroughputEMA": 2900.0,
        "updatedAt": NOW_MS - 5000,
        "reportedAt": NOW_MS - 4000,
        **changed,
    }


def broker_metrics(**changed: object) -> list[dict[str, Any]]:
    """Metrics of a broker of the extensible manager, as ``broker-stats/metrics`` tells them among others."""
    dimensions = {"broker": "b1", "metric": "loadBalancing"}
    usages = {
        "brk_lb_bandwidth_in_usage": 0.0,
        "brk_lb_bandwidth_out_usage": 0.5,
        "brk_lb_cpu_usage": 12.5,
        "brk_lb_directMemory_usage": 6.25,
        "brk_lb_memory_usage": 20.0,
        **changed,
    }
    return [
        {"metrics": {"brk_ml_count": 3}, "dimensions": {}},
        {"metrics": {"brk_lb_resource_usage": 0.11}, "dimensions": {**dimensions, "feature": "max_ema"}},
        {"metrics": usages, "dimensions": dimensions},
        {"metrics": {"brk_lb_resource_usage": 0.13}, "dimensions": {**dimensions, "feature": "max"}},
    ]


def top_bundles(*bundles: str) -> dict[str, Any]:
    """TopBundlesLoadData."""
    return {"topBundlesLoadData": [{"bundleName": bundle, "stats": stats()} for bundle in bundles]}


def average(samples: int, most: int, **changed: object) -> dict[str, Any]:
    """TimeAverageMessageData."""
    return {
        "maxSamples": most,
        "numSamples": samples,
        "msgThroughputIn": 1000.0,
        "msgThroughputOut": 2000.0,
        "msgRateIn": 10.0,
        "msgRateOut": 20.0,
        **changed,
    }


def bundle_data(**changed: object) -> dict[str, Any]:
    """BundleData."""
    return {"shortTermData": average(1, 10), "longTermData": average(1, 1000), "topics": 3, **changed}


def owner(broker: str = "b1:8080") -> dict[str, Any]:
    """NamespaceEphemeralData."""
    return {
        "nativeUrl": f"pulsar://{broker.partition(':')[0]}:6650",
        "httpUrl": f"http://{broker}",
        "disabled": False,
        "advertisedListeners": {},
    }


def unit(state: str = "Owned", version: int = 1, **changed: object) -> dict[str, Any]:
    """ServiceUnitStateData."""
    return {
        "state": state,
        "dstBroker": "b1:8080",
        "force": False,
        "timestamp": NOW_MS,
        "versionId": version,
        **changed,
    }


def boundaries(*texts: str, **changed: object) -> dict[str, Any]:
    """LocalPolicies."""
    cut = list(texts) or ["0x00000000", "0x80000000", "0xffffffff"]
    return {"bundles": {"boundaries": cut, "numBundles": len(cut) - 1}, **changed}


def isolation(**changed: object) -> dict[str, Any]:
    """One isolation policy."""
    return {
        "namespaces": ["shop/.*"],
        "primary": ["b1"],
        "secondary": ["b2"],
        "auto_failover_policy": {
            "policy_type": "min_available",
            "parameters": {"min_limit": "1", "usage_threshold": "80"},
        },
        **changed,
    }


def small_cluster() -> dict[str, Any]:
    """Path → document of a cluster with two brokers of the modular manager, each with a bundle of one namespace."""
    return {
        "/loadbalance/brokers/b1:8080": local_broker("b1:8080", FIRST),
        "/loadbalance/brokers/b2:8080": local_broker("b2:8080", SECOND),
        f"/loadbalance/bundle-data/{FIRST}": bundle_data(),
        "/loadbalance/broker-time-average/b1:8080": {"longTermMsgRateIn": 10.0, "longTermMsgRateOut": 20.0},
        "/loadbalance/leader": {"brokerId": "b1:8080", "serviceUrl": "http://b1:8080"},
        f"/namespace/{FIRST}": owner("b1:8080"),
        f"/namespace/{SECOND}": owner("b2:8080"),
        "/admin/local-policies/shop/orders": boundaries(namespaceAntiAffinityGroup="pair"),
        "/admin/policies/shop/orders": {"auth_policies": {}, "bundles": None},
        "/admin/clusters/east/namespaceIsolationPolicies": {"shops": isolation()},
        "/admin/clusters/east/failureDomain/rack": {"brokers": ["b1:8080"]},
    }


def taken(documents: Mapping[str, Any], *, ownership_read: bool = True) -> PictureParts:
    """Parts of documents, as a store holds them.

    Args:
        documents: Path → document, or bytes as they are.
        ownership_read: All ownership is among them.
    """
    parts = PictureParts()
    if ownership_read:
        parts.bundles.ownership_read = FigureOrigin(LoadSource.STORE, "/namespace")
    cluster: dict[str, tuple[bytes, int | None]] = {}
    for path, document in documents.items():
        value = document if isinstance(document, bytes) else json.dumps(document).encode()
        if path.startswith("/admin/clusters/"):
            cluster[path] = (value, NOW_MS)
        else:
            take_entry(path, value, NOW_MS, parts)
    take_cluster("east", cluster, parts)
    return parts
