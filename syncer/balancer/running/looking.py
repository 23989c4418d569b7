"""Looks at a cluster for a run of moves: settings, brokers, and the bundles that the next step has to see.

The brokers that a bundle is probably at are asked first. Where none of them owns it, any broker says whether somebody
does, and one look-up who: a cluster may have a thousand of them, which are asked in turn only where that does not tell,
as of a bundle without topics. A bundle whose owner did not answer is left out: that nobody owns it is not known.

A broker is registered before its load manager is started, and a bundle that is brought to it then may be served by
nobody for a minute. One that owns nothing, not even its own heartbeat, is therefore not taken for active.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

import anyio

from syncer.admin.balancing_claim import CLAIM_NAMESPACE, claim_in
from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.balancer.moving.sight import BundleSight, ClusterSight
from syncer.balancer.ranges import namespace_of_bundle, parsed_boundaries, range_of_bundle
from syncer.errors import AdminError
from syncer.model import Millis

_AT_ONCE: Final = 16
"""Brokers that are asked at the same time."""
_GONE: Final = 404
_DENIED: Final = frozenset({401, 403})
_HTTP: Final = ("httpUrl", "httpUrlTls")
_MOST_BUNDLES: Final = "loadBalancerNamespaceMaximumBundles"
_FLOWS: Final = ("msgThroughputIn", "msgThroughputOut")


class MoveLooking:
    """Looks at one cluster."""

    def __init__(self, calls: AdminCalls, cluster: str) -> None:
        """Look by its admin API.

        Args:
            calls: The API.
            cluster: The cluster's own name.
        """
        self._calls = calls
        self._cluster = cluster

    async def look(
        self,
        now_ms: Millis,
        bundles: Mapping[str, Iterable[str]],
        weighed: Iterable[str] = (),
        *,
        splitting: bool = False,
    ) -> ClusterSight:
        """See the cluster as it is.

        Args:
            now_ms: The time at which the look begins.
            bundles: Bundle → brokers that probably own it; they are asked first.
            weighed: Those of which the load counts.
            splitting: How many bundles a namespace may have counts.

        Raises:
            AdminError: The cluster does not answer, or not as it should.
            BoundariesInvalid: A namespace is cut into no ranges.
        """
        dynamic = await self._calls.dynamic_settings()
        brokers = frozenset(await self._calls.brokers(self._cluster)) if bundles else frozenset()
        boundaries = {each: await self._boundaries(each) for each in {namespace_of_bundle(each) for each in bundles}}
        ranges = {namespace: set(pairwise(each)) for namespace, each in boundaries.items()}
        there = {each: range_of_bundle(each) in ranges[namespace_of_bundle(each)] for each in bundles}
        asked = {each: bundles[each] for each, exists in there.items() if exists}
        owned = await self._ask({each for likely in asked.values() for each in likely} & brokers)
        owners = await self._owners(asked, brokers, owned)
        loads = await self._loads({each: owners[each] for each in weighed if owners.get(each)})
        seen = {
            each: BundleSight(exists=exists, owner=owners.get(each), throughput=loads.get(each))
            for each, exists in there.items()
            if not exists or each in owners
        }
        return ClusterSight(
            at_ms=now_ms,
            dynamic=dynamic,
            brokers=brokers - {each for each, has in owned.items() if has is not None and not has},
            bundles=seen,
            boundaries=boundaries,
            claim=await self._claim(),
            most_bundles=await self._most_bundles() if splitting else None,
        )

    async def _claim(self) -> str | None:
        """Name of the run that has claimed the cluster; empty: none has. ``None``: there is no place for it."""
        return claim_in(await self._calls.namespace(CLAIM_NAMESPACE), self._cluster)

    async def _most_bundles(self) -> int:
        """How many bundles a namespace may have."""
        told = (await self._calls.configuration()).get(_MOST_BUNDLES)
        try:
            return int(str(told))
        except ValueError:
            raise AdminError(f"the brokers do not say how many bundles a namespace may have: {told!r:.40}") from None

    async def _boundaries(self, namespace: str) -> tuple[int, ...]:
        """Where a namespace is cut; nowhere when it does not exist."""
        try:
            told = (await self._calls.boundaries(namespace)).get("boundaries")
        except AdminRefused as refused:
            if refused.status != _GONE:
                raise
            return ()
        if not isinstance(told, list) or not all(isinstance(each, str) for each in told):
            raise AdminError(f"the bundles of {namespace} were told without their boundaries")
        return tuple(parsed_boundaries(told, namespace))

    async def _owners(
        self, bundles: Iterable[str], brokers: frozenset[str], owned: Mapping[str, frozenset[str] | None]
    ) -> dict[str, str | None]:
        """Find who owns each; those that may be owned by a broker that did not answer are left out."""
        found, asking = _owned(bundles, owned), list[str]()
        for bundle in (each for each in bundles if each not in found):
            try:
                topics = await self._calls.owned_topics(bundle)
                owner = await self._owner_by(topics, brokers) if topics else None
            except AdminRefused as refused:
                if _denies(refused):
                    raise
                asking.append(bundle)
            except AdminError:
                continue
            else:
                if topics is None or owner is not None:
                    found[bundle] = owner
                else:
                    asking.append(bundle)
        if asking:
            owned = {**owned, **await self._ask(brokers - owned.keys())}
            found |= (dict.fromkeys(asking) if None not in owned.values() else {}) | _owned(asking, owned)
        return found

    async def _owner_by(self, topics: Iterable[str], brokers: frozenset[str]) -> str | None:
        """The owner of a bundle by one of its topics, whose look-up changes nothing, as the bundle is owned already."""
        addresses = await self._calls.look_up_topic(next(iter(topics)))
        names = {urlsplit(str(addresses.get(name, ""))).netloc for name in _HTTP}
        return next(iter(names & brokers), None)

    async def _ask(self, brokers: Iterable[str]) -> dict[str, frozenset[str] | None]:
        """Ask brokers for their bundles; ``None``: it did not answer."""
        owned: dict[str, frozenset[str] | None] = {}
        limiter = anyio.CapacityLimiter(_AT_ONCE)

        async def ask(broker: str) -> None:
            async with limiter:
                try:
                    owned[broker] = frozenset(await self._calls.at(broker).owned_bundles(self._cluster, broker))
                except AdminError as error:
                    if _denies(error):
                        denied.append(error)
                    owned[broker] = None

        denied: list[AdminError] = []
        async with anyio.create_task_group() as tasks:
            for broker in sorted(brokers):
                tasks.start_soon(ask, broker)
        if denied:
            raise denied[0]
        return owned

    async def _loads(self, owners: Mapping[str, str | None]) -> dict[str, float]:
        """Bytes a second of bundles whose owner tells them."""
        found: dict[str, float] = {}
        for broker in sorted({owner for owner in owners.values() if owner is not None}):
            told = await self._calls.at(broker).loaded_topics()
            for bundle in (each for each, owner in owners.items() if owner == broker):
                domains = told.get(namespace_of_bundle(bundle), {}).get(bundle.rpartition("/")[2])
                flow = None if domains is None else _flow(domains)
                if flow is not None:
                    found[bundle] = flow
        return found


def _owned(bundles: Iterable[str], owned: Mapping[str, frozenset[str] | None]) -> dict[str, str | None]:
    """Owners of bundles by what brokers say that they own."""
    by_bundle = {bundle: broker for broker, has in owned.items() for bundle in has or ()}
    return {bundle: by_bundle[bundle] for bundle in bundles if bundle in by_bundle}


def _denies(error: AdminError) -> bool:
    return isinstance(error, AdminRefused) and error.status in _DENIED


def _flow(domains: Mapping[str, Mapping[str, Mapping[str, object]]]) -> float | None:
    """Add up bytes a second; ``None`` where a figure cannot be true."""
    figures = [stats.get(name) for topics in domains.values() for stats in topics.values() for name in _FLOWS]
    rates = [each for each in figures if isinstance(each, int | float) and math.isfinite(each) and each >= 0]
    return math.fsum(rates) if len(rates) == len(figures) else None
