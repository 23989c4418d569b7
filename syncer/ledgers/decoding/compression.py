"""Compression of values of topics and cursors: a magic number, a header with codec and size, then the body.

The header says how large the content is; no more than that is unpacked, and never more than :data:`MAX_BYTES`.

Source: MetaStoreImpl, CompressionCodec*, Pulsar 4.0.8.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Final

import cramjam

from syncer.ledgers.decoding.messages import parsed
from syncer.ledgers.decoding.undecodable import ValueDamaged

MAGIC: Final = b"\x47\x78"
MAX_BYTES: Final = 256 << 20
_START: Final = len(MAGIC) + 4


def is_wrapped(value: bytes) -> bool:
    """Tell whether a value begins as compressed ones do.

    Args:
        value: The bytes.

    Raises:
        ValueDamaged: It is a single byte, or ends before its header does: Pulsar cannot load that either.
    """
    if len(value) == 1:
        raise ValueDamaged("it is a single byte")
    if not value.startswith(MAGIC):
        return False
    if len(value) < _START or not 0 <= _header_bytes(value) <= len(value) - _START:
        raise ValueDamaged("it begins as a compressed value does, and ends before its header does")
    return True


def unwrapped(value: bytes) -> bytes:
    """Unpack a value that is wrapped.

    Args:
        value: The bytes.

    Raises:
        ValueDamaged: The header is none, or the body is not what the header says.
    """
    start = _START + _header_bytes(value)
    header = parsed("ManagedInfoMetadata", value[_START:start])
    size = header.uncompressedSize
    if not 0 <= size <= MAX_BYTES:
        raise ValueDamaged(f"its header says that {size} bytes are packed; at most {MAX_BYTES} are unpacked")
    content = _CODECS[header.compressionType](value[start:], size)
    if len(content) != size:
        raise ValueDamaged(f"its header says that {size} bytes are packed, and there are {len(content)}")
    return content


def _header_bytes(value: bytes) -> int:
    return int.from_bytes(value[len(MAGIC) : _START], "big", signed=True)


def _plain(body: bytes, size: int) -> bytes:  # noqa: ARG001 - as the others
    return body


def _zlib(body: bytes, size: int) -> bytes:
    """Inflate; Pulsar ends the stream by a flush, not by its trailer."""
    try:
        return zlib.decompressobj().decompress(body, size or 1)
    except zlib.error as error:
        raise ValueDamaged("its body is no ZLIB stream") from error


def _by_cramjam(name: str, into: Callable[[bytes, bytearray], int]) -> Callable[[bytes, int], bytes]:
    def unpack(body: bytes, size: int) -> bytes:
        content = bytearray(size)
        try:
            return bytes(content[: into(body, content)])
        except cramjam.DecompressionError as error:
            raise ValueDamaged(f"its body is not packed by {name}, or not of the size that its header says") from error

    return unpack


def _lz4(body: bytes, content: bytearray) -> int:
    return cramjam.lz4.decompress_block_into(body, content, output_len=len(content))


_CODECS: Final[Mapping[int, Callable[[bytes, int], bytes]]] = {
    0: _plain,
    1: _by_cramjam("LZ4", _lz4),
    2: _zlib,
    3: _by_cramjam("ZSTD", cramjam.zstd.decompress_into),
    4: _by_cramjam("SNAPPY", cramjam.snappy.decompress_raw_into),
}
