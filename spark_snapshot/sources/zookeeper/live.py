"""Reads a live ZooKeeper: values and names of children by ``multiRead``, several requests on their way.

Consistent: before anything is read, a recursive watch is armed on every subtree; when all is read, what the watch has
told of is read again, until nothing has changed between a request and its answer. What is handed out then is what the
store held at that moment, because whatever changed earlier was told before the answer was given.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple, cast

from spark_snapshot.sources.folders import Folder, Folders
from spark_snapshot.sources.found import Found, ResourceBatch, Row, batched
from spark_snapshot.sources.reach import WHOLE, Reach, Share, levels_below
from spark_snapshot.sources.spool import BatchSpool, settled
from spark_snapshot.sources.zookeeper.answers import values
from spark_snapshot.sources.zookeeper.link import Link, RawMultiRead
from syncer.errors import AccessDenied, ConfigError, StoreError, StoreUnavailable
from syncer.model import MetaPath, Millis, Revision
from syncer.stores.zookeeper import requests as wire
from syncer.stores.zookeeper.requests import Failed, MultiRead, Node, Sync, is_ephemeral
from syncer.stores.zookeeper.store import ZooKeeperConfig

IN_FLIGHT: Final = 4
REPLY_BYTES: Final = 512 * 1024
"""What one answer is meant to weigh; half of ``jute.maxbuffer``'s default. A value that weighs more is read alone."""
REQUEST_BYTES: Final = 128 * 1024
FIRST_PATHS: Final = 16
MAX_PATHS: Final = 500
DIRECTORIES: Final = 64
NAMES: Final = 5_000
"""Names of children that one request is meant to bring, unless one node alone has more."""
ROUNDS: Final = 200
"""How often what has changed meanwhile is read again; each takes a round trip or a few."""


class _Unlisted(NamedTuple):
    path: MetaPath
    levels: int
    """How many levels below may hold resources."""


class _Names(NamedTuple):
    """Whose children's names were asked for."""

    of: list[_Unlisted]


class _Unread(NamedTuple):
    """Some of what lies in one folder."""

    folder: Folder
    paths: list[MetaPath]
    levels: int
    """How many levels below each may hold resources."""


class _Values(NamedTuple):
    """Whose values were asked for."""

    of: list[_Unread]
    paths: int


def read(config: ZooKeeperConfig, reach: Reach, share: Share = WHOLE) -> Iterator[ResourceBatch]:
    """Read what is asked for, as it was at one moment, in batches of bounded size.

    Begins anew, a few times, when the session is lost.

    Raises:
        StoreUnavailable: No server, or it changes faster than it can be read.
        AccessDenied: The credentials, or the ACL of a node, do not allow it.
        ConfigError: The chroot does not exist, or a file of the settings cannot be read.
    """

    def attempt(spool: BatchSpool) -> None:
        with Link(config) as link:
            reader = _Reader(link, config.chroot, reach, share)
            reader.begin()
            for batch in reader.walk():
                spool.add(batch)
            reader.settle(spool)

    return settled(attempt, again=(StoreUnavailable,), digests=reach.digests)


def position(config: ZooKeeperConfig) -> int:
    """The newest transaction (zxid) that the ensemble has committed."""
    with Link(config) as link:
        link.ask(Sync("/"))
        return link.zxid


def value_at(config: ZooKeeperConfig, path: MetaPath) -> bytes | None:
    """The value at a path, ``None`` when there is none."""
    with Link(config) as link:
        link.ask(Sync("/"))
        (node,) = cast("list[Node | Failed]", link.ask(MultiRead.nodes([config.chroot + path])))
        return node.value if isinstance(node, Node) else None


