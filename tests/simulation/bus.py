"""A simulated replicated topic: at least once, to every region, in no order, as late as it likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import Keyring
from syncer.bus.wire.codec import decode, encode
from syncer.bus.wire.messages import Heartbeat, Ignored, Message, Said
from syncer.errors import PayloadInvalid
from syncer.model import MetadataChangeEvent, MetaPath, Region, Stamp
from syncer.replication.inbound.arrived import Arrived, arrived_of
from tests.simulation.history import Violation

_HEARTBEATS_DECODED: Final = 16
"""One in so many is read from its bytes; they are as many as all else together."""

_UNSIGNED: Final = Keyring()


@dataclass(eq=False, slots=True)
class Delivery:
    """Messages handed to a reader and not acknowledged yet."""

    region: Region
    messages: tuple[tuple[int, Message | PayloadInvalid], ...]


@dataclass(eq=False, slots=True)
class Publishing:
    """Messages on their way to the bus, in order; ``landed`` of them have arrived."""

    region: Region
    messages: tuple[Message, ...]
    landed: int = 0

    @property
    def done(self) -> bool:
        """Whether the bus has all of them."""
        return self.landed == len(self.messages)


@dataclass(slots=True)
class SimBus:
    """The topic and one subscription per region.

    Args:
        reorder: How far a message may overtake others; 1: never.
        vanishes: Whether the message that arrives now never reaches a region.
        met: Where faults are counted.
        coded: Messages travel as the bytes of the topic.
    """

    regions: tuple[Region, ...]
    reorder: int
    log: list[Message | PayloadInvalid] = field(default_factory=list)
    lies: set[int] = field(default_factory=set)
    """Which of them a liar has said."""
    stamps: set[tuple[MetaPath, Stamp]] = field(default_factory=set)
    """Of all changes that ever arrived, but for those that a liar has told."""
    waiting: dict[Region, list[int]] = field(default_factory=dict)
    under_way: list[Publishing] = field(default_factory=list)
    vanishes: Callable[[Region], bool] = field(default=lambda _: False)
    met: Counter[str] = field(default_factory=Counter)
    judges: Callable[[Message], None] = field(default=lambda _: None)
    """Judges every message that arrives."""
    coded: bool = False
    bytes: list[Outgoing] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.waiting = {region: [] for region in self.regions}

    def send(self, region: Region, messages: tuple[Message, ...]) -> Publishing:
        """A publisher sends; nothing has arrived yet."""
        publishing = Publishing(region, messages)
        self.under_way.append(publishing)
        return publishing

    def land(self, publishing: Publishing) -> None:
        """The next message of a publisher arrives."""
        self.arrive(publishing.messages[publishing.landed])
        publishing.landed += 1
        if publishing.done:
            self.under_way.remove(publishing)

    def arrive(self, message: Message) -> None:
        """A message arrives, as it is read from its bytes; it waits for every region that it will ever reach.

        Raises:
            Violation: It came out of the codec otherwise than it went in.
        """
        self.judges(message)
        if isinstance(message, MetadataChangeEvent):
            self.stamps.add((message.path, message.stamp))
        if self.coded or not isinstance(message, Heartbeat) or not len(self.log) % _HEARTBEATS_DECODED:
            assert not isinstance(message, Ignored)
            sent = encode(message)
            message = _unchanged(message, _decoded(sent))
            if self.coded:
                self.bytes.append(sent)
        self._wait(message)

    def lie(self, message: Said) -> bool:
        """A liar says something; whether it can be decoded."""
        sent = encode(message)
        decoded = _decoded(sent)
        if self.coded:
            self.bytes.append(sent)
        self.lies.add(len(self.log))
        self._wait(decoded)
        return not isinstance(decoded, PayloadInvalid)

    def _wait(self, message: Message | PayloadInvalid) -> None:
        self.log.append(message)
        for region, waiting in self.waiting.items():
            if self.vanishes(region):
                self.met["vanished"] += 1
            else:
                waiting.append(len(self.log) - 1)

    def arrived(self, number: int, message: Message | PayloadInvalid) -> Arrived:
        """A message as a reader gets it.

        Raises:
            Violation: It came out of the codec otherwise than it went in.
        """
        if not self.coded:
            return Arrived(message=message, position=str(number))
        outgoing = self.bytes[number]
        arrived = arrived_of(outgoing.payload, outgoing.properties, str(number), _UNSIGNED)
        if not isinstance(message, PayloadInvalid):
            _unchanged(message, arrived.message)
        return arrived

    def expire(self, region: Region) -> None:
        """The bus forgets what waits for a region."""
        self.waiting[region].clear()

    def drop(self, publishing: Publishing) -> None:
        """The rest of a publisher's messages never arrives."""
        if publishing in self.under_way:
            self.under_way.remove(publishing)

    def deliver(self, region: Region, count: int, rng: Random | None) -> Delivery | None:
        """Hand some messages to the region's reader; which ones, chance decides within ``reorder``."""
        waiting = self.waiting[region]
        taken: list[int] = []
        while waiting and len(taken) < count:
            at = rng.randrange(min(self.reorder, len(waiting))) if rng is not None and self.reorder > 1 else 0
            self.met["overtaken"] += at > 0
            taken.append(waiting.pop(at))
        return Delivery(region, tuple((number, self.log[number]) for number in taken)) if taken else None

    def overtake(self, region: Region) -> Delivery | None:
        """Hand the latest heartbeat of somebody to the region's reader, before all else that waits."""
        for number in reversed(self.waiting[region]):
            if isinstance(self.log[number], Heartbeat):
                self.waiting[region].remove(number)
                return Delivery(region, ((number, self.log[number]),))
        return None

    def again(self, delivery: Delivery) -> None:
        """The reader went away before it acknowledged."""
        self.met["redelivered"] += 1
        self.waiting[delivery.region][:0] = [number for number, _ in delivery.messages]

    def duplicate(self, region: Region, number: int) -> None:
        """A message comes once more."""
        self.waiting[region].append(number)

    @property
    def events(self) -> list[MetadataChangeEvent]:
        """All change events that ever arrived, duplicates included, but for those that a liar has told."""
        return [
            message
            for number, message in enumerate(self.log)
            if isinstance(message, MetadataChangeEvent) and number not in self.lies
        ]


def _decoded(sent: Outgoing) -> Message | PayloadInvalid:
    """What is read from its bytes, or why it cannot be understood."""
    try:
        return decode(sent.payload, sent.properties)
    except PayloadInvalid as exc:
        return exc


def _unchanged(message: Message, decoded: Message | PayloadInvalid) -> Message:
    """A message that was decoded.

    Raises:
        Violation: It is not what was encoded.
    """
    if isinstance(decoded, PayloadInvalid) or decoded != message:
        raise Violation("garbled", getattr(message, "path", ""), f"{message} was decoded as {decoded}")
    return decoded
