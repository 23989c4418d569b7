"""Reads a live ZooKeeper: values and names of children by ``multiRead``, several requests on their way.

Consistent, where one moment is asked for: before anything is read, a recursive watch is armed on every subtree; when
all is read, what the watch has told of is read again, until nothing has changed between a request and its answer. What
is handed out then is what the store held at that moment, because whatever changed earlier was told before the answer
was given. Where none is asked for, nothing is watched, and nothing is read twice.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, cast

from spark_snapshot.sources.folders import Folder, Folders
from spark_snapshot.sources.found import Found, ResourceBatch, Row, batched, refused
from spark_snapshot.sources.reach import WHOLE, Share
from spark_snapshot.sources.spool import BatchSpool, settled
from spark_snapshot.sources.throttle import Throttle
from spark_snapshot.sources.zookeeper.answers import dated_values, values
from spark_snapshot.sources.zookeeper.link import Link, RawMultiRead
from syncer.errors import AccessDenied, ConfigError, StoreError, StoreUnavailable
from syncer.model import MetaPath, Millis, Revision
from syncer.stores.zookeeper import requests as wire
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.requests import Failed, MultiRead, Node, Sync, is_ephemeral
from syncer.wanted.contract import WantedPaths

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
    """How many levels below may hold what is asked for."""


class _Names(NamedTuple):
    """Whose children's names were asked for."""

    of: list[_Unlisted]


class _Unread(NamedTuple):
    """Some of what lies in one folder."""

    folder: Folder
    paths: list[MetaPath]
    levels: int
    """How many levels below each may hold what is asked for."""


class _Values(NamedTuple):
    """Whose values were asked for."""

    of: list[_Unread]
    paths: int


