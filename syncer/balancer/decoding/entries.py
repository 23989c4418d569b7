"""Entries of a store, each decoded by its path; a path that says nothing of load is passed over.

Source: the paths of LoadManager, OwnershipCache, LocalPoliciesResources, NamespaceResources, ClusterResources,
ServiceUnitStateMetadataStoreTableViewImpl, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from syncer.balancer.decoding.brokers import take_broker_average, take_leader, take_registration
from syncer.balancer.decoding.bundles import BUNDLE, bundle_averages
from syncer.balancer.decoding.constraints import take_domains, take_isolation, take_local_policies, take_policies
from syncer.balancer.decoding.fields import DocumentFields, parsed
from syncer.balancer.decoding.ownership import take_ownership_node, take_unit, unit_record
from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.picture import FigureOrigin, Known, LoadSource

BROKERS: Final = "/loadbalance/brokers"
BUNDLE_DATA: Final = "/loadbalance/bundle-data"
BROKER_AVERAGES: Final = "/loadbalance/broker-time-average"
LEADER: Final = "/loadbalance/leader"
EXTENSIBLE_LEADER: Final = "/loadbalance/extension/leader"
OWNERSHIP: Final = "/namespace"
UNITS: Final = "/service_unit_state"
LOCAL_POLICIES: Final = "/admin/local-policies"
POLICIES: Final = "/admin/policies"
CLUSTERS: Final = "/admin/clusters"
_ISOLATION: Final = "namespaceIsolationPolicies"
_DOMAINS: Final = "failureDomain"
_SLASHES_OF_A_NAMESPACE: Final = (1, 2)

_Take = Callable[[str, DocumentFields, FigureOrigin, PictureParts], None]


def take_entry(path: str, value: bytes, modified_ms: int | None, parts: PictureParts) -> None:
    """Take an entry of the store of a cluster, or of its configuration store.

    Args:
        path: Its path.
        value: Its bytes; an inner node has none.
        modified_ms: When the store took it, where it tells.
        parts: What it becomes part of.
    """
    for prefix, (is_name, take) in _KINDS.items():
        if path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in {"/", ""}:
            name = path[len(prefix) + 1 :]
            if is_name(name, value):
                fields = parsed(path, value, parts.notes)
                if fields is not None:
                    take(name, fields, FigureOrigin(LoadSource.STORE, path, modified_ms), parts)
            return


def take_cluster(name: str, entries: Mapping[str, tuple[bytes, int | None]], parts: PictureParts) -> None:
    """Take a cluster's isolation policies and failure domains; where there are none, that is known then.

    Args:
        name: The cluster's, in Pulsar.
        entries: Path → value and time of all that is below the cluster's path.
        parts: What they become part of.
    """
    below = f"{CLUSTERS}/{name}"
    value, modified_ms = entries.get(f"{below}/{_ISOLATION}", (b"", None))
    origin = FigureOrigin(LoadSource.STORE, f"{below}/{_ISOLATION}", modified_ms)
    fields = parsed(origin.where, value or b"{}", parts.notes)
    if fields is not None:
        take_isolation(fields, origin, parts)
    folder = f"{below}/{_DOMAINS}/"
    found = {
        path.removeprefix(folder): parsed(path, data, parts.notes)
        for path, (data, _) in entries.items()
        if path.startswith(folder)
    }
    take_domains(found, FigureOrigin(LoadSource.STORE, folder.rstrip("/")), parts)


def _is_broker(name: str, _value: bytes) -> bool:
    return bool(name) and "/" not in name


def _is_bundle(name: str, _value: bytes) -> bool:
    return BUNDLE.fullmatch(name) is not None


def _is_namespace(name: str, value: bytes) -> bool:
    """Whether it is a namespace's; a tenant, and the cluster of an old name, have no value."""
    return bool(value) and name.count("/") in _SLASHES_OF_A_NAMESPACE


def _is_itself(name: str, _value: bytes) -> bool:
    return not name


def _take_leader(_name: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    take_leader(fields, origin, parts)


def _take_averages(bundle: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    averages = bundle_averages(fields)
    if averages is not None:
        parts.bundles.averages[bundle] = Known(averages, origin)


def _take_unit(bundle: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    record = unit_record(fields)
    if record is not None:
        take_unit(bundle, record, origin, parts)


_KINDS: Final[dict[str, tuple[Callable[[str, bytes], bool], _Take]]] = {
    OWNERSHIP: (_is_bundle, take_ownership_node),
    BUNDLE_DATA: (_is_bundle, _take_averages),
    UNITS: (_is_bundle, _take_unit),
    LOCAL_POLICIES: (_is_namespace, take_local_policies),
    POLICIES: (_is_namespace, take_policies),
    BROKERS: (_is_broker, take_registration),
    BROKER_AVERAGES: (_is_broker, take_broker_average),
    LEADER: (_is_itself, _take_leader),
    EXTENSIBLE_LEADER: (_is_itself, _take_leader),
}
"""Prefix → which names below it are documents, and how one is taken."""
