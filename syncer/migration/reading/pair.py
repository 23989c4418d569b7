"""Reading both clusters of a migration, one after the other; what goes wrong says at which of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import AdminDenied, AdminError
from syncer.migration.evidence import ClusterSeen, ClusterUrls
from syncer.migration.migration_plan import PlannedCluster
from syncer.migration.reading.cluster import read_cluster
from syncer.migration.reading.namespaces import is_of_clients
from syncer.migration.scope import MigrationScope, of_clients
from syncer.model import Millis

_DENIED: Final = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationSide:
    """One cluster of a migration: its table in the configuration, how it is asked, and its clients' addresses."""

    table: str
    calls: AdminCalls
    urls: ClusterUrls

    def planned(self, seen: ClusterSeen) -> PlannedCluster:
        """As a plan has it."""
        return PlannedCluster(table=self.table, name=seen.name, urls=self.urls)


async def read_side(
    side: MigrationSide, namespaces: Collection[str], now_ms: Millis, *, load: bool = False
) -> ClusterSeen:
    """Read one cluster.

    Args:
        side: The cluster.
        namespaces: Whose topics are read.
        now_ms: The time.
        load: All topics are asked for their statistics, which loads those that are not; else none is loaded.

    Raises:
        AdminDenied: The credentials are not taken, or their role may not ask.
        AdminUnreachable: Nobody answers.
        AdminError: A broker answered with an error, or with what cannot be understood.
    """
    with told_of(side.table):
        return await read_cluster(side.calls, urls=side.urls, namespaces=namespaces, now_ms=now_ms, load=load)


async def all_namespaces(side: MigrationSide) -> tuple[str, ...]:
    """Every namespace of every tenant, by name.

    Raises:
        AdminError: As :func:`read_side`.
    """
    with told_of(side.table):
        return tuple(
            sorted([name for tenant in await side.calls.tenants() for name in await side.calls.namespaces(tenant)])
        )


async def left_out(side: MigrationSide, scope: MigrationScope) -> dict[str, int]:
    """Namespaces that the cluster's own mark would take along, though they are not moved → how many topics they have.

    Nothing is asked, and nothing found, where that mark is not wanted.

    Raises:
        AdminError: As :func:`read_side`.
    """
    if not scope.whole_cluster:
        return {}
    others = [each for each in await all_namespaces(side) if of_clients(each) and each not in scope.namespaces]
    with told_of(side.table):
        listed = {each: await side.calls.topics(each) for each in others}
    counted = {name: sum(map(is_of_clients, topics)) for name, topics in listed.items()}
    return {name: topics for name, topics in counted.items() if topics}


@contextmanager
def told_of(table: str) -> Iterator[None]:
    """Name the cluster in whatever goes wrong with its admin API.

    Args:
        table: Name of the cluster's table in the configuration.

    Raises:
        AdminDenied: The credentials are not taken, or their role may not ask.
        AdminError: Anything else that went wrong, of the class that it was.
    """
    try:
        yield
    except AdminRefused as exc:
        kind = AdminDenied if exc.status in _DENIED else AdminError
        raise kind(f"cluster.{table}: {exc.message}", hint=exc.hint) from exc
    except AdminError as exc:
        raise type(exc)(f"cluster.{table}: {exc.message}", hint=exc.hint) from exc
