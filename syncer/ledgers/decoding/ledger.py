"""Metadata of a ledger: a header with the version, then lines (1), protobuf's text (2) or a delimited message (3).

An audit decodes millions of these, so that time is looked at: repeated fields are taken whole by ``[:]``, which is
twice as fast as to walk them. What Java refuses is refused here.

Source: LedgerMetadataSerDe, LedgerMetadataBuilder, BookieId, BookKeeper 4.17.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NoReturn

from google.protobuf.message import DecodeError

from syncer.ledgers.decoding.messages import MESSAGES, UNSET_32, UNSET_64, Dynamic, text
from syncer.ledgers.decoding.numbers import int32, int64
from syncer.ledgers.decoding.text_format import merged
from syncer.ledgers.decoding.undecodable import Undecodable, ValueDamaged, ValueKind, undecodable
from syncer.ledgers.metadata import DigestType, LedgerMetadata, LedgerOrigin, LedgerState, Quorums, Segment

_HEADER: Final = b"BookieMetadataFormatVersion\t"
_BINARY: Final = _HEADER + b"3\n"
_BINARY_START: Final = len(_BINARY)
_VERSION_BYTES: Final = 10
_MORE: Final = 0x80
_CLOSED: Final = "CLOSED"
_IN_RECOVERY: Final = -102
_BOOKIE: Final = re.compile(r"[A-Za-z0-9:-_.\-]+")
_STATES: Final = {1: LedgerState.OPEN, 2: LedgerState.IN_RECOVERY, 3: LedgerState.CLOSED}
_DIGESTS: Final = {1: DigestType.CRC32, 2: DigestType.MAC, 3: DigestType.CRC32C, 4: DigestType.DUMMY}
_NO_SEGMENT: Final = "it has no segment"
_TWICE: Final = "its custom metadata has a key twice"
_BOOKIES_KEPT: Final = 10_000
_new: Final = tuple.__new__
_binary: Final = MESSAGES["LedgerWithRawCustomMetadata"].FromString
_custom_parsed: Final = MESSAGES["CustomMetadata"].FromString
_PULSARS: Final = {
    MESSAGES["CustomMetadata"](key=key, value=value).SerializeToString(): (key.decode(), value)
    for key, value in [(b"application", b"pulsar"), (b"component", b"managed-ledger"), (b"component", b"schema")]
}
"""Custom metadata that most ledgers have, as bytes."""
_TOPICS_KEY: Final = "pulsar/managed-ledger"
_TOPIC: Final = b"\x0a" + bytes([len(_TOPICS_KEY)]) + _TOPICS_KEY.encode() + b"\x12"
"""How the custom metadata begins that names a topic; behind it are the length of the value, and the value."""
_TOPIC_START: Final = len(_TOPIC) + 1


class _BookieIds(dict[bytes, str]):
    """Ids of bookies, as bytes and as one text for all ledgers: a cluster has few, and a pattern is slow."""

    def __missing__(self, data: bytes) -> str:
        bookie = text(data)
        if _BOOKIE.fullmatch(bookie) is None or bookie.lower() == "readonly":
            raise ValueDamaged("a segment names a bookie by what is no id of one")
        if len(self) >= _BOOKIES_KEPT:
            self.clear()
        self[data] = bookie
        return bookie


_bookie_of: Final = _BookieIds().__getitem__


def bookie_id(data: bytes) -> str:
    """The id of a bookie, as a segment names it.

    Args:
        data: The bytes.

    Raises:
        ValueDamaged: It is none.
    """
    return _bookie_of(data)


def ledger_metadata(path: str, ledger_id: int, value: bytes, created_ms: int | None) -> LedgerMetadata | Undecodable:
    """Decode the metadata of a ledger.

    Args:
        path: Where it was read.
        ledger_id: Of the ledger, by its path.
        value: The bytes.
        created_ms: When the store made the node, where it tells; what the value says goes first.
    """
    try:
        if value.startswith(_BINARY):
            return _of_binary(ledger_id, value, _BINARY_START, created_ms)
        version, start = _header(value)
        match version:
            case 1:
                return _of_lines(ledger_id, text(value[start:]))
            case 2:
                return _of_text(ledger_id, value[start:], created_ms)
            case 3:
                return _of_binary(ledger_id, value, start, created_ms)
        raise ValueDamaged(f"its format has version {version}; 1 to 3 are known")
    except ValueDamaged as error:
        return undecodable(ValueKind.LEDGER, path, error)


def _header(value: bytes) -> tuple[int, int]:
    """The version, and where the rest begins."""
    if not value.startswith(_HEADER):
        raise ValueDamaged("it does not begin with the name of its format")
    end = value.find(b"\n", len(_HEADER), len(_HEADER) + _VERSION_BYTES)
    if end < 0:
        raise ValueDamaged("the version of its format does not end")
    return int32(text(value[len(_HEADER) : end]), "the version of its format"), end + 1


def _of_binary(ledger_id: int, value: bytes, start: int, created_ms: int | None) -> LedgerMetadata:
    """Version 3: the message after its length; what follows it is passed over."""
    try:
        size = value[start]
        start += 1
        if size >= _MORE:
            more = value[start]
            if more < _MORE:
                size += (more << 7) - _MORE
                start += 1
            else:
                size, start = _long_size(value, start - 1)
        message = _binary(value[start : start + size])
        entries = message.customMetadata[:]
        custom: dict[str, bytes] = {}
        for entry in entries:
            pair = _PULSARS.get(entry)
            if pair is not None:
                custom[pair[0]] = pair[1]
            elif entry.startswith(_TOPIC) and len(entry) - _TOPIC_START == entry[_TOPIC_START - 1] < _MORE:
                custom[_TOPICS_KEY] = entry[_TOPIC_START:]
            else:
                one = _custom_parsed(entry)
                custom[text(one.key)] = one.value
    except (DecodeError, IndexError) as error:
        raise ValueDamaged("its bytes are no protobuf message, or end too early") from error
    if len(custom) != len(entries):
        raise ValueDamaged(_TWICE)
    return _ledger(ledger_id, 3, message, custom, created_ms)


def _long_size(value: bytes, start: int) -> tuple[int, int]:
    size = shift = 0
    for position in range(start, start + _VERSION_BYTES):
        byte = value[position]
        size |= (byte & 0x7F) << shift
        if byte < _MORE:
            size &= 0xFFFFFFFF
            if size > 0x7FFFFFFF:
                raise ValueDamaged("its length is below zero")
            return size, position + 1
        shift += 7
    raise ValueDamaged("its length does not end")


def _of_text(ledger_id: int, data: bytes, created_ms: int | None) -> LedgerMetadata:
    """Version 2."""
    message = merged("LedgerMetadataFormat", data)
    custom = {text(entry.key): entry.value for entry in message.customMetadata}
    if len(custom) != len(message.customMetadata):
        raise ValueDamaged(_TWICE)
    return _ledger(ledger_id, 2, message, custom, created_ms)


def _ledger(
    ledger_id: int,
    version: int,
    message: Dynamic,
    custom: Mapping[str, bytes],
    created_ms: int | None,
) -> LedgerMetadata:
    """Make a ledger of either of its messages, and check it as Java does."""
    state = _STATES.get(message.state)
    write, ensemble, ack, length = message.quorumSize, message.ensembleSize, message.ackQuorumSize, message.length
    if state is None or UNSET_32 in (write, ensemble) or length == UNSET_64:
        raise ValueDamaged("its state, length, ensemble or write quorum is not there")
    if ack == UNSET_32:
        ack = write
    if not ensemble >= write >= ack:
        _refuse_quorums(ensemble, write, ack)
    segments = []
    before = UNSET_64
    for each in message.segment[:]:
        first, bookies = each.firstEntryId, tuple(map(_bookie_of, each.ensembleMember[:]))
        if len(bookies) != ensemble or first <= before:
            _refuse_segment(first, bookies, before, ensemble)
        before = first
        segments.append(_new(Segment, (first, bookies)))
    if not segments:
        raise ValueDamaged(_NO_SEGMENT)
    closed = state is LedgerState.CLOSED
    stored_ms = message.ctime
    stored = stored_ms != UNSET_64
    has_password = message.HasField("password")
    origin = (
        version,
        stored_ms if stored else created_ms,
        stored,
        message.cToken,
        has_password,
        _DIGESTS[message.digestType] if has_password else None,  # one that is not set is the first, as in Java
        custom,
    )
    whole = (
        ledger_id,
        state,
        _new(Quorums, (ensemble, write, ack)),
        tuple(segments),
        message.lastEntryId if closed else None,
        length if closed else None,
        _new(LedgerOrigin, origin),
    )
    return _new(LedgerMetadata, whole)


def _of_lines(ledger_id: int, given: str) -> LedgerMetadata:
    """Version 1: quorum, ensemble, length, a line for each segment, at last the end of one that is not open."""
    lines = _lines(given)
    if len(lines) < 3:  # quorum, ensemble, length
        raise ValueDamaged("the lines of its quorums and of its length are not all there")
    write, ensemble = int32(lines[0], "the write quorum"), int32(lines[1], "the size of the ensemble")
    length = int64(lines[2], "the length")
    if not ensemble >= write:
        _refuse_quorums(ensemble, write, write)
    state, last_entry = LedgerState.OPEN, None
    segments: list[Segment] = []
    for line in lines[3:]:
        parts = line.rstrip("\t").split("\t")
        if len(parts) == 1:
            raise ValueDamaged("a line names no bookie")
        if parts[1] == _CLOSED:
            last_entry = int64(parts[0], "the last entry")
            state = LedgerState.IN_RECOVERY if last_entry == _IN_RECOVERY else LedgerState.CLOSED
            break
        first, bookies = (
            int64(parts[0], "the first entry of a segment"),
            tuple(map(_bookie_of, map(str.encode, parts[1:]))),
        )
        before = segments[-1].first_entry if segments else UNSET_64
        if len(bookies) != ensemble or first <= before:
            _refuse_segment(first, bookies, before, ensemble)
        segments.append(Segment(first, bookies))
    if not segments:
        raise ValueDamaged(_NO_SEGMENT)
    closed = state is LedgerState.CLOSED
    return LedgerMetadata(
        ledger_id,
        state,
        Quorums(ensemble, write, write),
        tuple(segments),
        last_entry if closed else None,
        length if closed else None,
        LedgerOrigin(format_version=1),
    )


def _lines(given: str) -> list[str]:
    """Lines as Java's reader ends them, by LF, CR or both."""
    lines = re.split("\r\n|\n|\r", given)
    return lines[:-1] if lines[-1] == "" else lines


def _refuse_quorums(ensemble: int, write: int, ack: int) -> NoReturn:
    raise ValueDamaged(
        f"an ensemble of {ensemble}, a write quorum of {write} and an ack quorum of {ack} do not fit: "
        "none may be greater than the one before it"
    )


def _refuse_segment(first: int, bookies: tuple[str, ...], before: int, ensemble: int) -> NoReturn:
    if len(bookies) != ensemble:
        raise ValueDamaged(f"a segment names {len(bookies)} bookies, its ensemble has {ensemble}")
    if first == UNSET_64:
        raise ValueDamaged("a segment does not say where it begins")
    raise ValueDamaged(f"a segment begins at {first}, not behind the one before it, at {before}")
