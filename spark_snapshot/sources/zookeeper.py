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

from spark_snapshot.sources.found import Batch, Found, batched
from spark_snapshot.sources.reach import WHOLE, Reach, Share, levels_below
from spark_snapshot.sources.spool import Spool, settled
from spark_snapshot.sources.zookeeper_link import Link, RawMultiRead
from syncer.errors import AccessDenied, ConfigError, StoreError, StoreUnavailable
from syncer.model import MetaPath, Millis
from syncer.stores import zookeeper_requests as wire
from syncer.stores.zookeeper import ZooKeeperConfig
from syncer.stores.zookeeper_requests import Failed, MultiRead, Node, Sync

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


class _Unread(NamedTuple):
    path: MetaPath
    levels: int
    """How many levels below may hold resources."""


class _Asked(NamedTuple):
    names: bool
    """Whether the children's names were asked for, and not the values."""
    paths: list[_Unread]


def read(config: ZooKeeperConfig, reach: Reach, share: Share = WHOLE) -> Iterator[Batch]:
    """Read what is asked for, as it was at one moment, in batches of bounded size.

    Begins anew, a few times, when the session is lost.

    Raises:
        StoreUnavailable: No server, or it changes faster than it can be read.
        AccessDenied: The credentials, or the ACL of a node, do not allow it.
        ConfigError: The chroot does not exist, or a file of the settings cannot be read.
    """

    def attempt(spool: Spool) -> None:
        with Link(config) as link:
            reader = _Reader(link, config.chroot, reach, share)
            reader.begin()
            for batch in reader.walk():
                spool.add(batch)
            reader.settle(spool)

    return settled(attempt, again=(StoreUnavailable,))


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
        self._unread: deque[_Unread] = deque()
        self._directories: list[_Unread] = []
        self._judge = reach.judge(share)
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

    def walk(self) -> Iterator[Batch]:
        """Everything once, each node at a moment of its own."""
        for root in self._reach.roots:
            self._meet(root, levels_below(root))
        in_flight = 0
        while True:
            while in_flight < IN_FLIGHT and self._request():
                in_flight += 1
            if not in_flight:
                return
            token, (raw, offset) = self._link.take()
            in_flight -= 1
            asked = cast("_Asked", token)
            answers = self._parsed(raw, offset)
            if asked.names:
                self._take_names(asked.paths, answers)
            else:
                yield from batched(self._take_nodes(asked.paths, answers, len(raw)))

    def settle(self, spool: Spool) -> None:
        """Read again what has changed, until nothing has."""
        for _ in range(ROUNDS):
            changed = [MetaPath(full[len(self._chroot) :]) for full in self._link.noted()]
            if not changed:
                return
            wanted = [path for path in changed if self._judge(path)]
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
        unread, directories = self._unread, self._directories
        if len(unread) >= self._paths or (unread and not directories):
            room = REQUEST_BYTES
            page: list[_Unread] = []
            while unread and len(page) < self._paths and room > 0:
                page.append(unread.popleft())
                room -= len(page[-1].path)
            self._link.send(_Asked(False, page), RawMultiRead.nodes([self._chroot + each.path for each in page]))
            return True
        if directories:
            page = directories[-self._listed :]
            del directories[-self._listed :]
            self._link.send(_Asked(True, page), RawMultiRead.children([self._chroot + each.path for each in page]))
            return True
        return False

    def _parsed(self, raw: bytes, offset: int) -> list[Node | list[str] | Failed]:
        try:
            return MultiRead.deserialize(raw, offset)
        except (struct.error, IndexError, UnicodeDecodeError) as exc:
            message = f"ZooKeeper {self._link.where} gave an answer that cannot be understood: {exc}"
            raise StoreUnavailable(message) from exc

    def _meet(self, path: MetaPath, levels: int) -> None:
        """Note what is to be asked of a path: its value, or else its children's names."""
        if self._judge(path):
            self._unread.append(_Unread(path, levels))
        elif levels > 0 and self._enters(path):
            self._directories.append(_Unread(path, levels))

    def _enters(self, path: MetaPath) -> bool:
        return self._reach.enters(path) and self._share.enters(path)

    def _take_names(self, asked: list[_Unread], answers: list[Node | list[str] | Failed]) -> None:
        count = 0
        for (parent, levels), names in zip(asked, answers, strict=True):
            if isinstance(names, list):
                count += len(names)
                for name in names:
                    self._meet(MetaPath(f"{parent}/{name}"), levels - 1)
            else:
                self._missing(parent, names)
        self._listed = max(1, min(DIRECTORIES, NAMES * len(asked) // (count + 1)))

    def _take_nodes(self, asked: list[_Unread], answers: list[Node | list[str] | Failed], size: int) -> Iterator[Found]:
        for (path, levels), answer in zip(asked, answers, strict=True):
            if levels > 0 and isinstance(answer, Node) and answer.stat.num_children and self._enters(path):
                self._directories.append(_Unread(path, levels))
            found = self._found(path, answer)
            if found is not None:
                yield found
        fitting = REPLY_BYTES * len(asked) // (size + 1)
        self._paths = max(1, min(MAX_PATHS, fitting, 2 * len(asked) if len(asked) >= self._paths else self._paths))

    def _found(self, path: MetaPath, answer: Node | list[str] | Failed) -> Found | None:
        if isinstance(answer, Node):
            value, stat = answer
            if not value or stat.ephemeral:  # an inner node holds nothing, an ephemeral one is a session's
                return None
            return Found(path, value, Millis(stat.mtime), stat.revision)
        self._missing(path, answer)
        return None

    def _missing(self, path: MetaPath, answer: object) -> None:
        """Deleted meanwhile is no error; the watch has told of it."""
        code = answer.code if isinstance(answer, Failed) else None
        if code == wire.NO_NODE:
            return
        if code == wire.NO_AUTH:
            raise AccessDenied(f"{path} may not be read in ZooKeeper {self._link.where}")
        raise StoreError(f"{path}: ZooKeeper {self._link.where} answered a read with code {code}")
