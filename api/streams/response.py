"""The answer that is a stream: frames as they come, heartbeats between them, and an end with a code.

    a place ──▶ a follower of the hub ──▶ [frames │ heartbeat]… ──▶ event 'end': too slow, no rights, daemon stops, …

Nothing waits for a client: what it does not take within its time is not written, and it is told so behind what it has
not read. Rights are looked at again and again: a stream outlives its token by a few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import anyio
import structlog
from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from api.connections import CONNECTION, Bounded
from api.conventions import HEAD_ONLY
from api.problems import of_error
from api.streams import framing
from api.streams.hub import Follower, Hub, HubRun
from api.streams.places import Streams
from syncer.errors import DaemonStopping, StreamTooSlow, SyncerError

log = structlog.get_logger()

HEADERS: Final = {"Connection": "close", "X-Accel-Buffering": "no"}
"""A connection serves one stream; no proxy keeps events back."""


class EventStream(Response):
    """A stream.

    Args:
        hub: Of the stream.
        streams: Places.
        client: Who follows it: the same text for all streams of one.
        last_event_id: What the client has been told last; empty: it begins now.
        recheck: Raises an AccessError once the client may not follow it any more.
    """

    media_type = "text/event-stream"

    def __init__(
        self, hub: Hub, streams: Streams, *, client: str, last_event_id: str, recheck: Callable[[], None]
    ) -> None:
        super().__init__(headers=HEADERS)
        self._hub = hub
        self._streams = streams
        self._client = client
        self._last_event_id = last_event_id
        self._recheck = recheck
        self._connection: Bounded | None = None
        self._run: HubRun | None = None
        self._writing: anyio.CancelScope | None = None
        self._told_at = self._checked_at = time.monotonic()
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        state = scope.get("state", {})
        self._connection = state.get(CONNECTION)
        try:
            with self._streams.place(self._hub.name, self._client, self._stop):
                async with self._hub.joined() as self._run:
                    follower = await self._hub.follow(self._last_event_id)
                    await self._answer(follower, receive, send, only_head=bool(state.get(HEAD_ONLY)))
        except SyncerError as exc:  # before anything was said
            await of_error(Request(scope), exc)(scope, receive, send)

    async def _answer(self, follower: Follower, receive: Receive, send: Send, *, only_head: bool) -> None:
        headers = [each for each in self.raw_headers if each[0] != b"content-length"]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        if only_head:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        if self._connection is not None:
            self._connection.begin_stream()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._until_gone, receive, tasks.cancel_scope)
            try:
                await self._follow(follower, send)
            except SyncerError as exc:
                await self._end(exc, send)
            tasks.cancel_scope.cancel()

    async def _until_gone(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async def _follow(self, follower: Follower, send: Send) -> None:
        """Tell what there is to tell.

        Raises:
            SyncerError: The cause of the end of it.
        """
        pace = self._hub.pace
        await self._write(framing.opening(follower.number), send)
        while True:
            news = self._hub.news()
            self._check()
            if frames := await follower.take():
                await self._write(frames, send)
                continue
            if time.monotonic() - self._told_at >= pace.heartbeat_s:
                await self._write(framing.HEARTBEAT, send)
            due = min(self._told_at + pace.heartbeat_s, self._checked_at + pace.recheck_s)
            with anyio.move_on_after(max(due - time.monotonic(), 0)):
                await news.wait()

    def _check(self) -> None:
        """Find out whether it may go on."""
        if self._stopping:
            raise DaemonStopping("the daemon stops")
        if self._run is not None and self._run.trouble is not None:
            raise self._run.trouble
        now = time.monotonic()
        if now - self._checked_at >= self._hub.pace.recheck_s:
            self._recheck()
            self._checked_at = now

    async def _write(self, frames: bytes, send: Send) -> None:
        """Write, unless the client has not read on in time.

        Raises:
            StreamTooSlow: It has not.
            DaemonStopping: The daemon stops.
        """
        with anyio.move_on_after(self._hub.pace.write_s) as self._writing:
            await send({"type": "http.response.body", "body": frames, "more_body": True})
        late, self._writing = self._writing.cancelled_caught, None
        self._told_at = time.monotonic()
        if self._stopping:
            raise DaemonStopping("the daemon stops")
        if late:
            raise StreamTooSlow(f"the client has not read on within {self._hub.pace.write_s:g} s")

    def _stop(self) -> None:
        """Have it end at once: the daemon stops."""
        self._stopping = True
        if self._writing is not None:
            self._writing.cancel()
        self._hub.notify()

    async def _end(self, cause: SyncerError, send: Send) -> None:
        """Say why it ends. Nobody waits for the client to read it."""
        self._streams.ended[cause.code] += 1
        log.info("stream_ended", stream=self._hub.name, client=self._client, code=cause.code, cause=cause.message)
        said: dict[str, Any] = {"code": cause.code, "detail": cause.message, "hint": cause.hint}
        last = framing.event("end", said)
        if self._connection is not None:
            self._connection.end_stream(last, at_once=self._stopping and self._connection.unread)
        else:
            await send({"type": "http.response.body", "body": last, "more_body": False})
