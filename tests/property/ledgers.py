"""Strategies of the ledger audit: ledgers, and their values as each version writes them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any, Final

import cramjam
from google.protobuf import text_format
from hypothesis import strategies as st

from syncer.ledgers.decoding.compression import MAGIC
from syncer.ledgers.decoding.messages import MESSAGES, Dynamic
from syncer.ledgers.metadata import DigestType, LedgerMetadata, LedgerOrigin, LedgerState, Quorums, Segment

HEADER: Final = "BookieMetadataFormatVersion\t"
NODE_PATHS: Final = (
    "LAYOUT",
    "INSTANCEID",
    "available/bk-0:3181",
    "available/readonly/bk-0:3181",
    "cookies/bk-0:3181",
    "idgen",
    "underreplication/LAYOUT",
    "underreplication/disable",
    "underreplication/leader",
    "underreplication/lostBookieRecoveryDelay",
    "underreplication/checkallledgersctime",
    "underreplication/auditorelection/V_0000000001",
    "underreplication/ledgers/0000/0000/0000/0007/urL0000000007",
    "underreplication/locks/urL0000000007",
    "00/0000/L0007",
    "000/0000/0000/0000/L0007",
    "L0000000007",
)
NODE_VALUES: Final = (
    b"2\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1",
    b'5\nbookieHost: "bk-0:3181"\njournalDir: "/j"\nledgerDirs: "1\\t/l"\n',
    b"3\nbk-0:3181\n/j\n1\t/l\n",
    b'replica: "bk-0:3181"\nctime: 1763600000000\n',
    b'bookieId: "bk-0:3181"\n',
    b'type: "BASIC"\nversion: 1\n',
    b'"bk-0:3181"',
    b"30",
    b"\x08\x80\xc8\x81\xf6\xa9\x33",
    b'2\x1d\n\x06bookie\x10\xed\x18\x1a\x04bk-0"\nbookie-rpc:\x06\n\x01k\x12\x01v',
)
INT64: Final = st.integers(-(2**62), 2**62)
ENTRIES: Final = st.integers(0, 200)
_STATES: Final = {LedgerState.OPEN: 1, LedgerState.IN_RECOVERY: 2, LedgerState.CLOSED: 3}
_DIGESTS: Final = {DigestType.CRC32: 1, DigestType.MAC: 2, DigestType.CRC32C: 3, DigestType.DUMMY: 4}


def flushed(data: bytes) -> bytes:
    """Deflate as Pulsar does: with a flush at the end, and no trailer."""
    stream = zlib.compressobj()
    return stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)


_CODECS: Final[dict[int, Callable[[bytes], bytes]]] = {
    1: lambda data: bytes(cramjam.lz4.compress_block(data, store_size=False)),
    2: flushed,
    3: lambda data: bytes(cramjam.zstd.compress(data)),
    4: lambda data: bytes(cramjam.snappy.compress_raw(data)),
}


@st.composite
def quorums(draw: st.DrawFn, most: int = 5) -> Quorums:
    """Sizes that a client would take: none is zero."""
    ensemble = draw(st.integers(1, most))
    write = draw(st.integers(1, ensemble))
    return Quorums(ensemble, write, draw(st.integers(1, write)))


@st.composite
def ledgers(draw: st.DrawFn, bookies: int = 7) -> LedgerMetadata:
    """A ledger of up to four segments, of which the last ones may be empty."""
    sizes = draw(quorums())
    state = draw(st.sampled_from(LedgerState))
    firsts = sorted(draw(st.sets(ENTRIES, min_size=1, max_size=4)))
    names = [f"bk-{number}:3181" for number in range(bookies)]
    ensemble = st.permutations(names).map(lambda some: tuple(some[: sizes.ensemble]))
    closed = state is LedgerState.CLOSED
    last_entry = draw(st.integers(firsts[0] - 1, firsts[-1] + 60)) if closed else None
    has_password = draw(st.booleans())
    created = draw(st.none() | st.integers(0, 2**42))
    origin = LedgerOrigin(
        format_version=3,
        created_ms=created,
        created_in_value=created is not None,
        creation_token=draw(INT64),
        has_password=has_password,
        digest=draw(st.sampled_from(DigestType)) if has_password else None,
        custom=draw(
            st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), st.binary(max_size=8), max_size=3)
        ),
    )
    segments = tuple(Segment(first, draw(ensemble)) for first in firsts)
    return LedgerMetadata(1, state, sizes, segments, last_entry, draw(ENTRIES) if closed else None, origin)


@st.composite
def uneven_ledgers(draw: st.DrawFn, bookies: int = 12) -> LedgerMetadata:
    """A ledger as it may be found after years: many segments, bookies named twice, absurd quorums and entries."""
    ensemble = draw(st.integers(0, 7))
    write = draw(st.integers(-1, ensemble))
    sizes = Quorums(ensemble, write, draw(st.integers(-1, write)))
    chance = draw(st.randoms(use_true_random=False))
    first = draw(st.sampled_from([0, 0, 0, 7, -9, 2**31 - 3, 2**61, -(2**63)]))
    segments = []
    for _ in range(draw(st.sampled_from([1, 1, 2, 5, 40]))):
        segments.append(Segment(first, tuple(f"bk-{chance.randrange(bookies):02}:3181" for _ in range(ensemble))))
        first += chance.choice((1, 2, 60, 2**40))
    state = draw(st.sampled_from(LedgerState))
    closed = state is LedgerState.CLOSED
    end = segments[-1].first_entry
    ends = st.sampled_from([-1, end - 70, end - 1, end, end + 5, end + 2**33, 2**63 - 1])
    last_entry = draw(ends) if closed else None
    return LedgerMetadata(
        draw(st.integers(0, 2**63 - 1)),
        state,
        sizes,
        tuple(segments),
        None if last_entry is None else max(last_entry, -(2**63)),
        draw(st.sampled_from([0, 1, 700, 2**50 + 1, 2**63 - 1])) if closed else None,
        LedgerOrigin(format_version=3, creation_token=draw(INT64)),
    )


def message_of(ledger: LedgerMetadata) -> Dynamic:
    """Write a ledger as protobuf's message."""
    origin = ledger.origin
    message = MESSAGES["LedgerMetadataFormat"](
        quorumSize=ledger.quorums.write,
        ensembleSize=ledger.quorums.ensemble,
        ackQuorumSize=ledger.quorums.ack,
        length=ledger.length_bytes or 0,
        lastEntryId=-1 if ledger.last_entry is None else ledger.last_entry,
        state=_STATES[ledger.state],
        cToken=origin.creation_token,
    )
    for first, bookies in ledger.segments:
        message.segment.add(firstEntryId=first, ensembleMember=map(str.encode, bookies))
    for key, value in origin.custom.items():
        message.customMetadata.add(key=key.encode(), value=value)
    if origin.created_in_value:
        message.ctime = origin.created_ms
    if origin.has_password:
        message.password = b"not to be seen"
    if origin.digest is not None:
        message.digestType = _DIGESTS[origin.digest]
    return message


