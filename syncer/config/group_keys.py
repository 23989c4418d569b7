"""Keys that sign, from their files: who may read these, and what they hold, is checked before a key is used."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from syncer.bus.trust.public_halves import PublicHalf
from syncer.bus.trust.region_keys import RegionKey, RegionKeys
from syncer.bus.trust.signing import GroupKey, Keyring
from syncer.config.tables import PeersConfig, SigningConfig
from syncer.errors import ConfigError
from syncer.model import Region

MAX_FILE_BYTES: Final = 4096
_STRANGERS_MAY: Final = stat.S_IRWXO | stat.S_IWGRP
_MAKE: Final = "Make one by: (umask 077; openssl rand -base64 32 > group.key)"


def keyring(config: SigningConfig | None, peers: PeersConfig | None = None, region: str = "") -> Keyring:
    """The keys that the configuration names; without any, one that signs nothing and believes everybody.

    Args:
        config: The table of the keys that sign; ``None``: there is none.
        peers: The table with the public halves of regions' keys.
        region: Id of this region.

    Raises:
        ConfigError: A file cannot be used; the message says which, and why, and nothing of what it holds.
    """
    halves = peers.halves() if peers is not None else {}
    if config is None:
        return Keyring(regions=RegionKeys(halves))
    own = region_key(config.region_key_file, halves, Region(region)) if config.region_key_file is not None else None
    return Keyring(
        read_keys(config.key_files),
        native=[Region(name) for name in config.native_regions],
        accept_unsigned=config.accept_unsigned,
        regions=RegionKeys(halves, own=own, required=config.require_region_keys),
    )


def region_key(file: Path, halves: Mapping[Region, Sequence[PublicHalf]], region: Region) -> RegionKey:
    """Read the private key of a region.

    Args:
        file: Its file.
        halves: Public halves by region, where regions have keys; its own must be among them.
        region: Its id.

    Raises:
        ConfigError: It cannot be used, or is another one than the others know of this region.
    """
    try:
        key = RegionKey.of_pem(private_text(file))
    except ConfigError as exc:
        raise ConfigError(f"signing.region_key_file: {file}: {exc.message}", hint=exc.hint) from None
    if halves and key.public not in halves.get(region, ()):
        owner = next((other for other, several in halves.items() if key.public in several), None)
        whose = f"of region {owner!r}" if owner is not None else "of no region there"
        raise ConfigError(
            f"signing.region_key_file: {file} holds key {key.public.id}, which by 'peers.keys' is {whose}, not of "
            f"{region!r}",
            hint=f"'syncer keys show {file}' prints the public half that belongs into 'peers.keys', in every region.",
        )
    return key


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
    text = private_text(file)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError("holds no base64 text", hint=_MAKE) from None


def private_text(file: Path) -> bytes:
    """What a file holds that only its owner may read, without white space.

    Its mode is that of the file that is open, not of one by its name.

    Raises:
        ConfigError: It cannot be read, or others than its owner may.
    """
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
        raise ConfigError(f"has more than {MAX_FILE_BYTES} bytes: it is no key")
    return text.strip()
