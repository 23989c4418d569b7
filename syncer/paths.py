"""Paths of the store and the resources that they name: kinds, names, parents, children, scaffold. No IO.

Source: Pulsar 4.0 configuration metadata; the same paths in 5.0.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus, unquote

from syncer.errors import InvariantBroken, ValueRefused
from syncer.memoizing import ENTRY_BYTES, memoized
from syncer.model import MetaPath, Region, ResourceKind

POLICIES: Final = "/admin/policies"
PARTITIONED_TOPICS: Final = "/admin/partitioned-topics"
CLUSTERS: Final = "/admin/clusters"
RESOURCE_GROUPS: Final = "/admin/resourcegroups"
GLOBAL_TOPIC_POLICIES: Final = "/admin/topic-policies/global"
MANAGED_LEDGERS: Final = "/managed-ledgers"
OWN_PREFIX: Final = "/pulsar-syncer"

DOMAINS: Final = frozenset({"persistent", "non-persistent"})
MAX_PATH_BYTES: Final = 32 * 1024
"""As UTF-8: more than Pulsar's REST API takes in a request (8 KB, of which a topic's name may grow threefold when it is
escaped). Who opens a topic over Pulsar's own protocol can make longer ones; see :func:`fault_of`."""

_MOST_BYTES: Final = 4
"""Of one character, as UTF-8."""
_SHOWN: Final = 200
_HALF_A_PAIR: Final = re.compile("[\ud800-\udfff]")
_NO_SEGMENTS: Final = frozenset({"", ".", ".."})

RESOURCES_BYTES: Final = 48 << 20
SCAFFOLDS_BYTES: Final = 32 << 20
TENANTS_BYTES: Final = 4 << 20
"""Memory for what is remembered of paths: of some hundred thousand short ones, or of fewer that are long."""


@dataclass(frozen=True, slots=True)
class Resource:
    """What a path means.

    ``parent`` is the path that must be alive before this one may be, ``None`` for a resource that stands alone.
    """

    kind: ResourceKind
    name: str
    parent: MetaPath | None = None


def _resource_bytes(resource: Resource | None) -> int:
    if resource is None:
        return 0
    return ENTRY_BYTES + sys.getsizeof(resource.name) + (sys.getsizeof(resource.parent) if resource.parent else 0)


@memoized(RESOURCES_BYTES, _resource_bytes)
def classify(path: MetaPath) -> Resource | None:
    """Tell what a path means, or ``None`` when it is no resource that can be replicated.

    That is an inner node, an unknown prefix, state of one cluster alone; or it is too long, or no database holds it.
    """
    resource = _resource_at(path)
    return resource if resource is not None and fault_of(path) is None else None


def resource_at(path: MetaPath) -> Resource:
    """What a path means that must be a resource.

    Raises:
        InvariantBroken: It is none (a bug of the caller).
    """
    resource = classify(path)
    if resource is None:
        raise InvariantBroken(f"no resource: {path}")
    return resource


def kind_at(path: MetaPath) -> ResourceKind:
    """Kind of a path that must be a resource. Raises like :func:`resource_at`."""
    return resource_at(path).kind


