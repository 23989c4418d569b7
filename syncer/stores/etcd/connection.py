"""A connection to a cluster of etcd servers: logs in, goes on to the next server, translates errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import grpc
import grpc.aio
from google.protobuf.message import Message

from syncer.connecting.causes import ENDED, NO_TLS, UNTRUSTED
from syncer.errors import AccessDenied, StoreError, StoreUnavailable, ValueRefused
from syncer.stores.etcd.wire import Dynamic, load
from syncer.waiting.deadline import answered_within, longest_s

RETRY_PAUSE_S: Final = 0.05
END_S: Final = 1.0
SETTLE_S: Final = 0.2
_GRPC_TASK: Final = "_handle_status_once_received"

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""Largest answer that is taken; a larger one is asked for in smaller parts, so it bounds the memory of one call."""

_CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 10_000),  # the server drops clients that ask more often than every 5 s
    ("grpc.keepalive_timeout_ms", 5_000),
)


_TLS_REFUSED: Final = re.compile("handshake failed|verification check failed", re.IGNORECASE)
_CAUSES: Final = (
    (re.compile(r"CERTIFICATE_VERIFY_FAILED: (.+?)(?:: OK|: Invalid certificate.*)?$"), f"{UNTRUSTED}: {{0}}"),
    (re.compile("Hostname Verification Check failed"), f"{UNTRUSTED}: it is of another name"),
    (re.compile("WRONG_VERSION_NUMBER"), NO_TLS),
    (re.compile("Failed parsing HTTP/2"), "the server is no etcd: it does not speak HTTP/2 on this port"),
    (re.compile("Socket closed|Handshake read failed.*reset|Unwrap failed"), ENDED),
    (re.compile("timed out before receiving SETTINGS|Handshake read failed"), "no answer in time"),
    (re.compile("Domain name not found|name resolution"), "the host is unknown"),
    (re.compile(r"Failed to connect to remote host: (?:connect: )?([^(]+?)(?: \(\d+\))?$"), "{0}"),
)
"""grpc tells each of them after the story of how it came to be."""


class AnswerTooLarge(StoreError):
    """The answer is larger than ``MAX_MESSAGE_BYTES``; ask for less at a time."""


class RevisionCompacted(StoreError):
    """The revision that was asked for is no longer kept; read anew, at a later one."""

    retryable = True


class _TokenStale(StoreError):
    """The login is no longer valid; nothing was done."""


