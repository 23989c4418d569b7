"""Following: each event once over every break; servers that stop, refuse, lie, hang or never end."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.client import following
from syncer.client.following import EventLines, Following, ToldEvent
from syncer.client.server import Server
from syncer.errors import AnswerInvalid, EventIdAhead, ServerUnreachable, SyncerError, Unauthorized
from tests.support.webhook_server import Behaviour, answering, endless, hanging, receiving, saying

TOKEN = "syncer_0123_the-secret"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def told(*numbers: int) -> bytes:
    return b"".join(f'id: db-{each}\nevent: operation\ndata: {{"id": {each}}}\n\n'.encode() for each in numbers)


def problem(status: int, code: str) -> Behaviour:
    document = {"status": status, "code": code, "detail": "no", "hint": "Do this."}
    return answering(status, json.dumps(document).encode(), "Content-Type: application/problem+json")


def followed(behaviours: list[Behaviour], count: int, **more: float) -> tuple[list[ToldEvent], list[str]]:
    """So many events, and the ids from which the server was asked to go on."""
    with receiving(behaviours[0]) as server:
        server.behaviours[:] = behaviours
        options: dict[str, Any] = {"retry_s": 0.01, "patience_s": 5.0, **more}
        stream = Following(Server.of(server.url.removesuffix("/hook"), token=TOKEN), "operations", **options)
        found = list(itertools.islice(stream, count))
        return found, [each.headers.get("last-event-id", "") for each in server.posted]


def refusal(behaviours: list[Behaviour], **more: float) -> SyncerError:
    with pytest.raises(SyncerError) as caught:
        followed(behaviours, 10, **more)
    assert TOKEN not in f"{caught.value!r} {caught.value.message} {caught.value.hint} {caught.value.__cause__!r}"
    return caught.value


def test_each_event_comes_once_over_breaks_ends_and_an_absent_daemon() -> None:
    broken = told(4)[:-3]
    found, asked = followed(
        [
            saying(HEAD + b"retry: 10\nid: db-0\n\n: alive\n\n" + told(1, 2)),
            problem(503, "state-unavailable"),
            saying(HEAD + told(3) + b'id: db-3\nevent: end\ndata: {"code": "daemon-stopping"}\n\n' + broken),
            saying(b""),
            saying(HEAD + broken),
            saying(HEAD + told(4, 5)),
        ],
        5,
    )
    assert [each.data["id"] for each in found] == [1, 2, 3, 4, 5]
    assert {each.kind for each in found} == {"operation"}
    assert found[-1].id == "db-5"
    assert asked == ["", "db-2", "db-2", "db-3", "db-3", "db-3"]


def test_an_id_that_came_with_no_event_is_gone_on_from() -> None:
    _, asked = followed([saying(HEAD + b"id: db-7\n\n"), saying(HEAD + told(8))], 1)
    assert asked == ["", "db-7"]


@pytest.mark.parametrize(("code", "error"), [("unauthorized", Unauthorized), ("event-id-ahead", EventIdAhead)])
def test_a_refusal_is_the_daemons_own(code: str, error: type[SyncerError]) -> None:
    assert type(refusal([problem(401, code)])) is error


def test_who_never_comes_is_given_up() -> None:
    assert isinstance(refusal([saying(b"")], patience_s=0.2), ServerUnreachable)
    assert isinstance(refusal([hanging(HEAD)], patience_s=0.2, silence_s=0.1), ServerUnreachable)


@pytest.mark.parametrize(
    "lie",
    [
        answering(200, b"{}", "Content-Type: application/json"),
        answering(302, b"", "Location: http://127.0.0.1:1/"),
        saying(HEAD + b"data: [1]\n\n"),
        saying(HEAD + b"data: {\n\n"),
        problem(200, "unauthorized"),
    ],
    ids=["json", "elsewhere", "no object", "no json", "a problem of 200"],
)
def test_what_is_no_stream_is_said_to_be_none(lie: Behaviour) -> None:
    assert isinstance(refusal([lie]), AnswerInvalid)


def test_an_event_without_an_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MAX_EVENT_BYTES", 100_000)
    assert isinstance(refusal([endless(HEAD, b"x" * 5_000)]), AnswerInvalid)
    assert isinstance(refusal([endless(HEAD, b"data: " + b"x" * 5_000 + b"\n")]), AnswerInvalid)


def test_a_head_without_an_end_is_bounded() -> None:
    assert isinstance(refusal([endless(b"HTTP/1.1 500 No\r\n\r\n", b"x" * 50_000)]), AnswerInvalid)


@given(st.lists(st.integers(1, 60), max_size=40), st.sampled_from([b"\n", b"\r\n"]))
def test_parts_do_not_matter(cuts: list[int], line_end: bytes) -> None:
    text = (b": alive\n\nretry: 2000\n" + told(1, 2, 3) + b"data: {\ndata: }\n\nfoo: bar\n\n").replace(b"\n", line_end)
    lines = EventLines("here")
    found = [event for part in _parts(text, cuts) for event in lines.feed(part)]
    assert found == EventLines("here").feed(text)
    assert [each.data for each in found] == [{"id": 1}, {"id": 2}, {"id": 3}, {}]
    assert (lines.retry_s, lines.last_id) == (2.0, "db-3")


def _parts(text: bytes, cuts: Iterable[int]) -> list[bytes]:
    at = [*itertools.accumulate(cuts, initial=0)]
    return [*(text[one:other] for one, other in itertools.pairwise(at)), text[at[-1] :]]
