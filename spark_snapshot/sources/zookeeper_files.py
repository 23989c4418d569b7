"""Reads ZooKeeper's own files, with no server: the newest whole snapshot, and the transaction log replayed over it.

All of it or nothing: what is damaged, cut or missing is refused before anything is handed out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spark_snapshot.sources.found import Batch, Found, batched
from spark_snapshot.sources.reach import WHOLE, Reach, Share
from spark_snapshot.sources.zookeeper_log import LogDamaged, Replay, transactions
from spark_snapshot.sources.zookeeper_snapshot import Saved, SnapshotDamaged, check, nodes
from syncer.errors import ConfigError, StoreError
from syncer.model import MetaPath, Millis
from syncer.stores.zookeeper_requests import is_ephemeral, revision_of

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


def read(place: ZooKeeperFolder, reach: Reach, share: Share = WHOLE) -> Iterator[Batch]:
    """Read what is asked for, as it was after the last logged transaction.

    Raises:
        ConfigError: There is no such folder, or no snapshot in it.
        SnapshotDamaged: No snapshot in it is whole.
        LogDamaged: The log is damaged, was cut, or transactions are missing.
        StoreError: A file cannot be read.
    """
    prefixes = tuple((place.chroot + root).encode() for root in reach.roots)
    opened = _opened(place, lambda path: path.startswith(prefixes))
    yield from batched(_found(opened, prefixes, place.chroot, reach, share))


def position(place: ZooKeeperFolder) -> int:
    """The last transaction (zxid) that the files hold. Reads all of them; raises as :func:`read` does."""
    return _opened(place, lambda _: False).replay.last


def value_at(place: ZooKeeperFolder, path: MetaPath) -> bytes | None:
    """The value at a path, ``None`` when there is none; raises as :func:`read` does."""
    wanted = (place.chroot + path).encode()
    opened = _opened(place, lambda each: each == wanted)
    for base in nodes(opened.snapshot, (wanted,)):
        if base.path == wanted:
            node = opened.replay.resolve(base)
            return None if node is None else node.value
    return next((node.value for node in opened.replay.rest()), None)


def _found(opened: _Opened, prefixes: tuple[bytes, ...], chroot: str, reach: Reach, share: Share) -> Iterator[Found]:
    if not prefixes:
        return
    cut, judge = len(chroot), reach.judge(share)
    for path, value, czxid, mzxid, mtime, version, owner in _outcome(opened, prefixes):
        if not value or (owner and is_ephemeral(owner)):
            continue
        try:
            where = MetaPath(path.decode()[cut:])
        except UnicodeDecodeError as exc:
            raise StoreError(f"{opened.snapshot}: a path that is no text: {path!r}") from exc
        if judge(where):
            yield Found(where, value, Millis(mtime), revision_of(mzxid, version, czxid))


def _outcome(opened: _Opened, prefixes: tuple[bytes, ...]) -> Iterator[Saved]:
    resolve = opened.replay.resolve
    for base in nodes(opened.snapshot, prefixes):
        node = resolve(base)
        if node is not None:
            yield node
    yield from opened.replay.rest()


def _opened(place: ZooKeeperFolder, keeps: Callable[[bytes], bool]) -> _Opened:
    """The newest whole snapshot, checked, and the log behind it, replayed."""
    folder = _version_folder(place.folder)
    snapshots = _numbered(folder, _SNAPSHOT)
    if not snapshots:
        raise ConfigError(
            f"{folder} holds no snapshot of ZooKeeper", hint="Name the server's dataDir, or a copy of it."
        )
    logs = _numbered(folder if place.logs is None else _version_folder(place.logs), _LOG)
    refused: SnapshotDamaged | None = None
    for number, snapshot in reversed(snapshots):
        try:
            newest = check(snapshot)
        except SnapshotDamaged as exc:  # the server was writing it: the one before, and a longer log, say the same
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
