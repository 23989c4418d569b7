"""What programs do at the HTTP surface: every route asked without rights, with nonsense, all at once, and once more."""

from __future__ import annotations

import functools
import http.client
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import anyio.to_thread

from deploy.lab.ports import HOST
from syncer.access.roles import AccessRole
from syncer.state.contract.operations import Operation, OperationState
from tests.api.routes_table import API, ROUTES, RouteRow
from tests.hostile.scene import Scene
from tests.support.api_tokens import made

ADMIN: Final = "admin"
READER: Final = "reader"
OPEN: Final = ("/livez", "/readyz", "/metrics", "/openapi.json")
"""Routes that everybody may ask on this host."""
PROBES: Final = tuple(RouteRow("GET", path, "") for path in OPEN)
LEAVING: Final = frozenset({f"{API}/leave", f"{API}/leave-by-force"})
"""Asked for once, they end the region's part in the group."""
ANSWER_S: Final = 30.0
LIVES_S: Final = 5.0
"""Within this somebody who asks whether the daemon lives is answered, whatever others ask."""
WORKERS: Final = 12
LEVELS: Final = 20_000
REFUSED: Final = frozenset({401, 403, 429})
NOT_NOW: Final = frozenset({503, 507})
ODD_REGIONS: Final = ("%00", "%1b%5b2J", "x" * 3_000)
"""Texts that can be the name of no region and of no database; nearly every other one can."""
ODD: Final = ("-1", "9" * 400, "%00", "..%2f..%2fetc%2fpasswd", "%ff", "x" * 3_000)
_origins: Final = itertools.cycle(f"127.0.{block}.{host}" for block in range(1, 200) for host in range(1, 250))
"""An address of its own for each request: failures of one address are limited, and then nothing else is asked of it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Of one request."""

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


def ask(
    port: int, method: str, path: str, *, headers: Sequence[tuple[str, str]] = (), body: bytes | None = None
) -> Answer:
    """Send a request from an address that nobody else has; status 0: the connection was closed instead.

    Raises:
        TimeoutError: There was no answer in time.
    """
    client = http.client.HTTPConnection(HOST, port, timeout=ANSWER_S, source_address=(next(_origins), 0))
    try:
        client.putrequest(method, path)
        for name, value in headers:
            client.putheader(name, value)
        if body is not None and not any(name == "Content-Length" for name, _ in headers):
            client.putheader("Content-Length", f"{len(body)}")
        client.endheaders(body)
        answer = client.getresponse()
        return Answer(answer.status, answer.read(), dict(answer.getheaders()))
    except TimeoutError:
        raise
    except (OSError, http.client.HTTPException):
        return Answer(0, b"", {})
    finally:
        client.close()


@functools.cache
def tokens_in(file: Path) -> dict[str, str]:
    """Make the file of a group's tokens: one of an administrator and one of a reader, both of whom may see values."""
    return {
        name: made(file, name, role=role, values=True)
        for name, role in ((ADMIN, AccessRole.ADMIN), (READER, AccessRole.READ))
    }


