"""Names of a cluster's topics, of its stores: those that were ever loaded there, and partitions that were declared.

Brokers report only topics that they have loaded. Whoever looks for one that nobody can load has to look here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

from syncer.balancer.picture import FigureOrigin, Known, LoadSource
from syncer.errors import StoreError
from syncer.model import MetaPath
from syncer.paths import MANAGED_LEDGERS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from syncer.stores.contract import Entry, MetadataStore

PARTITIONED: Final = MetaPath("/admin/partitioned-topics")
MOST_NAMES: Final = 2_000_000
"""Of more topics no name is judged: they are kept in memory."""
MOST_PARTITIONS: Final = 100_000
"""A topic that is said to have more is not understood."""
_DOMAIN: Final = "persistent"
_PARTS: Final = 4
"""Tenant, namespace, domain and topic."""


async def topic_names(
    store: MetadataStore | None, configuration: Sequence[MetadataStore], most: int = MOST_NAMES
) -> Known[frozenset[str]] | None:
    """Read the full names of topics, partitions one by one.

    Args:
        store: The cluster's own, open; None where it could not be opened.
        configuration: Further stores that may hold its configuration.
        most: More names than these are not kept.

    Returns:
        None where not all could be read or understood, or there are too many.
    """
    if store is None:
        return None
    names: set[str] = set()
    try:
        async for entry in _entries(store, MetaPath(MANAGED_LEDGERS)):
            parts = entry.path.split("/")[2:]
            if len(parts) == _PARTS and parts[2] == _DOMAIN:
                names.add(f"{_DOMAIN}://{parts[0]}/{parts[1]}/{unquote_plus(parts[3])}")
                if len(names) > most:
                    return None
        for each in (store, *configuration):
            async for entry in _entries(each, PARTITIONED):
                partitions = _partitions(entry)
                names.update(partitions or ())
                if partitions is None or len(names) > most:
                    return None
    except StoreError:
        return None
    return Known(frozenset(names), FigureOrigin(LoadSource.STORE, f"{MANAGED_LEDGERS}, {PARTITIONED}"))


async def _entries(store: MetadataStore, prefix: MetaPath) -> AsyncIterator[Entry]:
    async for page in store.scan(prefix):
        for entry in page:
            yield entry


def _partitions(entry: Entry) -> list[str] | None:
    """The partitions that a topic was declared with; None where its document tells no number, or an absurd one."""
    parts = entry.path.split("/")[3:]
    if len(parts) != _PARTS:
        return []
    try:
        document = json.loads(entry.value)
    except (ValueError, RecursionError):
        return None
    count = document.get("partitions") if isinstance(document, dict) else None
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST_PARTITIONS:
        return None
    tenant, namespace, domain, name = parts
    return [f"{domain}://{tenant}/{namespace}/{unquote_plus(name)}-partition-{number}" for number in range(count)]