def binary_value(ledger: LedgerMetadata) -> bytes:
    """Write a ledger as version 3 does."""
    data: bytes = message_of(ledger).SerializeToString()
    size, length = len(data), bytearray()
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return HEADER.encode() + b"3\n" + bytes(length) + bytes([size]) + data


def text_value(ledger: LedgerMetadata) -> bytes:
    """Write a ledger as version 2 does."""
    return f"{HEADER}2\n{text_format.MessageToString(message_of(ledger))}".encode()


def lines_value(ledger: LedgerMetadata) -> bytes:
    """Write a ledger as version 1 does."""
    lines = [str(ledger.quorums.write), str(ledger.quorums.ensemble), str(ledger.length_bytes or 0)]
    lines += ["\t".join([str(first), *bookies]) for first, bookies in ledger.segments]
    if ledger.state is not LedgerState.OPEN:
        lines.append(f"{ledger.last_entry if ledger.is_closed else -102}\tCLOSED")
    return "\n".join([f"{HEADER}1", *lines]).encode()


def ledger_values() -> st.SearchStrategy[bytes]:
    """Values of each version."""
    return st.builds(
        lambda ledger, write: write(ledger), ledgers(), st.sampled_from([binary_value, text_value, lines_value])
    )


@st.composite
def managed_values(draw: st.DrawFn) -> bytes:
    """Values of topics and of cursors, compressed or not."""
    message: Any
    if draw(st.booleans()):
        message = MESSAGES["ManagedLedgerInfo"]()
        for ledger_id in draw(st.lists(ENTRIES, max_size=4)):
            message.ledgerInfo.add(ledgerId=ledger_id, entries=draw(ENTRIES), size=draw(INT64), timestamp=draw(ENTRIES))
    else:
        message = MESSAGES["ManagedCursorInfo"](
            cursorsLedgerId=draw(st.integers(-1, 9)), markDeleteLedgerId=draw(ENTRIES)
        )
        message.properties.add(name=b"CompactedTopicLedger", value=draw(ENTRIES))
    return packed(message.SerializeToString(), draw(st.sampled_from([None, *_CODECS])))


def packed(data: bytes, codec: int | None) -> bytes:
    """Wrap a message as Pulsar does; without a codec it stays as it is."""
    if codec is None:
        return data
    header: bytes = MESSAGES["ManagedInfoMetadata"](
        compressionType=codec, uncompressedSize=len(data)
    ).SerializeToString()
    return MAGIC + struct.pack(">i", len(header)) + header + _CODECS[codec](data)
