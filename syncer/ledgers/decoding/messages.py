"""Messages of BookKeeper and Pulsar: protobuf's own classes, built from descriptors that are written here as tables.

No compiler's output, so that any protobuf will do; see :mod:`syncer.stores.etcd.wire`. Texts that Java takes as they
come are bytes here: :func:`text` reads them as Java does. A number that an enumeration does not know leaves its field
unset, as in Java. A ledger has two classes, in one of which its custom metadata are bytes yet: most of them are the
same in every ledger, and need not be parsed again.

Source: DataFormats, BookKeeper 4.17.2; MLDataFormats, SchemaStorageFormat, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from syncer.ledgers.decoding.undecodable import ValueDamaged

Dynamic: TypeAlias = Any
"""A message, or a field of one: its class exists at run time only."""

UNSET_32: Final = -(2**31)
UNSET_64: Final = -(2**63)
"""Values of fields of a ledger that are not there."""

_PACKAGE: Final = "syncer.ledgers"
_FIELD: Final = descriptor_pb2.FieldDescriptorProto
_LABELS: Final = {
    "required": _FIELD.LABEL_REQUIRED,
    "optional": _FIELD.LABEL_OPTIONAL,
    "repeated": _FIELD.LABEL_REPEATED,
}
_TYPES: Final = {
    "int32": _FIELD.TYPE_INT32,
    "int64": _FIELD.TYPE_INT64,
    "bool": _FIELD.TYPE_BOOL,
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
}

_ENUMS: Final[Mapping[str, Mapping[str, int]]] = {
    "LedgerState": {"UNSET": 0, "OPEN": 1, "IN_RECOVERY": 2, "CLOSED": 3},
    "LedgerDigest": {"CRC32": 1, "HMAC": 2, "CRC32C": 3, "DUMMY": 4},
    "CompressionType": {"NONE": 0, "LZ4": 1, "ZLIB": 2, "ZSTD": 3, "SNAPPY": 4},
}

_LEDGER: Final = (
    f"optional int32 quorumSize 1 {UNSET_32}",
    f"optional int32 ensembleSize 2 {UNSET_32}",
    f"optional int64 length 3 {UNSET_64}",
    "optional int64 lastEntryId 4",
    "optional LedgerState state 5",
    "optional LedgerDigest digestType 7",
    "optional bytes password 8",
    f"optional int32 ackQuorumSize 9 {UNSET_32}",
    f"optional int64 ctime 10 {UNSET_64}",
    "optional int64 cToken 12",
    "repeated Segment segment 6",
)
"""Of a ledger, with defaults that none has: they tell what is not there without being asked one by one."""

_MESSAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "Segment": ("repeated bytes ensembleMember 1", f"optional int64 firstEntryId 2 {UNSET_64}"),
    "CustomMetadata": ("optional bytes key 1", "optional bytes value 2"),
    "LedgerMetadataFormat": (*_LEDGER, "repeated CustomMetadata customMetadata 11"),
    "LedgerWithRawCustomMetadata": (*_LEDGER, "repeated bytes customMetadata 11"),
    "LedgerRereplicationLayoutFormat": ("required string type 1", "required int32 version 2"),
    "UnderreplicatedLedgerFormat": ("repeated string replica 1", "optional int64 ctime 2"),
    "LockDataFormat": ("optional string bookieId 1",),
    "AuditorVoteFormat": ("optional string bookieId 1",),
    "CheckAllLedgersFormat": ("optional int64 checkAllLedgersCTime 1",),
    "PlacementPolicyCheckFormat": ("optional int64 placementPolicyCheckCTime 1",),
    "ReplicasCheckFormat": ("optional int64 replicasCheckCTime 1",),
    "CookieFormat": (
        "required string bookieHost 1",
        "required string journalDir 2",
        "required string ledgerDirs 3",
        "optional string instanceId 4",
        "optional string indexDirs 5",
    ),
    "Endpoint": (
        "required bytes id 1",
        "required int32 port 2",
        "required bytes host 3",
        "required bytes protocol 4",
        "repeated bytes auth 5",
        "repeated bytes extensions 6",
    ),
    "ServiceProperty": ("optional bytes key 1", "optional bytes value 2"),
    "BookieServiceInfoFormat": ("repeated Endpoint endpoints 6", "repeated ServiceProperty properties 7"),
    "ManagedInfoMetadata": (
        "required CompressionType compressionType 1",
        "required int32 uncompressedSize 2",
    ),
    "KeyValue": ("required bytes key 1", "required bytes value 2"),
    "DriverMetadata": ("required bytes name 1", "repeated KeyValue properties 2"),
    "OffloadSegment": (
        "optional int64 uidMsb 1",
        "optional int64 uidLsb 2",
        "optional bool complete 3",
        "optional int64 assignedTimestamp 4",
        "optional int64 offloadedTimestamp 5",
        "optional int64 endEntryId 6",
        "optional DriverMetadata driverMetadata 7",
    ),
    "OffloadContext": (
        "optional int64 uidMsb 1",
        "optional int64 uidLsb 2",
        "optional bool complete 3",
        "optional bool bookkeeperDeleted 4",
        "optional int64 timestamp 5",
        "optional DriverMetadata driverMetadata 6",
        "repeated OffloadSegment offloadSegment 7",
    ),
    "LedgerInfo": (
        "required int64 ledgerId 1",
        "optional int64 entries 2",
        "optional int64 size 3",
        "optional int64 timestamp 4",
        "optional OffloadContext offloadContext 5",
    ),
    "NestedPositionInfo": ("required int64 ledgerId 1", "required int64 entryId 2"),
    "ManagedLedgerInfo": (
        "repeated LedgerInfo ledgerInfo 1",
        "optional NestedPositionInfo terminatedPosition 2",
        "repeated KeyValue properties 3",
    ),
    "MessageRange": (
        "required NestedPositionInfo lowerEndpoint 1",
        "required NestedPositionInfo upperEndpoint 2",
    ),
    "LongProperty": ("required bytes name 1", "required int64 value 2"),
    "StringProperty": ("required bytes name 1", "required bytes value 2"),
    "BatchedEntryDeletionIndexInfo": ("required NestedPositionInfo position 1", "repeated int64 deleteSet 2"),
    "ManagedCursorInfo": (
        "required int64 cursorsLedgerId 1",
        "optional int64 markDeleteLedgerId 2",
        "optional int64 markDeleteEntryId 3",
        "repeated MessageRange individualDeletedMessages 4",
        "repeated LongProperty properties 5",
        "optional int64 lastActive 6",
        "repeated BatchedEntryDeletionIndexInfo batchedEntryDeletionIndexInfo 7",
        "repeated StringProperty cursorProperties 8",
    ),
    "IndexEntry": ("required int64 version 1", "required NestedPositionInfo position 2", "required bytes hash 3"),
    "SchemaLocator": ("required IndexEntry info 1", "repeated IndexEntry index 2"),
}
"""Message → its fields: label, type, name and number; default; other types than protobuf's are messages and enums."""


