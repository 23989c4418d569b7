"""An application of HTTP behind a real server on the loopback address, with or without TLS."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from tests.support.certificates import Certificate


@contextmanager
def served(app: FastAPI, certificate: Certificate | None = None) -> Iterator[str]:
    """Serve an application; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                lifespan="off",
                ssl_certfile=str(certificate.cert) if certificate is not None else None,
                ssl_keyfile=str(certificate.key) if certificate is not None else None,
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        scheme = "http" if certificate is None else "https"
        try:
            yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
    assert not thread.is_alive()
