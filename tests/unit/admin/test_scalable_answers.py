"""Scalable topics as brokers tell them: asked namespace by namespace, bounded, and summed over clusters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from syncer.admin.calls import AdminRefused
from syncer.admin.client import AdminSettings
from syncer.admin.scalable_answers import ScalableTold, ask_scalable, summed
from syncer.admin.scalable_topics import ScalableCount
from syncer.admin.topics import ClustersProbe
from syncer.admin.version_probe import NobodyToAsk
from tests.support.admin_server import Asked, serving

HELD = {"acme": {"orders": ["a", "b"], "empty": []}, "beta": {"x": ["c"]}}


class Brokers:
    """Calls of a cluster that has these tenants, with these namespaces, with these scalable topics."""

    def __init__(
        self, held: Mapping[str, Mapping[str, Sequence[str]]], refused: Mapping[str, int] | None = None
    ) -> None:
        self.held = held
        self.refused = refused or {}
        self.asked = 0

    def told(self, name: str, answer: list[str]) -> list[str]:
        self.asked += 1
        if name in self.refused:
            raise AdminRefused("no", status=self.refused[name], reason="no")
        return answer

    async def tenants(self) -> list[str]:
        return list(self.held)

    async def namespaces(self, tenant: str) -> list[str]:
        return self.told(tenant, [f"{tenant}/{name}" for name in self.held[tenant]])

    async def scalable_topics(self, namespace: str) -> list[str]:
        tenant, _, name = namespace.partition("/")
        return self.told(namespace, [f"topic://{namespace}/{each}" for each in self.held[tenant][name]])


async def counted(calls: Any, most: int = 100) -> ScalableCount:
    return await ask_scalable(calls, most, pause_s=0)


async def test_every_namespace_is_asked_and_those_without_any_are_not_named() -> None:
    found = await counted(Brokers(HELD))
    assert found == ScalableCount(total=3, namespaces={"acme/orders": 2, "beta/x": 1})


@pytest.mark.parametrize(("most", "total", "whole"), [(1, 0, False), (2, 2, False), (4, 2, False), (5, 3, True)])
async def test_questions_are_bounded_and_that_is_said(most: int, total: int, whole: bool) -> None:
    brokers = Brokers(HELD)
    found = await counted(brokers, most)
    assert (found.total, found.whole, brokers.asked) == (total, whole, min(most, 5))


async def test_what_is_gone_has_none_and_any_other_refusal_is_an_error() -> None:
    assert (await counted(Brokers(HELD, {"acme/orders": 404, "beta": 404}))).total == 0
    assert (await counted(Brokers(HELD, {"acme/orders": 412}))).total == 1
    with pytest.raises(AdminRefused):
        await counted(Brokers(HELD, {"acme/orders": 403}))


def test_clusters_are_summed_and_a_part_stays_one() -> None:
    one = ScalableCount(total=2, namespaces={"acme/orders": 2})
    other = ScalableCount(total=4, namespaces={"acme/orders": 1, "beta/x": 3}, whole=False)
    assert summed([one, other]) == ScalableCount(total=6, namespaces={"acme/orders": 3, "beta/x": 3}, whole=False)
    assert summed([]) == ScalableCount()


@dataclass
class ToldCluster:
    """A cluster of one broker, by HTTP."""

    version: str = "5.0.0-M1"
    brokers: dict[str, list[str]] = field(default_factory=dict)
    declared: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    refused: int = 0

    def answer(self, asked: Asked) -> tuple[int, str]:
        self.asked.append(asked.path)
        words = asked.path.removeprefix("/admin/v2/").split("/")
        match words:
            case ["brokers", "version"]:
                return 200, self.version
            case ["brokers", name]:
                return 200, json.dumps(self.brokers[name])
            case ["clusters", name]:
                return 200, json.dumps(self.declared[name])
            case ["tenants"]:
                return (self.refused, "{}") if self.refused else (200, '["acme"]')
            case ["namespaces", tenant]:
                return 200, json.dumps([f"{tenant}/orders"])
            case ["scalable", tenant, name]:
                return 200, json.dumps([f"topic://{tenant}/{name}/a"])
        return 404, "{}"


async def told_by(clusters: Mapping[str, ToldCluster]) -> ScalableTold:
    with ExitStack() as stack:
        urls = {name: stack.enter_context(serving(cluster.answer)) for name, cluster in clusters.items()}
        for cluster in clusters.values():
            cluster.declared = {name: {"serviceUrl": url} for name, url in urls.items()}
        for name, cluster in clusters.items():
            cluster.brokers.setdefault(name, [urls[name].removeprefix("http://")])
        settings = AdminSettings(url=next(iter(urls.values())), retry_for=timedelta(0))
        async with ClustersProbe(settings, clusters) as probe:
            return await probe.scalable()


async def test_the_brokers_of_every_cluster_tell() -> None:
    told = await told_by({"blue": ToldCluster(), "green": ToldCluster()})
    assert told == ScalableTold(count=ScalableCount(total=2, namespaces={"acme/orders": 2}))
    assert (await told_by({"blue": ToldCluster()})).count == ScalableCount(total=1, namespaces={"acme/orders": 1})


async def test_older_brokers_have_none_and_are_not_asked() -> None:
    old = ToldCluster(version="4.2.4")
    assert await told_by({"blue": old}) == ScalableTold(count=ScalableCount())
    assert not [path for path in old.asked if "scalable" in path or "tenants" in path]


async def test_what_cannot_be_asked_is_trouble() -> None:
    refused = await told_by({"blue": ToldCluster(refused=403)})
    assert (refused.count, bool(refused.trouble)) == (None, True)
    silent = ToldCluster(brokers={"blue": []})
    assert await told_by({"blue": silent}) == ScalableTold(trouble="cluster blue lists no broker")
    assert (await NobodyToAsk().scalable()).trouble == "no [admin] is configured"
