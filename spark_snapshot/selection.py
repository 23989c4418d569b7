"""Which part of a snapshot is meant: some tenants, some namespaces, some paths with all below them. No IO."""

from __future__ import annotations

from dataclasses import dataclass

from syncer.errors import PreconditionFailed
from syncer.model import MetaPath
from syncer.paths import child_prefixes, classify, is_under, namespace_path, tenant_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A part of a region. Nothing given: all of it; several things given: all that any of them covers.

    Args:
        tenants: Their declarations and everything that belongs to them.
        namespaces: ``tenant/namespace``: their policies, partitioned topics and topic policies.
        paths: Paths of resources, and what lies below them.
    """

    tenants: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    paths: frozenset[MetaPath] = frozenset()

    def __post_init__(self) -> None:
        for namespace in self.namespaces:
            if len(namespace.split("/")) != 2 or not all(namespace.split("/")):
                raise PreconditionFailed(f"{namespace!r} is no namespace", hint="Write it as TENANT/NAMESPACE.")
        for path in self.paths:
            if not path.startswith("/"):
                raise PreconditionFailed(f"{path!r} is no path", hint="A path begins with '/', as in 'syncer diff'.")

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not (self.tenants or self.namespaces or self.paths)

    @property
    def narrowed_to(self) -> frozenset[str] | None:
        """The only tenants that can have a path of it, for readers that skip the others; ``None``: no such bound."""
        found = set(self.tenants) | {namespace.split("/")[0] for namespace in self.namespaces}
        for path in self.paths:
            tenant = tenant_of(path)
            if not tenant or classify(path) is None:
                return None
            found.add(tenant)
        return frozenset(found) or None

    def covers(self, path: MetaPath) -> bool:
        """Whether the path is part of it."""
        return (
            self.everything
            or tenant_of(path) in self.tenants
            or any(_in_namespace(path, namespace) for namespace in self.namespaces)
            or any(is_under(path, named) for named in self.paths)
        )

    def __str__(self) -> str:
        words = [f"tenant {name}" for name in sorted(self.tenants)]
        words += [f"namespace {name}" for name in sorted(self.namespaces)]
        words += sorted(self.paths)
        return ", ".join(words) or "everything"


def _in_namespace(path: MetaPath, namespace: str) -> bool:
    tenant, _, name = namespace.partition("/")
    policies = namespace_path(tenant, name)
    return path == policies or any(path.startswith(prefix) for prefix in child_prefixes(policies))