def read(config: ZooKeeperConfig, wanted: WantedPaths, share: Share = WHOLE) -> Iterator[ResourceBatch]:
    """Read what is asked for, on its terms, in batches of bounded size.

    Begins anew, a few times, when the session is lost.

    Raises:
        StoreUnavailable: No server, or it changes faster than it can be read.
        AccessDenied: The credentials do not allow it, or the ACL of a node, unless the terms are forgiving.
        ConfigError: The chroot does not exist, or a file of the settings cannot be read.
    """

    def attempt(spool: BatchSpool) -> None:
        with Link(config) as link:
            reader = _Reader(link, config.chroot, wanted, share)
            reader.begin()
            for batch in reader.walk():
                spool.add(batch)
            reader.settle(spool)

    return settled(attempt, again=(StoreUnavailable,), digests=wanted.terms.digests)


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

    def __init__(self, link: Link, chroot: str, wanted: WantedPaths, share: Share) -> None:
        self._link = link
        self._chroot = chroot
        self._wanted = wanted
        self._terms = wanted.terms
        self._throttle = Throttle(wanted.terms, share)
        self._folders = Folders(wanted, share)
        self._unread: deque[_Unread] = deque()
        self._due = 0  # paths in it
        self._unlisted: list[_Unlisted] = []
        self._refused: list[Row] = []
        self._most = min(MAX_PATHS, self._throttle.most)
        self._paths = min(FIRST_PATHS, self._most)
        self._listed = min(DIRECTORIES, self._most)

    def begin(self) -> None:
        """Arm the watches, and see that there is a tree at all."""
        if self._chroot:
            (node,) = self._link.ask(MultiRead.nodes([self._chroot]))
            if isinstance(node, Failed) and node.code == wire.NO_NODE:
                raise ConfigError(
                    f"the chroot {self._chroot} does not exist in ZooKeeper {self._link.where}",
                    hint="Correct 'store.chroot' to the one that the brokers use.",
                )
        if self._terms.moment:
            self._link.watch([self._chroot + root for root in self._wanted.roots])
        else:
            self._link.ask(Sync(self._chroot or "/"))

    def walk(self) -> Iterator[ResourceBatch]:
        """Everything once, each node at a moment of its own."""
        for root in self._wanted.roots:
            above, _, name = root.rpartition("/")
            self._meet(MetaPath(above), [name], self._wanted.levels_below(root))
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
                    batch = ResourceBatch.of(self._refused)
                    self._refused.clear()
            except (struct.error, IndexError, ValueError) as exc:
                message = f"ZooKeeper {self._link.where} gave an answer that cannot be understood: {exc}"
                raise StoreUnavailable(message) from exc
            yield batch

    def settle(self, spool: BatchSpool) -> None:
        """Read again what has changed, until nothing has; where one moment is asked for."""
        if not self._terms.moment:
            return
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
            self._throttle.wait()
            self._link.send(asked, RawMultiRead.nodes(paths))
            self._throttle.took(len(paths))
            return True
        if unlisted:
            names = _Names(unlisted[-self._listed :])
            del unlisted[-self._listed :]
            self._throttle.wait()
            self._throttle.took(len(names.of))
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
            self._unlisted += [_Unlisted(path, levels) for path in others if self._folders.enters(path)]

    def _take_names(self, asked: _Names, answers: list[Node | list[str] | Failed]) -> None:
        count = 0
        for (parent, levels), names in zip(asked.of, answers, strict=True):
            if isinstance(names, list):
                count += len(names)
                self._meet(parent, names, levels - 1)
            else:
                self._refused += self._missing(parent, names.code if isinstance(names, Failed) else None)
        self._listed = max(1, min(DIRECTORIES, self._most, NAMES * len(asked.of) // (count + 1)))

    def _take_nodes(self, asked: _Values, raw: bytes, offset: int) -> ResourceBatch:
        created: Millis | None = None
        dated = self._terms.created
        answers: Iterator[Any] = iter((dated_values if dated else values)(raw, offset, asked.paths))
        rows: list[Row] = []
        for folder, paths, levels in asked.of:
            kind, tenant, empties, sessions = folder.kind, folder.tenant, folder.empties, folder.sessions
            for path, answer in zip(paths, answers, strict=False):
                if isinstance(answer, int):
                    rows += self._missing(path, answer)
                    continue
                if dated:
                    value, czxid, mzxid, created, mtime, version, owner, children = answer
                else:
                    value, czxid, mzxid, mtime, version, owner, children = answer
                if children and levels > 0 and self._folders.enters(path):
                    self._unlisted.append(_Unlisted(path, levels))
                if not (value or empties) or (owner and not sessions and is_ephemeral(owner)):
                    continue  # an inner node is empty, the other a session's
                whose = path.rpartition("/")[2] if tenant is None else tenant
                what = kind or folder.kind_of(path.rpartition("/")[2])
                rows.append((path, what, whose, value, mtime, Revision(f"{mzxid}.{version}.{czxid}"), created))
        size, count = len(raw), asked.paths
        fitting = REPLY_BYTES * count // (size + 1)
        self._paths = max(1, min(self._most, fitting, 2 * count if count >= self._paths else self._paths))
        return ResourceBatch.of(rows)

    def _found(self, path: MetaPath, answer: Node | list[str] | Failed) -> Found | None:
        if isinstance(answer, Node):
            value, stat = answer
            created = Millis(stat.ctime) if self._terms.created else None
            return self._folders.found(
                path, value, Millis(stat.mtime), stat.revision, created_ms=created, session=stat.ephemeral
            )
        told = self._missing(path, answer.code if isinstance(answer, Failed) else None)
        return Found(*told[0]) if told else None

    def _missing(self, path: MetaPath, code: int | None) -> list[Row]:
        """What is told of a path without an answer. Deleted meanwhile is no error; the watch has told of it."""
        if code == wire.NO_NODE:
            return []
        if code == wire.NO_AUTH and self._terms.forgiving:
            return [refused(path)] if self._folders.holds(path) else []  # the others have met it, too
        if code == wire.NO_AUTH:
            raise AccessDenied(f"{path} may not be read in ZooKeeper {self._link.where}")
        raise StoreError(f"{path}: ZooKeeper {self._link.where} answered a read with code {code}")