class EtcdConnection:
    """Calls to a cluster of etcd servers, one channel per server, one in use at a time.

    Belongs to the event loop in which ``open`` ran.

    Args:
        endpoints: ``host:port`` of each server; the next one is taken when one is unavailable.
        credentials: Makes the TLS credentials (reads their files), or ``None`` for plain connections.
        login: Reads user and password, or ``None`` without authentication.
        timeout_s: Deadline of one call, its repeats included.
    """

    def __init__(
        self,
        *,
        endpoints: Sequence[str],
        credentials: Callable[[], grpc.ChannelCredentials] | None,
        login: Callable[[], tuple[str, str]] | None,
        timeout_s: float,
    ) -> None:
        self._endpoints = tuple(endpoints)
        self._credentials = credentials
        self._login = login
        self._timeout_s = timeout_s
        self._channels: list[grpc.aio.Channel] = []
        self._calls: list[dict[str, grpc.aio.UnaryUnaryMultiCallable[Message, Dynamic]]] = []
        self._current = 0
        self._metadata: tuple[tuple[str, str], ...] = ()
        self._login_lock = asyncio.Lock()
        self._closed = False
        self._under_way: set[asyncio.Task[Dynamic]] = set()
        self._streams: dict[grpc.aio.StreamStreamCall[Message, Dynamic], set[asyncio.Task[Dynamic]]] = {}

    @property
    def endpoint(self) -> str:
        """The server in use."""
        return self._endpoints[self._current]

    async def open(self) -> None:
        """Make the channels and log in."""
        credentials = self._credentials() if self._credentials else None
        for endpoint in self._endpoints:
            if credentials is None:
                self._channels.append(grpc.aio.insecure_channel(endpoint, options=_CHANNEL_OPTIONS))
            else:
                self._channels.append(grpc.aio.secure_channel(endpoint, credentials, options=_CHANNEL_OPTIONS))
            self._calls.append({})
        await self._authenticate(stale=self._metadata)

    async def close(self) -> None:
        """End streams in order, wait shortly for calls under way, close the channels."""
        self._closed = True
        channels, self._channels = self._channels, []
        for stream in list(self._streams):
            await self.end(stream)
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=END_S)
        for channel in channels:
            await channel.close()

    async def call(self, method: str, request: Message, *, repeatable: bool) -> Dynamic:
        """Make one call; its answer.

        Args:
            method: ``Service.Method``.
            request: The message.
            repeatable: Reads may be sent again, to the next server, when the first one is unavailable.

        Raises:
            StoreUnavailable: No answer in time. A call that is not repeatable may have been carried out.
            AccessDenied: The credentials do not allow it.
            ValueRefused: The request is larger than the server takes.
            AnswerTooLarge: Ask for less.
            StoreError: The server refused it for another reason.
        """
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        attempts = len(self._endpoints) + 1 if repeatable else 1
        logged_in = False
        while True:
            used, metadata = self._current, self._metadata
            try:
                return await self._send(method, request, deadline)
            except _TokenStale as exc:
                if logged_in or self._login is None:
                    raise AccessDenied(exc.message) from exc
                logged_in = True
                await self._authenticate(stale=metadata)
            except StoreUnavailable:
                if self._current == used:
                    self._current = (used + 1) % len(self._endpoints)
                attempts -= 1
                if attempts == 0 or asyncio.get_running_loop().time() + RETRY_PAUSE_S >= deadline or self._closed:
                    raise
                await asyncio.sleep(RETRY_PAUSE_S)

    def stream(self, method: str) -> grpc.aio.StreamStreamCall[Message, Dynamic]:
        """Open a two-way stream to the server in use."""
        if not self._channels:
            raise StoreUnavailable("the etcd store is not open")
        definition = load().methods[method]
        open_stream = self._channels[self._current].stream_stream(
            definition.path,
            request_serializer=definition.request.SerializeToString,
            response_deserializer=definition.response.FromString,
        )
        older = asyncio.all_tasks()
        stream = open_stream(metadata=self._metadata, wait_for_ready=False)
        self._streams[stream] = older
        return stream

    async def end(self, stream: grpc.aio.StreamStreamCall[Message, Dynamic]) -> None:
        """Cancel a stream and let grpc hear of its end, so that no news of it reaches a closed event loop.

        grpc's own task for that cannot be asked for; it is found by its name among those younger than the stream.
        """
        older = self._streams.pop(stream, None)
        stream.cancel()
        if older is not None:
            younger = {
                task
                for task in asyncio.all_tasks() - older
                if _GRPC_TASK in getattr(task.get_coro(), "__qualname__", "")
            }
            if younger:
                await asyncio.wait(younger, timeout=SETTLE_S)

    def advance(self) -> None:
        """Take the next server from now on."""
        self._current = (self._current + 1) % len(self._endpoints)

    async def _send(self, method: str, request: Message, deadline: float) -> Dynamic:
        if not self._channels:
            raise StoreUnavailable("the etcd store is not open")
        used = self._current
        call = self._calls[used].get(method)
        if call is None:
            definition = load().methods[method]
            call = self._calls[used][method] = self._channels[used].unary_unary(
                definition.path,
                request_serializer=definition.request.SerializeToString,
                response_deserializer=definition.response.FromString,
            )
        timeout_s = max(deadline - asyncio.get_running_loop().time(), 0.001)
        try:
            longest = call(request, timeout=longest_s(timeout_s), metadata=self._metadata)
            async with answered_within(timeout_s):  # grpc's own timer would end a call whose answer is in its socket
                return await self._uninterrupted(longest)
        except TimeoutError as exc:
            raise StoreUnavailable(f"etcd at {self._endpoints[used]}: no answer within {self._timeout_s:g} s") from exc
        except grpc.aio.AioRpcError as exc:
            raise translated(exc, self._endpoints[used]) from exc
        except grpc.aio.UsageError as exc:
            raise StoreUnavailable("the etcd store was closed during the call") from exc
        except asyncio.CancelledError as exc:
            task = asyncio.current_task()
            if self._closed and (task is None or not task.cancelling()):
                raise StoreUnavailable("the etcd store was closed during the call") from exc
            raise

    async def _uninterrupted(self, call: Awaitable[Dynamic]) -> Dynamic:
        """Await a call that ends by itself, at its deadline at the latest, also when the waiting task is cancelled.

        For grpc tells of a cancelled call's end at any later time, even to an event loop that is closed by then.
        """
        task = asyncio.ensure_future(_awaited(call))
        self._under_way.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Dynamic]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # seen, also when nobody waits any more

    async def _authenticate(self, *, stale: tuple[tuple[str, str], ...]) -> None:
        """Log in, unless somebody else has replaced the stale login meanwhile."""
        if self._login is None:
            return
        async with self._login_lock:
            if self._metadata != stale:
                return
            self._metadata = ()
            user, password = self._login()
            request = load().messages["AuthenticateRequest"](name=user, password=password)
            for attempt in range(len(self._endpoints) + 1):
                try:
                    answer = await self._send(
                        "Auth.Authenticate", request, asyncio.get_running_loop().time() + self._timeout_s
                    )
                except StoreUnavailable:
                    if attempt == len(self._endpoints):
                        raise
                    self.advance()
                    await asyncio.sleep(RETRY_PAUSE_S)
                except _AuthDisabled:
                    return
                else:
                    self._metadata = (("token", answer.token),)
                    return