def _resource_at(path: str) -> Resource | None:
    """What a path would mean, whatever it is made of."""
    if "//" in path:
        return None
    match path.split("/")[1:]:
        case ["admin", "policies", tenant] if tenant:
            return Resource(ResourceKind.TENANT, tenant)
        case ["admin", "policies", tenant, namespace] if namespace:
            return Resource(ResourceKind.NAMESPACE, f"{tenant}/{namespace}", tenant_path(tenant))
        case ["admin", "partitioned-topics", tenant, namespace, domain, topic] if topic and domain in DOMAINS:
            name = f"{domain}://{tenant}/{namespace}/{unquote(topic)}"
            return Resource(ResourceKind.PARTITIONED_TOPIC, name, namespace_path(tenant, namespace))
        case ["admin", "clusters", cluster] if cluster:
            return Resource(ResourceKind.CLUSTER, cluster)
        case ["admin", "clusters", cluster, "namespaceIsolationPolicies"] if cluster:
            return Resource(ResourceKind.ISOLATION_POLICY, cluster, MetaPath(f"{CLUSTERS}/{cluster}"))
        case ["admin", "resourcegroups", name] if name:
            return Resource(ResourceKind.RESOURCE_GROUP, name)
        case ["admin", "topic-policies", "global", domain, tenant, namespace, topic] if topic and domain in DOMAINS:
            name = f"{domain}://{tenant}/{namespace}/{unquote(topic)}"
            return Resource(ResourceKind.TOPIC_POLICY, name, namespace_path(tenant, namespace))
        case ["admin", "topic-policies", "global", tenant, namespace, domain, topic] if topic and domain in DOMAINS:
            name = f"{domain}://{tenant}/{namespace}/{unquote(topic)}"
            return Resource(ResourceKind.TOPIC_POLICY, name, namespace_path(tenant, namespace))
        case _:
            return None


def tenant_path(tenant: str) -> MetaPath:
    """Path of a tenant's declaration."""
    return MetaPath(f"{POLICIES}/{tenant}")


def namespace_path(tenant: str, namespace: str) -> MetaPath:
    """Path of a namespace's policies."""
    return MetaPath(f"{POLICIES}/{tenant}/{namespace}")


def child_prefixes(path: MetaPath) -> tuple[str, ...]:
    """Prefixes (with their closing slash) under which the resource's children live; empty for a leaf."""
    match path.split("/")[1:]:
        case ["admin", "policies", tenant]:
            return (f"{POLICIES}/{tenant}/",)
        case ["admin", "policies", tenant, namespace]:
            topics = tuple(f"{PARTITIONED_TOPICS}/{tenant}/{namespace}/{domain}/" for domain in sorted(DOMAINS))
            by_namespace = tuple(
                f"{GLOBAL_TOPIC_POLICIES}/{tenant}/{namespace}/{domain}/" for domain in sorted(DOMAINS)
            )
            by_domain = tuple(f"{GLOBAL_TOPIC_POLICIES}/{domain}/{tenant}/{namespace}/" for domain in sorted(DOMAINS))
            return topics + by_namespace + by_domain
        case ["admin", "clusters", cluster]:
            return (f"{CLUSTERS}/{cluster}/namespaceIsolationPolicies",)
        case _:
            return ()


def scaffold(path: MetaPath) -> tuple[MetaPath, ...]:
    """Ancestors, outermost first, that hold no resource: a store with real parents may create them empty on the way."""
    return _scaffold_with(MetaPath(path.rpartition("/")[0]))


@memoized(SCAFFOLDS_BYTES, lambda found: ENTRY_BYTES + sum(map(sys.getsizeof, found)))
def _scaffold_with(parent: MetaPath) -> tuple[MetaPath, ...]:
    """Of a path and its ancestors, outermost first, those that hold no resource; siblings share it."""
    segments = parent.split("/")[1:]
    steps = (MetaPath("/" + "/".join(segments[: depth + 1])) for depth in range(len(segments)))
    return tuple(step for step in steps if classify(step) is None)


@memoized(TENANTS_BYTES, sys.getsizeof)
def tenant_of(path: MetaPath) -> str:
    """Name of the tenant that a path belongs to; empty for resources without one. For grouping, never for decisions."""
    match path.split("/")[1:]:
        case ["admin", "policies" | "partitioned-topics", tenant, *_]:
            return tenant
        case ["admin", "topic-policies", "global", first, second, *_]:
            return second if first in DOMAINS else first
        case _:
            return ""


