"""Folders of paths: kind, tenant and selection, decided once for all that lies directly below one.

Looking at every path by itself costs more than reading it; what lies in one folder differs by its last name only.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

from spark_snapshot.sources.found import Found
from spark_snapshot.sources.reach import WHOLE, Share
from syncer.conflict.withholding import carried_value
from syncer.model import MetaPath, Millis, Revision
from syncer.wanted.contract import NamesBelow, WantedPaths

MAX_FOLDERS: Final = 4_096
"""Kept in mind; readers come to the same ones again shortly, or never."""

_NOTHING: Final = NamesBelow(kind="", tenant="")


class Folder:
    """Decided for one path and one reader.

    Args:
        path: The path.
        wanted: What is asked for.
        share: This reader's.

    Attributes:
        kind: Of what is asked for directly below it; empty where that has several kinds: see :meth:`kind_of`.
        tenant: Theirs; ``None``: each is a tenant itself.
        every: All of them are asked for; otherwise ask :meth:`wants`.
        empties: What has no value is asked for, too.
        sessions: What ends with a session is asked for, too.
    """

    __slots__ = ("_kind_of", "_none", "_seed", "_share", "empties", "every", "kind", "sessions", "tenant")

    def __init__(self, path: MetaPath, wanted: WantedPaths, share: Share) -> None:
        below = wanted.below(path)
        names = below or _NOTHING
        self.kind, self.tenant = names.kind or "", names.tenant
        self.empties, self.sessions = names.empties, names.sessions
        self._kind_of, self._share = names.kind_of, share
        self._seed = _seed(path, wanted, share)
        elsewhere = share.of > 1 and self._seed is None and not share.holds(wanted.together(path))
        self._none = below is None or elsewhere
        self.every = not self._none and self._kind_of is None and self._seed is None

    def wants(self, name: str) -> bool:
        """Whether what has this name is asked for, and is this reader's."""
        if self.every:
            return bool(name)
        if self._none or not name:
            return False
        if self._seed is not None and not self._share.holds_from(self._seed, name):
            return False
        return self._kind_of is None or self._kind_of(name) is not None

    def kind_of(self, name: str) -> str:
        """Kind of what has this name; empty where it is not asked for."""
        return self.kind if self._kind_of is None else self._kind_of(name) or ""

    def sift(self, names: Sequence[str]) -> Sequence[str]:
        """The names of what is asked for."""
        if self.every:
            return names
        if self._none:
            return ()
        if self._kind_of is not None or self._seed is None:
            return [name for name in names if self.wants(name)]
        crc, seed, of, mine = zlib.crc32, self._seed, self._share.of, self._share.index
        return [name for name in names if crc(name.encode(), seed) % of == mine]


class Folders:
    """The folders that a reader meets.

    Args:
        wanted: What is asked for.
        share: This reader's.
    """

    def __init__(self, wanted: WantedPaths, share: Share = WHOLE) -> None:
        self._wanted = wanted
        self._share = share
        self._met: dict[str, Folder] = {}

    def at(self, path: str) -> Folder:
        """The folder with this path."""
        folder = self._met.get(path)
        if folder is None:
            if len(self._met) >= MAX_FOLDERS:
                self._met.clear()
            folder = self._met[path] = Folder(MetaPath(path), self._wanted, self._share)
        return folder

    def found(
        self,
        path: MetaPath,
        value: bytes,
        modified_ms: Millis | None,
        revision: Revision,
        *,
        created_ms: Millis | None = None,
        session: bool = False,
    ) -> Found | None:
        """What a path holds, if it is asked for and is this reader's.

        Args:
            path: The path.
            value: It; empty for an inner node.
            modified_ms: When it was written, where the store tells.
            revision: Of it.
            created_ms: When the path was created, where the store tells.
            session: It ends with the session of whoever made it.
        """
        above, _, name = path.rpartition("/")
        folder = self.at(above)
        if not folder.wants(name) or not (value or folder.empties) or (session and not folder.sessions):
            return None
        tenant = name if folder.tenant is None else folder.tenant
        kind = folder.kind or folder.kind_of(name)
        return Found(path, kind, tenant, carried_value(path, value), modified_ms, revision, created_ms)

    def wants(self, path: MetaPath) -> bool:
        """Whether a path is asked for and is this reader's."""
        folder, _, name = path.rpartition("/")
        return self.at(folder).wants(name)

    def holds(self, path: MetaPath) -> bool:
        """Whether a path is this reader's, be it asked for or not."""
        return self._share.holds(self._wanted.together(path))

    def enters(self, path: MetaPath) -> bool:
        """Whether something that is asked for and is this reader's may lie below a path."""
        if not self._wanted.enters(path):
            return False
        return self._share.of == 1 or self._share.enters(self._wanted.together(path))


def _seed(path: MetaPath, wanted: WantedPaths, share: Share) -> int | None:
    """The checksum that goes on over a name directly below a path, to tell whose it is.

    ``None``: all below the path belongs to one share, as one child does.
    """
    if share.of == 1 or wanted.together(path).whole:
        return None
    child = wanted.together(MetaPath(f"{path}/_"))
    return zlib.crc32(child.name[:-1].encode())