def bearer(token: str) -> tuple[str, str]:
    """Return the header that shows a token."""
    return "Authorization", f"Bearer {token}"


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a token at the surface of one region."""

    port: int
    token: str

    def ask(self, row: RouteRow, **changes: Any) -> Answer:
        """Send the request of a row, or one that differs from it in some things."""
        body = changes.pop("body", json.dumps(row.body).encode() if row.body is not None else None)
        kind = [("Content-Type", changes.pop("kind", "application/json"))] if body is not None else []
        headers = [bearer(self.token), *kind, *changes.pop("headers", ())]
        return ask(self.port, row.asked, changes.pop("path", row.example), headers=headers, body=body)


def _caller(scene: Scene, name: str = ADMIN) -> Caller:
    port = scene.east.api_port
    assert port is not None
    return Caller(port, scene.group.tokens[name])


async def _all(work: Sequence[Callable[[], object]]) -> None:
    """Do all of it, some at a time, in threads."""

    def do() -> None:
        with ThreadPoolExecutor(WORKERS) as threads:
            for done in [threads.submit(each) for each in work]:
                done.result()

    await anyio.to_thread.run_sync(do)


# -- without rights


def _strangers(caller: Caller) -> Iterator[tuple[str, list[tuple[str, str]], str]]:
    """Yield what somebody shows who has no right: in words, as headers, and behind the path."""
    yield "nothing", [], ""
    yield "a wrong secret", [bearer(caller.token[:-4] + "AAAA")], ""
    yield "half a token", [bearer(caller.token[: len(caller.token) // 2])], ""
    yield "another scheme", [("Authorization", f"Basic {caller.token}")], ""
    yield "a cookie", [("Cookie", f"token={caller.token}"), ("X-Api-Key", caller.token)], ""
    yield "a token in the address", [], f"token={caller.token}"


async def ask_without_right(scene: Scene) -> None:
    """Ask every route without a right to it; nothing is answered, and nothing is asked of the daemon."""
    caller, reader = _caller(scene), _caller(scene, READER)
    before = _operations(scene)

    def tried(row: RouteRow, shown: str, headers: list[tuple[str, str]], query: str) -> None:
        path = row.example + (("&" if "?" in row.example else "?") + query if query else "")
        body = json.dumps(row.body).encode() if row.body is not None else None
        answer = ask(caller.port, row.asked, path, headers=headers, body=body)
        assert answer.status in REFUSED, f"{row.method} {row.template} with {shown}: {answer.status}"

    def read_only(row: RouteRow) -> None:
        answer = reader.ask(row)
        assert answer.status in REFUSED, f"{row.method} {row.template} by who may read: {answer.status}"

    await _all(
        [
            *(lambda row=row, way=way: tried(row, *way) for row in ROUTES for way in _strangers(caller)),
            *(lambda row=row: read_only(row) for row in ROUTES if row.needs in {"operate", "admin"}),
        ]
    )
    assert _operations(scene) == before, "somebody without a right has asked the daemon for something"
    scene.group.write_everywhere()


def _operations(scene: Scene) -> int:
    """Return how many operations the daemon was asked for; attempts that were refused are none."""
    asked: list[Operation] = scene.east.ask(lambda views: views.operations(10_000))
    return sum(each.state is not OperationState.REFUSED for each in asked)


# -- nonsense


def _odd_paths(row: RouteRow) -> Iterator[str]:
    """Yield the path of a route with odd texts in its places, and with a query that no route takes."""
    if "{" in row.template:
        for text in ODD_REGIONS if "{region}" in row.template else ODD:
            head, _, rest = row.template.partition("{")
            yield f"{head}{text}{rest.partition('}')[2].replace('{number}', '1')}"
    yield f"{row.example}{'&' if '?' in row.example else '?'}nonsense=%1b%5b2J"


_BODIES: Final = (
    ("application/json", b"[]"),
    ("application/json", b'{"reason":1}'),
    ("application/json", b'{"reason":"TICKET","nonsense":true}'),
    ("application/json", b"[" * LEVELS),
    ("application/json", b"\xff\xfe"),
    ("text/plain", b'{"reason":"TICKET"}'),
    ("application/json", b'{"reason":"\\ud800"}'),
)


async def ask_for_nonsense(scene: Scene) -> None:
    """Ask every route, with all rights, for what is none: each request is refused by what is wrong with it."""
    caller = _caller(scene)
    before = _operations(scene)

    def refused(row: RouteRow, **changes: Any) -> None:
        answer = caller.ask(row, **changes)
        said = f"{row.method} {changes.get('path', row.example)[:80]} {changes.get('body', b'')[:40]!r}"
        assert answer.status < 500 or answer.status in NOT_NOW, f"{said}: {answer.status}"
        assert answer.status >= 400 or row.template in OPEN, f"{said} is taken: {answer.status}"

    await _all(
        [
            *(
                lambda row=row, path=path: refused(row, path=path)
                for row in (*ROUTES, *PROBES)
                for path in _odd_paths(row)
            ),
            *(
                lambda row=row, body=body, kind=kind: refused(row, body=body, kind=kind)
                for row in ROUTES
                if row.method == "POST"
                for kind, body in _BODIES
            ),
            *(lambda row=row: refused(row, headers=[("If-Match", '"nonsense"')]) for row in ROUTES if row.good == 428),
        ]
    )
    assert _operations(scene) == before, "nonsense has asked the daemon for something"
    scene.group.write_everywhere()


# -- once more


async def ask_again(scene: Scene) -> None:
    """Send each change twice with one key, then once more with the key and another wish."""
    caller = _caller(scene)

    def again(row: RouteRow) -> None:
        key = ("Idempotency-Key", uuid4().hex)
        first, second = (caller.ask(row, headers=[key]) for _ in range(2))
        said = f"{row.method} {row.template}"
        assert first.status == second.status, f"{said}: {first.status}, then {second.status}"
        assert first.headers.get("location") == second.headers.get("location"), f"{said} is done twice"
        if first.status == 202 and row.body is not None:
            other = json.dumps({**row.body, "reason": "another"}).encode()
            third = caller.ask(row, headers=[key], body=other)
            assert third.status in {409, 422}, f"{said} takes a key for another wish: {third.status}"

    for row in ROUTES:  # in turn: a pause, and then what ends it
        if row.method != "GET" and row.template not in LEAVING:
            await anyio.to_thread.run_sync(again, row)
    await scene.until(lambda: not _unfinished(scene), "all that was asked for is answered")


def _unfinished(scene: Scene) -> bool:
    asked: list[Operation] = scene.east.ask(lambda views: views.operations(10_000))
    return any(each.state is OperationState.PENDING for each in asked)


# -- all at once


async def ask_all_at_once(scene: Scene) -> None:
    """Ask every route by many at a time, with bodies beyond the bound, and see that the daemon says it lives."""
    caller = _caller(scene)
    over = time.monotonic() + ANSWER_S

    def asked(row: RouteRow) -> None:
        answer = caller.ask(row)
        assert answer.status < 500 or answer.status in NOT_NOW, f"{row.method} {row.template}: {answer.status}"

    def too_large(row: RouteRow) -> None:
        said = [("Content-Length", f"{1 << 40}")]
        answer = caller.ask(row, headers=said, body=b"{")
        assert answer.status in {0, 413}, f"{row.method} {row.template} takes a body of a terabyte: {answer.status}"

    def lives() -> None:
        while time.monotonic() < over:
            began = time.monotonic()
            answer = ask(caller.port, "GET", "/livez")
            took = time.monotonic() - began
            assert answer.status == 200, f"/livez: {answer.status}"
            assert took < LIVES_S, f"/livez is answered after {took:.1f} s"
            if done:
                return

    done: list[bool] = []
    reading = [row for row in (*ROUTES, *PROBES) if row.method == "GET"]

    def flood() -> None:
        try:
            with ThreadPoolExecutor(WORKERS) as threads:
                work = [threads.submit(asked, row) for _ in range(5) for row in reading]
                work += [threads.submit(too_large, row) for row in ROUTES if row.method != "GET"]
                for each in work:
                    each.result()
        finally:
            done.append(True)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, lives)
        await anyio.to_thread.run_sync(flood)
    scene.group.write_everywhere()