def fault_of(path: str) -> str | None:
    """Why a path cannot be replicated; ``None``: it can.

    One rule for all that comes in: from the region's own store, from the bus, in listings, plans and snapshots. What a
    store has taken goes through, whatever signs it is made of, and another store may refuse it by its own rules, that
    path alone. What is refused here is refused by its author already, so nobody else ever hears of it.
    """
    if not path.startswith("/") or len(path) < 2:
        return "it must start with '/' and name something"
    if "\0" in path:
        return "a zero byte, which databases cannot hold in a text"
    if not path.isascii() and _HALF_A_PAIR.search(path) is not None:
        return "half of a surrogate pair, which is no text"
    if len(path) > MAX_PATH_BYTES // _MOST_BYTES and (size := len(path.encode())) > MAX_PATH_BYTES:
        return f"it has {size} bytes (limit {MAX_PATH_BYTES})"
    segments = path[1:].split("/")
    if _NO_SEGMENTS.isdisjoint(segments):
        return None
    segment = next(segment for segment in segments if segment in _NO_SEGMENTS)
    return f"a part of it is '{segment}'" if segment else "a part of it is empty: two slashes, or one at its end"


def misfit(path: str) -> str | None:
    """Why what stands at a path of a store cannot be replicated although it is a resource by its place."""
    return fault_of(path) if _resource_at(path) is not None else None


def first_form_namespace(path: str) -> str | None:
    """Name of a namespace of the first form (``PROPERTY/CLUSTER/NAMESPACE``) whose policies a path holds.

    Brokers before 4.2 still serve such namespaces; nothing carries them. Source: PIP-457.
    """
    match path.split("/")[1:]:
        case ["admin", "policies", prop, cluster, namespace] if prop and cluster and namespace:
            return f"{prop}/{cluster}/{namespace}"
        case _:
            return None


def checked(path: str) -> MetaPath:
    """Return the path if it can be replicated.

    Raises:
        ValueRefused: By :func:`fault_of`.
    """
    if (fault := fault_of(path)) is not None:
        raise ValueRefused(f"illegal path {shown(path)}: {fault}")
    return MetaPath(path)


def shown(path: str) -> str:
    """A path as an error or a condition shows it: escaped, and its beginning only when it is long."""
    return repr(path) if len(path) <= _SHOWN else f"{path[:_SHOWN]!r}… ({len(path)} characters)"


def topic_name(name: str) -> str:
    """The last part of a topic's path: its local name as Pulsar encodes it (Java's ``URLEncoder``)."""
    return quote_plus(name, safe="*").replace("~", "%7E")


def named(name: str) -> tuple[MetaPath, ...]:
    """Paths of what Pulsar's tools call by a name, the likeliest first; none: no name has this form.

    ``acme``: a tenant, a cluster or a resource group. ``acme/orders``: a namespace. ``acme/orders/invoices``, and with
    ``persistent://`` or ``non-persistent://`` before it: a topic, its partitions or its policies.
    """
    domain, scheme, rest = name.partition("://")
    found: tuple[MetaPath, ...] = ()
    match (rest if scheme else name).split("/", 2):
        case [tenant, namespace, local] if not scheme or domain in DOMAINS:
            domain, topic = domain if scheme else "persistent", topic_name(local)
            found = (
                MetaPath(f"{PARTITIONED_TOPICS}/{tenant}/{namespace}/{domain}/{topic}"),
                MetaPath(f"{GLOBAL_TOPIC_POLICIES}/{domain}/{tenant}/{namespace}/{topic}"),
                MetaPath(f"{GLOBAL_TOPIC_POLICIES}/{tenant}/{namespace}/{domain}/{topic}"),
            )
        case [tenant, namespace] if not scheme:
            found = (namespace_path(tenant, namespace),)
        case [alone] if not scheme:
            found = (tenant_path(alone), MetaPath(f"{CLUSTERS}/{alone}"), MetaPath(f"{RESOURCE_GROUPS}/{alone}"))
    return tuple(path for path in found if fault_of(path) is None)


def fence_path(region: Region) -> MetaPath:
    """Path of the region's fence, in its own store and outside every scope."""
    return MetaPath(f"{OWN_PREFIX}/{region}/fence")


def is_under(path: str, prefix: str) -> bool:
    """Whether the path is the prefix itself or lies below it (``/a/bc`` is not below ``/a/b``)."""
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else prefix + "/")