def _file() -> descriptor_pb2.FileDescriptorProto:
    """Describe all messages."""
    file = descriptor_pb2.FileDescriptorProto(name="syncer/ledgers.proto", package=_PACKAGE, syntax="proto2")
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for line in fields:
            label, kind, field, number_text, *default = line.split()
            described = message.field.add(name=field, number=int(number_text), label=_LABELS[label])
            if default:
                described.default_value = default[0]
            if kind in _TYPES:
                described.type = _TYPES[kind]
            else:
                described.type = _FIELD.TYPE_ENUM if kind in _ENUMS else _FIELD.TYPE_MESSAGE
                described.type_name = f".{_PACKAGE}.{kind}"
    return file


def _classes() -> Mapping[str, Dynamic]:
    pool = descriptor_pool.DescriptorPool()
    file = _file()
    pool.Add(file)
    built = message_factory.GetMessageClassesForFiles([file.name], pool)
    return {name.removeprefix(f"{_PACKAGE}."): cls for name, cls in built.items()}


MESSAGES: Final[Mapping[str, Dynamic]] = _classes()
"""Message → its class."""


def parsed(name: str, data: bytes) -> Dynamic:
    """Parse a binary message; unknown fields are passed over.

    Args:
        name: Of the message.
        data: Its bytes.

    Raises:
        ValueDamaged: It is no such message, or a required field is missing.
    """
    try:
        message = MESSAGES[name].FromString(data)
    except DecodeError as error:
        raise ValueDamaged("the bytes are no protobuf message, or end too early") from error
    return complete(message)


def complete(message: Dynamic) -> Dynamic:
    """Give back a message whose required fields are all there.

    Args:
        message: The message.

    Raises:
        ValueDamaged: One is missing.
    """
    if not message.IsInitialized():
        raise ValueDamaged(f"required fields are missing: {', '.join(message.FindInitializationErrors())}")
    return message


def text(data: bytes) -> str:
    """Read UTF-8 as Java does: what is none becomes the replacement character."""
    return data.decode("utf-8", "replace")
