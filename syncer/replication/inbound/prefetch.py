"""Prefetch: the store is read at paths whose changes have just arrived, before these are folded.

Where it is known what the store holds, a change is written by the very transaction that folds it. Where nothing is
remembered of the path, or what is remembered cannot be told from others by a conditional write, the path is read first:
that is one transaction, and one turn of the queue, less than to fold the change, then to read and then to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.conflict.reads import Ticket
from syncer.model import EventType, MetadataChangeEvent, MetaPath
from syncer.replication.recovery import rebuild
from syncer.stores.contract import Entry

if TYPE_CHECKING:
    from syncer.replication.context import Context
    from syncer.replication.inbound.arrived import Arrived


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Paths to read before a delivery is folded. It must be folded with the answers, or given up."""

    ticket: Ticket
    paths: tuple[MetaPath, ...]


@dataclass(frozen=True, slots=True)
class Prefetched:
    """What was read ahead."""

    ahead: Prefetch
    answers: Mapping[MetaPath, Entry | None]

    def get(self, context: Context, path: MetaPath) -> Entry | None:
        """What the store holds of a path, where its read may decide (see :mod:`syncer.conflict.reads`)."""
        return self.answers.get(path) if context.ledger.valid(self.ahead.ticket, path) else None


def prefetch(context: Context, arrived: Iterable[Arrived]) -> Prefetch | None:
    """Paths of a delivery to read before it is folded; ``None``: none, or nothing could be written now anyway."""
    if context.fence is None or not context.ledger.armed or not context.first_scan_done or context.doubted:
        return None
    if context.observing or context.paused is not None or rebuild.holds_still(context):
        return None
    room, own, paths = context.writes.vacancy, context.identity.database_id, dict[MetaPath, None]()
    for item in arrived:
        if len(paths) >= room:
            break
        event = item.message
        if not isinstance(event, MetadataChangeEvent) or event.type is not EventType.MODIFIED or event.sender == own:
            continue  # what is created is written without a read, and a delete is decided after one
        path = event.path
        if path not in context.dirty and context.remembered.get(path) is None and context.scope.direction(path).applies:
            paths[path] = None
    return Prefetch(context.ledger.issue(), tuple(paths)) if paths else None


def give_up(context: Context, ahead: Prefetch) -> None:
    """The store did not answer: the delivery is folded without."""
    context.ledger.close(ahead.ticket)
