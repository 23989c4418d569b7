"""What stands on the embedded bus, and somebody who says on it whatever a test wants said."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Self

import orjson

from syncer.bus.contract import Outgoing
from syncer.bus.embedded import EmbeddedBus, EmbeddedConfig
from syncer.bus.wire.codec import decode, encode
from syncer.bus.wire.messages import Control, Heartbeat, TreeMessage
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.scope import Scope
from syncer.errors import PayloadInvalid
from syncer.model import (
    Counter,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    Stamp,
    TieOrder,
)
from syncer.paths import classify
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.waiting import WAIT_S

MAX_BYTES: Final = 64 * 1024 * 1024
"""Of a message: more than any daemon takes."""


def change(
    path: MetaPath,
    value: bytes | None,
    *,
    region: str = "west",
    time_ms: int | None = None,
    sender: str = "d" * 32,
    sequence: int = 1,
) -> MetadataChangeEvent:
    """An event as another region's daemon would publish it."""
    resource = classify(path)
    assert resource is not None
    at = Millis(time_ms if time_ms is not None else wall_clock_ms())
    by = Counter(f"{region}~1")
    return MetadataChangeEvent(
        type=EventType.DELETED if value is None else EventType.MODIFIED,
        resource=resource.kind,
        resource_name=resource.name,
        path=path,
        value=value,
        stamp=Stamp(at, Region(region)),
        by=by,
        seen={by: at},
        sender=sender,
        sequence=sequence,
    )


def heartbeat(region: str = "west", *, sender: str = "d" * 32, **changes: Any) -> Heartbeat:
    """A heartbeat as another region's daemon would send it, by the same rules as every region under test."""
    facts: dict[str, Any] = {
        "generation": 1,
        "sent_at_ms": wall_clock_ms(),
        "last_sequence": 0,
        "watermark": Millis(0),
        "projections": {str(kind): projection.id for kind, projection in PROJECTIONS.items()},
        "scope": Scope().fingerprint,
        "tie_order": TieOrder.SMALLER_REGION,
        "mode": "active",
        "version": "1",
    }
    return Heartbeat(region=Region(region), sender=sender, **{**facts, **changes})


class Bystander:
    """Somebody on the bus who is no daemon: says whatever a test wants said, sees everything that was said.

    Args:
        bus_file: The bus.
        region: Under whose name it publishes.
    """

    def __init__(self, bus_file: Path, region: str = "west") -> None:
        self._file = bus_file
        self._bus = EmbeddedBus(EmbeddedConfig(path=bus_file, region=region, max_message_bytes=MAX_BYTES))

    async def __aenter__(self) -> Self:
        await self._bus.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._bus.close()

    async def say(self, *messages: MetadataChangeEvent | Heartbeat | Control | TreeMessage | Outgoing) -> None:
        """Publish."""
        await self._bus.publish([each if isinstance(each, Outgoing) else encode(each) for each in messages])


def messages_on(bus_file: Path) -> list[Outgoing]:
    """Every message that still stands on the bus, in order."""
    with closing(sqlite3.connect(bus_file, timeout=WAIT_S)) as db:
        rows = db.execute("SELECT payload, properties FROM message ORDER BY id").fetchall()
    return [Outgoing(payload, orjson.loads(properties)) for payload, properties in rows]


def changes_on(bus_file: Path) -> list[MetadataChangeEvent]:
    """Every change that was ever published and still stands on the bus, in order."""
    found: list[MetadataChangeEvent] = []
    for each in messages_on(bus_file):
        try:
            message = decode(each.payload, each.properties, max_bytes=MAX_BYTES)
        except PayloadInvalid:
            continue
        if isinstance(message, MetadataChangeEvent):
            found.append(message)
    return found


def distinct_changes_on(bus_file: Path) -> list[MetadataChangeEvent]:
    """Every change once. Who died before it had noted that a send arrived sends again, and a peer may be told again."""
    return list({(event.path, event.stamp): event for event in reversed(changes_on(bus_file))}.values())[::-1]


def backlog(bus_file: Path, region: str) -> int:
    """How many messages the region has not acknowledged."""
    with closing(sqlite3.connect(bus_file, timeout=WAIT_S)) as db:
        query = "SELECT count(*) FROM log JOIN region ON region = name WHERE name = ? AND place > acked"
        return int(db.execute(query, (region,)).fetchone()[0])
