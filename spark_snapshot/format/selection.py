"""Selection of a part of a snapshot: some tenants, some namespaces, some paths with all below them. No IO."""

from __future__ import annotations

from dataclasses import dataclass

from spark_snapshot.format.extent import WHOLE, Extent
from syncer.errors import PreconditionFailed
from syncer.model import MetaPath
from syncer.paths import child_prefixes, classify, is_under, namespace_path, tenant_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A part of a region. Nothing named: all of it; several things named: all that any of them covers.

    Args:
        tenants: Their declarations and everything that belongs to them.
        namespaces: ``tenant/namespace``: their policies, partitioned topics and topic policies.
        paths: Paths of resources, and what lies below them.
        within: Of all that only what lies in it: what the snapshots say something of.
    """

    tenants: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    paths: frozenset[MetaPath] = frozenset()
    within: Extent = WHOLE

    def __post_init__(self) -> None:
        for namespace in self.namespaces:
            if len(namespace.split("/")) != 2 or not all(namespace.split("/")):
                raise PreconditionFailed(f"{namespace!r} is no namespace", hint="Write it as TENANT/NAMESPACE.")
        for path in self.paths:
            if not path.startswith("/"):
                raise PreconditionFailed(f"{path!r} is no path", hint="A path begins with '/', as in 'syncer diff'.")

    @property
    def named(self) -> bool:
        """Whether something was named; otherwise it is all that there is."""
        return bool(self.tenants or self.namespaces or self.paths)

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return self.within.whole and not self.named

    @property
    def asked(self) -> Extent:
        """What a snapshot must hold to answer for all that was named."""
        return Extent(self._tenants_named)

    @property
    def narrowed_to(self) -> frozenset[str] | None:
        """The only tenants that can have a path of it, for readers that skip the others; ``None``: no such bound."""
        return (self.asked & self.within).tenants

    @property
    def _tenants_named(self) -> frozenset[str] | None:
        found = set(self.tenants) | {namespace.split("/")[0] for namespace in self.namespaces}
        for path in self.paths:
            tenant = tenant_of(path)
            if not tenant or classify(path) is None:
                return None
            found.add(tenant)
        return frozenset(found) or None

    def covers(self, path: MetaPath) -> bool:
        """Whether the path is part of it."""
        return self.within.covers(path) and (
            not self.named
            or tenant_of(path) in self.tenants
            or any(_in_namespace(path, namespace) for namespace in self.namespaces)
            or any(is_under(path, named) for named in self.paths)
        )

    def __str__(self) -> str:
        words = [f"tenant {name}" for name in sorted(self.tenants)]
        words += [f"namespace {name}" for name in sorted(self.namespaces)]
        words += sorted(self.paths)
        return ", ".join(words) or str(self.within)

    def inside(self, extent: Extent) -> Selection:
        """The same, as far as an extent reaches.

        Raises:
            PreconditionFailed: Something was named that lies outside: nothing can be said of it.
        """
        if extent.whole:
            return self
        named = set(self.tenants) | {namespace.split("/")[0] for namespace in self.namespaces}
        named |= {tenant_of(path) for path in self.paths if classify(path) is not None}
        outside = sorted(name for name in named if not extent.includes(Extent(frozenset({name}))))
        if outside:
            what = f"tenant {outside[0]}" if outside[0] else "what belongs to no tenant"
            raise PreconditionFailed(
                f"{what} is not in what these snapshots hold: {extent}",
                hint="Name a snapshot that holds it; 'syncer snapshot list' shows the extent of each.",
            )
        return Selection(tenants=self.tenants, namespaces=self.namespaces, paths=self.paths, within=extent)


def _in_namespace(path: MetaPath, namespace: str) -> bool:
    tenant, _, name = namespace.partition("/")
    policies = namespace_path(tenant, name)
    return path == policies or any(path.startswith(prefix) for prefix in child_prefixes(policies))
