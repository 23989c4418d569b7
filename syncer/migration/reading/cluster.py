"""Reading a whole cluster: brokers, clusters that it knows, its mark, settings, tenants, and namespaces."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterable
from functools import partial
from typing import Final, TypeVar

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.migration.evidence import BrokerSeen, ClusterSeen, ClusterUrls, Mark, TenantSeen
from syncer.migration.reading import forms
from syncer.migration.reading.answers import AnswerPart
from syncer.migration.reading.at_once import all_of
from syncer.migration.reading.namespaces import read_namespace
from syncer.model import Millis

_FUNCTIONS: Final = "public/functions"
"""Namespace in which a functions worker keeps its own topics, by its default settings."""

Told = TypeVar("Told")


async def read_cluster(
    calls: AdminCalls,
    *,
    urls: ClusterUrls,
    namespaces: Collection[str],
    now_ms: Millis,
    load: bool = False,
    only: Collection[str] | None = None,
) -> ClusterSeen:
    """Read a cluster: of topics, those of the namespaces.

    Args:
        calls: Its admin API.
        urls: Its addresses, as configured here.
        namespaces: ``tenant/namespace``; those that it does not have are left out.
        now_ms: When this is.
        load: All topics are asked for their statistics, which loads those that are not; else only those that a broker
            had loaded when it counted last, up to a minute ago.
        only: Of these topics, by their names without partitions; ``None``: of all in the namespaces.

    Raises:
        AdminRefused: The role may not ask, or a call failed.
        AdminUnreachable: The cluster did not answer, or one of its brokers did not.
        AdminError: An answer is odd.
    """
    settings = await calls.configuration()
    name = AnswerPart("run-time configuration", settings).part("clusterName").text()
    addresses = sorted(await calls.brokers(name))
    brokers = await all_of(partial(_broker, calls), addresses)
    loaded = frozenset[str]().union(*(() if load else await all_of(partial(_loaded, calls), addresses)))
    wanted = sorted(set(namespaces))
    tenants = sorted({each.partition("/")[0] for each in wanted})
    seen = [await read_namespace(calls, name, each, loaded=loaded, load=load, only=only) for each in wanted]
    return ClusterSeen(
        name=name,
        urls=urls,
        read_at_ms=now_ms,
        brokers=tuple(brokers),
        clusters=await _clusters(calls, own=name),
        mark=await _mark(calls, name),
        dynamic=forms.texts("dynamic settings", await calls.dynamic_settings()),
        functions_worker=await _functions_worker(calls, brokers),
        transactions=_any_of(brokers, "transactionCoordinatorEnabled"),
        tenants=await _tenants(calls, tenants),
        namespaces={each.name: each for each in seen if each is not None},
    )


async def _broker(calls: AdminCalls, address: str) -> BrokerSeen:
    there = calls.at(address)
    version, settings = await _told(there.version()), await _told(there.configuration())
    return BrokerSeen(
        address=address,
        version=None if version is None else forms.version(f"version of {address}", version),
        settings=None if settings is None else forms.texts(f"run-time configuration of {address}", settings),
    )


async def _told(answer: Awaitable[Told]) -> Told | None:
    """What a broker answers; ``None``: it refuses, though it takes the credentials."""
    try:
        return await answer
    except AdminRefused as refused:
        if refused.status == 401:
            raise
        return None


async def _loaded(calls: AdminCalls, address: str) -> frozenset[str]:
    return forms.loaded_topics(f"loaded topics of {address}", await calls.at(address).loaded_topics())


async def _clusters(calls: AdminCalls, *, own: str) -> dict[str, ClusterUrls]:
    names = sorted(await calls.clusters())
    found = await all_of(partial(_cluster, calls, own), names)
    return {name: urls for name, urls in zip(names, found, strict=True) if urls is not None}


async def _cluster(calls: AdminCalls, own: str, name: str) -> ClusterUrls | None:
    """A cluster's addresses; ``None``: it is not known.

    A mark that was set under a wrong name is listed as a cluster for ever, and fails to be read as one.
    """
    try:
        told = await calls.cluster(name)
    except AdminRefused as refused:
        if refused.status != 500 or name == own or await _mark(calls, name) is None:
            raise
        return None
    return None if told is None else forms.urls(f"cluster {name}", told)


async def _mark(calls: AdminCalls, cluster: str) -> Mark | None:
    told = await calls.migration_mark(cluster)
    return None if told is None else forms.mark(f"migration state of {cluster}", told)


async def _tenants(calls: AdminCalls, names: Iterable[str]) -> dict[str, TenantSeen]:
    found = {name: await calls.tenant(name) for name in names}
    return {name: forms.tenant(f"tenant {name}", told) for name, told in found.items() if told is not None}


async def _functions_worker(calls: AdminCalls, brokers: Iterable[BrokerSeen]) -> bool | None:
    """Whether a functions worker runs in a broker, or has run beside them."""
    try:
        kept = await calls.topics(_FUNCTIONS)
    except AdminRefused as refused:
        if refused.status != 404:
            raise
        kept = []
    return True if kept else _any_of(brokers, "functionsWorkerEnabled")


def _any_of(brokers: Iterable[BrokerSeen], setting: str) -> bool | None:
    """Whether a setting is on at any broker; ``None``: none is known to have it, and not all tell."""
    told = [None if each.settings is None else each.settings.get(setting) for each in brokers]
    if "true" in told:
        return True
    return None if None in told or not told else False
