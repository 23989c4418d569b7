"""The claim: a property of the namespaces that a migration moves, at both clusters, which keeps other migrations away.

The last of two that claim at once stays: each reads again what it has written, and whoever finds the other's name gives
back what it has. Properties are part of a namespace's policies, and no client sees them.
Source: ``NamespacesBase.internalSetProperty``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import MigrationClaimed
from syncer.migration.evidence import CLAIM
from syncer.migration.running.clock import Clock
from syncer.migration.running.insisting import MANY_ATTEMPTS, insist

_SETTLES_S: Final = 1.0
_GONE: Final = 404


class Claim:
    """One migration's claim on namespaces of both clusters."""

    def __init__(self, clusters: Mapping[str, AdminCalls], clock: Clock, migration: str) -> None:
        """Claim for a migration.

        Args:
            clusters: Name of its table in the configuration → its API.
            clock: For the wait before it is read again.
            migration: The migration's id.
        """
        self._clusters = clusters
        self._clock = clock
        self._migration = migration

    async def take(self, namespaces: Iterable[str]) -> None:
        """Claim namespaces, where they are.

        Raises:
            MigrationClaimed: Another migration has one of them; nothing is claimed.
            AdminError: A call was refused or not answered.
        """
        namespaces = tuple(namespaces)
        free = await self.free(namespaces)
        for table, namespace in free:
            set_it = partial(self._clusters[table].set_namespace_property, namespace, CLAIM, self._migration)
            await insist(self._clock, set_it)
        if not free:
            return
        await self._clock.sleep(_SETTLES_S)
        try:
            await self.free(namespaces)
        except MigrationClaimed:
            await self.release(namespaces)
            raise

    async def release(self, namespaces: Iterable[str]) -> None:
        """Give back what this migration has claimed."""
        for table, calls in self._clusters.items():
            for namespace in namespaces:
                if await self._owner(table, namespace) == self._migration:
                    try:
                        await insist(
                            self._clock,
                            partial(calls.remove_namespace_property, namespace, CLAIM),
                            MANY_ATTEMPTS,
                        )
                    except AdminRefused as refused:
                        if refused.status != _GONE:
                            raise

    async def free(self, namespaces: Iterable[str]) -> list[tuple[str, str]]:
        """Name what nobody has claimed: table, and namespace.

        Raises:
            MigrationClaimed: Somebody else has one of them.
            AdminError: A call was refused or not answered.
        """
        namespaces = tuple(namespaces)
        free = []
        for table in self._clusters:
            for namespace in namespaces:
                owner = await self._owner(table, namespace)
                if owner == "":
                    free.append((table, namespace))
                elif owner not in (None, self._migration):
                    raise MigrationClaimed(f"cluster.{table}: {namespace} is being moved by the migration {owner!r}")
        return free

    async def _owner(self, table: str, namespace: str) -> str | None:
        """Whose a namespace is; empty: nobody's. ``None``: there is none."""
        told = await insist(self._clock, partial(self._clusters[table].namespace, namespace))
        if told is None:
            return None
        properties = told.get("properties")
        return str(properties.get(CLAIM, "")) if isinstance(properties, Mapping) else ""
