"""Keys of the group for tests, as objects and as files."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from syncer.bus.trust.signing import GroupKey, Keyring, unseal
from syncer.bus.wire.messages import Message


def secret(name: str) -> bytes:
    """A key's bytes: the same for the same name."""
    return hashlib.sha256(f"a key of the tests: {name}".encode()).digest()


def text(name: str) -> str:
    """What stands in a key's file."""
    return base64.b64encode(secret(name)).decode()


def key(name: str) -> GroupKey:
    """A key."""
    return GroupKey(secret(name))


def keyring(*names: str) -> Keyring:
    """Keys; the first signs."""
    return Keyring([key(name) for name in names])


def key_file(folder: Path, name: str) -> str:
    """Write a key's file as it should be; its path."""
    file: Final = folder / f"{name}.key"
    file.touch(mode=0o600)
    file.write_text(f"{text(name)}\n", encoding="ascii")
    return str(file)


def signing(folder: Path, *names: str, **changes: Any) -> dict[str, Any]:
    """The table of the configuration; the first key signs."""
    return {"key_files": [key_file(folder, name) for name in names], **changes}


def unsealed(payload: bytes, properties: Mapping[str, str], ring: Keyring) -> Message:
    """What a message means to who has these keys."""
    return unseal(payload, properties, ring).message
