"""ZooKeeper as a metadata store.

Writes are one ``multi``, reads are batches of ``multiRead`` behind a ``sync``, changes come from persistent recursive
watches. A revision is ``<mzxid>.<version>.<czxid>``: ZooKeeper itself checks the version only, which begins anew when a
node is deleted and made again, so the creation's number in the answer of a write tells whether what was overwritten is
what had been read.
"""

from __future__ import annotations

import asyncio
import functools
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from syncer.errors import (
    AccessDenied,
    ConfigError,
    NotEmpty,
    ParentMissing,
    RevisionMismatch,
    StoreError,
    StoreUnavailable,
    ValueRefused,
)
from syncer.model import MetaPath, Millis, Revision
from syncer.stores.contract import (
    Armed,
    BatchRefused,
    Beat,
    Capabilities,
    Changed,
    Delete,
    Entry,
    Gap,
    Put,
    WatchSignal,
    Write,
    Written,
)
from syncer.stores.zookeeper import requests as wire
from syncer.stores.zookeeper.config import ZooKeeperConfig, client_of
from syncer.stores.zookeeper.requests import Failed, Multi, MultiRead, Node, Permission, Stat, Sync
from syncer.stores.zookeeper.session import Notices, Session

READ_PATHS: Final = 200
"""Paths of one multiRead."""
READS_IN_FLIGHT: Final = 8
SCAN_PAGE_BYTES: Final = 1 << 20
"""About what a page of a scan weighs; one entry may weigh more."""
SCAN_NAMES: Final = 5_000
"""Names of children that a scan fetches at once, unless one node alone has more."""
CHANGED_PATHS: Final = 1_000
"""Paths of one notice."""
BEAT_S: Final = 2.0
LINGER_S: Final = 0.005
"""Pause between two notices in a storm, so that changes of one path become one."""
SCAFFOLD_ROUNDS: Final = 3

_ILLEGAL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]|//|/\\.{1,2}(?:/|$)")
_REVISION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_NO_VERSION: Final = -2
_ZOOKEEPERS_OWN: Final = "/zookeeper"


