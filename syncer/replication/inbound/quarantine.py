"""The quarantine, a dead letter queue: messages that cannot be handled are kept with their reason, within a quota.

Whoever may publish on the topic can send more than a disk holds. What finds no room is counted, told, and let go: its
number does not count as consumed, so the gap stays seen, and what it said of a path comes by anti-entropy as soon as
its region is understood.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Protocol

import structlog

from syncer.bus.wire.codec import TALK, kind_of, region_of
from syncer.bus.wire.messages import Message
from syncer.errors import PayloadInvalid, ProtocolUnknown, SignatureInvalid, SpeakerInvalid
from syncer.model import MetadataChangeEvent, MetaPath, Millis
from syncer.replication.inbound.part import Inbound
from syncer.replication.local.misfits import MISFIT
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.conflicts import Amount
from syncer.state.contract.quarantine import STRANGE_CODES, DeadLetter, KeptAside
from syncer.state.contract.transaction import Transaction

log = structlog.get_logger()

FULL: Final = "quarantine-full"
TOO_EARLY: Final = "too-many-from-the-future"
_NOT_SIGNED: Final = "they are not signed with a key that is accepted here"
_IN_ANOTHER_NAME: Final = "a member has signed them in the name of another one"
_NAME_CHARACTERS: Final = 60
_DETAIL_CHARACTERS: Final = 2000


class Shelf(StrEnum):
    """Places with room of their own, so that strangers cannot take that of the group."""

    STRANGERS = "messages that are not signed with a key of the group, or not readable at all"
    POISON = "messages of the bus that cannot be handled"
    FUTURE = "events from the future"


ROOM: Final = {
    Shelf.STRANGERS: Amount(10_000, 64 * 1024 * 1024),
    Shelf.POISON: Amount(10_000, 256 * 1024 * 1024),
    Shelf.FUTURE: Amount(10_000, 64 * 1024 * 1024),
}
"""How many, and how many bytes in all."""


class Item(Protocol):
    """A message with where it came from."""

    @property
    def message(self) -> Message | PayloadInvalid:
        """What it means, or why it cannot be understood."""
        ...

    @property
    def position(self) -> str:
        """Where it stands on the bus."""
        ...

    @property
    def payload(self) -> bytes:
        """As received."""
        ...

    @property
    def properties(self) -> dict[str, str]:
        """As received."""
        ...


class Quota:
    """The room that is left, as of one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._tx = transaction
        self._taken: dict[Shelf, Amount] = {}

    def take(self, shelf: Shelf, size_bytes: int) -> bool:
        """Take room for one thing, if there is any."""
        if not self._taken:
            self._taken = _by_shelf(self._tx.kept_aside())
        count, total = self._taken[shelf]
        room = ROOM[shelf]
        if count >= room.things or total + size_bytes > room.size_bytes:
            return False
        self._taken[shelf] = Amount(count + 1, total + size_bytes)
        return True


def refuse(inbound: Inbound, unit: UnitOfWork, shelves: Quota, item: Item, error: PayloadInvalid) -> None:
    """Put a message aside that cannot be understood, or does not come from the group.

    What regions say all the time, and say again, is only counted when it is not believed: it would bury the changes.
    """
    if isinstance(error, ProtocolUnknown):
        inbound.telemetry.tally["refused", error.code] += 1
        inbound.protocols.meet(region_of(item.properties), error)
        return
    if not isinstance(error, SignatureInvalid):
        set_aside(inbound, unit, shelves, item, error.code, error.message)
        return
    inbound.telemetry.tally["refused", error.code] += 1
    count, kind = inbound.telemetry.tally["refused", error.code], kind_of(item.properties)
    region = region_of(item.properties)[:_NAME_CHARACTERS]
    why = _IN_ANOTHER_NAME if isinstance(error, SpeakerInvalid) else _NOT_SIGNED
    inbound.telemetry.conditions[error.code] = (
        f"{count} messages refused since the start: {why}. The last one says that it comes from region {region!r}: "
        f"{error.message}"
    )
    if count & (count - 1) == 0:  # the first, and then ever more seldom: a flood does not flood the log
        log.warning(
            "message_refused", code=error.code, claimed_region=region, cause=error.message, count=count, hint=error.hint
        )
    if kind not in TALK:
        set_aside(inbound, unit, shelves, item, error.code, error.message)


def set_aside(inbound: Inbound, unit: UnitOfWork, shelves: Quota, item: Item, code: str, detail: str) -> bool:
    """Put a message of the bus into the quarantine; whether there was room for it."""
    event = item.message
    shelf = Shelf.STRANGERS if code in STRANGE_CODES else Shelf.POISON
    size = len(item.payload) + sum(len(name) + len(text) for name, text in item.properties.items())
    if not shelves.take(shelf, size):
        _let_go(inbound, shelf)
        return False
    path: MetaPath | None = event.path if isinstance(event, MetadataChangeEvent) else None
    unit.quarantine(
        DeadLetter(
            origin="bus",
            code=code,
            detail=detail[:_DETAIL_CHARACTERS],
            position=item.position,
            path=path,
            payload=item.payload,
            properties=item.properties,
        )
    )
    return True


def may_wait(shelves: Quota, event: MetadataChangeEvent) -> bool:
    """Whether there is room for an event that has to wait for its time."""
    return shelves.take(Shelf.FUTURE, len(event.value or b"") + sum(map(len, event.seen)))


def keep_misfits(inbound: Inbound, now: Millis) -> None:
    """Put what the store holds and nobody else can hold into the quarantine, for people to see."""
    news = inbound.local.misfits.news
    if not news:
        return
    with inbound.core.state.transaction() as tx:
        unit = inbound.units.begin(tx, now)
        for name, fault in news:
            unit.quarantine(DeadLetter(origin="store", code=MISFIT, detail=fault, position=name))
        unit.store()
    unit.settle()
    news.clear()


def _let_go(inbound: Inbound, shelf: Shelf) -> None:
    inbound.telemetry.tally["refused", FULL] += 1
    count = inbound.telemetry.tally["refused", FULL]
    room = ROOM[shelf]
    inbound.telemetry.conditions[FULL] = (
        f"no room for {count} messages since the start: {shelf.value} are kept up to {room.things}, or "
        f"{room.size_bytes >> 20} MiB. What they said comes by anti-entropy once their regions are understood; see "
        "'syncer quarantine list' for what they are"
    )
    if count & (count - 1) == 0:
        log.error("message_let_go", code=FULL, shelf=shelf.name.lower(), count=count)


def _by_shelf(kept: KeptAside) -> dict[Shelf, Amount]:
    return {Shelf.STRANGERS: kept.strangers, Shelf.POISON: kept.poison, Shelf.FUTURE: kept.future}
