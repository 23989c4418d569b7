"""Preconditions of plans: what is read beside a topic policy, and beside a namespace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.model import MetaPath, Region
from syncer.plan.operations import Operation, planned
from syncer.plan.review import Reason, Review
from syncer.planning.preconditions import reviewed
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from tests.support.planning import NOW, NoTopics, fill, value

TENANT = MetaPath("/admin/policies/acme")
SPACE = MetaPath("/admin/policies/acme/orders")
BELOW = "/admin/topic-policies/global"
FORMS = (MetaPath(f"{BELOW}/acme/orders/persistent/one"), MetaPath(f"{BELOW}/persistent/acme/orders/one"))
BOTH = value(replication_clusters=["blue", "green"])
ALLOWED = value(replication_clusters=["blue", "green"], allowed_clusters=["blue"])
SCOPE = Scope([Rule(f"{BELOW}/**", Direction.BOTH), *DEFAULT_RULES])
TO_GREEN, TO_BLUE = value(replicationClusters=["green"]), value(replicationClusters=["blue"])


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(SqliteConfig(path=tmp_path / "store.db"))
    await store.open()
    clusters = {MetaPath(f"/admin/clusters/{name}"): b"{}" for name in ("blue", "green")}
    await fill(store, {**clusters, TENANT: value(adminRoles=[])})
    yield store
    await store.close()


async def judge(store: SqliteStore, *operations: Operation) -> Review:
    plan = planned(region=Region("east"), source="west", made_at_ms=NOW, operations=operations)
    settings = Settings(region=Region("east"), clusters=frozenset({"blue"}))
    return await reviewed(plan, store, NoTopics(), settings=settings, scope=SCOPE)


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(("namespace", "refused"), [(BOTH, True), (ALLOWED, False)])
async def test_the_namespace_of_a_topic_policy_is_read(
    store: SqliteStore, path: MetaPath, namespace: bytes, refused: bool
) -> None:
    await fill(store, {SPACE: namespace})
    found = await judge(store, Operation(path=path, before=None, after=TO_GREEN))
    assert [each.reason for each in found.refused.get(path, ())] == [Reason.LEAVES_CLUSTER_OUT] * refused


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(("policies", "refused"), [(TO_GREEN, True), (b"no json", True), (TO_BLUE, False)])
async def test_the_topic_policies_of_a_namespace_are_read(
    store: SqliteStore, path: MetaPath, policies: bytes, refused: bool
) -> None:
    await fill(store, {SPACE: ALLOWED})
    await fill(store, {path: policies})
    found = await judge(store, Operation(path=SPACE, before=ALLOWED, after=BOTH))
    assert [each.reason for each in found.refused.get(SPACE, ())] == [Reason.LEAVES_CLUSTER_OUT] * refused
