"""Who attacks on the bus: says whatever an attack wants said, signed with what the attacker has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, Protocol, Self

from syncer.bus.contract import Bus, Outgoing
from syncer.bus.limits import message_bytes
from syncer.bus.wire.codec import encode, kind_of, region_of
from syncer.bus.wire.messages import Said
from syncer.model import home_of

ORIGIN: Final = "mallory"
"""Under which name the attacker is known to the embedded bus; no message shows it."""
BATCH: Final = 200
BATCH_BYTES: Final = 16 << 20
PATIENCE: Final = timedelta(seconds=60)


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
        own: The region whose key that is, if it is one region's: what is said in its name is believed.
    """

    def __init__(self, bus: Bus, signers: Sequence[Signer], own: str = "") -> None:
        self._bus, self._signers, self._own = bus, signers, own
        self.said = self.foreign = 0

    async def __aenter__(self) -> Self:
        await self._bus.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._bus.close()

    async def say(self, messages: Iterable[Said | Outgoing], keep: list[Outgoing] | None = None) -> None:
        """Publish, in order.

        Args:
            messages: What to say.
            keep: Takes the messages as they were published.
        """
        waiting: list[Outgoing] = []
        size = 0
        for message in messages:
            plain = message if isinstance(message, Outgoing) else encode(message)
            waiting.append(self._signers[self.said % len(self._signers)].sign(plain))
            if keep is not None:
                keep.append(waiting[-1])
            self.said += 1
            self.foreign += not self._speaks_for_itself(plain)
            size += message_bytes(plain)
            if len(waiting) == BATCH or size >= BATCH_BYTES:
                await self._bus.publish(waiting)
                waiting, size = [], 0
        await self._bus.publish(waiting)

    async def repeat(self, messages: Sequence[Outgoing]) -> None:
        """Publish messages as they were published before, with the signatures that they have, in order."""
        for first in range(0, len(messages), BATCH):
            await self._bus.publish(messages[first : first + BATCH])

    def _speaks_for_itself(self, message: Outgoing) -> bool:
        """Whether a member may say it: in its own name, or as what it tells of another one's changes."""
        home = home_of(message.properties.get("syncer.sender", ""))
        told = kind_of(message.properties) == "change" and home in {None, self._own}
        return bool(self._own) and (told or region_of(message.properties) == self._own)
