"""Unpacks the framed Snappy stream that Java programs write (``SnappyOutputStream``), ZooKeeper's snapshots among them.

Source: snappy-java, SnappyCodec, SnappyOutputStream: a head, then blocks, each behind its length.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any, Final

from syncer.errors import StoreError

_MAGIC: Final = b"\x82SNAPPY\0"
_HEAD: Final = struct.Struct("!8sii")
_LENGTH: Final = struct.Struct("!i")
_MAX_BLOCK_BYTES: Final = 64 << 20


class SnappyFile(io.RawIOBase):
    """A file that is unpacked as it is read.

    Raises:
        StoreError: What unpacks Snappy is not installed.
        ValueError: (when read) It is no such stream, or is cut.
    """

    def __init__(self, file: Path) -> None:
        try:
            import pyarrow as pa  # noqa: PLC0415 - the only reader of Snappy, and large
        except ImportError as exc:
            raise StoreError(
                f"{file} is packed with Snappy, and pyarrow, which unpacks it, is not installed",
                hint="Install it: pip install 'pulsar-syncer[spark]'",
            ) from exc
        self._codec: Any = pa.Codec("snappy")
        self._stream = file.open("rb")
        self._block = memoryview(b"")
        self._begun = False

    def readable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever takes bytes
        """Unpack into a buffer; 0 at the end."""
        while not self._block:
            block = self._next()
            if block is None:
                return 0
            self._block = memoryview(block)
        count = min(len(buffer), len(self._block))
        buffer[:count] = self._block[:count]
        self._block = self._block[count:]
        return count

    def _next(self) -> bytes | None:
        if not self._begun:
            magic, _, _ = _HEAD.unpack(self._whole(_HEAD.size))
            if magic != _MAGIC:
                raise ValueError("it is not packed as Snappy streams are")
            self._begun = True
        head = self._stream.read(_LENGTH.size)
        if not head:
            return None
        if len(head) < _LENGTH.size:
            raise ValueError("it ends in a block's length")
        (length,) = _LENGTH.unpack(head)
        if not 0 < length <= _MAX_BLOCK_BYTES:
            raise ValueError(f"a block of {length} bytes")
        packed = self._whole(length)
        size = _unpacked_bytes(packed)
        try:
            unpacked: bytes = self._codec.decompress(packed, size, asbytes=True)
        except OSError as exc:
            raise ValueError(f"a block that cannot be unpacked: {exc}") from exc
        return unpacked

    def _whole(self, count: int) -> bytes:
        found = self._stream.read(count)
        if len(found) < count:
            raise ValueError("it ends too early")
        return found


def _unpacked_bytes(packed: bytes) -> int:
    """The size of a block when it is unpacked, which stands first in it, seven bits a byte."""
    size = 0
    for place, each in enumerate(packed[:5]):
        size |= (each & 0x7F) << 7 * place
        if not each & 0x80:
            break
    if size > _MAX_BLOCK_BYTES:
        raise ValueError(f"a block of {size} bytes")
    return size
