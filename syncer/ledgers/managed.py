"""Managed ledgers: the topics, cursors and schemas of Pulsar, and the ledgers that they refer to.

Source: MLDataFormats and SchemaStorageFormat, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

COMPACTED_LEDGER: Final = "CompactedTopicLedger"
"""Property of the compaction's cursor. In the store it is old while the topic is loaded."""
DELAYED_BUCKET: Final = "#pulsar.internal.delayed.bucket"
"""Beginning of those of a cursor's properties whose values are ids of ledgers of delayed messages."""


class EntryPosition(NamedTuple):
    """An entry of a ledger."""

    ledger_id: int
    entry_id: int


class Offload(NamedTuple):
    """How far a ledger's copy in other storage is; where ``deleted``, it is gone from BookKeeper by intent."""

    complete: bool
    deleted: bool
    driver: str


class LedgerOfTopic(NamedTuple):
    """A ledger that a topic refers to; the last one of a topic at work tells neither entries nor size."""

    ledger_id: int
    entries: int | None = None
    size_bytes: int | None = None
    closed_ms: int | None = None
    offload: Offload | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedLedger:
    """A topic's ledgers, in their order."""

    ledgers: tuple[LedgerOfTopic, ...] = ()
    terminated_at: EntryPosition | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedCursor:
    """A subscription's position; ``ledger_id`` is None where no ledger holds it."""

    ledger_id: int | None
    mark_delete: EntryPosition | None = None
    deleted_ranges: tuple[tuple[EntryPosition, EntryPosition], ...] = ()
    properties: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def compacted_ledger_id(self) -> int | None:
        """The ledger of a topic's compacted messages, as the store has it."""
        return self.properties.get(COMPACTED_LEDGER)

    def delayed_ledger_ids(self) -> Iterator[int]:
        """Ledgers of delayed messages; a property that is no id is none."""
        for name, value in self.texts.items():
            if name.startswith(DELAYED_BUCKET) and value.isascii() and value.isdecimal():
                yield int(value)


@dataclass(frozen=True, slots=True)
class SchemaLedgers:
    """The ledgers of a topic's schemas, newest first, each once."""

    ledger_ids: tuple[int, ...]
