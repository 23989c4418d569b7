"""Ledgers as their metadata tells of them: quorums, segments, state and end.

They are tuples, since an audit makes as many as a cluster has ledgers. A password is not kept: nothing here needs it,
and what does not have it cannot show it.

Source: LedgerMetadataFormat, BookKeeper 4.17.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

NO_ENTRY: Final = -1
"""Last entry of a ledger that was closed without one."""


class LedgerState(StrEnum):
    """How far a ledger's life has come."""

    OPEN = "open"
    IN_RECOVERY = "in-recovery"
    CLOSED = "closed"


class DigestType(StrEnum):
    """The digest by which bookies' answers are checked."""

    CRC32 = "crc32"
    MAC = "mac"
    CRC32C = "crc32c"
    DUMMY = "dummy"


class Quorums(NamedTuple):
    """On how many bookies a segment lies, an entry is written, and an entry must be acknowledged."""

    ensemble: int
    write: int
    ack: int


class Segment(NamedTuple):
    """Entries from one on, and the bookies on which they lie; an ensemble may name a bookie twice."""

    first_entry: int
    bookies: tuple[str, ...]


class LedgerOrigin(NamedTuple):
    """By whom, when and how a ledger was made.

    ``created_ms`` is None where neither the value nor the store tells; ``creation_token`` is 0 where Pulsar's driver
    made it, and random where BookKeeper's own did.
    """

    format_version: int
    created_ms: int | None = None
    created_in_value: bool = False
    creation_token: int = 0
    has_password: bool = False
    digest: DigestType | None = None
    custom: Mapping[str, bytes] = MappingProxyType({})


class LedgerMetadata(NamedTuple):
    """A ledger; ``last_entry`` and ``length_bytes`` are known of a closed one only."""

    ledger_id: int
    state: LedgerState
    quorums: Quorums
    segments: tuple[Segment, ...]
    last_entry: int | None
    length_bytes: int | None
    origin: LedgerOrigin

    @property
    def is_closed(self) -> bool:
        """No entry can be added any more."""
        return self.state is LedgerState.CLOSED

    def bookies(self) -> frozenset[str]:
        """All bookies that any segment names, whether they hold an entry or not."""
        return frozenset().union(*(segment.bookies for segment in self.segments))
