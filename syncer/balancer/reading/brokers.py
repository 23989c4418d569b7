"""Reading by the brokers' admin REST API: settings and topics always, all else where no store could be read.

Each call has the client's deadline, and each broker one for all of them: a broker that hangs or refuses is a finding,
and the others are read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio

from syncer.admin.calls import AdminRefused
from syncer.balancer.decoding.brokers import take_broker_metrics, take_leader, take_registration
from syncer.balancer.decoding.bundles import take_loaded_topics
from syncer.balancer.decoding.constraints import (
    take_boundaries,
    take_domains,
    take_isolation,
    take_runtime_configuration,
)
from syncer.balancer.decoding.fields import DocumentFields
from syncer.balancer.decoding.ownership import take_owned, take_started
from syncer.balancer.picture import FigureOrigin, Known, LoadFindingKind, LoadManager, LoadSource
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.ranges import namespace_of_bundle
from syncer.errors import AdminDenied, AdminError

if TYPE_CHECKING:
    from syncer.admin.calls import AdminCalls
    from syncer.balancer.decoding.parts import PictureParts

BROKER_S: Final = 20.0
"""How long one broker is waited for, whatever it is asked."""
AT_ONCE: Final = 8
"""Brokers that are asked at the same time."""
_DENIED: Final = frozenset({401, 403})
_CLUSTER_NAME: Final = "clusterName"
_MANAGER: Final = "loadManagerClassName"
_EXTENSIBLE: Final = ".ExtensibleLoadManagerImpl"

_Ask = Callable[[str], Awaitable[None]]


class BrokerReading:
    """What a cluster's brokers say, made parts of a picture.

    Args:
        calls: The cluster's admin API.
        now_ms: When the reading began: answers have no time of their own.
        parts: What they become part of; who does not answer is a finding there.
        broker_s: How long one broker is waited for.
    """

    def __init__(self, calls: AdminCalls, now_ms: int, parts: PictureParts, *, broker_s: float = BROKER_S) -> None:
        self._calls = calls
        self._now_ms = now_ms
        self._parts = parts
        self._broker_s = broker_s
        self._extensible: str | None = None
        self.trouble: AdminError | None = None
        """The first call that failed."""

    async def settings(self) -> str | None:
        """Read the settings of the load balancer; the name of the cluster in Pulsar, None where nobody answers."""
        found: dict[str, str] = {}

        async def ask(_: str) -> None:
            answer = await self._calls.configuration()
            take_runtime_configuration(answer, self._origin("the runtime configuration"), self._parts)
            manager = answer.get(_MANAGER)
            if isinstance(manager, str) and manager.endswith(_EXTENSIBLE):
                self._extensible = manager
            name = answer.get(_CLUSTER_NAME)
            if isinstance(name, str) and name:
                found[_CLUSTER_NAME] = name

        await self._bounded(ask, "the runtime configuration", "the settings stay unknown")
        return found.get(_CLUSTER_NAME)

    async def topics(self) -> None:
        """Read the topics that each registered broker has loaded."""

        async def ask(broker: str) -> None:
            answer = await self._calls.at(broker).served_topics()
            if answer is not None:
                take_loaded_topics(broker, answer, self._origin(f"{broker} broker-stats/topics"), self._parts)

        await self._each(ask, "broker-stats/topics", "its topics stay unknown")

    async def usages(self) -> None:
        """Ask each registered broker that no report was read of for its usages."""

        async def ask(broker: str) -> None:
            answer = await self._calls.at(broker).broker_metrics()
            take_broker_metrics(broker, answer, self._origin(f"{broker} broker-stats/metrics"), self._parts)

        known = self._parts.brokers
        unheard = [broker for broker in known.registrations if broker not in known.figures]
        await self._each(ask, "broker-stats/metrics", "its load stays unknown", unheard)

    async def owners(self, cluster: str, *, take: bool = True) -> None:
        """Ask each registered broker for the bundles that it owns; one without any is not started.

        One that moves may be named by no broker or by two: that a bundle is free is not told so.

        Args:
            cluster: Name of the cluster in Pulsar.
            take: The owners count; otherwise they are known better, and only the start does.
        """

        async def ask(broker: str) -> None:
            answer = await self._calls.at(broker).owned_bundles(cluster, broker)
            origin = self._origin(f"{broker} ownedNamespaces")
            if self._parts.brokers.managers.get(broker) is LoadManager.EXTENSIBLE:
                take_started(broker, answer, origin, self._parts)
            if take:
                take_owned(broker, answer, origin, self._parts)

        so = "its bundles stay unknown" if take else "it may not be started"
        await self._each(ask, "ownedNamespaces", so)

    async def instead_of_stores(self, cluster: str) -> None:
        """Read registry, load, ownership, boundaries, policies and domains: all that the store would have told.

        Args:
            cluster: Name of the cluster in Pulsar.
        """
        await self._bounded(lambda _: self._registry(cluster), "the list of brokers", "no broker is known")
        if self._extensible is None:
            await self._each(self._report, "broker-stats/load-report", "its load stays unknown")
        else:
            await self._each(self._version, "version", "its version stays unknown")
        await self.owners(cluster)
        await self._bounded(self._leader, "the leader", "it stays unknown")
        namespaces = {namespace_of_bundle(bundle) for bundle in self._parts.bundles.owners}
        await self._each(self._boundaries, "bundles", "its boundaries stay unknown", sorted(namespaces))
        await self._each(self._group, "antiAffinity", "its anti-affinity group stays unknown", sorted(namespaces))
        await self._bounded(lambda _: self._policies(cluster), "the isolation policies", "they stay unknown")
        await self._bounded(lambda _: self._domains(cluster), "the failure domains", "they stay unknown")

    async def _registry(self, cluster: str) -> None:
        origin = self._origin(f"brokers of {cluster}")
        for broker in await self._calls.brokers(cluster):
            self._parts.brokers.registrations.setdefault(broker, Known(BrokerTraits(), origin))

    async def _report(self, broker: str) -> None:
        origin = self._origin(f"{broker} broker-stats/load-report")
        answer = await self._calls.at(broker).load_report()
        take_registration(broker, self._fields(origin, answer), origin, self._parts)

    async def _version(self, broker: str) -> None:
        """Take a broker of the extensible manager for what its cluster's configuration says: it has no such report."""
        known = self._parts.brokers
        known.managers[broker] = LoadManager.EXTENSIBLE
        version = await self._calls.at(broker).version()
        traits = BrokerTraits(version=version, manager=self._extensible)
        known.registrations[broker] = Known(traits, self._origin(f"{broker} version"))

    async def _leader(self, _: str) -> None:
        origin = self._origin("leaderBroker")
        take_leader(self._fields(origin, await self._calls.leader()), origin, self._parts)

    async def _boundaries(self, namespace: str) -> None:
        answer = await self._calls.boundaries(namespace)
        take_boundaries(namespace, answer, self._origin(f"{namespace} bundles"), self._parts)

    async def _group(self, namespace: str) -> None:
        group = await self._calls.anti_affinity_group(namespace)
        self._parts.constraints.groups[namespace] = Known(group, self._origin(f"{namespace} antiAffinity"))

    async def _policies(self, cluster: str) -> None:
        origin = self._origin("namespaceIsolationPolicies")
        take_isolation(self._fields(origin, await self._calls.isolation_policies(cluster)), origin, self._parts)

    async def _domains(self, cluster: str) -> None:
        origin = self._origin("failureDomains")
        found: dict[str, DocumentFields | None] = {}
        for name, each in (await self._calls.failure_domains(cluster)).items():
            found[name] = self._fields(origin, each) if isinstance(each, Mapping) else None
        take_domains(found, origin, self._parts)

    def _origin(self, where: str) -> FigureOrigin:
        return FigureOrigin(LoadSource.REST, where, self._now_ms)

    def _fields(self, origin: FigureOrigin, answer: Mapping[str, Any]) -> DocumentFields:
        return DocumentFields(origin.where, dict(answer), self._parts.notes)

    async def _each(self, ask: _Ask, what: str, so: str, names: list[str] | None = None) -> None:
        """Ask for each registered broker, or for each of other names, a few at a time."""
        limit = anyio.CapacityLimiter(AT_ONCE)

        async def one(name: str) -> None:
            async with limit:
                await self._bounded(ask, f"{name} {what}", so, name)

        async with anyio.create_task_group() as tasks:
            for name in list(self._parts.brokers.registrations) if names is None else names:
                tasks.start_soon(one, name)

    async def _bounded(self, ask: _Ask, where: str, so: str, name: str = "") -> None:
        with anyio.move_on_after(self._broker_s) as scope:
            try:
                await ask(name)
            except AdminError as exc:
                error = _told(exc)
                self.trouble = self.trouble or error
                self._note(where, f"{error.message[:200]} ({error.code}); {so}", error.hint)
        if scope.cancelled_caught:
            self._note(where, f"no answer within {self._broker_s:g} s; {so}", "See whether the broker hangs.")

    def _note(self, where: str, what: str, remedy: str) -> None:
        self._parts.notes.note(LoadFindingKind.UNREADABLE, where, what, remedy)


def _told(error: AdminError) -> AdminError:
    """A refusal for want of rights has a class and a code of its own."""
    if isinstance(error, AdminRefused) and error.status in _DENIED:
        return AdminDenied(error.message, hint=error.hint)
    return error
