"""Sources of a cluster's load: a store with its documents, and brokers that answer for them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from syncer.admin.client import AdminClient, AdminSettings
from syncer.errors import StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Entry, MetadataStore, Put
from syncer.stores.sqlite import SqliteStore
from syncer.stores.sqlite.config import SqliteConfig
from tests.support.admin_server import Asked, serving
from tests.support.load_documents import FIRST, boundaries, isolation, local_broker

_TOPIC: Final = {
    "publishers": [],
    "subscriptions": {},
    "msgRateIn": 1.0,
    "msgRateOut": 1.0,
    "msgThroughputIn": 1.0,
    "msgThroughputOut": 1.0,
}
TOPICS: Final = {"shop/orders": {"0x00000000_0x80000000": {"persistent": {"persistent://shop/orders/a": _TOPIC}}}}
RUNTIME: Final = "/brokers/configuration/runtime"

Answer = tuple[int, Any] | Callable[[], tuple[int, Any]]


@asynccontextmanager
async def store_with(directory: Path, documents: Mapping[str, Any]) -> AsyncIterator[SqliteStore]:
    """Open a store that holds documents by path."""
    store = SqliteStore(SqliteConfig(path=directory / "store.db"))
    await store.open()
    try:
        for path, document in documents.items():
            value = document if isinstance(document, bytes) else json.dumps(document).encode()
            await store.apply([Put(path=MetaPath(path), value=value, expected=None)])
        yield store
    finally:
        await store.close()


@contextmanager
def brokers_with(answers: Mapping[str, Answer]) -> Iterator[str]:
    """Serve answers by path; every other path is not there.

    Args:
        answers: Path below ``/admin/v2`` → status and body, or what makes them.
    """

    def answer(asked: Asked) -> tuple[int, str]:
        found = answers.get(asked.path.removeprefix("/admin/v2"), (404, {"reason": "not there"}))
        status, body = found() if callable(found) else found
        return status, body if isinstance(body, str) else json.dumps(body)

    with serving(answer) as url:
        yield url


def client(url: str, **settings: object) -> AdminClient:
    """The admin client of a cluster, which does not ask twice."""
    return AdminClient(AdminSettings.model_validate({"url": url, "retry_for": timedelta(0), **settings}))


def whole_cluster(broker: Callable[[], str]) -> dict[str, Answer]:
    """Answers of a cluster of one broker with a bundle.

    Args:
        broker: Names it.
    """
    return {
        "/brokers/east": lambda: (200, [broker()]),
        "/broker-stats/load-report": lambda: (200, local_broker(broker(), FIRST)),
        "/brokers/leaderBroker": lambda: (200, {"brokerId": broker(), "serviceUrl": "http://x"}),
        "/namespaces/shop/orders/bundles": (200, boundaries()["bundles"]),
        "/namespaces/shop/orders/antiAffinity": (200, "pair"),
        "/clusters/east/namespaceIsolationPolicies": (200, {"shops": isolation()}),
        "/clusters/east/failureDomains": (200, {"rack": {"brokers": ["b1:8080"]}}),
    }


class Failing:
    """A store whose scan of one prefix fails, after what it has."""

    def __init__(self, store: MetadataStore, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        """Scan, and fail at the end."""
        async for page in self._store.scan(prefix):
            yield page
        if prefix == self._prefix:
            raise StoreUnavailable("the server has gone")

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


def failing(store: MetadataStore, prefix: str) -> MetadataStore:
    """A store whose scan of one prefix fails."""
    found = Failing(store, prefix)
    assert isinstance(found, MetadataStore)
    return found
