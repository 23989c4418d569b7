"""The claim on a cluster's balancing: a property of a namespace that every cluster has, seen by daemons of all regions.

Source: ``NamespacesBase.internalSetProperty``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

CLAIM_NAMESPACE: Final = "pulsar/system"
"""Brokers make it with the cluster. Clusters that share a configuration store share it."""
_CLAIM: Final = "pulsar-syncer.moves"


def claim_key(cluster: str) -> str:
    """Name the property that holds the claim on a cluster."""
    return f"{_CLAIM}.{cluster}"


def claim_in(policies: Mapping[str, Any] | None, cluster: str) -> str | None:
    """Name of the run that has claimed a cluster; empty: none has. ``None``: there is no place for it.

    Args:
        policies: Of the namespace that holds claims; ``None``: there is none.
        cluster: The cluster's own name.
    """
    if policies is None:
        return None
    properties = policies.get("properties")
    return str(properties.get(claim_key(cluster), "")) if isinstance(properties, Mapping) else ""
