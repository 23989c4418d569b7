"""Originals: the last change of each member's database in the form in which that member has sent and signed it.

A region whose database was put back asks for it: nobody else can make what it has signed itself. It is kept in the row
of the peer with the next heartbeat. Whoever dies between a change and that heartbeat has the one before.

One that the region's key has signed is not replaced by one that it has not, whatever its number is. All together take
bounded room; what regions have sent that are there for less than an hour gives way.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from syncer.bus.contract import Outgoing
from syncer.bus.trust.region_keys import Speaker
from syncer.bus.wire.codec import PREFIX, encode
from syncer.bus.wire.messages import Control
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.replacing import replace
from syncer.replication.recovery import doubt
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
"""Room for the changes of all regions but those of `peers.expected`."""
_PARTS: Final = 4
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
    recovery: Recovery,
    tx: Transaction,
    event: MetadataChangeEvent,
    sent: Outgoing,
    speaker: Speaker | None,
    now: Millis,
) -> None:
    """Keep a change of a member as it came, if none is kept of that database that proves more."""
    region = recovery.group.peers.region_of(event.sender)
    if region is None:
        return
    known, has_key = _known(recovery, tx), region in recovery.group.keyring.regions.halves
    before = known.of.get(region, {}).get(event.sender)
    signed = has_key and speaker is not None and speaker.region == region
    if before is not None and (has_key and before.signed, before.sequence) >= (signed, event.sequence):
        return
    message = sent if sent.payload else encode(event)
    ours = {name: text for name, text in message.properties.items() if name.startswith(PREFIX)}
    original = Original(event.sequence, Outgoing(message.payload, ours), signed)
    more = original.size - (before.size if before is not None else 0)
    if original.size > KEPT_BYTES or not _has_room(recovery, known, region, more, now):
        return
    several = known.of.setdefault(region, {})
    several.pop(event.sender, None)
    several[event.sender] = original
    known.size += more
    while len(several) > KEPT:
        known.size -= several.pop(next(iter(several))).size


def _has_room(recovery: Recovery, known: Originals, region: Region, more: int, now: Millis) -> bool:
    """Whether a region may have so much more kept; regions that are there for less than an hour make room for it."""
    if region in recovery.group.expected or known.size + more <= ALL_BYTES:
        return True
    passing = [each for each in known.of if each != region and not doubt.is_established(recovery, each, now)]
    while passing and known.size + more > ALL_BYTES:
        known.size -= sum(each.size for each in known.of.pop(passing.pop(0)).values())
    return known.size + more <= ALL_BYTES


def remembered(recovery: Recovery, tx: Transaction, row: PeerRow) -> PeerRow:
    """The row of a peer with the last changes of its databases."""
    several = _known(recovery, tx).of.get(row.region)
    if not several:
        return row
    kept = {
        database: [
            each.sequence,
            base64.b64encode(each.message.payload).decode(),
            dict(each.message.properties),
            each.signed,
        ]
        for database, each in several.items()
    }
    return replace(row, document={**row.document, OF_ROW: kept})


def _kept(document: object) -> dict[str, Original]:
    """Read the changes that a row holds; those that another version has kept in another form are left out."""
    found: Any = document or {}
    return {
        database: Original(sequence, Outgoing(base64.b64decode(payload), properties), signed)
        for database, kept in found.items()
        if len(kept) == _PARTS
        for sequence, payload, properties, signed in [kept]
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
    """Return the changes that regions have asked for, as they have sent them themselves."""
    if recovery.originals is None or recovery.core.observing:
        return []
    owed, recovery.originals.owed = list(recovery.originals.owed.values()), {}
    return owed
