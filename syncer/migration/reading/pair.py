"""Reading both clusters of a migration, one after the other; what goes wrong says at which of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
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
_NOT_FOUND: Final = 404
_SLASHES_OF_FIRST_FORM: Final = 2
"""``PROPERTY/CLUSTER/NAMESPACE``: brokers before 4.2 list such namespaces among the others (``TenantResources``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationSide:
    """One cluster of a migration: its table in the configuration, how it is asked, and its clients' addresses."""

    table: str
    calls: AdminCalls
    urls: ClusterUrls

    def planned(self, seen: ClusterSeen) -> PlannedCluster:
        """As a plan has it."""
        return PlannedCluster(table=self.table, name=seen.name, urls=self.urls)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMoved:
    """Namespaces of a cluster that a migration does not move.

    Attributes:
        left_out: Those that the cluster's own mark would take along → how many topics they have; only with topics.
        first_form: Those of the form ``PROPERTY/CLUSTER/NAMESPACE``, which no migration moves.
    """

    left_out: Mapping[str, int] = field(default_factory=dict)
    first_form: tuple[str, ...] = ()


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
    """List every namespace of the form ``TENANT/NAMESPACE`` of every tenant, by name.

    Raises:
        AdminError: As :func:`read_side`.
    """
    return tuple(each for each in await _listed(side) if not _is_first_form(each))


async def not_moved(side: MigrationSide, scope: MigrationScope) -> NotMoved:
    """Find the namespaces of a cluster that stay although an operator may expect that they are moved.

    Topics are counted only where the cluster's own mark is wanted. Namespaces of the first form are looked for in every
    tenant there, and elsewhere in the tenants of the scope.

    Raises:
        AdminError: As :func:`read_side`.
    """
    tenants = None if scope.whole_cluster else sorted({each.partition("/")[0] for each in scope.namespaces})
    listed = await _listed(side, tenants)
    first_form = tuple(filter(_is_first_form, listed))
    if not scope.whole_cluster:
        return NotMoved(first_form=first_form)
    topics: dict[str, int] = {}
    with told_of(side.table):
        for name in listed:
            if _is_first_form(name):
                topics[name] = len(await side.calls.first_form_topics(name))
            elif of_clients(name) and name not in scope.namespaces:
                topics[name] = sum(map(is_of_clients, await side.calls.topics(name)))
    return NotMoved(left_out={name: count for name, count in topics.items() if count}, first_form=first_form)


async def _listed(side: MigrationSide, tenants: Iterable[str] | None = None) -> list[str]:
    """List the namespaces of some tenants, of either form, by name; of all tenants where none are given."""
    with told_of(side.table):
        asked = await side.calls.tenants() if tenants is None else tenants
        return sorted([name for tenant in asked for name in await _namespaces_of(side.calls, tenant)])


async def _namespaces_of(calls: AdminCalls, tenant: str) -> list[str]:
    """List the namespaces of a tenant; none where it does not exist."""
    try:
        return await calls.namespaces(tenant)
    except AdminRefused as refused:
        if refused.status != _NOT_FOUND:
            raise
        return []


def _is_first_form(namespace: str) -> bool:
    return namespace.count("/") == _SLASHES_OF_FIRST_FORM


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
