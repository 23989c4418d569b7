"""Loops between the bus and the driver: the transactional outbox is published, messages come in, heartbeats go out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anyio
import structlog

from syncer.bus.contract import Delivery, Outgoing
from syncer.bus.limits import message_bytes
from syncer.bus.trust.signing import sealed
from syncer.bus.wire.codec import is_change_of, sequence_of
from syncer.bus.wire.messages import Control, Said, TreeMessage
from syncer.errors import PayloadInvalid, StateUnavailable, SyncerError
from syncer.model import Millis
from syncer.replication.control.effects import Effect, Wanted
from syncer.replication.inbound.arrived import Arrived, arrived_of
from syncer.replication.inbound.prefetch import Prefetch, Prefetched
from syncer.replication.runtime.environment import IDLE_S, Environment
from syncer.state.contract.outbox import OutboxRow
from syncer.stores.contract import read_answerable

log = structlog.get_logger()

PUBLISH_LIMIT: Final = 500
ROOM_S: Final = 0.2
"""How long a delivery waits for one more write to land before it is folded without room for its own."""
AHEAD_S: Final = 1.0
"""How long a delivery waits for what the store holds; its changes are folded without, if need be."""
STEPS_LIMIT: Final = 8
"""Messages of a comparison that are sent at once, so that changes have their turn between them."""


class BusPumps:
    """Moves the outbox to the bus, and what comes from the bus to the driver."""

    def __init__(self, around: Environment) -> None:
        self._around = around
        self._controls: list[Control] = []

    def _sealed(self, message: Said | Outgoing) -> Outgoing:
        """A message with its signatures; one that a peer has sent keeps that of the peer's region."""
        keyring = self._around.driver.keyring
        return keyring.countersign(message) if isinstance(message, Outgoing) else sealed(message, keyring)

    async def publisher(self) -> None:
        """Publish what the outbox holds; what the bus can never take goes to the quarantine."""
        while True:
            rows = await self._around.thread.call(self._around.driver.outbox, PUBLISH_LIMIT)
            if not rows:
                await self._around.publishable.wait(IDLE_S)
                continue
            messages: list[Outgoing] = []
            try:
                for row in rows:
                    messages.append(self._sealed(row.event))  # noqa: PERF401 - how many tells
            except PayloadInvalid as exc:
                await self._set_aside(rows[len(messages)], exc)
                continue
            try:
                await self._publish(rows, messages)
            except PayloadInvalid as exc:
                await self._set_aside(rows[exc.args[1] if len(exc.args) > 1 else 0], exc)
                continue
            self._around.readable.wake()

    async def _publish(self, rows: list[OutboxRow], messages: list[Outgoing]) -> None:
        """What is on its way is finished even when the daemon stops: else it would be published again at the start."""
        with anyio.CancelScope(shield=True):  # both calls have deadlines of their own
            with self._around.timing_of("publish"):
                await self._around.bus.publish(messages)
            try:
                await self._around.thread.call(self._around.driver.published, rows, self._around.clock())
                return
            except StateUnavailable as exc:
                log.warning("state_unavailable", region=self._around.region, cause=exc.message)
        await self._around.until_stored(self._around.driver.published, rows)

    async def _set_aside(self, row: OutboxRow, cause: PayloadInvalid) -> None:
        """One event can never be sent as it is: it is quarantined, the others are published again."""
        log.error("event_unsendable", region=self._around.region, path=row.event.path, cause=cause.message)
        await self._around.until_stored(self._around.driver.unsendable, row, cause.message)

    async def receiver(self) -> None:
        """Fold what the bus delivers, and acknowledge it once the fold is stored."""
        async for delivery in self._around.bus.receive():
            await self._until_room(delivery)
            with self._around.timing_of("consume"):
                await self._fold(delivery)
            self._around.readable.wake()
            self._around.writable.wake()
            self._around.talkable.wake()
            await self._around.bus.acknowledge(delivery)

    async def _until_room(self, delivery: Delivery) -> None:
        """Wait a little until what a delivery may cause to be written has room.

        What is folded without is read and decided once more when its turn comes: twice the work. But it is folded: what
        is known here must not wait for a store that takes no writes.
        """
        driver = self._around.driver
        count, size = len(delivery.messages), sum(len(each.payload) for each in delivery.messages)
        while not driver.takes_writes(count, size):
            before = driver.vacant_batches
            await self._around.roomy.wait(ROOM_S)
            if driver.vacant_batches <= before:
                return  # nothing moves

    async def _fold(self, delivery: Delivery) -> None:
        """Fold a delivery; where the store has to be read for its writes, read it first."""
        left, planned = await self._around.until_stored(self._consume, delivery)
        seen = await self._prefetch(planned) if planned is not None else None
        while left:
            left = await self._around.until_stored(self._consume_seen, left, seen)
            seen = None

    async def _prefetch(self, planned: Prefetch) -> Prefetched | None:
        """What the store holds; ``None``: it does not tell in time."""
        seen = None
        try:
            with self._around.timing_of("read"), anyio.move_on_after(AHEAD_S):
                told = await read_answerable(self._around.store, planned.paths)
                seen = Prefetched(planned, told.answers)
        except SyncerError as exc:
            log.info("not_read_ahead", region=self._around.region, code=exc.code, cause=exc.message)
        finally:
            if seen is None:
                with anyio.CancelScope(shield=True):
                    await self._around.thread.quick(self._around.driver.give_up_prefetch, planned)
        return seen

    def _consume_seen(self, arrived: Sequence[Arrived], seen: Prefetched | None, now: Millis) -> Sequence[Arrived]:
        return self._around.driver.consume(arrived, now, seen)

    def _consume(self, delivery: Delivery, now: Millis) -> tuple[Sequence[Arrived], Prefetch | None]:
        """Fold a delivery at once, but for what is left of it; or what of it to read the store for first."""
        driver = self._around.driver
        own, published = driver.database_id, driver.published_through
        others = [  # what it knows to have published was folded when it was stamped; beyond that it is an old copy
            each
            for each in delivery.messages
            if not is_change_of(own, each.properties) or sequence_of(each.properties) > published
        ]
        if others:
            arrived = [
                arrived_of(each.payload, each.properties, each.position, driver.keyring, each.trouble)
                for each in others
            ]
            planned = self._around.driver.prefetch(arrived)
            if planned is not None:
                return arrived, planned
            return self._around.driver.consume(arrived, now), None
        return (), None

    async def beat(self, now: Millis) -> None:
        """Tell the peers how this region is."""
        beat = await self._around.thread.call(self._around.driver.heartbeat, now, self._around.version)
        await self._send([beat], "heartbeat_not_sent")

    async def comparer(self) -> None:
        """Compare with the peers; what is lost on the way is asked for again."""
        while True:
            messages = await self._around.thread.call(self._around.driver.compare, self._around.clock())
            if messages:
                await self._send_steps(messages)
            if not self._around.driver.comparing:
                await anyio.sleep(IDLE_S)

    async def _send_steps(self, messages: Sequence[TreeMessage | Control]) -> None:
        for start in range(0, len(messages), STEPS_LIMIT):
            sent = await self._send(messages[start : start + STEPS_LIMIT], "comparison_not_sent")
            if not sent:
                return
            self._around.driver.count("compared", "bytes", sum(map(message_bytes, sent)))

    async def corresponder(self) -> None:
        """Ask and tell what a lost database is rebuilt from: one page at a time, so that changes have their turn."""
        while True:
            hearing = self._around.driver.hearing
            messages = await self._around.thread.call(self._around.driver.correspond, self._around.clock())
            if hearing and not self._around.driver.hearing:
                log.info("peers_heard", region=self._around.region)
                self._around.heard.wake()
            if not messages:
                await self._around.talkable.wait(IDLE_S)
                continue
            if not await self._send(messages, "listing_not_sent"):
                await anyio.sleep(IDLE_S)

    async def send_controls(self) -> None:
        """What others are asked for is kept until the bus has it."""
        while self._controls and await self._send(self._controls[:1], "control_not_sent"):
            self._controls.pop(0)

    async def _send(self, messages: Sequence[Said | Outgoing], failure: str) -> list[Outgoing]:
        """Publish what somebody asks for again if it is lost: what the bus has, nothing when it refused.

        Args:
            messages: At least one.
            failure: Event of the log that tells of a refusal.
        """
        try:
            encoded = [self._sealed(message) for message in messages]
            await self._around.bus.publish(encoded)
        except SyncerError as exc:
            log.warning(failure, region=self._around.region, code=exc.code, cause=exc.message)
            return []
        return encoded

    def keep(self, effect: Effect) -> None:
        """Keep what an operation wants of the other regions until it is sent."""
        match effect:
            case Wanted(action=action, paths=paths, reason=reason, number=number):
                control = Control(
                    region=self._around.region,
                    sender=self._around.driver.database_id,
                    action=action,
                    paths=paths,
                    reason=reason,
                    sent_at_ms=self._around.clock(),
                    number=number,
                )
                self._controls.append(control)
            case None:
                pass
