"""What a path means: kinds, names, parents, children, and the scaffold around them. No IO.

Source: Pulsar 4.0 configuration metadata; the same paths in 5.0.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from syncer.errors import ValueRefused
from syncer.model import MetaPath, Region, ResourceKind

POLICIES: Final = "/admin/policies"
PARTITIONED_TOPICS: Final = "/admin/partitioned-topics"
CLUSTERS: Final = "/admin/clusters"
RESOURCE_GROUPS: Final = "/admin/resourcegroups"
GLOBAL_TOPIC_POLICIES: Final = "/admin/topic-policies/global"
MANAGED_LEDGERS: Final = "/managed-ledgers"
OWN_PREFIX: Final = "/pulsar-syncer"

DOMAINS: Final = frozenset({"persistent", "non-persistent"})
MAX_PATH_CHARS: Final = 4096

_CACHE_SIZE: Final = 65536


@dataclass(frozen=True, slots=True)
class Resource:
    """What a path means.

    ``parent`` is the path that must be alive before this one may be, ``None`` for a resource that stands alone.
    """

    kind: ResourceKind
    name: str
    parent: MetaPath | None = None


@functools.lru_cache(maxsize=_CACHE_SIZE)
def classify(path: MetaPath) -> Resource | None:
    """Tell what a path means, or ``None`` when it is no resource (inner node, unknown prefix, cluster-local state)."""
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


@functools.lru_cache(maxsize=_CACHE_SIZE)
def scaffold(path: MetaPath) -> tuple[MetaPath, ...]:
    """Ancestors, outermost first, that hold no resource: a store with real parents may create them empty on the way."""
    segments = path.split("/")[1:-1]
    ancestors = (MetaPath("/" + "/".join(segments[: depth + 1])) for depth in range(len(segments)))
    return tuple(ancestor for ancestor in ancestors if classify(ancestor) is None)


@functools.lru_cache(maxsize=4096)
def tenant_of(path: MetaPath) -> str:
    """Name of the tenant that a path belongs to; empty for resources without one. For grouping, never for decisions."""
    match path.split("/")[1:]:
        case ["admin", "policies" | "partitioned-topics", tenant, *_]:
            return tenant
        case ["admin", "topic-policies", "global", first, second, *_]:
            return second if first in DOMAINS else first
        case _:
            return ""


def checked(path: str) -> MetaPath:
    """Return the path if every store can hold it.

    Raises:
        ValueRefused: The path is relative, has an empty, ``.`` or ``..`` segment, a control character, or is too long.
    """
    if not path.startswith("/") or len(path) < 2:
        raise ValueRefused(f"illegal path {path!r}: it must start with '/' and name something")
    if len(path) > MAX_PATH_CHARS:
        raise ValueRefused(f"illegal path of {len(path)} characters (limit {MAX_PATH_CHARS}): {path[:80]!r}…")
    for segment in path[1:].split("/"):
        if segment in {"", ".", ".."}:
            raise ValueRefused(f"illegal path {path!r}: segment {segment!r}")
    if not path.isprintable():
        raise ValueRefused(f"illegal path {path!r}: control or unassigned character")
    return MetaPath(path)


def fence_path(region: Region) -> MetaPath:
    """Path of the region's fence, in its own store and outside every scope."""
    return MetaPath(f"{OWN_PREFIX}/{region}/fence")


def is_under(path: str, prefix: str) -> bool:
    """Whether the path is the prefix itself or lies below it (``/a/bc`` is not below ``/a/b``)."""
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else prefix + "/")
