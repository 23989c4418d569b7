"""Originals: the last change of each member's database in the form in which that member has sent and signed it.

A region whose database was put back asks for it: nobody else can make what it has signed itself. It is kept in the row
of the peer with the next heartbeat. Whoever dies between a change and that heartbeat has the one before.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from syncer.bus.contract import Outgoing
from syncer.bus.wire.codec import PREFIX, encode
from syncer.bus.wire.messages import Control
from syncer.model import MetadataChangeEvent, Millis
from syncer.replacing import replace
from syncer.replication.recovery.part import Recovery
from syncer.replication.recovery.progress import Original, Originals
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.transaction import Transaction

OF_ROW: Final = "originals"
"""Where they stand in the row of a peer."""
KEPT: Final = 2
"""Databases of a region whose last change is kept."""
KEPT_BYTES: Final = 16 * 1024
"""A change that takes more room is not kept; the one before it proves as much."""
ALL_BYTES: Final = 8 * 1024 * 1024
"""What the changes of all regions may take, but for those of `peers.expected`: whoever comes later has none kept."""
PAUSE_MS: Final = 2_000
"""A region is answered no more often than this."""


def _known(recovery: Recovery, tx: Transaction) -> Originals:
    """All that are kept, also by earlier daemons."""
    if recovery.originals is None:
        found = {row.region: _kept(row.document.get(OF_ROW)) for row in tx.peers()}
        size = sum(each.size for several in found.values() for each in several.values())
        recovery.originals = Originals(found, size=size)
    return recovery.originals


def note(
    recovery: Recovery, tx: Transaction, event: MetadataChangeEvent, payload: bytes, properties: Mapping[str, str]
) -> None:
    """Keep a change of a member as it came, if none of a higher number is kept of that database."""
    region = recovery.group.peers.region_of(event.sender)
    if region is None:
        return
    known = _known(recovery, tx)
    before = known.of.get(region, {}).get(event.sender)
    if before is not None and before.sequence >= event.sequence:
        return
    message = Outgoing(payload, properties) if payload else encode(event)
    ours = {name: text for name, text in message.properties.items() if name.startswith(PREFIX)}
    original = Original(event.sequence, Outgoing(message.payload, ours))
    if original.size > KEPT_BYTES or (region not in recovery.group.expected and known.size + original.size > ALL_BYTES):
        return
    several = known.of.setdefault(region, {})
    known.size += original.size - (several.pop(event.sender).size if before is not None else 0)
    several[event.sender] = original
    while len(several) > KEPT:
        known.size -= several.pop(next(iter(several))).size


def remembered(recovery: Recovery, tx: Transaction, row: PeerRow) -> PeerRow:
    """The row of a peer with the last changes of its databases."""
    several = _known(recovery, tx).of.get(row.region)
    if not several:
        return row
    kept = {
        database: [each.sequence, base64.b64encode(each.message.payload).decode(), dict(each.message.properties)]
        for database, each in several.items()
    }
    return replace(row, document={**row.document, OF_ROW: kept})


def _kept(document: object) -> dict[str, Original]:
    """What a row holds."""
    found: Any = document or {}
    return {
        database: Original(sequence, Outgoing(base64.b64decode(payload), properties))
        for database, (sequence, payload, properties) in found.items()
    }


def take_asked(recovery: Recovery, tx: Transaction, asked: Control, now: Millis) -> None:
    """A region asks for a change of its own database; of another region's it is told nothing."""
    known = _known(recovery, tx)
    original = known.of.get(asked.region, {}).get(asked.paths[0]) if asked.paths else None
    last = known.answered_ms.get(asked.region)
    if original is None or original.sequence <= asked.number or (last is not None and 0 <= now - last < PAUSE_MS):
        return
    known.answered_ms[asked.region] = now
    known.owed[asked.region] = original.message


def answers(recovery: Recovery) -> list[Outgoing]:
    """What regions have asked for, as they have sent it themselves."""
    if recovery.originals is None or recovery.core.observing:
        return []
    owed, recovery.originals.owed = list(recovery.originals.owed.values()), {}
    return owed
