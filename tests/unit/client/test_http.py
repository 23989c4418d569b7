"""The client over HTTP: a daemon's documents and errors, and servers that hang, refuse, lie or never end."""

from __future__ import annotations

import json
import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from api.admission import Admission
from api.app import create_app
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate, RightsReader
from syncer.client import http
from syncer.client.calls import RegionCalls
from syncer.client.contract import ApiRequest
from syncer.client.http import APART_S, RESTS, HttpTransport, patience_s
from syncer.client.reading import problem_of
from syncer.client.server import Server
from syncer.errors import (
    AnswerInvalid,
    NotFound,
    PreconditionFailed,
    ServerError,
    ServerUnreachable,
    StateDenied,
    SyncerError,
    TooManyFailures,
    Unauthorized,
)
from syncer.inspection.ledgers.questions import OrphansQuestion
from syncer.waiting import WAIT_S, starvation
from tests.api.test_admission import token
from tests.api.test_app import STATUS, Daemon
from tests.support.certificates import Authority
from tests.support.served_api import served
from tests.support.webhook_server import Behaviour, answering, endless, hanging, receiving, saying

TOKEN = "syncer_0123_the-secret"


def calls(address: str, timeout_s: float = 5.0, **options: Any) -> RegionCalls:
    return RegionCalls(HttpTransport(Server.of(address, **options), timeout_s=timeout_s))


def problem(code: str, status: int = 404, **more: Any) -> Behaviour:
    document = {"status": status, "code": code, "detail": "the thing at the place", "hint": "Do this.", **more}
    return answering(status, json.dumps(document).encode(), "Content-Type: application/problem+json")


def refused_by(behaviour: Behaviour, timeout_s: float = 5.0) -> SyncerError:
    with receiving(behaviour) as server:
        address = server.url.removesuffix("/hook")
        with pytest.raises(SyncerError) as caught:
            calls(address, timeout_s, token=TOKEN).status.status()
    said = f"{caught.value!r} {caught.value.message} {caught.value.hint} {caught.value.__cause__!r}"
    assert TOKEN not in said
    assert server.posted[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert server.posted[0].headers["accept-encoding"] == "identity"
    return caught.value


def test_a_real_daemons_document_and_its_refusal_by_tls(tmp_path: Path) -> None:
    authority, rights = Authority(tmp_path), tmp_path / "tokens.json"
    app = create_app(Daemon(), admitting=Admission(gate=Gate(RightsReader(rights)), exposure=Exposure()))
    text = token(rights)
    with served(app, authority.issue("server")) as address:
        assert calls(address, token=text, ca=authority.ca).status.status().found == STATUS
        with pytest.raises(Unauthorized):
            calls(address, ca=authority.ca).status.status()
        with pytest.raises(ServerUnreachable, match="the server's certificate is not accepted"):
            calls(address, token=text).status.status()
        with pytest.raises(NotFound):
            calls(address, token=text, ca=authority.ca).status._plain(ApiRequest(method="GET", path="/nowhere"))
        clear = address.replace("https", "http")
        with pytest.raises(SyncerError) as caught:
            calls(clear, token=text).status.status()
        assert isinstance(caught.value, (ServerUnreachable, AnswerInvalid))


@pytest.mark.parametrize(
    ("code", "cls"),
    [
        ("not-found", NotFound),
        ("precondition-failed", PreconditionFailed),
        ("too-many-failures", TooManyFailures),
        ("state-access-denied", StateDenied),
        ("a-newer-code", ServerError),
    ],
)
def test_a_problem_is_the_error_of_its_code(code: str, cls: type[SyncerError]) -> None:
    error = refused_by(problem(code, now={"a": 1}))
    assert type(error) is cls
    assert error.message == "the thing at the place" + (" (a-newer-code)" if cls is ServerError else "")
    assert error.hint == "Do this."
    told = problem_of(error)
    assert told is not None
    assert (told.status, told.now) == (404, {"a": 1})


@pytest.mark.parametrize(
    ("behaviour", "cls", "words"),
    [
        (answering(200, b"<html>"), AnswerInvalid, "no StatusDocument: Invalid JSON"),
        (
            answering(200, b'{"region": 1}'),
            AnswerInvalid,
            "no StatusDocument: region: Input should be a valid string",
        ),
        (answering(200, b""), AnswerInvalid, "no StatusDocument"),
        (answering(502, b"bad gateway"), AnswerInvalid, "answered 502 without a problem document"),
        (answering(302, b"", "Location: http://evil.example/"), AnswerInvalid, r"sends the call on \(302\)"),
        (answering(200, b"x", "Content-Encoding: gzip"), AnswerInvalid, "has packed its answer"),
        (saying(b"SSH-2.0-OpenSSH_9\r\n\r\n"), AnswerInvalid, "does not speak HTTP"),
        (saying(b""), ServerUnreachable, "the server ended the connection"),
        (hanging(), ServerUnreachable, "has not answered within 0.5 s"),
        (hanging(b"HTTP/1.1 200 OK\r\n"), ServerUnreachable, "not answered within 0.5 s"),
        (endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.01), SyncerError, "has not answered|speak HTTP"),
        (
            endless(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", b" ", 0.05),
            ServerUnreachable,
            "not answered",
        ),
    ],
)
def test_a_server_that_lies_or_hangs_is_said_in_words_and_in_time(
    behaviour: Behaviour, cls: type[SyncerError], words: str
) -> None:
    began = time.monotonic()
    error = refused_by(behaviour, timeout_s=0.5 if "not answered" in words else WAIT_S)
    assert isinstance(error, cls)
    assert re.search(words, error.message), error.message
    assert time.monotonic() - began < 5 * starvation.patience()


def test_an_endless_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 100_000)
    error = refused_by(endless(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 10_000), timeout_s=WAIT_S)
    assert isinstance(error, AnswerInvalid)
    assert "more than 100000 bytes" in error.message


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def test_nobody_there(unused_port: int) -> None:
    with pytest.raises(
        ServerUnreachable, match=rf"http://127.0.0.1:{unused_port} cannot be reached: connection refused"
    ):
        calls(f"http://127.0.0.1:{unused_port}").status.status()
    with pytest.raises(ServerUnreachable, match="cannot be reached: "):
        calls("http://no-such-host.invalid").status.status()


def test_fields_of_a_newer_daemon_are_left_out() -> None:
    document = {**STATUS.model_dump(mode="json"), "of_a_later_version": 1}
    with receiving(answering(200, json.dumps(document).encode())) as server:
        assert calls(server.url.removesuffix("/hook")).status.status().found == STATUS


def test_the_time_that_a_daemon_is_asked_to_wait_is_added() -> None:
    assert patience_s(ApiRequest(method="POST", path="/", headers={"Prefer": "wait=60"})) == 60.0
    assert patience_s(ApiRequest(method="GET", path="/", query={"store_timeout": 5.0})) == 5.0
    assert patience_s(ApiRequest(method="GET", path="/", query={"within": 5.0, "apart": 10.0})) == 25.0
    rests = patience_s(ApiRequest(method="GET", path="/", query={"apart": None}))
    assert rests == OrphansQuestion().rests_s == RESTS * APART_S, "as the daemon rests by default"
    assert patience_s(ApiRequest(method="GET", path="/")) == 0.0
