"""A process of its own that is the clients of a daemon's HTTP surface: status, scrapes, and streams.

    python -m tests.bench.api_clients PORT TOKEN

Commands, each answered by one line:

    status SECONDS   status requests at the pace, for so long: P99_MS ANSWERED FAILED
    begin [PORT]     the same, a scrape each few seconds, and streams of operations: ready once all are followed;
                     with a port, the status requests go to the server there
    end              end them: P99_MS ANSWERED FAILED SCRAPES EVENTS_PER_CLIENT_PER_S ENDED CPU_S
    holds            read all holds, page by page: SECONDS HOLDS

While streams are followed a request each second is refused for want of rights: a row of the audit trail, and so one
event a second for each who follows operations.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass, field
from typing import Final

import orjson

from tests.bench.result import percentiles_ms

STATUS_PER_S: Final = 50
LINKS: Final = 10
SCRAPE_S: Final = 5.0
STREAMS: Final = 200
EVENT_S: Final = 1.0
READY_S: Final = 60.0
PAGE: Final = 1_000


class Link:
    """A kept connection for one request after the other."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        """The status and the body of an answer."""
        try:
            return await self._ask(path, method)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            return await self._ask(path, method)  # it was idle too long

    async def _ask(self, path: str, method: str) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)
        reader, writer = self._streams
        writer.write(_request(method, path, self._token))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        return int(head[9:12]), await reader.readexactly(length)

    def close(self) -> None:
        """Close it."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass(slots=True)
class Clients:
    """All of them, and what they were answered."""

    port: int
    token: str
    waits_s: list[float] = field(default_factory=list)
    failed: int = 0
    scrapes: int = 0
    events: int = 0
    followed: int = 0
    ended: int = 0
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    since_s: float = 0.0
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def status(self, number: int, port: int) -> None:
        """Ask for the status at a part of the pace; a wait counts from the time at which the request was due."""
        link, step_s = Link(port, self.token), LINKS / STATUS_PER_S
        due = time.monotonic() + number * step_s / LINKS
        try:
            while True:
                await asyncio.sleep(max(due - time.monotonic(), 0))
                status, _ = await link.ask("/api/v1/status")
                self.waits_s.append(time.monotonic() - due)
                self.failed += status != 200
                due += step_s
        finally:
            link.close()

    async def scrape(self) -> None:
        """Ask for the metrics."""
        link = Link(self.port, self.token)
        while True:
            status, _ = await link.ask("/metrics")
            self.scrapes += status == 200
            await asyncio.sleep(SCRAPE_S)

    async def refused(self) -> None:
        """Ask for what the token has no right to."""
        link = Link(self.port, self.token)
        while True:
            status, _ = await link.ask("/api/v1/pause", "POST")
            self.failed += status != 403
            await asyncio.sleep(EVENT_S)

    async def follow(self) -> None:
        """Follow operations."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(_request("GET", "/api/v1/streams/operations", self.token))
        try:
            if not (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200"):
                self.failed += 1
                return
            self.followed += 1
            if self.followed == STREAMS:
                self.ready.set()
            while line := await reader.readline():
                self.events += line.startswith(b"event: operation")
                self.ended += line.startswith(b"event: end")
        finally:
            writer.close()

    async def begin(self, *, all_of_them: bool, status_port: int | None = None) -> None:
        """Begin; with all of them, once all streams are followed. Another server may be asked for the status."""
        asked = status_port or self.port
        self.waits_s, self.failed, self.scrapes, self.events, self.followed, self.ended = [], 0, 0, 0, 0, 0
        if all_of_them:
            self.ready = asyncio.Event()
            self.tasks = [asyncio.create_task(self.follow()) for _ in range(STREAMS)]
            await asyncio.wait_for(self.ready.wait(), READY_S)
            self.tasks += [asyncio.create_task(self.scrape()), asyncio.create_task(self.refused())]
        self.tasks += [asyncio.create_task(self.status(number, asked)) for number in range(LINKS)]
        self.since_s = time.monotonic()

    async def end(self) -> str:
        """End, and say what came of it."""
        took_s = time.monotonic() - self.since_s
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks = []
        rate = self.events / STREAMS / took_s
        p99_ms = percentiles_ms(self.waits_s)[1]
        counts = f"{len(self.waits_s)} {self.failed} {self.scrapes}"
        return f"{p99_ms:.2f} {counts} {rate:.3f} {self.ended} {time.process_time():.2f}"

    async def holds(self) -> str:
        """Read all holds."""
        link, after, count = Link(self.port, self.token), "", 0
        began = time.monotonic()
        while True:
            status, body = await link.ask(f"/api/v1/holds?limit={PAGE}&after={after}")
            if status != 200:
                raise RuntimeError(f"{status}: {body[:500]!r}")
            page = orjson.loads(body)
            count += len(page["items"])
            if page["next"] is None:
                return f"{time.monotonic() - began:.3f} {count}"
            after = page["next"]


def _request(method: str, path: str, token: str) -> bytes:
    body = b'{"reason": "the bench"}' if method == "POST" else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    kind = "Content-Type: application/json\r\n" if body else ""
    return f"{head}{kind}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _serve(clients: Clients) -> None:
    while words := (await asyncio.to_thread(sys.stdin.readline)).split():
        match words:
            case ["status", seconds]:
                await clients.begin(all_of_them=False)
                await asyncio.sleep(float(seconds))
                answer = await clients.end()
            case ["begin", *ports]:
                await clients.begin(all_of_them=True, status_port=int(ports[0]) if ports else None)
                answer = f"{clients.followed} followed"
            case ["end"]:
                answer = await clients.end()
            case ["holds"]:
                answer = await clients.holds()
            case _:
                raise ValueError(f"no such command: {words}")
        print(answer, flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(Clients(int(sys.argv[1]), sys.argv[2])))
