"""The outbox: changes of this region that wait for the bus, or are held back from it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from syncer.making import made_quickly
from syncer.model import MetadataChangeEvent, MetaPath


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """An event that waits for the bus's acknowledgement."""

    sequence: int
    event: MetadataChangeEvent


class OutboxTransaction(Protocol):
    """The part of a transaction that is about the outbox."""

    def enqueue(self, events: Sequence[MetadataChangeEvent]) -> None:
        """Put events into the outbox, giving each the next sequence number, this database as sender."""
        ...

    def carried(self, limit: int) -> dict[int, MetadataChangeEvent]:
        """What was carried over of the outbox of the database before, in its order, by numbers of its own."""

    def drop_carried(self, numbers: Collection[int]) -> None:
        """These were published, or need not be."""

    def hold_publication(self, event: MetadataChangeEvent) -> None:
        """Keep an event back, without a number; it replaces one held before for the same path."""
        ...

    def held_publication(self, path: MetaPath) -> MetadataChangeEvent | None:
        """The event that is held back for a path."""
        ...

    def drop_held(self, path: MetaPath) -> None:
        """Forget the held event of a path, if there is one."""
        ...

    def open_paths(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        """Of these paths, those with an event in the outbox or held back. Cheap when both are empty."""
        ...

    def outbox(self, limit: int, after: int = 0) -> list[OutboxRow]:
        """The oldest events that are not yet acknowledged, with a number above ``after``, in order."""
        ...

    def acknowledged(self, sequences: Collection[int]) -> None:
        """The bus has acknowledged these: they leave the outbox."""
        ...
