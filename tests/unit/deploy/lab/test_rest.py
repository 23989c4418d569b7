"""Calls of the lab to a broker that has troubles of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deploy.lab import rest
from deploy.lab.process import ServerFailed


@contextmanager
def answering(*statuses: int) -> Iterator[tuple[str, list[str]]]:
    """A server that answers with these in turn; its URL, and what it was asked."""
    left, asked = list(statuses), list[str]()

    class Answers(BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked.append(self.command)
            self.send_response(left.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_PUT = do_DELETE = answer  # noqa: N815 - the names that it looks for

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/admin", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("method", "statuses"),
    [
        ("PUT", (204,)),
        ("PUT", (500, 503, 204)),
        ("DELETE", (500, 404)),
    ],
    ids=str,
)
def test_a_call_is_made_again_until_it_is_done(method: str, statuses: tuple[int, ...]) -> None:
    with answering(*statuses) as (url, asked):
        rest.send_until_done(method, url)
    assert asked == [method] * len(statuses)


@pytest.mark.parametrize(
    ("method", "statuses", "said"),
    [
        ("PUT", (409,), 409),
        ("PUT", (500, 404), 404),
        ("DELETE", (404,), 404),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_told_at_once(method: str, statuses: tuple[int, ...], said: int) -> None:
    with answering(*statuses) as (url, asked), pytest.raises(rest.CallRefused) as refused:
        rest.send_until_done(method, url)
    assert refused.value.status == said
    assert asked == [method] * len(statuses)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 2",
        b"HTTP/1.1 500 Trouble\r\nContent-Length: 40\r\n\r\nthe bro",
        b'HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{"a":',
        b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"a":',
    ],
    ids=["nothing", "status", "error", "body", "body without a length"],
)
def test_an_answer_that_is_cut_off_is_a_failure_of_the_server(answer: bytes) -> None:
    def cut_off(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=cut_off, args=(listener,))
        thread.start()
        with pytest.raises(ServerFailed, match="GET http://127"):
            rest.get(f"http://127.0.0.1:{listener.getsockname()[1]}/admin")
        thread.join()


def test_an_answer_without_anything_in_it_is_no_document() -> None:
    with answering(204) as (url, _):
        assert rest.get(url) is None
