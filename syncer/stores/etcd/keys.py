"""Keys of etcd for paths, and back."""

from __future__ import annotations

import structlog

from syncer.errors import ValueRefused
from syncer.model import MetaPath

_log = structlog.get_logger(__name__)


class KeySpace:
    """All keys below a namespace (``""``: the paths are the keys)."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace.encode()

    def holds(self, path: MetaPath) -> bool:
        """Whether the path can be a key at all."""
        try:
            path.encode()
        except UnicodeEncodeError:
            return False
        return True

    def key(self, path: MetaPath) -> bytes:
        """The key of a path.

        Raises:
            ValueRefused: The path is no text that UTF-8 can carry.
        """
        try:
            return self._namespace + path.encode()
        except UnicodeEncodeError as exc:
            raise ValueRefused(f"the path {path!r} cannot be written as UTF-8") from exc

    def range(self, prefix: MetaPath) -> tuple[bytes, bytes]:
        """The keys from the prefix itself to the end of what is below it; ``0`` follows ``/``.

        It holds some siblings too (``/a/b-c`` for ``/a/b``): sift by :func:`covers`.
        """
        return self.key(prefix), self.below(prefix)[1]

    def below(self, path: MetaPath) -> tuple[bytes, bytes]:
        """The keys below a path, and no others."""
        key = self.key(path).rstrip(b"/")
        return key + b"/", key + b"0"

    def path(self, key: bytes) -> MetaPath | None:
        """The path of a key, or ``None`` (and a line in the log) when the key is no text."""
        try:
            return MetaPath(key[len(self._namespace) :].decode())
        except UnicodeDecodeError:
            _log.warning("key_not_text", key=key.hex())
            return None


def covers(prefix: MetaPath, path: MetaPath) -> bool:
    """Whether a path is the prefix itself or below it."""
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else prefix + "/")
