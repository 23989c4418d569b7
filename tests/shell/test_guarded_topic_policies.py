"""A topic policy and its namespace that together make brokers delete a topic: neither half is written by a daemon."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pytest

from syncer.conflict.register import HoldReason
from syncer.model import MetaPath
from syncer.replication import related_values
from syncer.stores.contract import MetadataStore, PartlyRead, read_answerable
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.region import NAMESPACE, TENANT, Site, active, equal, tenant

BELOW: Final = "/admin/topic-policies/global"
FORMS: Final = (MetaPath(f"{BELOW}/acme/orders/persistent/one"), MetaPath(f"{BELOW}/persistent/acme/orders/one"))
BOTH: Final = ("east", "west")
SCOPE: Final[dict[str, Any]] = {"global_topic_policies": True}


def namespace(*allowed: str, **fields: Any) -> bytes:
    return json.dumps({"replication_clusters": BOTH, "allowed_clusters": allowed, **fields}).encode()


def policy(*clusters: str, **fields: Any) -> bytes:
    return json.dumps({"isGlobal": True, "replicationClusters": clusters, **fields}).encode()


def held(site: Site, path: MetaPath) -> tuple[str, str] | None:
    """Why a change is held."""
    row = site.holds().get(path)
    return None if row is None else (row.hold.reason, row.hold.detail)


def of_topic(clusters: str) -> str:
    what = "its replication clusters and its namespace's allowed_clusters leave them out"
    return f"brokers of {clusters} would delete the topic: {what}"


def of_namespace(path: MetaPath) -> str:
    return f"topic policies here leave out west, and brokers would delete their topics: {path}"


def stored(site: Site, path: MetaPath) -> dict[str, Any]:
    value = site.get(path)
    return {} if value is None else json.loads(value)


async def begun(east: Site, west: Site, *allowed: str) -> None:
    """Both regions hold a namespace."""
    await active(east, west)
    east.writer.put(TENANT, tenant())
    east.writer.put(NAMESPACE, namespace(*allowed))
    await until(lambda: west.get(NAMESPACE) is not None, "both hold it")


@pytest.fixture
def sites(make_site: MakeSite, monkeypatch: pytest.MonkeyPatch) -> Sequence[Site]:
    """Two regions that carry topic policies, and look often again."""
    monkeypatch.setattr(related_values, "AGAIN_MS", 100)
    return [make_site(name, scope=SCOPE) for name in BOTH]


@pytest.mark.parametrize("path", FORMS)
async def test_a_topic_policy_that_leaves_the_cluster_out_is_held(sites: Sequence[Site], path: MetaPath) -> None:
    east, west = sites
    async with east.running(), west.running():
        await begun(east, west)
        east.writer.put(path, policy(*BOTH))
        await until(lambda: west.get(path) is not None, "a harmless one is written")
        east.writer.put(path, policy("east"))
        await until(lambda: held(west, path) is not None, "it is held")
        assert held(west, path) == (HoldReason.LEAVES_CLUSTER_OUT, of_topic("west"))
        assert set(stored(west, path)["replicationClusters"]) == set(BOTH)
        east.writer.put(NAMESPACE, namespace(*BOTH))
        await until(lambda: stored(west, path).get("replicationClusters") == ["east"], "its namespace allows it now")
        await equal(east, west)
        assert not west.holds()


async def test_a_namespace_does_not_stop_to_allow_what_a_topic_policy_leaves_out(sites: Sequence[Site]) -> None:
    east, west = sites
    path = FORMS[0]
    async with east.running(), west.running():
        await begun(east, west, *BOTH)
        east.writer.put(path, policy("east"))
        await until(lambda: west.get(path) is not None, "it is allowed")
        east.writer.put(NAMESPACE, namespace())
        await until(lambda: held(west, NAMESPACE) is not None, "the other half is held")
        assert held(west, NAMESPACE) == (HoldReason.LEAVES_CLUSTER_OUT, of_namespace(path))
        assert stored(west, NAMESPACE)["allowed_clusters"] == list(BOTH)
        answer = await west.decide("confirm", NAMESPACE)
        assert answer.code == ""
        await until(lambda: not stored(west, NAMESPACE).get("allowed_clusters"), "a person has decided")


async def test_both_halves_at_once_are_never_written_together(sites: Sequence[Site]) -> None:
    """West is away while both are made: what it finds then is decided one after the other."""
    east, west = sites
    path = FORMS[1]
    async with east.running():
        async with west.running():
            await begun(east, west, *BOTH)
            east.writer.put(path, policy(*BOTH))
            await until(lambda: west.get(path) is not None, "both hold it")
        east.writer.put(path, policy("east"))
        east.writer.put(NAMESPACE, namespace())
        async with west.running():
            await until(lambda: len(west.holds()) == 1, "one half is held")
            written = set(stored(west, path)["replicationClusters"]) == {"east"}
            assert held(west, NAMESPACE if written else path) is not None
            assert set(stored(west, NAMESPACE)["allowed_clusters"]) == (set(BOTH) if written else set())


async def test_a_namespace_that_the_store_does_not_tell_of_is_asked_for_again(
    sites: Sequence[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    east, west = sites
    path, hides = FORMS[0], [True]

    async def read(store: MetadataStore, paths: Sequence[MetaPath]) -> PartlyRead:
        found = await read_answerable(store, paths)
        if not hides or not {path, NAMESPACE} <= set(paths):
            return found
        return found._replace(answers={each: entry for each, entry in found.answers.items() if each != NAMESPACE})

    monkeypatch.setattr("syncer.replication.runtime.store_loop.read_answerable", read)
    async with east.running(), west.running():
        await begun(east, west, *BOTH)
        east.writer.put(path, policy("east"))
        await until(lambda: held(west, path) is not None, "it is held")
        detail = "its namespace could not be read here: the store does not tell of it now"
        assert held(west, path) == (HoldReason.LEAVES_CLUSTER_OUT, detail)
        assert west.get(path) is None
        hides.clear()
        await until(lambda: west.get(path) is not None, "it goes on by itself")
        assert not west.holds()
