"""Key pairs of regions for tests, as objects and as files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from syncer.bus.trust.region_keys import RegionKey, RegionKeys
from syncer.bus.trust.signing import Keyring
from syncer.model import Region
from tests.support.group_keys import key, key_file


def seed(name: str) -> bytes:
    """The 32 bytes that are the secret of a pair: the same for the same name."""
    return hashlib.sha256(f"a pair of the tests: {name}".encode()).digest()


def pair(name: str) -> RegionKey:
    """A key pair."""
    return RegionKey(Ed25519PrivateKey.from_private_bytes(seed(name)))


def halves(*names: str) -> list[str]:
    """Public halves, as a configuration has them."""
    return [pair(name).public.text for name in names]


def pair_file(folder: Path, name: str) -> str:
    """Write the file of a private key as it should be; its path."""
    file: Final = folder / f"{name}.pem"
    file.touch(mode=0o600)
    file.write_bytes(pair(name).pem())
    return str(file)


def ring(
    own: str | None = None,
    known: Mapping[str, Sequence[str]] | Sequence[str] = (),
    *,
    required: bool = False,
    group: Sequence[str] = (),
    native: Sequence[str] = (),
) -> Keyring:
    """Keys as a region has them.

    Args:
        own: Name of the pair that it signs with.
        known: Names of pairs by region; a plain list: each region has the pair of its name.
        required: Whether keys of regions are.
        group: Names of keys of the group; the first signs.
        native: Regions that cannot sign.
    """
    pairs = known if isinstance(known, Mapping) else {name: [name] for name in known}
    regions = RegionKeys(
        {Region(region): [pair(name).public for name in names] for region, names in pairs.items()},
        own=pair(own) if own is not None else None,
        required=required,
    )
    return Keyring([key(name) for name in group], native=[Region(name) for name in native], regions=regions)


def tables(
    folder: Path, own: str, known: Mapping[str, Sequence[str]], *, group: Sequence[str] = (), required: bool = False
) -> dict[str, Any]:
    """The tables ``signing`` and ``peers`` of a configuration; arguments as those of :func:`ring`."""
    return {
        "signing": {
            "key_files": [key_file(folder, name) for name in group],
            "region_key_file": pair_file(folder, own),
            "require_region_keys": required,
        },
        "peers": {"keys": {region: halves(*names) for region, names in known.items()}},
    }
