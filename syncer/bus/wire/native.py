"""The AVRO form of Pulsar's own ``MetadataEvent``, byte for byte.

A region may run Pulsar's own synchronizer (PIP-136) on the same topic, so the payload of every message of ours is this
record and nothing else. The record is small and fixed, so it is written and read by hand: three times as fast as a
general AVRO library, and every malformed byte has a reason of its own. A property test holds it equal to one.

Source: ``org.apache.pulsar.metadata.api.MetadataEvent``, Pulsar 4.0.8 (unchanged in 4.2 and 5.0).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from syncer.errors import PayloadInvalid

SCHEMA_TEXT: Final = (
    '{"type":"record","name":"MetadataEvent","namespace":"org.apache.pulsar.metadata.api","fields":['
    '{"name":"expectedVersion","type":["null","long"],"default":null},'
    '{"name":"lastUpdatedTimestamp","type":"long"},'
    '{"name":"options","type":["null",{"type":"array","items":{"type":"enum","name":"CreateOption",'
    '"namespace":"org.apache.pulsar.metadata.api.extended","symbols":["Ephemeral","Sequential"]},'
    '"java-class":"java.util.HashSet"}],"default":null},'
    '{"name":"path","type":["null","string"],"default":null},'
    '{"name":"sourceCluster","type":["null","string"],"default":null},'
    '{"name":"type","type":["null",{"type":"enum","name":"NotificationType",'
    '"symbols":["Created","Modified","ChildrenChanged","Deleted"]}],"default":null},'
    '{"name":"value","type":["null",{"type":"bytes","java-class":"[B"}],"default":null},'
    '{"name":"version","type":"int"}]}'
)
"""The schema as Pulsar's brokers register it. Any other first schema on the topic would make their producers fail."""

SCHEMA_PROPERTIES: Final = {"__alwaysAllowNull": "true", "__jsr310ConversionEnabled": "false"}
"""Properties of the schema as Pulsar's brokers register it."""


class NativeType(IntEnum):
    """``NotificationType`` of Pulsar, by its place in the schema."""

    CREATED = 0
    MODIFIED = 1
    CHILDREN_CHANGED = 2
    DELETED = 3


class NativeOption(IntEnum):
    """``CreateOption`` of Pulsar, by its place in the schema."""

    EPHEMERAL = 0
    SEQUENTIAL = 1


class NativeEvent(NamedTuple):
    """The record as it stands on the wire; nothing of it is judged here.

    ``timestamp_ms`` is the author's clock before its write. ``expected_version`` counts the author's own writes and
    means nothing elsewhere.
    """

    path: str | None
    value: bytes | None
    source_cluster: str | None
    type: NativeType | None
    timestamp_ms: int
    expected_version: int | None = None
    options: frozenset[NativeOption] | None = frozenset()
    version: int = 0


_NULL: Final = b"\x00"
_ABSENT: Final = (_NULL,)
_PRESENT: Final = b"\x02"
_NO_OPTIONS: Final = b"\x02\x00"
_ONE_BYTE: Final = tuple(bytes((number,)) for number in range(128))
_TYPES: Final = tuple(NativeType)
_TYPE_BYTES: Final = tuple(bytes((2, kind << 1)) for kind in NativeType)
_OPTIONS: Final = tuple(NativeOption)
_LONGEST_VARINT_BITS: Final = 70
_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1
_INT32_MIN: Final = -(1 << 31)
_INT32_MAX: Final = (1 << 31) - 1


def _long(number: int) -> bytes:
    """Write an AVRO long: zigzag, then seven bits per byte, low first."""
    rest = (number << 1) ^ (number >> 63)
    if rest < 0x80:
        return _ONE_BYTE[rest]
    if rest < 0x4000:
        return bytes((rest & 0x7F | 0x80, rest >> 7))
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def encode_native(event: NativeEvent) -> bytes:
    """Write the record.

    Raises:
        PayloadInvalid: A number does not fit its field, or a text is not Unicode.
    """
    path, value, source, kind, timestamp_ms, expected, options, version = event
    if not _INT64_MIN <= timestamp_ms <= _INT64_MAX:
        raise PayloadInvalid(f"lastUpdatedTimestamp {timestamp_ms} does not fit 64 bits")
    if expected is not None and not _INT64_MIN <= expected <= _INT64_MAX:
        raise PayloadInvalid(f"expectedVersion {expected} does not fit 64 bits")
    if not _INT32_MIN <= version <= _INT32_MAX:
        raise PayloadInvalid(f"version {version} does not fit 32 bits")
    try:
        raw_path = None if path is None else path.encode()
        raw_source = None if source is None else source.encode()
    except UnicodeEncodeError as exc:
        raise PayloadInvalid("a path or cluster name of the event is not UTF-8") from exc
    return b"".join(
        (
            _NULL if expected is None else b"\x02" + _long(expected),
            _long(timestamp_ms),
            _NO_OPTIONS if options is not None and not options else _options(options),
            *(_ABSENT if raw_path is None else (_PRESENT, _long(len(raw_path)), raw_path)),
            *(_ABSENT if raw_source is None else (_PRESENT, _long(len(raw_source)), raw_source)),
            _NULL if kind is None else _TYPE_BYTES[kind],
            *(_ABSENT if value is None else (_PRESENT, _long(len(value)), value)),
            _long(version),
        )
    )


