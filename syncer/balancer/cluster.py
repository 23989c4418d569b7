"""Cluster: all that the leader of the modular manager decides by.

Source: LoadData, BrokerData, TimeAverageBrokerData, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from syncer.balancer.averages import BundleAverages
from syncer.balancer.load import BrokerReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLoad:
    """Reports of the brokers and averages of the bundles, each mapping in its order at the leader: it decides ties.

    ``preallocated`` are the bundles that a broker was chosen for and does not report yet; ``broker_rates`` the sum of
    a broker's long averages, in messages a second.
    """

    brokers: Mapping[str, BrokerReport]
    bundles: Mapping[str, BundleAverages] = field(default_factory=dict)
    recently_unloaded: AbstractSet[str] = frozenset()
    preallocated: Mapping[str, Mapping[str, BundleAverages]] = field(default_factory=dict)
    broker_rates: Mapping[str, float] = field(default_factory=dict)
