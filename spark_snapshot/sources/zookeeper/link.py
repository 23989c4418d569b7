"""A ZooKeeper session for a program without an event loop: many requests on their way, answers one by one.

The answers are taken from the socket by the session's own thread and parsed by the caller's, and the paths of watched
changes are noted before any answer that came after them is handed out.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState, KeeperState

from syncer.errors import AccessDenied, StoreUnavailable
from syncer.stores.zookeeper.config import ZooKeeperConfig, client_of
from syncer.stores.zookeeper.requests import AddRecursiveWatch, MultiRead, Request, Sync
from syncer.stores.zookeeper.session import translated

MAX_NOTED: Final = 1_000_000
"""Changed paths that are kept in mind; a store that changes more during a read is not read."""


class RawMultiRead(MultiRead):
    """Reads many paths; the answer is left as it came, see :meth:`Link.take`."""

    __slots__ = ()

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> Any:  # noqa: ANN401 - as it came
        """Leave the answer to whoever takes it."""
        return data, offset


class Link:
    """A session, open from ``with`` to its end. Requests carry a token of the caller's, which comes with the answer.

    Args:
        config: Where the servers are, and how they are spoken to.
    """

    def __init__(self, config: ZooKeeperConfig) -> None:
        self.where = config.hosts + config.chroot
        self._config = config
        self._timeout_s = config.request_timeout.total_seconds()
        self._client = client_of(config, self._note)
        self._changed = threading.Event()
        self._answers: queue.SimpleQueue[tuple[object, Any, BaseException | None]] = queue.SimpleQueue()
        self._noted: dict[str, None] = {}
        self._lock = threading.Lock()
        self._lost = False

    def __enter__(self) -> Self:
        self._client.add_listener(self._state_changed)
        self._client.start_async()
        try:
            self._wait_connected()
        except BaseException:
            self._client.shut_down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client.shut_down()

    @property
    def zxid(self) -> int:
        """The last transaction that the server had processed when it gave its latest answer."""
        return self._client.last_zxid

    def send(self, token: object, request: Request) -> None:
        """Send a request; its answer comes by :meth:`take`."""
        self._client.submit(request, _Answer(self._answers, token))

    def take(self) -> tuple[object, Any]:
        """The next answer: its token and what it is (of a :class:`RawMultiRead`: bytes, and where the answer begins).

        Raises:
            StoreUnavailable: The connection was lost, or no answer came in time.
            AccessDenied: The server refuses the credentials.
            StoreError: The server answered with another error.
        """
        try:
            token, value, error = self._answers.get(timeout=self._timeout_s)
        except queue.Empty as exc:
            raise StoreUnavailable(f"ZooKeeper {self.where} did not answer within {self._timeout_s:g} s") from exc
        if error is None:
            return token, value
        if isinstance(error, KazooException):
            raise translated(error, self.where) from error
        raise StoreUnavailable(f"ZooKeeper {self.where} gave an answer that cannot be understood: {error!r}") from error

    def ask(self, request: Request) -> Any:  # noqa: ANN401 - each request has its own answer
        """Send a request and wait for its answer; nothing else may be on its way."""
        self.send(None, request)
        return self.take()[1]

    def watch(self, prefixes: Sequence[str]) -> None:
        """Note changes at and below these paths from now on; what was written before this call is seen by reads."""
        for prefix in prefixes:
            self.ask(AddRecursiveWatch(prefix))
        self.ask(Sync(prefixes[0] if prefixes else "/"))

    def noted(self) -> list[str]:
        """Paths that changed since the last call; all that changed before the latest answer was given are among them.

        Raises:
            StoreUnavailable: The session was interrupted: some may be missing.
        """
        with self._lock:
            noted, self._noted = list(self._noted), {}
            if self._lost:
                raise StoreUnavailable(f"the connection to ZooKeeper {self.where} was lost while it was read")
            if len(noted) > MAX_NOTED:
                raise StoreUnavailable(
                    f"ZooKeeper {self.where} changed at more than {MAX_NOTED} paths while it was read",
                    hint="Read it at a calmer time, or fewer tenants at once.",
                )
        return noted

    def _wait_connected(self) -> None:
        deadline = time.monotonic() + self._config.connect_timeout.total_seconds()
        while True:
            state = self._client.client_state
            if state == KeeperState.CONNECTED:
                return
            if state == KeeperState.AUTH_FAILED:
                raise AccessDenied(f"ZooKeeper {self.where} refused the credentials")
            if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                break
            self._changed.clear()
        if self._client.client_state == KeeperState.CONNECTED_RO or self._client.read_only_refusal:
            raise AccessDenied(f"ZooKeeper {self.where} is read-only: it has lost its quorum")
        cause = f": {self._client.last_failure}" if self._client.last_failure else ""
        raise StoreUnavailable(f"no connection to ZooKeeper {self.where}{cause}")

    # In the session's thread:

    def _note(self, events: list[tuple[str, int]]) -> None:
        with self._lock:
            if len(self._noted) <= MAX_NOTED:
                self._noted.update(dict.fromkeys(path for path, _ in events))

    def _state_changed(self, state: str) -> None:
        if state != KazooState.CONNECTED:
            with self._lock:
                self._lost = True
        self._changed.set()


class _Answer:
    """Where kazoo puts the answer of one request."""

    __slots__ = ("_answers", "_token")

    def __init__(self, answers: queue.SimpleQueue[tuple[object, Any, BaseException | None]], token: object) -> None:
        self._answers = answers
        self._token = token

    def set(self, value: object = None) -> None:
        """Take the answer."""
        self._answers.put((self._token, value, None))

    def set_exception(self, exception: BaseException) -> None:
        """Take the error."""
        self._answers.put((self._token, None, exception))
