"""Namespaces as real clusters hold them: tenants and policies of 0.5 to 2 KB, always the same for the same number."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import orjson

from syncer.model import MetaPath
from syncer.paths import namespace_path, tenant_path

NAMESPACES_OF_A_TENANT: Final = 50
CLUSTERS: Final = ("us-east", "us-west", "eu-central")


def resources(count: int) -> Iterator[tuple[MetaPath, bytes]]:
    """So many resources, parents first: one tenant, its namespaces, the next tenant."""
    for number in range(count):
        tenant, namespace = divmod(number, NAMESPACES_OF_A_TENANT + 1)
        name = f"tenant-{tenant:06d}"
        if namespace == 0:
            roles = [f"admin-{role}" for role in range(3)]
            yield tenant_path(name), orjson.dumps({"adminRoles": roles, "allowedClusters": CLUSTERS})
        else:
            yield namespace_path(name, f"namespace-{namespace:03d}"), policies(number)


def policies(number: int) -> bytes:
    """Policies of a namespace; bundles, permissions and quotas vary in number and length."""
    chance = random.Random(number)
    bundles = chance.choice((4, 4, 8, 16))
    step = (1 << 32) // bundles
    roles = {
        f"service-{chance.randrange(10_000):04d}": chance.sample(["produce", "consume", "functions"], k=2)
        for _ in range(chance.randrange(1, 12))
    }
    return orjson.dumps(
        {
            "auth_policies": {"namespace_auth": roles, "destination_auth": {}, "subscription_auth_roles": {}},
            "replication_clusters": chance.sample(CLUSTERS, k=chance.randrange(1, 4)),
            "bundles": {
                "boundaries": [f"0x{step * at:08x}" for at in range(bundles)] + ["0xffffffff"],
                "numBundles": bundles,
            },
            "backlog_quota_map": {
                "destination_storage": {"limitSize": chance.randrange(1 << 30), "policy": "producer_exception"}
            },
            "clusterDispatchRate": {},
            "topicDispatchRate": {
                cluster: {"dispatchThrottlingRateInMsg": chance.randrange(10_000), "ratePeriodInSecond": 1}
                for cluster in CLUSTERS
            },
            "persistence": {"bookkeeperEnsemble": 3, "bookkeeperWriteQuorum": 3, "bookkeeperAckQuorum": 2},
            "latency_stats_sample_rate": {},
            "message_ttl_in_seconds": chance.randrange(1 << 20),
            "subscription_expiration_time_minutes": None,
            "retention_policies": {"retentionTimeInMinutes": chance.randrange(1 << 14), "retentionSizeInMB": -1},
            "deleted": False,
            "encryption_required": False,
            "subscription_auth_mode": "None",
            "max_producers_per_topic": chance.randrange(1_000),
            "max_consumers_per_topic": chance.randrange(1_000),
            "schema_compatibility_strategy": "FULL",
            "is_allow_auto_update_schema": True,
            "schema_validation_enforced": False,
            "offload_threshold": -1,
            "properties": {f"property-{at}": f"{chance.getrandbits(64):016x}" for at in range(chance.randrange(6))},
        }
    )
