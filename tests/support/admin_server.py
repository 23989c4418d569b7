"""A small HTTP server in the place of a broker's admin API: it answers what a test says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request."""

    method: str
    path: str
    body: str
    authorization: str


@contextmanager
def serving(answer: Callable[[Asked], tuple[int, str]]) -> Iterator[str]:
    """Serve on a free loopback port, each request in a thread of its own; the base URL.

    Args:
        answer: Status and body for a request, of a redirect the address; it may take its time, and must end before
            the block does.
    """

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            authorization = self.headers.get("Authorization") or ""
            asked = Asked(method=self.command, path=self.path, body=body, authorization=authorization)
            status, text = answer(asked)
            raw = b"" if 300 <= status < 400 else text.encode()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", text)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - the names that http.server calls

        def log_message(self, *_: object) -> None:
            return

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that has not waited for its answer is no fault."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
