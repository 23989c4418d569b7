"""Who attacks on the bus: says whatever an attack wants said, signed with what the attacker has."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, Protocol, Self

from syncer.bus.codec import encode
from syncer.bus.contract import Bus, Outgoing
from syncer.bus.embedded import EmbeddedBus, EmbeddedConfig
from syncer.bus.messages import Said
from tests.shell.on_bus import MAX_BYTES

ORIGIN: Final = "mallory"
"""Under which name the attacker is known to the embedded bus; no message shows it."""
BATCH: Final = 200


class Signer(Protocol):
    """What puts a signature on a message."""

    def sign(self, message: Outgoing) -> Outgoing:
        """The message with its signature."""
        ...


class Attacker:
    """Publishes.

    Args:
        bus: A connection of the attacker's own.
        signers: What is signed with, in turns.
    """

    def __init__(self, bus: Bus, signers: Sequence[Signer]) -> None:
        self._bus, self._signers = bus, signers
        self.said = 0

    @classmethod
    def on_file(cls, bus_file: Path, signers: Sequence[Signer]) -> Self:
        """An attacker on the embedded bus."""
        return cls(EmbeddedBus(EmbeddedConfig(path=bus_file, region=ORIGIN, max_message_bytes=MAX_BYTES)), signers)

    async def __aenter__(self) -> Self:
        await self._bus.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._bus.close()

    async def say(self, messages: Iterable[Said | Outgoing]) -> None:
        """Publish, in order."""
        waiting: list[Outgoing] = []
        for message in messages:
            plain = message if isinstance(message, Outgoing) else encode(message)
            waiting.append(self._signers[self.said % len(self._signers)].sign(plain))
            self.said += 1
            if len(waiting) == BATCH:
                await self._bus.publish(waiting)
                waiting = []
        await self._bus.publish(waiting)


def say_bytes(bus_file: Path, properties: bytes, payload: bytes) -> None:
    """Put a message on the embedded bus whose properties are none that any program of ours would write."""
    with closing(sqlite3.connect(bus_file, timeout=10)) as db, db:
        (origin,) = db.execute("SELECT origin FROM shipped WHERE origin = ?", (ORIGIN,)).fetchone()
        db.execute(
            "INSERT INTO message (origin, published_at_ms, properties, payload) VALUES (?, unixepoch() * 1000, ?, ?)",
            (origin, properties, payload),
        )
