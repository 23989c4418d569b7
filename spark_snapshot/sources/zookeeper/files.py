"""Reads ZooKeeper's own files, with no server: the newest whole snapshot, and the transaction log replayed over it.

All of it or nothing: what is damaged, cut or missing is refused before anything is handed out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spark_snapshot.sources.folders import Folder, Folders
from spark_snapshot.sources.found import Found, ResourceBatch, Row, batched
from spark_snapshot.sources.reach import WHOLE, Share
from spark_snapshot.sources.zookeeper.snapshot_file import (
    CREATED_AT,
    STAT,
    SavedNode,
    Span,
    ZooKeeperFileDamaged,
    check,
    saved,
    windows,
)
from spark_snapshot.sources.zookeeper.transaction_log import LogDamaged, Replay, transactions
from syncer.errors import ConfigError, StoreError
from syncer.model import MetaPath, Millis, Revision
from syncer.stores.zookeeper.requests import is_ephemeral, revision_of
from syncer.wanted.contract import WantedPaths

VERSION_FOLDER: Final = "version-2"

_SNAPSHOT: Final = re.compile(r"snapshot\.([0-9a-f]+)(\.gz|\.snappy)?")
_LOG: Final = re.compile(r"log\.([0-9a-f]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperFolder:
    """Where the files are.

    Args:
        folder: ``dataDir`` of the server or its ``version-2``, or a copy of one.
        logs: ``dataLogDir``, where that is another one.
        chroot: Where the brokers' paths begin.
    """

    folder: Path
    logs: Path | None = None
    chroot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    snapshot: Path
    replay: Replay


def read(place: ZooKeeperFolder, wanted: WantedPaths, share: Share = WHOLE) -> Iterator[ResourceBatch]:
    """Read what is asked for, as it was after the last logged transaction.

    Raises:
        ConfigError: There is no such folder, or no snapshot in it.
        ZooKeeperFileDamaged: No snapshot in it is whole.
        LogDamaged: The log is damaged, was cut, or transactions are missing.
        StoreError: A file cannot be read.
    """
    prefixes = _prefixes(place.chroot, wanted)
    opened = _opened(place, lambda path: path.startswith(prefixes))
    yield from batched(_Reader(opened, place.chroot, wanted, share).parts())


def position(place: ZooKeeperFolder) -> int:
    """The last transaction (zxid) that the files hold. Reads all of them; raises as :func:`read` does."""
    return _opened(place, lambda _: False).replay.last


def value_at(place: ZooKeeperFolder, path: MetaPath) -> bytes | None:
    """The value at a path, ``None`` when there is none; raises as :func:`read` does."""
    wanted = (place.chroot + path).encode()
    opened = _opened(place, lambda each: each == wanted)
    for data, spans in windows(opened.snapshot):
        for span in spans:
            if data[span[0] : span[1] - 4] == wanted:
                node = opened.replay.resolve(saved(data, span))
                return None if node is None else node.value
    return next((node.value for node in opened.replay.rest()), None)


class _Reader:
    """One whole read of files that have been checked.

    Args:
        opened: The files.
        chroot: Where the brokers' paths begin.
        wanted: What is asked for.
        share: Which of several readers it is.
    """

    def __init__(self, opened: _Opened, chroot: str, wanted: WantedPaths, share: Share) -> None:
        self._opened = opened
        self._cut = len(chroot)
        self._prefixes = _prefixes(chroot, wanted)
        self._folders = Folders(wanted, share)
        self._created = wanted.terms.created

    def parts(self) -> Iterator[ResourceBatch]:
        """What is asked for, in the order of the file, and then what only the log has."""
        if not self._prefixes:
            return
        for data, spans in windows(self._opened.snapshot):
            yield self._sifted(data, spans)
        rest = (self._found(node) for node in self._opened.replay.rest())
        yield ResourceBatch.of(each for each in rest if each is not None)

    def _sifted(self, data: bytes, spans: list[Span]) -> ResourceBatch:
        replay, stat_of, slash_of = self._opened.replay, STAT.unpack_from, data.rfind
        rows: list[Row] = []
        created: Millis | None = None
        last: bytes | None = None
        folder: Folder | None = None
        for span in spans:
            path_at, value_at, stat_at = span
            slash = slash_of(b"/", path_at, value_at - 4)
            above = data[path_at:slash]
            if above != last:
                last, folder = above, self._folder(above)
            if folder is None:
                continue
            raw = data[path_at : value_at - 4]
            czxid, mzxid, mtime, version, owner = stat_of(data, stat_at)
            if replay.touches(raw, owner):
                node = replay.resolve(saved(data, span))
                found = None if node is None else self._found(node)
                if found is not None:
                    rows.append(found)
            elif (value_at < stat_at or folder.empties) and (not owner or folder.sessions or not is_ephemeral(owner)):
                path = self._path(raw)
                if folder.every or folder.wants(path.rpartition("/")[2]):
                    tenant = path.rpartition("/")[2] if folder.tenant is None else folder.tenant
                    kind = folder.kind or folder.kind_of(path.rpartition("/")[2])
                    revision = Revision(f"{mzxid}.{version}.{czxid}")
                    if self._created:
                        (created,) = CREATED_AT.unpack_from(data, stat_at)
                    rows.append((path, kind, tenant, data[value_at:stat_at], mtime, revision, created))
        return ResourceBatch.of(rows)

    def _folder(self, above: bytes) -> Folder | None:
        """The folder at a path of the file, if something that is asked for may lie in it."""
        start = above + b"/"
        if not start.startswith(self._prefixes) and not any(each.startswith(start) for each in self._prefixes):
            return None
        return self._folders.at(self._path(above))

    def _found(self, node: SavedNode) -> Found | None:
        return self._folders.found(
            self._path(node.path),
            node.value,
            Millis(node.mtime),
            revision_of(node.mzxid, node.version, node.czxid),
            created_ms=Millis(node.ctime) if self._created else None,
            session=bool(node.owner and is_ephemeral(node.owner)),
        )

    def _path(self, path: bytes) -> MetaPath:
        try:
            return MetaPath(path.decode()[self._cut :])
        except UnicodeDecodeError as exc:
            raise StoreError(f"{self._opened.snapshot}: a path that is no text: {path!r}") from exc


def _prefixes(chroot: str, wanted: WantedPaths) -> tuple[bytes, ...]:
    """All that is asked for begins with one of them."""
    return tuple((chroot + root).encode() for root in wanted.roots)


def _opened(place: ZooKeeperFolder, keeps: Callable[[bytes], bool]) -> _Opened:
    """The newest whole snapshot, checked, and the log behind it, replayed."""
    folder = _version_folder(place.folder)
    snapshots = _numbered(folder, _SNAPSHOT)
    if not snapshots:
        raise ConfigError(
            f"{folder} holds no snapshot of ZooKeeper", hint="Name the server's dataDir, or a copy of it."
        )
    logs = _numbered(folder if place.logs is None else _version_folder(place.logs), _LOG)
    refused: ZooKeeperFileDamaged | None = None
    for number, snapshot in reversed(snapshots):
        try:
            newest = check(snapshot)
        except ZooKeeperFileDamaged as exc:  # the server was writing it: the one before, and a longer log, say the same
            refused = refused or exc
            continue
        try:
            replay = _replayed(number, logs, keeps)
        except LogDamaged as exc:
            raise (refused or exc) from exc
        if newest > replay.last:
            raise LogDamaged(
                f"{snapshot} holds effects of transaction 0x{newest:x}, and the log in {folder} ends at "
                f"0x{replay.last:x}: it is not whole"
            )
        return _Opened(snapshot=snapshot, replay=replay)
    assert refused is not None  # noqa: S101 - there was one at least
    raise refused


def _replayed(number: int, logs: list[tuple[int, Path]], keeps: Callable[[bytes], bool]) -> Replay:
    replay = Replay(keeps=keeps, last=number)
    first = max((at for at, (start, _) in enumerate(logs) if start <= number + 1), default=0)
    for _, log in logs[first:]:
        for txn in transactions(log):
            replay.add(txn, log)
    return replay


def _version_folder(folder: Path) -> Path:
    below = folder / VERSION_FOLDER
    found = below if below.is_dir() else folder
    if not found.is_dir():
        raise ConfigError(f"there is no folder {folder}", hint="Name the server's dataDir, or a copy of it.")
    return found


def _numbered(folder: Path, form: re.Pattern[str]) -> list[tuple[int, Path]]:
    """Files whose name has the form, by the number in it."""
    try:
        names = [(form.fullmatch(file.name), file) for file in folder.iterdir()]
    except OSError as exc:
        raise StoreError(f"{folder} cannot be read: {exc.strerror or exc}") from exc
    return sorted((int(match[1], 16), file) for match, file in names if match)
