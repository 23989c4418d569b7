"""The contract of buses: a replicated topic with one active reader per region.

A bus is one module, one entry point in the group ``syncer.buses`` and one pass of the contract suite. It moves opaque
payloads with string properties; :mod:`syncer.bus.wire.codec` gives them meaning.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from syncer.errors import SubscriptionShared
from syncer.making import made_quickly
from syncer.model import Millis


@made_quickly
@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to publish."""

    payload: bytes = field(repr=False)
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A message as received.

    Whoever may publish on the topic decides what stands in a message, so a bus hands over every one, also what is not
    as it should be: an iteration of ``receive`` never fails because of what a message holds.

    Args:
        payload: As published.
        properties: As published; empty where ``trouble`` says why they could not be read.
        position: Names it in the bus, for people and for the quarantine.
        published_at_ms: The publisher's clock.
        redelivered: How often it was delivered before.
        trouble: What of it the bus could not read; then nobody can tell what the message means, not even whether a
            member has sent it. Empty: nothing.
    """

    payload: bytes = field(repr=False)
    properties: Mapping[str, str]
    position: str
    published_at_ms: Millis
    redelivered: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Messages received together, in the order of the topic.

    Acknowledged as a whole by ``token``, after the fold is stored.
    """

    messages: tuple[Incoming, ...]
    token: object


class Role(StrEnum):
    """Whether this daemon should try to be the region's writer. The store's fence decides; this only says who tries."""

    ACTIVE = "active"
    STANDBY = "standby"


@dataclass(frozen=True, slots=True, kw_only=True)
class BusPosition:
    """Depth of this region's subscription, for status and metrics; ``None`` where the bus cannot tell.

    ``backlog`` counts entries. On Pulsar one holds up to all messages of a publish; elsewhere it is one message.
    ``trouble`` says why messages may not reach this region, but another one that reads by its subscription.
    """

    backlog: int | None
    connected: bool
    trouble: SubscriptionShared | None = None


@runtime_checkable
class Bus(Protocol):
    """The replicated topic, seen from one region.

    Every region receives every message, its own included, at least once, for as long as the subscription exists and the
    topic keeps messages. Nothing acknowledged by ``publish`` is lost. All calls have a deadline and raise
    ``BusUnavailable``.
    """

    async def open(self) -> None:
        """Connect as publisher, and create the subscription from the earliest message if there is none."""
        ...

    async def close(self) -> None:
        """Disconnect and end all threads. Unacknowledged deliveries come again. Safe to call twice."""
        ...

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        """Publish in order; return when the bus has acknowledged every one.

        Raises:
            BusUnavailable: Some may have been published, some not; publish all again.
            PayloadInvalid: A message is too large for the bus; its index is in ``args[1]``. Others may have been
                published.
        """
        ...

    def receive(self) -> AsyncIterator[Delivery]:
        """Stream deliveries while active, at most a bounded number of them unacknowledged; wait when standby."""
        ...

    async def acknowledge(self, delivery: Delivery) -> None:
        """Tell the bus that the delivery's messages are stored. Idempotent."""
        ...

    def role(self) -> AsyncIterator[Role]:
        """Stream the role: the present one first, then each change."""
        ...

    async def proven(self) -> None:
        """Wait until the bus has said anew that this daemon holds the role; while it stands by, that may never be.

        A daemon that was paused and is woken may believe for a while that it holds it still.
        """
        ...

    async def position(self) -> BusPosition:
        """Depth of the subscription, for status."""
        ...
