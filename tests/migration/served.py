"""A simulated cluster behind a loopback HTTP server, so that commands reach it as they reach a real one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.migration.clusters.cluster import Cluster
from tests.migration.rest import AdminApi
from tests.support.admin_server import Asked, serving


@contextmanager
def served(cluster: Cluster, *, token: str = "", refuses: int = 0) -> Iterator[str]:
    """Serve the API of a cluster with one broker, whose address is that of the server; the base URL.

    Args:
        cluster: Its virtual time stands still meanwhile.
        token: The one that it takes; empty: no credentials are asked for.
        refuses: Status with which every call is refused; 0: none is.
    """
    lock = threading.Lock()

    def answer(asked: Asked) -> tuple[int, str]:
        if refuses:
            return refuses, '{"reason": "not with this role"}'
        if token and asked.authorization != f"Bearer {token}":
            return 401, '{"reason": "the token has expired"}'
        with lock:
            status, told = AdminApi(cluster).answer(asked.method, asked.path, _json(asked.body))
        return status, "" if told is None else json.dumps(told)

    (broker,) = cluster.brokers
    with serving(answer) as url:
        broker.address = url.removeprefix("http://")
        yield url


def _json(body: str) -> Any:
    return json.loads(body) if body else None
