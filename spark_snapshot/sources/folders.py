"""Folders of paths: kind, tenant and selection, decided once for all that lies directly below one.

Looking at every path by itself costs more than reading it; what lies in one folder differs by its last name only.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

from spark_snapshot.sources.found import Found
from spark_snapshot.sources.reach import WHOLE, Reach, Share
from syncer.conflict.settings import Direction
from syncer.conflict.withholding import carried_value
from syncer.model import MetaPath, Millis, ResourceKind, Revision
from syncer.paths import classify, is_under, tenant_of

MAX_FOLDERS: Final = 4_096
"""Kept in mind; readers come to the same ones again shortly, or never."""

_NAME: Final = "namespaceIsolationPolicies"
"""Of all names the only one that means something by itself, and only below a cluster."""


class Folder:
    """Decided for one path and one reader.

    Args:
        path: The path.
        reach: What is asked for.
        share: This reader's.

    Attributes:
        kind: Of the resources directly below it; empty where there are none.
        tenant: Theirs; ``None``: each is a tenant itself.
        every: All of them are asked for; otherwise ask :meth:`wants`.
    """

    __slots__ = ("_named", "_none", "_of", "_path", "_reach", "_seed", "_share", "every", "kind", "tenant")

    def __init__(self, path: MetaPath, reach: Reach, share: Share) -> None:
        child = MetaPath(f"{path}/{_NAME}")
        resource = classify(child)
        self._path, self._reach, self._of, self._share = path, reach, share.of, share.index
        self.kind = "" if resource is None else resource.kind.value
        self.tenant = None if self.kind == ResourceKind.TENANT else tenant_of(child)
        self._seed = share.seed(path)
        direction = None if resource is None else reach.scope.direction_below(path)
        self._none = (
            resource is None
            or direction is Direction.IGNORE
            or self._elsewhere()
            or (self._seed is None and not share.holds(child))
        )
        self._named = not self._none and (direction is None or self._by_name())
        self.every = not self._none and not self._named and (share.of == 1 or self._seed is None)

    def wants(self, name: str) -> bool:
        """Whether what has this name is asked for, and is this reader's."""
        if self.every:
            return bool(name)
        if self._none or not name:
            return False
        if self._seed is not None and zlib.crc32(name.encode(), self._seed) % self._of != self._share:
            return False
        return not self._named or self._wants_by_name(name)

    def sift(self, names: Sequence[str]) -> Sequence[str]:
        """The names of what is asked for."""
        if self.every:
            return names
        if self._none:
            return ()
        if self._named or self._seed is None:
            return [name for name in names if self.wants(name)]
        crc, seed, of, mine = zlib.crc32, self._seed, self._of, self._share
        return [name for name in names if crc(name.encode(), seed) % of == mine]

    def _elsewhere(self) -> bool:
        """Whether nothing of it can be asked for."""
        reach = self._reach
        if reach.tenants is not None and self.tenant is not None and self.tenant not in reach.tenants:
            return True
        return reach.under is not None and not (is_under(self._path, reach.under) or is_under(reach.under, self._path))

    def _by_name(self) -> bool:
        reach = self._reach
        return (
            self.kind == ResourceKind.ISOLATION_POLICY
            or (reach.tenants is not None and self.tenant is None)
            or (reach.under is not None and not is_under(self._path, reach.under))
        )

    def _wants_by_name(self, name: str) -> bool:
        reach = self._reach
        if self.kind == ResourceKind.ISOLATION_POLICY and name != _NAME:
            return False
        if reach.tenants is not None and self.tenant is None and name not in reach.tenants:
            return False
        path = MetaPath(f"{self._path}/{name}")
        if reach.under is not None and not is_under(path, reach.under):
            return False
        return reach.scope.direction_of_resource(path) is not Direction.IGNORE


class Folders:
    """The folders that a reader meets."""

    def __init__(self, reach: Reach, share: Share = WHOLE) -> None:
        self._reach = reach
        self._share = share
        self._met: dict[str, Folder] = {}

    def at(self, path: str) -> Folder:
        """The folder with this path."""
        folder = self._met.get(path)
        if folder is None:
            if len(self._met) >= MAX_FOLDERS:
                self._met.clear()
            folder = self._met[path] = Folder(MetaPath(path), self._reach, self._share)
        return folder

    def found(self, path: MetaPath, value: bytes, modified_ms: Millis | None, revision: Revision) -> Found | None:
        """A resource with what it holds, if it is asked for and is this reader's."""
        above, _, name = path.rpartition("/")
        folder = self.at(above)
        if not folder.wants(name):
            return None
        value = carried_value(path, value)
        return Found(path, folder.kind, name if folder.tenant is None else folder.tenant, value, modified_ms, revision)

    def wants(self, path: MetaPath) -> bool:
        """Whether a path is a resource that is asked for and is this reader's."""
        folder, _, name = path.rpartition("/")
        return self.at(folder).wants(name)
