"""One watch stream of etcd, from arming to its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Sequence
from typing import Final

import grpc
import grpc.aio
from google.protobuf.message import Message

from syncer.errors import AccessDenied, StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Armed, Beat, Changed, WatchSignal
from syncer.stores.etcd.connection import SETTLE_S, EtcdConnection, translated
from syncer.stores.etcd.keys import KeySpace, covers
from syncer.stores.etcd.wire import Dynamic, load
from syncer.waiting.deadline import answered_within

BEAT_S: Final = 2.0
WATCH_ANSWER_S: Final = 3.0


class Watch:
    """One watch stream, from arming to its end."""

    def __init__(self, keys: KeySpace, connection: EtcdConnection, prefixes: Sequence[MetaPath]) -> None:
        self._keys = keys
        self._connection = connection
        self._prefixes = tuple(prefixes)
        self._messages = load().messages
        self._reading: asyncio.Task[Dynamic] | None = None

    async def signals(self) -> AsyncGenerator[WatchSignal, None]:
        """Arm, then report until the stream ends.

        Raises:
            StoreUnavailable: The stream ended, was cancelled by the server, or fell silent.
            AccessDenied: The user may not read a prefix.
        """
        loop = asyncio.get_running_loop()
        revision = await self._newest_revision()
        stream = self._connection.stream("Watch.Watch")
        try:
            early: list[MetaPath] = []
            await self._arm(stream, revision, early)
            yield Armed()
            if early:
                yield Changed(tuple(dict.fromkeys(early)))
            next_beat = loop.time()
            asked_at: float | None = None
            while True:
                if asked_at is None and loop.time() >= next_beat:
                    progress = self._messages["WatchRequest"](progress_request=self._messages["WatchProgressRequest"]())
                    await self._within(stream.write(progress))
                    asked_at = loop.time()
                if asked_at is None:
                    response = await self._next(stream, next_beat - loop.time())
                else:
                    response = await self._answer(stream, asked_at + WATCH_ANSWER_S - loop.time())
                if response is None:
                    if asked_at is not None:
                        raise StoreUnavailable(
                            f"etcd at {self._connection.endpoint}: the watch did not answer in {WATCH_ANSWER_S} s"
                        )
                    continue
                self._check_alive(response)
                if response.events:
                    if paths := self._paths(response):
                        yield Changed(paths)
                else:
                    asked_at, next_beat = None, loop.time() + BEAT_S
                    yield Beat()
                if asked_at is not None:
                    asked_at = loop.time()  # the server lives; the time that our reader took is not its fault
        finally:
            await self._end(stream)

    async def _end(self, stream: grpc.aio.StreamStreamCall[Message, Dynamic]) -> None:
        await self._connection.end(stream)
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.wait({reading}, timeout=SETTLE_S)
            if reading.done() and not reading.cancelled():
                reading.exception()

    async def _newest_revision(self) -> int:
        """The store's revision now, read linearizably; this also renews a login that ran out."""
        newest = 0
        for prefix in self._prefixes:
            request = self._messages["RangeRequest"](key=self._keys.key(prefix), keys_only=True)
            answer = await self._connection.call("KV.Range", request, repeatable=True)
            newest = newest or answer.header.revision
        return newest

    async def _arm(
        self, stream: grpc.aio.StreamStreamCall[Message, Dynamic], revision: int, early: list[MetaPath]
    ) -> None:
        """Create one watcher per prefix from the next revision on, and wait until etcd has them all."""
        for prefix in self._prefixes:
            key, end = self._keys.range(prefix)
            create = self._messages["WatchCreateRequest"](
                key=key, range_end=end, start_revision=revision + 1, fragment=True
            )
            await self._within(stream.write(self._messages["WatchRequest"](create_request=create)))
        missing = len(self._prefixes)
        while missing:
            response = await self._answer(stream, WATCH_ANSWER_S)
            if response is None:
                raise StoreUnavailable(
                    f"etcd at {self._connection.endpoint}: the watch was not created in {WATCH_ANSWER_S} s"
                )
            self._check_alive(response)
            if response.created:
                missing -= 1
            early.extend(self._paths(response))

    async def _answer(self, stream: grpc.aio.StreamStreamCall[Message, Dynamic], timeout_s: float) -> Dynamic | None:
        """Return the next response, or ``None`` when it is overdue; as ``_next``, which ends a mere pause."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(stream.read())
        with contextlib.suppress(TimeoutError):
            async with answered_within(max(timeout_s, 0)):
                await asyncio.wait({self._reading})
        return await self._next(stream, 0)

    async def _next(self, stream: grpc.aio.StreamStreamCall[Message, Dynamic], timeout_s: float) -> Dynamic | None:
        """The next response, or ``None`` when there is none in time; a read under way is kept for the next call."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(stream.read())
        await asyncio.wait({self._reading}, timeout=max(timeout_s, 0))
        if not self._reading.done():
            return None
        reading, self._reading = self._reading, None
        if reading.cancelled():
            raise StoreUnavailable("the watch was closed")
        try:
            response = reading.result()
        except grpc.aio.AioRpcError as exc:
            raise translated(exc, self._connection.endpoint) from exc
        if response is grpc.aio.EOF:
            raise StoreUnavailable(f"etcd at {self._connection.endpoint} ended the watch")
        return response

    async def _within(self, write: Awaitable[None]) -> None:
        try:
            async with answered_within(WATCH_ANSWER_S):  # wait_for of Python 3.11 may swallow a cancellation
                await write
        except TimeoutError as exc:
            raise StoreUnavailable(f"etcd at {self._connection.endpoint} takes no request on the watch") from exc
        except grpc.aio.AioRpcError as exc:
            raise translated(exc, self._connection.endpoint) from exc
        except (asyncio.InvalidStateError, grpc.aio.UsageError) as exc:
            raise StoreUnavailable("the watch was closed") from exc

    def _check_alive(self, response: Dynamic) -> None:
        if not response.canceled:
            return
        reason = response.cancel_reason or "no reason given"
        if response.compact_revision:
            reason = f"history up to revision {response.compact_revision} was compacted away"
        if "permission denied" in reason:
            raise AccessDenied(f"etcd at {self._connection.endpoint} refused the watch: {reason}")
        raise StoreUnavailable(f"etcd at {self._connection.endpoint} cancelled the watch: {reason}")

    def _paths(self, response: Dynamic) -> tuple[MetaPath, ...]:
        found: dict[MetaPath, None] = {}
        for event in response.events:
            path = self._keys.path(event.kv.key)
            if path is not None and any(covers(prefix, path) for prefix in self._prefixes):
                found[path] = None
        return tuple(found)