def _options(options: frozenset[NativeOption] | None) -> bytes:
    if options is None:
        return _NULL
    listed = b"".join(_long(option) for option in sorted(options))
    return b"\x02" + _long(len(options)) + listed + b"\x00"


def decode_native(data: bytes) -> NativeEvent:
    """Read the record; every byte must belong to it.

    Raises:
        PayloadInvalid: The reason names the field: truncated, undecodable, or trailing bytes.
    """
    try:
        event, at = _read_record(data)
    except IndexError:
        raise PayloadInvalid(f"truncated AVRO: the record ends after {len(data)} bytes") from None
    if not _INT32_MIN <= event.version <= _INT32_MAX:
        raise PayloadInvalid("undecodable AVRO: version does not fit 32 bits")
    if at != len(data):
        raise PayloadInvalid(f"{len(data) - at} trailing bytes after the AVRO record")
    return event


def _read_record(data: bytes) -> tuple[NativeEvent, int]:
    """Read the fields in their order; answers the record and the offset behind it. IndexError when truncated."""
    expected, at = None, 1
    if _present(data, 0, "expectedVersion"):
        expected, at = _read_long(data, 1)
    timestamp_ms, at = _read_long(data, at)
    options: frozenset[NativeOption] | None = frozenset()
    if data[at : at + 2] == _NO_OPTIONS:
        at += 2
    else:
        options, at = _read_options(data, at)
    path, at = _read_text(data, at, "path")
    source, at = _read_text(data, at, "sourceCluster")
    kind = None
    if _present(data, at, "type"):
        index, at = _read_long(data, at + 1)
        if not 0 <= index < len(_TYPES):
            raise PayloadInvalid(f"undecodable AVRO: unknown NotificationType {index}")
        kind = _TYPES[index]
    else:
        at += 1
    value, at = _read_bytes(data, at, "value")
    version, at = _read_long(data, at)
    return NativeEvent(path, value, source, kind, timestamp_ms, expected, options, version), at


def _read_long(data: bytes, at: int) -> tuple[int, int]:
    """Read an AVRO long at an offset; answers the number and the offset behind it. IndexError when truncated."""
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    number = byte & 0x7F
    shift = 7
    while True:
        at += 1
        byte = data[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift == _LONGEST_VARINT_BITS:
            raise PayloadInvalid("undecodable AVRO: a number is longer than 64 bits")
    if number >> 64:
        raise PayloadInvalid("undecodable AVRO: a number is longer than 64 bits")
    return (number >> 1) ^ -(number & 1), at + 1


def _present(data: bytes, at: int, name: str) -> bool:
    """Read the branch of a nullable field (always one byte)."""
    branch = data[at]
    if branch in {0, 2}:
        return branch == 2
    raise PayloadInvalid(f"undecodable AVRO: {name} is neither null nor a value (union branch byte {branch})")


def _read_bytes(data: bytes, at: int, name: str) -> tuple[bytes | None, int]:
    if data[at] != 2 and not _present(data, at, name):
        return None, at + 1
    length = data[at + 1]
    if length < 0x80 and not length & 1:
        length, at = length >> 1, at + 2
    else:
        length, at = _read_long(data, at + 1)
    end = at + length
    if length < 0:
        raise PayloadInvalid(f"undecodable AVRO: {name} has a negative length")
    if end > len(data):
        raise PayloadInvalid(f"truncated AVRO: {name} announces {length} bytes, {len(data) - at} are left")
    return data[at:end], end


def _read_text(data: bytes, at: int, name: str) -> tuple[str | None, int]:
    raw, at = _read_bytes(data, at, name)
    if raw is None:
        return None, at
    try:
        return raw.decode(), at
    except UnicodeDecodeError as exc:
        raise PayloadInvalid(f"undecodable AVRO: {name} is not UTF-8: {exc}") from exc


def _read_options(data: bytes, at: int) -> tuple[frozenset[NativeOption] | None, int]:
    if not _present(data, at, "options"):
        return None, at + 1
    found: set[NativeOption] = set()
    at += 1
    while True:
        count, at = _read_long(data, at)
        if count == 0:
            return frozenset(found), at
        if count < 0:
            _, at = _read_long(data, at)
            count = -count
        if count > len(data) - at:
            raise PayloadInvalid(f"truncated AVRO: options announce {count} items, {len(data) - at} bytes are left")
        for _ in range(count):
            index, at = _read_long(data, at)
            if not 0 <= index < len(_OPTIONS):
                raise PayloadInvalid(f"undecodable AVRO: unknown CreateOption {index}")
            found.add(_OPTIONS[index])
