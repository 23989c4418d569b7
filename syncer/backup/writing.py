"""Write a backup into a directory of its own, which takes its name only when everything in it is on the disk.

Whatever happens before that, no directory of that name exists; one that exists is never touched.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from syncer.backup.layout import (
    CLOSING,
    FORMAT_VERSION,
    MANIFEST,
    OPENING,
    VERSION_OF_INCOMPLETE,
    FileRecord,
    Manifest,
    ScopeRule,
    resource_text,
)
from syncer.backup.spool import Spool
from syncer.conflict.scope import Scope
from syncer.errors import PreconditionFailed
from syncer.model import MetaPath, Millis
from syncer.paths import classify

_SPOOL: Final = ".spool"


class BackupDraft:
    """A backup that is being made. Every method raises ``PreconditionFailed`` when the disk refuses."""

    def __init__(self, target: Path, work: Path, spool: Spool) -> None:
        self._target = target
        self._work = work
        self._spool = spool

    def add(self, resources: Iterable[tuple[MetaPath, bytes]]) -> None:
        """Take resources, in any order; what was there of the same path before is replaced."""
        with refused(self._target):
            self._spool.add(resources)

    def drop(self, paths: Iterable[MetaPath]) -> None:
        """Forget resources that turned out to be gone."""
        with refused(self._target):
            self._spool.drop(paths)

    def orphans(self) -> dict[MetaPath, list[MetaPath]]:
        """Parents that were not met, with the children that were."""
        with refused(self._target):
            return self._spool.orphans()

    def publish(
        self,
        *,
        region: str,
        clusters: tuple[str, ...],
        taken_at_ms: Millis,
        made_by: str,
        scope: Scope,
        completed: bool = True,
    ) -> Manifest:
        """Write files and manifest, and put the directory in its place.

        Raises:
            PreconditionFailed: The disk refuses, or somebody else has made a directory of that name meanwhile.
        """
        with refused(self._target):
            counts: dict[str, int] = {}
            files = tuple(self._write(name, counts) for name in self._spool.files())
            manifest = Manifest(
                version=FORMAT_VERSION if completed else VERSION_OF_INCOMPLETE,
                region=region,
                clusters=tuple(sorted(clusters)),
                taken_at_ms=taken_at_ms,
                taken_at=datetime.fromtimestamp(taken_at_ms / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                made_by=made_by,
                scope=tuple(ScopeRule(pattern=rule.pattern, direction=rule.direction) for rule in scope.rules),
                resources=dict(sorted(counts.items())),
                files=files,
                completed=completed,
            ).sealed()
            with open(self._work / MANIFEST, "x", encoding="utf-8", newline="\n", opener=_private) as file:
                file.write(manifest.text())
                _flush(file.fileno())
            self._spool.close()
            for directory in {self._work, *((self._work / each.name).parent for each in files)}:
                _flush_directory(directory)
            _absent(self._target)
            self._work.rename(self._target)
            _flush_directory(self._target.parent)
        return manifest

    def _write(self, name: str, counts: dict[str, int]) -> FileRecord:
        path = self._work / name
        for parent in reversed(path.relative_to(self._work).parents):
            (self._work / parent).mkdir(mode=0o700, exist_ok=True)
        sum256, size, count = hashlib.sha256(), 0, 0
        with open(path, "xb", opener=_private) as file:
            for index, (resource_path, value) in enumerate(self._spool.resources(name)):
                text = (OPENING if index == 0 else ",\n") + resource_text(resource_path, value)
                data = text.encode()
                sum256.update(data)
                size += file.write(data)
                count += 1
                resource = classify(resource_path)
                if resource is not None:
                    counts[resource.kind.value] = counts.get(resource.kind.value, 0) + 1
            data = f"\n{CLOSING}".encode()
            sum256.update(data)
            size += file.write(data)
            file.flush()
            _flush(file.fileno())
        return FileRecord(name=name, resources=count, bytes=size, sha256=sum256.hexdigest())


@contextmanager
def drafted(target: Path) -> Iterator[BackupDraft]:
    """Begin a backup; what was not published is gone afterwards.

    Raises:
        PreconditionFailed: The target exists, or its directory cannot be written.
    """
    _absent(target)
    with refused(target.absolute().parent):
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.absolute().parent))
    try:
        with refused(target):
            spool = Spool(work / _SPOOL)
        with spool:
            yield BackupDraft(target, work, spool)
    finally:
        with contextlib.suppress(OSError):
            if work.exists():
                shutil.rmtree(work)


@contextmanager
def refused(target: Path) -> Iterator[None]:
    """Say what the file system refuses.

    Raises:
        PreconditionFailed: It did.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as exc:
        cause, where = (exc.strerror, exc.filename or target) if isinstance(exc, OSError) else (exc, target)
        raise PreconditionFailed(
            f"{where} cannot be written: {cause}",
            hint="Make its directory writable, free some space, or name another place.",
        ) from exc


def _absent(target: Path) -> None:
    if not target.parent.is_dir():
        raise PreconditionFailed(
            f"{target} cannot be written: there is no directory {target.parent}", hint="Make it, or name another place."
        )
    if target.exists() or target.is_symlink():
        raise PreconditionFailed(f"{target} exists; it is left as it is", hint="Name a directory that does not exist.")


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read, whatever the umask: metadata tells who may do what, and where."""
    return os.open(path, flags, 0o600)


def _flush(descriptor: int) -> None:
    os.fsync(descriptor)


def _flush_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