class ZooKeeperStore:
    """A ZooKeeper ensemble, or the part of it below ``chroot``.

    Args:
        config: Where it is, and how it is spoken to. Nothing is read or connected before :meth:`open`.
    """

    config_model = ZooKeeperConfig

    def __init__(self, config: ZooKeeperConfig) -> None:
        self._config = config
        self._chroot = config.chroot
        self._acl = tuple(Permission.read(entry) for entry in config.acl)
        self._where = config.hosts + config.chroot
        self._session = Session(
            functools.partial(client_of, config),
            where=self._where,
            request_timeout_s=config.request_timeout.total_seconds(),
        )
        self._capabilities = Capabilities(
            modified_times=True,
            real_parents=True,
            transactions=True,
            max_batch_writes=config.max_batch_writes,
            max_batch_bytes=config.max_batch_bytes,
            max_value_bytes=config.max_value_bytes,
        )

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do."""
        return self._capabilities

    @property
    def trouble(self) -> str:
        """Why there is no connection; empty while there is one, or nothing is known."""
        return self._session.trouble

    async def open(self) -> None:
        """Connect.

        Raises:
            ConfigError: The chroot does not exist, or a named file cannot be read.
            StoreUnavailable: No connection in time.
            AccessDenied: The credentials are refused, or the server is read-only.
        """
        await self._session.open(timeout_s=self._config.connect_timeout.total_seconds())
        if self._chroot and (await self.read([MetaPath("/")]))[MetaPath("/")] is None:
            await self.close()
            raise ConfigError(
                f"the chroot {self._chroot} does not exist in ZooKeeper {self._config.hosts}",
                hint="Correct 'store.chroot' to the one that the brokers use, or create the node.",
            )

    async def close(self) -> None:
        """Disconnect. Safe to call twice and before ``open``."""
        await self._session.close()

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        """Read paths in the order given, after everything that was written before the call."""
        answers: dict[MetaPath, Entry | None] = dict.fromkeys(paths)
        legal = [path for path in answers if not _illegal(path)]  # an illegal path cannot exist
        pages = [legal[start : start + READ_PATHS] for start in range(0, len(legal), READ_PATHS)]
        for start in range(0, len(pages), READS_IN_FLIGHT):
            window = pages[start : start + READS_IN_FLIGHT]
            requests = [MultiRead.nodes([self._full(path) for path in page]) for page in window]
            _, *results = await self._session.ask(Sync(self._full(MetaPath("/"))), *requests)
            for page, nodes in zip(window, results, strict=True):
                for path, node in zip(page, nodes, strict=True):
                    answers[path] = self._entry(path, node)
        return answers

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Apply all writes as one ``multi``. Missing scaffold is created in the same transaction.

        A delete's answer carries no stat: ``replaced_unread`` is known of overwritten values only.
        """
        if not writes:
            return ()
        parts = [self._part(index, write) for index, write in enumerate(writes)]
        scaffold: list[MetaPath] = []
        for _ in range(SCAFFOLD_ROUNDS):
            heads = [Multi.create(self._full(path), b"", self._acl) for path in scaffold]
            (results,) = await self._session.ask(Multi([*heads, *parts]))
            failure = wire.first_failure(results)
            if failure is None:
                mark = next((_mark(each.mzxid) for each in results if isinstance(each, Stat)), "")
                return tuple(_written(*each, mark) for each in zip(writes, results[len(heads) :], strict=True))
            position, code = failure
            index = position - len(heads)
            if index >= 0 and not (code == wire.NO_NODE and isinstance(writes[index], Put)):
                raise BatchRefused(index, self._refusal(writes[index], code))
            missing = await self._missing_scaffold(writes)
            if index >= 0 and missing == scaffold:  # whatever is missing is no scaffold
                raise BatchRefused(index, self._refusal(writes[index], code))
            if index < 0 and code != wire.NODE_EXISTS:
                raise self._scaffold_refusal(writes, scaffold[position], code)
            scaffold = missing
        raise StoreUnavailable(f"ZooKeeper {self._where}: the parents of the batch keep changing; nothing was written")

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        """Walk the tree from ``prefix``, a page of values at a time; memory holds names of few directories only."""
        unread: deque[MetaPath] = deque() if _illegal(prefix) else deque([prefix])
        directories: list[tuple[MetaPath, int]] = []
        page_size = READ_PATHS
        await self._session.ask(Sync(self._full(prefix)))
        while unread or directories:
            if not unread:
                unread.extend(await self._children(directories))
                continue
            page = [unread.popleft() for _ in range(min(page_size, len(unread)))]
            (nodes,) = await self._session.ask(MultiRead.nodes([self._full(path) for path in page]))
            entries = []
            for path, node in zip(page, nodes, strict=True):
                entry = self._entry(path, node)
                if entry is not None:
                    entries.append(entry)
                    if node.stat.num_children:
                        directories.append((path, node.stat.num_children))
            if entries:
                average = sum(len(entry.value) for entry in entries) // len(entries) + 1
                page_size = max(1, min(READ_PATHS, SCAN_PAGE_BYTES // average))
                yield tuple(entries)

    async def names(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Sequence[str]]:
        """Read the names of children; see :class:`~syncer.stores.contract.TellsNames`."""
        (answers,) = await self._session.ask(MultiRead.children([self._full(path) for path in paths]))
        found: dict[MetaPath, Sequence[str]] = {}
        for parent, names in zip(paths, answers, strict=True):
            if isinstance(names, Failed) and names.code != wire.NO_NODE:  # deleted meanwhile is no error
                raise self._refused_read(parent, names.code)
            found[parent] = () if isinstance(names, Failed) else names
        return found

    async def watch(self, prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        """Report changes by persistent recursive watches; every break of the connection is a ``Gap``.

        Ends when the store is closed.

        Raises:
            AccessDenied: The credentials are refused, or the server has become read-only.
        """
        full = tuple(dict.fromkeys(self._full(prefix) for prefix in prefixes))
        if not full:
            raise ValueError("a watch needs at least one prefix")
        notices = Notices(asyncio.get_running_loop(), full, capacity=self._config.max_pending_paths)
        self._session.attach(notices)
        try:
            while not self._session.closed:
                try:
                    await self._session.arm(notices)
                except StoreUnavailable:
                    await asyncio.sleep(LINGER_S)  # the session has waited its deadline, or lost the connection
                    continue
                yield Armed()
                async for signal in self._signals(notices):
                    yield signal
        finally:
            self._session.detach(notices)

    async def _signals(self, notices: Notices) -> AsyncIterator[WatchSignal]:
        """What an armed watch tells, up to and with its gap."""
        beat_due = time.monotonic() + BEAT_S
        taken_at = 0.0
        while True:
            await notices.wait(max(0.0, beat_due - time.monotonic()))
            if time.monotonic() - taken_at < LINGER_S:
                await asyncio.sleep(LINGER_S)
            whole = False
            if time.monotonic() >= beat_due:
                whole = await self._verify(notices)
                beat_due = time.monotonic() + BEAT_S
            if self._session.closed:
                return
            changed, gap = notices.take(self._config.max_pending_paths if whole else CHANGED_PATHS)
            taken_at = time.monotonic() if changed else taken_at
            for start in range(0, len(changed), CHANGED_PATHS):
                page = changed[start : start + CHANGED_PATHS]
                yield Changed(
                    tuple(self._stripped(path) for path, _ in page), tuple(_mark(number) for _, number in page)
                )
            if gap is not None:
                yield Gap(gap)
                return
            if whole:
                yield Beat()

    async def _verify(self, notices: Notices) -> bool:
        """Make a round trip; whatever changed before it has been noted when it is done."""
        try:
            await self._session.ask(Sync(notices.prefixes[0]))
        except StoreUnavailable as exc:
            notices.break_off(exc.message)
            return False
        return True

    async def _children(self, directories: list[tuple[MetaPath, int]]) -> list[MetaPath]:
        """Take directories off the end of the list, few or small ones, and fetch their children's paths."""
        taken = [directories.pop()]
        names_due = taken[0][1]
        while directories and len(taken) < READ_PATHS and names_due + directories[-1][1] <= SCAN_NAMES:
            taken.append(directories.pop())
            names_due += taken[-1][1]
        paths: list[MetaPath] = []
        for parent, names in (await self.names([path for path, _ in taken])).items():
            base = "" if parent == "/" else parent
            paths.extend(MetaPath(f"{base}/{name}") for name in names)
        return [path for path in paths if self._full(path) != _ZOOKEEPERS_OWN]

    async def _missing_scaffold(self, writes: Sequence[Write]) -> list[MetaPath]:
        """Scaffold of the creations that does not exist now, parents first."""
        wanted = [path for write in writes if isinstance(write, Put) for path in write.scaffold]
        if not wanted:
            return []
        found = await self.read(wanted)
        created = {write.path for write in writes if isinstance(write, Put)}
        return [path for path, entry in found.items() if entry is None and path not in created]

    def _part(self, index: int, write: Write) -> bytes:
        """One write as a part of a ``multi``, or the refusal of what the server could not even answer."""
        reason = _illegal(write.path)
        if reason:
            raise BatchRefused(index, ValueRefused(f"ZooKeeper cannot hold the path {write.path!r}: {reason}"))
        path = self._full(write.path)
        if isinstance(write, Delete):
            return Multi.delete(path, _version_of(write.expected))
        limit = self._config.max_value_bytes
        if len(write.value) > limit:
            message = f"the value of {write.path} has {len(write.value)} bytes; {self._where} takes {limit}"
            raise BatchRefused(index, ValueRefused(message))
        if write.expected is None:
            return Multi.create(path, write.value, self._acl)
        return Multi.set_data(path, write.value, _version_of(write.expected))

    def _refusal(self, write: Write, code: int) -> StoreError:
        """What ZooKeeper's refusal of one write means."""
        path = write.path
        match code:
            case wire.NO_NODE if isinstance(write, Put) and write.expected is None:
                return ParentMissing(f"{path}: its parent does not exist in ZooKeeper {self._where}")
            case wire.NO_NODE | wire.BAD_VERSION | wire.NODE_EXISTS:
                return RevisionMismatch(f"{path} is not at revision {write.expected} in ZooKeeper {self._where}")
            case wire.NOT_EMPTY:
                return NotEmpty(f"{path} has children in ZooKeeper {self._where}")
            case wire.NO_AUTH | wire.INVALID_ACL | wire.NOT_READ_ONLY:
                return AccessDenied(f"{path} may not be written in ZooKeeper {self._where} (code {code})")
            case wire.BAD_ARGUMENTS | wire.NO_CHILDREN_FOR_EPHEMERALS:
                return ValueRefused(f"{path} cannot be written in ZooKeeper {self._where} (code {code})")
            case _:
                return StoreError(f"{path}: ZooKeeper {self._where} refused it with code {code}")

    def _scaffold_refusal(self, writes: Sequence[Write], path: MetaPath, code: int) -> BatchRefused:
        """The refusal of a scaffold node, told of the first write that needs it."""
        index = next(i for i, write in enumerate(writes) if isinstance(write, Put) and path in write.scaffold)
        return BatchRefused(index, self._refusal(Put(path=path, value=b"", expected=None), code))

    def _refused_read(self, path: MetaPath, code: int) -> StoreError:
        if code == wire.NO_AUTH:
            return AccessDenied(f"{path} may not be read in ZooKeeper {self._where}")
        return StoreError(f"{path}: ZooKeeper {self._where} answered a read with code {code}")

    def _entry(self, path: MetaPath, node: Node | Failed) -> Entry | None:
        if isinstance(node, Failed):
            if node.code == wire.NO_NODE:
                return None
            raise self._refused_read(path, node.code)
        stat = node.stat
        return Entry(
            path=path,
            value=node.value,
            revision=stat.revision,
            modified_at_ms=Millis(stat.mtime),
            ephemeral=stat.ephemeral,
            distinct=_distinct(stat),
        )

    def _full(self, path: MetaPath) -> str:
        return (self._chroot or "/") if path == "/" else self._chroot + path

    def _stripped(self, full: str) -> MetaPath:
        return MetaPath(full[len(self._chroot) :] or "/")


def _written(write: Write, result: Stat | None, mark: str) -> Written:
    if result is None:
        return Written(path=write.path, revision=None, mark=mark)
    other = write.expected is not None and _creation_of(write.expected) != result.czxid
    return Written(
        path=write.path, revision=result.revision, replaced_unread=other, mark=mark, distinct=_distinct(result)
    )


def _distinct(stat: Stat) -> bool:
    """Whether a check of the version tells this state from that of a node just made in its place."""
    return stat.version > 0


def _mark(number: int) -> str:
    """How a transaction is named; a server before 3.9 does not say in its notices which one it was."""
    return str(number) if number > 0 else ""


def _version_of(revision: Revision) -> int:
    """The version to check for; one that no node has when the token is none of ours."""
    token = _REVISION.fullmatch(revision)
    return int(token.group(2)) if token else _NO_VERSION


def _creation_of(revision: Revision) -> int:
    return int(revision.rpartition(".")[2])


def _illegal(path: MetaPath) -> str | None:
    """Why ZooKeeper cannot hold a path, or ``None`` when it can."""
    if not path.startswith("/"):
        return "it does not start with '/'"
    if path != "/" and path.endswith("/"):
        return "it ends with '/'"
    found = _ILLEGAL.search(path)
    return f"it holds {found.group()!r}" if found else None
