"""Reading by scan of a store: everything that is there, and what is not there is believed only after a whole scan."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.picture import LoadFindingKind
from syncer.balancer.reading.stores import read_constraints, read_load
from syncer.errors import StoreUnavailable
from tests.support.load_documents import FIRST, SECOND, isolation, lookup_data, small_cluster, unit
from tests.support.load_sources import failing, store_with

pytestmark = pytest.mark.anyio


async def test_load_ownership_and_constraints_are_read(tmp_path: Path) -> None:
    parts = PictureParts()
    async with store_with(tmp_path, small_cluster()) as store:
        assert await read_load(store, parts) is None
        assert await read_constraints([store], "east", parts) == "east"
    assert parts.notes.findings == []
    assert set(parts.brokers.figures) == {"b1:8080", "b2:8080"}
    assert set(parts.bundles.owners) == {FIRST, SECOND}
    assert parts.bundles.ownership_read is not None
    assert parts.bundles.ownership_read.where == "/namespace"
    assert parts.constraints.policies is not None
    assert len(parts.constraints.policies.value) == 1
    origin = parts.brokers.registrations["b1:8080"].origin
    assert origin.written_ms is not None


async def test_nodes_of_namespaces_are_no_ownership_under_the_extensible_manager(tmp_path: Path) -> None:
    documents = {"/loadbalance/brokers/b1:8080": lookup_data()}
    parts = PictureParts()
    async with store_with(tmp_path, documents) as store:
        await read_load(store, parts)
    assert parts.bundles.ownership_read is None


async def test_the_channel_in_the_store_is_all_ownership(tmp_path: Path) -> None:
    documents = {"/loadbalance/brokers/b1:8080": lookup_data(), f"/service_unit_state/{FIRST}": unit()}
    parts = PictureParts()
    async with store_with(tmp_path, documents) as store:
        await read_load(store, parts)
    assert parts.bundles.ownership_read is not None
    assert parts.bundles.ownership_read.where == "/service_unit_state"


async def test_a_scan_that_breaks_off_says_of_no_bundle_that_it_is_free(tmp_path: Path) -> None:
    parts = PictureParts()
    async with store_with(tmp_path, small_cluster()) as store:
        trouble = await read_load(failing(store, "/namespace"), parts)
    assert isinstance(trouble, StoreUnavailable)
    assert parts.bundles.ownership_read is None
    assert set(parts.bundles.owners) == {FIRST, SECOND}
    assert [(each.kind, each.where) for each in parts.notes.findings] == [(LoadFindingKind.UNREADABLE, "/namespace")]
    assert "store-unavailable" in parts.notes.findings[0].what


async def test_the_first_store_that_knows_the_cluster_counts(tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    parts = PictureParts()
    documents = {"/admin/clusters/east/namespaceIsolationPolicies": {"shops": isolation()}}
    async with (
        store_with(tmp_path / "local", {"/loadbalance/leader": {}}) as local,
        store_with(tmp_path, documents) as far,
    ):
        assert await read_constraints([failing(local, "/admin/clusters"), local, far], "east", parts) == "east"
    assert parts.constraints.policies is not None
    assert len(parts.constraints.policies.value) == 1


@pytest.mark.parametrize(
    ("names", "wanted", "found"),
    [
        (("east",), None, "east"),
        (("east", "global"), None, "east"),
        (("east", "west"), None, None),
        (("east",), "west", "west"),
    ],
)
async def test_a_cluster_of_no_name_is_the_only_one(
    tmp_path: Path, names: tuple[str, ...], wanted: str | None, found: str | None
) -> None:
    parts = PictureParts()
    documents = {f"/admin/clusters/{name}": {"serviceUrl": "http://x"} for name in names}
    async with store_with(tmp_path, documents) as store:
        assert await read_constraints([store], wanted, parts) == found
    known = wanted is None and found is not None
    assert (parts.constraints.policies is not None) is known
    assert [each.kind for each in parts.notes.findings] == ([] if known else [LoadFindingKind.MISSING])
