"""Following of what a daemon tells as it changes: server-sent events, resumed by their ids over every break.

    for told in Following(server, "operations"):
        print(told.kind, told.data)

It blocks until something is told. A daemon that restarts, stops or does not answer is asked again for a while, and what
has come meanwhile comes, each once. A redirect is no answer, and the proxies of the environment are not used.

Source: the HTML standard, server-sent events; ``docs/reference/http.md``. Units: seconds, bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import httpx2

from syncer.client.reading import error_in, plain_in
from syncer.client.server import Server
from syncer.connecting.causes import why_not
from syncer.errors import AnswerInvalid, ServerUnreachable, SyncerError
from syncer.version import version

MAX_EVENT_BYTES: Final = 8 << 20
MAX_PROBLEM_BYTES: Final = 1 << 20
CONNECT_S: Final = 10.0
SILENCE_S: Final = 45.0
"""A daemon that tells nothing says so every 15 s."""
RETRY_S: Final = 2.0
LAST: Final = "end"
MAX_RETRY_DIGITS: Final = 5
STREAMS: Final = "/api/v1/streams"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldEvent:
    """An event.

    Args:
        kind: ``status``, ``event``, ``operation`` or ``job``, as the stream is; or ``gap``.
        data: An item of the list, or what of it is missing.
        id: To go on from, by another :class:`Following`.
    """

    kind: str
    data: dict[str, object]
    id: str


@dataclass(slots=True)
class Following:
    """One stream, followed until who iterates leaves.

    Args:
        server: The daemon's REST API.
        stream: ``status``, ``events``, ``operations`` or ``jobs``.
        last_id: To go on from; empty: from now on.
        patience_s: For so long a daemon that cannot be reached, or cannot tell now, is asked again.
        silence_s: A connection over which nothing has come for so long is given up.
    """

    server: Server
    stream: str
    last_id: str = ""
    patience_s: float = 60.0
    silence_s: float = SILENCE_S
    retry_s: float = RETRY_S
    _heard_s: float = field(default=0.0, init=False)

    def __iter__(self) -> Iterator[ToldEvent]:
        """Yield what is told.

        Raises:
            ServerUnreachable: There was no daemon for longer than the patience.
            AnswerInvalid: The answer is none that a daemon gives.
            SyncerError: The daemon's own error, by its code: no rights, an id that it does not know.
        """
        self._heard_s = time.monotonic()
        while True:
            try:
                yield from self._once()
            except SyncerError as exc:
                if not exc.retryable or time.monotonic() - self._heard_s >= self.patience_s:
                    raise
            time.sleep(min(self.retry_s, self.patience_s))

    def _once(self) -> Iterator[ToldEvent]:
        """Yield what comes over one connection."""
        where = self.server.address
        headers = {
            "Accept": "text/event-stream, application/problem+json",
            "Accept-Encoding": "identity",
            "User-Agent": f"pulsar-syncer/{version()}",
        }
        if self.server.token:
            headers["Authorization"] = f"Bearer {self.server.token}"
        if self.last_id:
            headers["Last-Event-ID"] = self.last_id
        try:
            with (
                httpx2.Client(
                    timeout=httpx2.Timeout(self.silence_s, connect=CONNECT_S),
                    verify=self.server.believed(),
                    follow_redirects=False,
                    trust_env=False,
                ) as client,
                client.stream("GET", f"{where}{STREAMS}/{quote(self.stream, safe='')}", headers=headers) as answer,
            ):
                if answer.status_code != HTTPStatus.OK:
                    raise error_in(_start(answer), answer.status_code, where)
                if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                    raise AnswerInvalid(f"{where} has answered with no stream of events: it is no daemon, or a proxy")
                yield from self._told(answer)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as exc:
            why = why_not(exc) or f"the stream has broken off ({type(exc).__name__})"
            raise ServerUnreachable(f"{where} cannot be followed: {why}") from None

    def _told(self, answer: httpx2.Response) -> Iterator[ToldEvent]:
        parser = EventLines(self.server.address, self.last_id)
        for part in answer.iter_raw():
            self._heard_s = time.monotonic()
            for event in parser.feed(part):
                self.last_id = event.id
                if event.kind == LAST:
                    return
                yield event
            self.last_id = parser.last_id
            self.retry_s = parser.retry_s if parser.retry_s is not None else self.retry_s


class EventLines:
    """Makes events of the lines of a stream, in whatever parts they come.

    Args:
        server: Whose they are, for messages.
        last_id: Of the last event that came before.

    Attributes:
        last_id: The latest id; a client goes on from there.
        retry_s: How long to wait before the next connection; ``None``: nothing was said.
    """

    def __init__(self, server: str, last_id: str = "") -> None:
        self._server = server
        self.last_id = last_id
        self.retry_s: float | None = None
        self._rest = b""
        self._id = last_id
        self._kind = ""
        self._data: list[bytes] = []

    def feed(self, part: bytes) -> list[ToldEvent]:
        """Take a part; the events that are whole with it.

        Raises:
            AnswerInvalid: An event is none that a daemon tells.
        """
        *lines, self._rest = (self._rest + part).split(b"\n")
        if len(self._rest) + sum(map(len, self._data)) > MAX_EVENT_BYTES:
            raise AnswerInvalid(f"{self._server} has told an event of more than {MAX_EVENT_BYTES} bytes")
        return [event for line in lines if (event := self._line(line.removesuffix(b"\r"))) is not None]

    def _line(self, line: bytes) -> ToldEvent | None:
        if not line:
            kind, data = self._kind, b"\n".join(self._data)
            self._kind, self._data = "", []
            self.last_id = self._id  # of an event that is not whole, nothing counts
            return ToldEvent(kind=kind, data=plain_in(data, self._server), id=self.last_id) if data else None
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"event":
                self._kind = value.decode(errors="replace")
            case b"data":
                self._data.append(value)
            case b"id" if b"\0" not in value:
                self._id = value.decode(errors="replace")
            case b"retry" if value.isdigit() and len(value) <= MAX_RETRY_DIGITS:
                self.retry_s = int(value) / 1000
            case _:
                pass  # comments, and what a newer daemon may say
        return None


def _start(answer: httpx2.Response) -> bytes:
    """The body of an answer that is no stream, as far as a problem is long."""
    content = b""
    for part in answer.iter_raw():
        content += part
        if len(content) > MAX_PROBLEM_BYTES:
            break
    return content
