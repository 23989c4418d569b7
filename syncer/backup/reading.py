"""Readers of a backup: every pass checks what it reads against the manifest, so that nothing damaged is ever used.

``verify`` goes on after a fault and lists them all; every other reader stops at the first one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final

from pydantic import ValidationError

from syncer import local_files
from syncer.backup.layout import (
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    VERSION_OF_INCOMPLETE,
    FileRecord,
    Manifest,
    ResourceReader,
)
from syncer.conflict.classes.telling import noted_fault, patterns_in
from syncer.conflict.projection import json_fault
from syncer.conflict.scope import Rule, Scope, check_rule
from syncer.errors import BackupDamaged, BackupInvalid, ConfigError, PreconditionFailed
from syncer.model import MetaPath

_MAX_MANIFEST_BYTES: Final = 256 * 1024 * 1024
_COSTLY: Final = "No backup of this program has so many; use another one, or ask who has made it."
_NOT_ALLOWED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EIO})
_NOT_OURS: Final = frozenset({".git", ".gitattributes", ".gitignore"})
"""What may lie beside the files of a backup that is kept under version control."""


class Fault(StrEnum):
    """What is wrong with a file."""

    MISSING = "missing"
    EXTRA = "extra"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedFile:
    """One file that is not as it was written."""

    file: str
    fault: Fault
    detail: str


class Backup:
    """A backup on the disk, with its manifest.

    Raises:
        BackupInvalid: There is no backup, or it is of another version.
        BackupDamaged: The manifest is not as it was written.
        PreconditionFailed: It may not be read.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.manifest = _manifest(directory)
        self.scope = _scope(self.manifest, directory)

    def resources(self) -> Iterator[tuple[MetaPath, bytes]]:
        """Every resource, file by file. Use none of it before the iterator has ended: a file is checked at its end.

        Raises:
            BackupDamaged: A file is not as it was written; the message names it.
            PreconditionFailed: A file may not be read.
        """
        for record in self.manifest.files:
            yield from self._file(record)

    def verify(self) -> tuple[DamagedFile, ...]:
        """Check every file; what is missing, extra or damaged, in order of the names.

        Raises:
            PreconditionFailed: The directory may not be read.
        """
        findings: list[DamagedFile] = []
        for record in self.manifest.files:
            try:
                for _ in self._file(record):
                    pass
            except (BackupDamaged, PreconditionFailed) as exc:
                gone = not (self.directory / record.name).exists()
                fault = Fault.MISSING if gone else Fault.DAMAGED
                findings.append(DamagedFile(file=record.name, fault=fault, detail=exc.message))
        findings += [
            DamagedFile(file=name, fault=Fault.EXTRA, detail=f"{name}: not in the manifest") for name in self._extra()
        ]
        return tuple(sorted(findings, key=lambda each: each.file))

    def _file(self, record: FileRecord) -> Iterator[tuple[MetaPath, bytes]]:
        sum256, reader = hashlib.sha256(), ResourceReader(record.name)
        trouble: BackupDamaged | None = None
        try:
            with self._opened(record) as file:
                for line in file:
                    sum256.update(line)
                    if trouble is None:
                        try:
                            found = reader.take(line.decode())
                        except UnicodeDecodeError:
                            trouble = BackupDamaged(f"{record.name}: not UTF-8")
                        except BackupDamaged as exc:
                            trouble = exc
                        else:
                            if found is not None:
                                yield found
        except OSError as exc:
            raise PreconditionFailed(
                f"{self.directory / record.name} cannot be read: {exc.strerror}", hint="Check owner and permissions."
            ) from exc
        if trouble is None and sum256.hexdigest() == record.sha256:
            reader.end()
            return
        raise trouble or BackupDamaged(f"{record.name}: its checksum is not the manifest's")

    def _opened(self, record: FileRecord) -> BinaryIO:
        """Open a file of the manifest, if it lies in the backup and has the size that it should have.

        Raises:
            BackupDamaged: It is missing, of another size, or no regular file, or a link leads to it.
            OSError: It may not be read.
        """
        for above in Path(record.name).parents:
            if above.name and (self.directory / above).is_symlink():
                raise BackupDamaged(f"{record.name}: {above} is a link, and a backup has none")
        try:
            file = local_files.opened(self.directory / record.name, follow=False)
        except FileNotFoundError as exc:
            raise BackupDamaged(f"{record.name}: missing") from exc
        except OSError as exc:
            if exc.errno in _NOT_ALLOWED:
                raise
            raise BackupDamaged(f"{record.name}: {exc.strerror}") from exc
        if os.fstat(file.fileno()).st_size != record.bytes:
            file.close()
            raise BackupDamaged(f"{record.name}: has not as many bytes as the manifest says")
        return file

    def _extra(self) -> list[str]:
        known = {record.name for record in self.manifest.files} | {MANIFEST}
        try:
            return [
                name
                for path in sorted(self.directory.rglob("*"))
                if not path.is_dir()
                and (name := path.relative_to(self.directory).as_posix()) not in known
                and name.split("/", 1)[0] not in _NOT_OURS
            ]
        except OSError as exc:
            raise PreconditionFailed(
                f"{exc.filename} cannot be read: {exc.strerror}", hint="Check owner and permissions."
            ) from exc


def _manifest(directory: Path) -> Manifest:
    file = directory / MANIFEST
    try:
        with local_files.opened(file, follow=False) as opened:
            data = opened.read(_MAX_MANIFEST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise BackupInvalid(f"{directory} is no backup: it holds no {MANIFEST}") from exc
    except OSError as exc:
        raise PreconditionFailed(f"{file} cannot be read: {exc.strerror}", hint="Check owner and permissions.") from exc
    if len(data) > _MAX_MANIFEST_BYTES:
        raise BackupDamaged(f"{MANIFEST}: has more than {_MAX_MANIFEST_BYTES} bytes")
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise BackupDamaged(f"{MANIFEST}: no JSON: {json_fault(exc)}") from exc
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise BackupInvalid(f"{file} is no manifest of a backup")
    if raw.get("version") not in (FORMAT_VERSION, VERSION_OF_INCOMPLETE):
        raise BackupInvalid(
            f"{directory} is a backup of version {raw.get('version')!r}; this program reads versions {FORMAT_VERSION} "
            f"and {VERSION_OF_INCOMPLETE}",
            hint="Use the version of this program that made it.",
        )
    if (fault := noted_fault(patterns_in(raw.get("scope")))) is not None:
        raise BackupInvalid(f"{file} has {fault}", hint=_COSTLY)
    try:
        manifest = Manifest.model_validate(raw)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BackupDamaged(f"{MANIFEST}: {place}: {first['msg']}") from exc
    if not manifest.intact:
        raise BackupDamaged(f"{MANIFEST}: its checksum is not its own; it was changed by hand, or cut")
    names = [record.name for record in manifest.files]
    if len(set(names)) != len(names) or any(_leads_out(name) for name in names):
        raise BackupDamaged(f"{MANIFEST}: names of files that no backup has")
    return manifest


def _leads_out(name: str) -> bool:
    return not name.isprintable() or any(part in {"", ".", ".."} for part in name.split("/"))


def _scope(manifest: Manifest, directory: Path) -> Scope:
    rules = [Rule(rule.pattern, rule.direction) for rule in manifest.scope]
    try:
        for rule in rules:
            check_rule(rule)
        return Scope(rules, told=True)
    except ConfigError as exc:
        raise BackupInvalid(f"{directory}: {exc.message}") from exc