async def _awaited(call: Awaitable[Dynamic]) -> Dynamic:
    return await call


class _AuthDisabled(StoreError):
    """The server asks nobody for a login."""


def in_words(details: str) -> str:
    """What grpc tells of an error, in words where it is that of a connection."""
    for pattern, words in _CAUSES:
        if found := pattern.search(details):
            told = words.format(*found.groups())
            return told[:1].lower() + told[1:]
    return details


def translated(exc: grpc.aio.AioRpcError, endpoint: str) -> StoreError:
    """The product's error for one of grpc's.

    Source: etcd 3.5, api/v3rpc/rpctypes/error.go.
    """
    code, details = exc.code(), exc.details() or ""
    where = f"etcd at {endpoint}: {in_words(details) or code.name.lower().replace('_', ' ')}"
    match code:
        case grpc.StatusCode.UNAUTHENTICATED:
            return _TokenStale(where)
        case grpc.StatusCode.PERMISSION_DENIED:
            return AccessDenied(where)
        case grpc.StatusCode.INVALID_ARGUMENT if "auth store is old" in details:
            return _TokenStale(where)
        case grpc.StatusCode.INVALID_ARGUMENT if "user name" in details or "authentication failed" in details:
            return AccessDenied(where)
        case grpc.StatusCode.INVALID_ARGUMENT if "request is too large" in details:
            return ValueRefused(where)
        case grpc.StatusCode.OUT_OF_RANGE if "compacted" in details:
            return RevisionCompacted(where)
        case grpc.StatusCode.INVALID_ARGUMENT | grpc.StatusCode.UNIMPLEMENTED | grpc.StatusCode.OUT_OF_RANGE:
            return StoreError(where)
        case grpc.StatusCode.FAILED_PRECONDITION if "authentication is not enabled" in details:
            return _AuthDisabled(where)
        case grpc.StatusCode.RESOURCE_EXHAUSTED if "larger than max" in details:
            return AnswerTooLarge(where)
        case grpc.StatusCode.RESOURCE_EXHAUSTED if "space exceeded" in details:
            hint = "The server's quota is used up: compact, defragment and disarm the alarm (etcdctl alarm disarm)."
            return StoreUnavailable(where, hint=hint)
        case grpc.StatusCode.UNAVAILABLE if _TLS_REFUSED.search(details):
            return AccessDenied(
                where, hint="The TLS handshake failed: check the 'tls' files and the server's certificate."
            )
        case _:
            return StoreUnavailable(where)
