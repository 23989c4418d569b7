"""The keys of the group, from their files: who may read these, and what they hold, is checked before a key is used."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from syncer.bus.signing import GroupKey, Keyring
from syncer.config.tables import SigningConfig
from syncer.errors import ConfigError
from syncer.model import Region

MAX_FILE_BYTES: Final = 4096
_STRANGERS_MAY: Final = stat.S_IRWXO | stat.S_IWGRP
_MAKE: Final = "Make one by: (umask 077; openssl rand -base64 32 > group.key)"


def keyring(config: SigningConfig | None) -> Keyring:
    """The keys that the configuration names; without the table, one that signs nothing and believes everybody.

    Raises:
        ConfigError: A file cannot be used; the message says which, and why, and nothing of what it holds.
    """
    if config is None:
        return Keyring()
    return Keyring(
        read_keys(config.key_files),
        native=[Region(name) for name in config.native_regions],
        accept_unsigned=config.accept_unsigned,
    )


def read_keys(files: Sequence[Path]) -> list[GroupKey]:
    """Read each file's key.

    Raises:
        ConfigError: One cannot be used, or two hold the same key.
    """
    keys: list[GroupKey] = []
    for file in files:
        try:
            key = GroupKey(_secret(file))
        except ConfigError as exc:
            raise ConfigError(f"signing.key_files: {file}: {exc.message}", hint=exc.hint) from None
        if any(key.id == other.id for other in keys):
            raise ConfigError(f"signing.key_files: {file} holds the same key as another of the files")
        keys.append(key)
    return keys


def _secret(file: Path) -> bytes:
    text = _text(file)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError("holds no base64 text", hint=_MAKE) from None


def _text(file: Path) -> bytes:
    """What the file holds, without white space; its mode is that of the file that is open, not of one by its name."""
    try:
        # Not blocking: were it a pipe, nobody might ever write to it.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as exc:
        raise ConfigError(f"cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError("is no file")
        if found.st_mode & _STRANGERS_MAY:
            raise ConfigError(
                f"may be read or written by others than its owner (mode {stat.S_IMODE(found.st_mode):04o})",
                hint=f"Whoever has read it can sign: make a new key, or 'chmod 600 {file}' if nobody has. A mounted "
                "Kubernetes secret wants defaultMode: 0400.",
            )
        text = os.read(descriptor, MAX_FILE_BYTES + 1)
    except OSError as exc:
        raise ConfigError(f"cannot be read: {exc.strerror}") from exc
    finally:
        os.close(descriptor)
    if len(text) > MAX_FILE_BYTES:
        raise ConfigError(f"has more than {MAX_FILE_BYTES} bytes: it is no key", hint=_MAKE)
    return text.strip()