class _Reader:
    """One whole read on one session."""

    def __init__(self, link: Link, chroot: str, reach: Reach, share: Share) -> None:
        self._link = link
        self._chroot = chroot
        self._reach = reach
        self._share = share
        self._folders = Folders(reach, share)
        self._unread: deque[_Unread] = deque()
        self._due = 0  # paths in it
        self._unlisted: list[_Unlisted] = []
        self._paths = FIRST_PATHS
        self._listed = DIRECTORIES

    def begin(self) -> None:
        """Arm the watches, and see that there is a tree at all."""
        if self._chroot:
            (node,) = self._link.ask(MultiRead.nodes([self._chroot]))
            if isinstance(node, Failed):
                raise ConfigError(
                    f"the chroot {self._chroot} does not exist in ZooKeeper {self._link.where}",
                    hint="Correct 'store.chroot' to the one that the brokers use.",
                )
        self._link.watch([self._chroot + root for root in self._reach.roots])

    def walk(self) -> Iterator[ResourceBatch]:
        """Everything once, each node at a moment of its own."""
        for root in self._reach.roots:
            above, _, name = root.rpartition("/")
            self._meet(MetaPath(above), [name], levels_below(root))
        return batched(self._answers())

    def _answers(self) -> Iterator[ResourceBatch]:
        in_flight = 0
        while True:
            while in_flight < IN_FLIGHT and self._request():
                in_flight += 1
            if not in_flight:
                return
            token, (raw, offset) = self._link.take()
            in_flight -= 1
            batch = ResourceBatch()
            try:
                if isinstance(token, _Values):
                    batch = self._take_nodes(token, raw, offset)
                else:
                    self._take_names(cast("_Names", token), MultiRead.deserialize(raw, offset))
            except (struct.error, IndexError, ValueError) as exc:
                message = f"ZooKeeper {self._link.where} gave an answer that cannot be understood: {exc}"
                raise StoreUnavailable(message) from exc
            yield batch

    def settle(self, spool: BatchSpool) -> None:
        """Read again what has changed, until nothing has."""
        for _ in range(ROUNDS):
            changed = [MetaPath(full[len(self._chroot) :]) for full in self._link.noted()]
            if not changed:
                return
            wanted = [path for path in changed if self._folders.wants(path)]
            if not wanted:
                return  # what is asked for has not changed since it was read
            corrections: dict[MetaPath, Found | None] = {}
            for start in range(0, len(wanted), self._paths):
                page = wanted[start : start + self._paths]
                answers = self._link.ask(MultiRead.nodes([self._chroot + path for path in page]))
                for path, answer in zip(page, answers, strict=True):
                    corrections[path] = self._found(path, answer)
            spool.correct(corrections)
        raise StoreUnavailable(
            f"ZooKeeper {self._link.where} kept changing: {ROUNDS} times in a row something was written while the last "
            "changes were read again",
            hint="Read it at a calmer time, or fewer tenants at once.",
        )

    def _request(self) -> bool:
        """Send what is due next; whether there was anything. Values go first, so that few names wait."""
        unlisted = self._unlisted
        if self._due >= self._paths or (self._due and not unlisted):
            asked = self._page()
            paths = [self._chroot + path for some in asked.of for path in some.paths]
            self._link.send(asked, RawMultiRead.nodes(paths))
            return True
        if unlisted:
            names = _Names(unlisted[-self._listed :])
            del unlisted[-self._listed :]
            self._link.send(names, RawMultiRead.children([self._chroot + each.path for each in names.of]))
            return True
        return False

    def _page(self) -> _Values:
        """Take what the next request for values asks for."""
        page: list[_Unread] = []
        count, room = 0, REQUEST_BYTES
        while self._unread and count < self._paths and room > 0:
            some = self._unread.popleft()
            fitting = some.paths[: self._paths - count]
            while len(fitting) > 1 and sum(map(len, fitting)) > room:
                fitting = fitting[: len(fitting) // 2]
            if len(fitting) < len(some.paths):
                self._unread.appendleft(some._replace(paths=some.paths[len(fitting) :]))
                some = some._replace(paths=fitting)
            page.append(some)
            count += len(fitting)
            room -= sum(map(len, fitting))
        self._due -= count
        return _Values(page, count)

    def _meet(self, above: MetaPath, names: list[str], levels: int) -> None:
        """Note what is to be asked of some in a folder: their values, or else the names of their children."""
        folder = self._folders.at(above)
        wanted = folder.sift(names)
        paths = [MetaPath(f"{above}/{name}") for name in wanted]
        for start in range(0, len(paths), MAX_PATHS):
            self._unread.append(_Unread(folder, paths[start : start + MAX_PATHS], levels))
        self._due += len(paths)
        if levels > 0 and len(wanted) < len(names):
            others = (MetaPath(f"{above}/{name}") for name in names if not folder.wants(name))
            self._unlisted += [_Unlisted(path, levels) for path in others if self._enters(path)]

    def _enters(self, path: MetaPath) -> bool:
        return self._reach.enters(path) and self._share.enters(path)

    def _take_names(self, asked: _Names, answers: list[Node | list[str] | Failed]) -> None:
        count = 0
        for (parent, levels), names in zip(asked.of, answers, strict=True):
            if isinstance(names, list):
                count += len(names)
                self._meet(parent, names, levels - 1)
            else:
                self._missing(parent, names.code if isinstance(names, Failed) else None)
        self._listed = max(1, min(DIRECTORIES, NAMES * len(asked.of) // (count + 1)))

    def _take_nodes(self, asked: _Values, raw: bytes, offset: int) -> ResourceBatch:
        answers = iter(values(raw, offset, asked.paths))
        rows: list[Row] = []
        for folder, paths, levels in asked.of:
            kind, tenant = folder.kind, folder.tenant
            for path, answer in zip(paths, answers, strict=False):
                if isinstance(answer, int):
                    self._missing(path, answer)
                    continue
                value, czxid, mzxid, mtime, version, owner, children = answer
                if children and levels > 0 and self._enters(path):
                    self._unlisted.append(_Unlisted(path, levels))
                if value and not (owner and is_ephemeral(owner)):  # an inner node is empty, the other a session's
                    whose = path.rpartition("/")[2] if tenant is None else tenant
                    rows.append((path, kind, whose, value, mtime, Revision(f"{mzxid}.{version}.{czxid}")))
        size, count = len(raw), asked.paths
        fitting = REPLY_BYTES * count // (size + 1)
        self._paths = max(1, min(MAX_PATHS, fitting, 2 * count if count >= self._paths else self._paths))
        return ResourceBatch.of(rows)

    def _found(self, path: MetaPath, answer: Node | list[str] | Failed) -> Found | None:
        if isinstance(answer, Node):
            value, stat = answer
            if not value or stat.ephemeral:
                return None
            return self._folders.found(path, value, Millis(stat.mtime), stat.revision)
        self._missing(path, answer.code if isinstance(answer, Failed) else None)
        return None

    def _missing(self, path: MetaPath, code: int | None) -> None:
        """Deleted meanwhile is no error; the watch has told of it."""
        if code == wire.NO_NODE:
            return
        if code == wire.NO_AUTH:
            raise AccessDenied(f"{path} may not be read in ZooKeeper {self._link.where}")
        raise StoreError(f"{path}: ZooKeeper {self._link.where} answered a read with code {code}")
