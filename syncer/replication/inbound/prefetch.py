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
    from syncer.replication.inbound.arrived import Arrived
    from syncer.replication.inbound.part import Inbound


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

    def get(self, inbound: Inbound, path: MetaPath) -> Entry | None:
        """What the store holds of a path, where its read may decide (see :mod:`syncer.conflict.reads`)."""
        return self.answers.get(path) if inbound.local.watch.ledger.valid(self.ahead.ticket, path) else None


def prefetch(inbound: Inbound, arrived: Iterable[Arrived]) -> Prefetch | None:
    """Paths of a delivery to read before it is folded; ``None``: none, or nothing could be written now anyway."""
    if (
        inbound.core.fence is None
        or not inbound.local.watch.ledger.armed
        or not inbound.core.first_scan_done
        or inbound.core.fence_unverified
    ):
        return None
    if inbound.core.observing or inbound.group.paused is not None or inbound.local.migration.holds:
        return None
    if rebuild.holds_still(inbound.recovery):
        return None
    room, own, paths = inbound.local.writes.vacancy, inbound.core.identity.database_id, dict[MetaPath, None]()
    for item in arrived:
        if len(paths) >= room:
            break
        event = item.message
        if not isinstance(event, MetadataChangeEvent) or event.type is not EventType.MODIFIED or event.sender == own:
            continue  # what is created is written without a read, and a delete is decided after one
        path = event.path
        if (
            path not in inbound.local.dirty
            and inbound.local.entry_cache.get(path) is None
            and inbound.core.scope.direction(path).applies
        ):
            paths[path] = None
    return Prefetch(inbound.local.watch.ledger.issue(), tuple(paths)) if paths else None


def give_up(inbound: Inbound, ahead: Prefetch) -> None:
    """The store did not answer: the delivery is folded without."""
    inbound.local.watch.ledger.close(ahead.ticket)
