"""One ZooKeeper session seen from the event loop: requests in order, notices of changes, the state of the connection.

kazoo runs in threads of its own. What crosses over does so once per batch, never per request or event: the answers of
requests sent together wake the loop once, and so do all events that come before the loop has looked.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final

import structlog
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionDropped,
    ConnectionLoss,
    InvalidACLError,
    KazooException,
    NoAuthError,
    NotReadOnlyCallError,
    OperationTimeoutError,
    SessionExpiredError,
)
from kazoo.protocol.states import KazooState, KeeperState

from syncer.errors import AccessDenied, StoreError, StoreUnavailable
from syncer.stores.zookeeper.requests import AddRecursiveWatch, RemoveWatches, Request, Sync
from syncer.stores.zookeeper.wire import Client, Told
from syncer.waiting.deadline import answered_within

_LOST: Final = (ConnectionLoss, ConnectionClosedError, ConnectionDropped, SessionExpiredError, OperationTimeoutError)
_DENIED: Final = (AuthFailedError, InvalidACLError, NoAuthError, NotReadOnlyCallError)

SEVERAL: Final = 0
"""In place of a transaction's number: there were several, or the server does not say which."""

log: Final = structlog.get_logger(__name__)


class Session:
    """A session that is made again for ever when it is lost.

    Args:
        connect: Makes the client, given what to call with events.
        where: The servers, for messages.
        request_timeout_s: Deadline of every request, waiting for a connection included.
    """

    def __init__(self, connect: Callable[[Told], Client], *, where: str, request_timeout_s: float) -> None:
        self._connect = connect
        self._where = where
        self._timeout_s = request_timeout_s
        self._client: Client | None = None
        self._trouble = ""
        self.closed = False
        self._connected = asyncio.Event()
        self._watched: Counter[str] = Counter()
        self._notices: tuple[Notices, ...] = ()

    @property
    def trouble(self) -> str:
        """Why there is no connection, by server; empty while there is one, or nothing is known."""
        client = self._client
        return client.last_failure if client is not None else self._trouble

    async def open(self, *, timeout_s: float) -> None:
        """Connect.

        Raises:
            StoreUnavailable: No connection in time.
            AccessDenied: The credentials are refused, or there is only a read-only server.
        """
        self._loop = asyncio.get_running_loop()
        client = self._client = self._connect(self._events)
        client.add_listener(self._state_changed)
        client.start_async()
        try:
            await self._wait_connected(timeout_s)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session and its threads. Safe to call twice."""
        client = self._client
        self._trouble = client.last_failure if client is not None else self._trouble
        self._client = None
        self.closed = True
        for notices in self._notices:
            notices.break_off("the store was closed")
        if client is not None:
            await asyncio.shield(asyncio.to_thread(client.shut_down))

    async def ask(self, *requests: Request) -> list[Any]:
        """Send requests in order and return their answers.

        Raises:
            StoreUnavailable: No connection, or no answer in time; what the requests did is unknown.
            AccessDenied: The server refused one of them.
            StoreError: The server answered with another error.
        """
        client = self._open_client()
        sent = False
        try:
            async with answered_within(self._timeout_s):
                await self._connected.wait()
                self._check_allowed(client)
                answers = _Answers(self._loop, len(requests))
                for index, request in enumerate(requests):
                    client.submit(request, _Answer(answers, index))
                sent = True
                return await answers.future
        except TimeoutError as exc:
            if not sent:
                raise self._unconnected(client) from exc
            raise StoreUnavailable(f"ZooKeeper {self._where} did not answer within {self._timeout_s:g} s") from exc
        except KazooException as exc:
            raise translated(exc, self._where) from exc

    async def arm(self, notices: Notices) -> None:
        """Watch the prefixes of ``notices``, from before its next event to the end of the connection."""
        await self._wait_connected(self._timeout_s)
        notices.forget()  # not before: the end of the former session is told while this one is waited for
        await self.ask(*(AddRecursiveWatch(prefix) for prefix in notices.prefixes), Sync(notices.prefixes[0]))

    def attach(self, notices: Notices) -> None:
        """Hand events to ``notices`` from now on."""
        self._notices = (*self._notices, notices)
        self._watched.update(notices.prefixes)

    def detach(self, notices: Notices) -> None:
        """Hand no more events to ``notices``; end the watches that nobody else needs, without waiting for it."""
        self._notices = tuple(each for each in self._notices if each is not notices)
        self._watched.subtract(notices.prefixes)
        client = self._client
        for prefix in notices.prefixes:
            if self._watched[prefix] <= 0:
                del self._watched[prefix]
                if client is not None and client.connected:
                    client.submit(RemoveWatches(prefix), _Unheard())

    async def _wait_connected(self, within_s: float) -> None:
        client = self._open_client()
        try:
            async with answered_within(within_s):
                await self._connected.wait()
        except TimeoutError as exc:
            raise self._unconnected(client) from exc
        self._check_allowed(client)

    def _open_client(self) -> Client:
        client = self._client
        if client is None:
            raise StoreUnavailable(f"ZooKeeper {self._where} is not open")
        self._check_allowed(client)
        return client

    def _check_allowed(self, client: Client) -> None:
        if client.client_state == KeeperState.AUTH_FAILED:
            raise AccessDenied(f"ZooKeeper {self._where} refused the credentials")

    def _unconnected(self, client: Client) -> StoreError:
        """Return the error of a connection that did not come in time."""
        if client.client_state == KeeperState.CONNECTED_RO or client.read_only_refusal:
            return AccessDenied(f"ZooKeeper {self._where} is read-only: it has lost its quorum")
        cause = f": {client.last_failure}" if client.last_failure else ""
        return StoreUnavailable(f"no connection to ZooKeeper {self._where}{cause}")

    # In the connection's thread:

    def _events(self, events: list[tuple[str, int]]) -> None:
        for notices in self._notices:
            notices.add(events)

    def _state_changed(self, state: str) -> None:
        client = self._client
        keeper_state = client.client_state if client is not None else KeeperState.CLOSED
        if state != KazooState.CONNECTED:
            for notices in self._notices:
                notices.break_off("session lost" if state == KazooState.LOST else "connection lost")
        _hop(self._loop, self._on_state, keeper_state)

    # In the event loop:

    def _on_state(self, keeper_state: str) -> None:
        if keeper_state in {KeeperState.CONNECTED, KeeperState.AUTH_FAILED}:
            self._connected.set()  # who waits looks at the client's state
        else:
            self._connected.clear()
        if self._client is not None:
            log.info("store_connection_changed", store="zookeeper", hosts=self._where, state=keeper_state.lower())


def translated(exc: KazooException, where: str) -> StoreError:
    """The product's error for one of kazoo's; ``where``: the servers."""
    if isinstance(exc, NotReadOnlyCallError):
        return AccessDenied(f"ZooKeeper {where} is read-only")
    if isinstance(exc, _DENIED):
        return AccessDenied(f"ZooKeeper {where} does not allow it: {type(exc).__name__}")
    if isinstance(exc, _LOST):
        return StoreUnavailable(f"the connection to ZooKeeper {where} was lost: {type(exc).__name__}")
    return StoreError(f"ZooKeeper {where} answered {type(exc).__name__}")


class Notices:
    """Paths that changed since they were last taken. Filled by the connection's thread, emptied by the event loop.

    Args:
        loop: The event loop.
        prefixes: Paths at and below which changes count.
        capacity: How many paths may wait; one more, and all are dropped for a gap.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, prefixes: Sequence[str], *, capacity: int) -> None:
        self.prefixes = tuple(prefixes)
        self._exact = frozenset(prefixes)
        self._below = tuple("/" if prefix == "/" else f"{prefix}/" for prefix in prefixes)
        self._capacity = capacity
        self._loop = loop
        self._lock = threading.Lock()
        self._paths: dict[str, int] = {}
        """Each with the number of the transaction that changed it; ``SEVERAL`` where it was not one alone."""
        self._gap: str | None = None
        self._woken = False
        self._wake = asyncio.Event()

    def add(self, events: list[tuple[str, int]]) -> None:
        """Note changes; called in the connection's thread."""
        mine = [event for event in events if event[0] in self._exact or event[0].startswith(self._below)]
        if not mine:
            return
        with self._lock:
            if self._gap is not None:
                return
            for path, number in mine:
                self._paths[path] = number if self._paths.get(path, number) == number else SEVERAL
            if len(self._paths) > self._capacity:
                self._gap = f"more than {self._capacity} changed paths were waiting"
                self._paths.clear()
            self._wake_up()

    def break_off(self, reason: str) -> None:
        """Note that changes may be missed from now on; may be called in any thread."""
        with self._lock:
            self._gap = self._gap or reason
            self._paths.clear()
            self._wake_up()

    def forget(self) -> None:
        """Begin anew, before the watch is armed again."""
        with self._lock:
            self._paths.clear()
            self._gap = None
            self._woken = False
            self._wake.clear()

    def take(self, limit: int) -> tuple[tuple[tuple[str, int], ...], str | None]:
        """The oldest paths with their numbers, at most ``limit``, and the reason of a gap, if there is one."""
        with self._lock:
            if len(self._paths) <= limit:
                taken = tuple(self._paths.items())
                self._paths.clear()
            else:
                taken = tuple(islice(self._paths.items(), limit))
                for path, _ in taken:
                    del self._paths[path]
            if not self._paths and self._gap is None:
                self._woken = False
                self._wake.clear()
            return taken, self._gap

    async def wait(self, timeout_s: float) -> None:
        """Wait for a change or a gap, at most ``timeout_s`` seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        except TimeoutError:
            return

    def _wake_up(self) -> None:
        if not self._woken:
            self._woken = True
            _hop(self._loop, self._on_wake)

    def _on_wake(self) -> None:
        with self._lock:
            if self._woken:  # what it was for may have been taken meanwhile
                self._wake.set()


class _Answers:
    """Collects the answers of requests sent together and wakes the loop when the last has come."""

    __slots__ = ("_error", "_left", "_lock", "_loop", "_values", "future")

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        self.future: asyncio.Future[list[Any]] = loop.create_future()
        self._loop = loop
        self._lock = threading.Lock()
        self._left = set(range(count))
        self._values: list[Any] = [None] * count
        self._error: BaseException | None = None

    def put(self, index: int, value: object, error: BaseException | None) -> None:
        """Note one answer; the first error counts, and of two answers to one request the first."""
        with self._lock:
            if index not in self._left:
                return
            self._left.remove(index)
            self._values[index] = value
            self._error = self._error or error
            if self._left:
                return
        _hop(self._loop, self._finish)

    def _finish(self) -> None:
        if self.future.done():  # nobody waits any more
            return
        if self._error is not None:
            self.future.set_exception(self._error)
        else:
            self.future.set_result(self._values)


class _Answer:
    """Where kazoo puts the answer of one request."""

    __slots__ = ("_answers", "_index")

    def __init__(self, answers: _Answers, index: int) -> None:
        self._answers = answers
        self._index = index

    def set(self, value: object = None) -> None:
        """Take the answer."""
        self._answers.put(self._index, value, None)

    def set_exception(self, exception: BaseException) -> None:
        """Take the error."""
        self._answers.put(self._index, None, exception)


class _Unheard:
    """Takes an answer that nobody waits for."""

    __slots__ = ()

    def set(self, value: object = None) -> None:
        """Drop the answer."""

    def set_exception(self, exception: BaseException) -> None:
        """Drop the error."""


def _hop(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: object) -> None:
    """Run ``function`` in the loop; a loop that has ended needs it no more."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        return
