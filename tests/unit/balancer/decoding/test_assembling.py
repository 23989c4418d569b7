"""Assembling: what is contradicted or stale is unknown in the picture, and said."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.balancer.decoding.assembling import AHEAD_MS, STALE_MS, assembled
from syncer.balancer.picture import Known, LoadFindingKind, LoadManager, LoadPicture, Tenure
from tests.support.load_documents import (
    FIRST,
    NOW_MS,
    SECOND,
    STORE,
    boundaries,
    local_broker,
    lookup_data,
    owner,
    small_cluster,
    stats,
    taken,
)


def pictured(changed: dict[str, Any], *, without: tuple[str, ...] = (), ownership_read: bool = True) -> LoadPicture:
    documents = {path: each for path, each in {**small_cluster(), **changed}.items() if path not in without}
    return assembled(taken(documents, ownership_read=ownership_read), cluster="east", taken_ms=NOW_MS)


def kinds(picture: LoadPicture) -> list[LoadFindingKind]:
    return [each.kind for each in picture.findings]


def owner_of(picture: LoadPicture, bundle: str) -> str | None:
    told = picture.bundles[bundle].owner
    return None if told is None else told.value.broker


def test_a_picture_without_flaws_has_everything_with_its_origin() -> None:
    picture = pictured({})
    assert picture.findings == ()
    assert (picture.cluster, picture.taken_ms, picture.manager) == ("east", NOW_MS, LoadManager.MODULAR)
    assert picture.registered == ("b1:8080", "b2:8080")
    assert list(picture.bundles) == [FIRST, SECOND]
    assert [owner_of(picture, bundle) for bundle in picture.bundles] == ["b1:8080", "b2:8080"]
    seen = picture.bundles[FIRST]
    assert seen.stats is not None
    assert seen.stats.origin.where == "/loadbalance/brokers/b1:8080"
    assert seen.stats.origin.age_ms(picture.taken_ms) == 4000
    assert seen.averages is not None
    assert picture.bundles[SECOND].averages is None
    assert picture.leader is not None
    assert picture.leader.value == "b1:8080"
    group = picture.namespaces["shop/orders"].group
    assert group is not None
    assert group.value == "pair"


def test_a_bundle_without_a_node_is_free_once_all_ownership_was_read() -> None:
    without = (f"/namespace/{SECOND}",)
    changed = {"/loadbalance/brokers/b2:8080": local_broker("b2:8080")}
    told = pictured(changed, without=without).bundles[SECOND].owner
    assert told is not None
    assert told.value.tenure is Tenure.FREE
    assert pictured(changed, without=without, ownership_read=False).bundles[SECOND].owner is None


def test_a_bundle_with_loaded_topics_is_not_free_although_nobody_owns_it() -> None:
    parts = taken({path: each for path, each in small_cluster().items() if path != f"/namespace/{SECOND}"})
    parts.bundles.topics[SECOND] = Known({}, STORE)
    assert assembled(parts, cluster="east", taken_ms=NOW_MS).bundles[SECOND].owner is None


def test_a_bundle_that_nobody_loads_is_in_the_picture_without_figures() -> None:
    changed = {"/admin/local-policies/shop/quiet": boundaries()}
    seen = pictured(changed).bundles["shop/quiet/0x00000000_0x80000000"]
    assert (seen.stats, seen.averages, seen.topics) == (None, None, None)


def test_a_report_of_another_than_the_owner_is_no_figure() -> None:
    picture = pictured({f"/namespace/{FIRST}": owner("b2:8080")})
    assert picture.bundles[FIRST].stats is None
    assert owner_of(picture, FIRST) == "b2:8080"
    assert kinds(picture) == [LoadFindingKind.CONTRADICTION, LoadFindingKind.MISSING]
    assert "b1:8080 reports" in picture.findings[0].what


def test_of_two_reports_the_owners_counts_and_none_where_no_owner_is_known() -> None:
    both = {"/loadbalance/brokers/b2:8080": local_broker("b2:8080", FIRST, SECOND)}
    picture = pictured(both)
    assert picture.bundles[FIRST].stats is not None
    assert picture.bundles[FIRST].stats.origin.where.endswith("b1:8080")
    assert kinds(picture) == [LoadFindingKind.CONTRADICTION]
    unknown = pictured(both, without=(f"/namespace/{FIRST}",), ownership_read=False)
    assert unknown.bundles[FIRST].stats is None
    assert kinds(unknown) == [LoadFindingKind.CONTRADICTION]


def test_an_owner_that_is_not_registered_is_unknown() -> None:
    picture = pictured({f"/namespace/{FIRST}": owner("gone:8080")})
    assert picture.bundles[FIRST].owner is None
    assert kinds(picture) == [LoadFindingKind.CONTRADICTION]
    assert "gone:8080" in picture.findings[0].what


def test_a_bundle_that_was_split_is_left_out() -> None:
    cut = boundaries("0x00000000", "0x40000000", "0x80000000", "0xffffffff")
    picture = pictured({"/admin/local-policies/shop/orders": cut})
    assert FIRST not in picture.bundles
    assert "shop/orders/0x00000000_0x40000000" in picture.bundles
    assert kinds(picture) == [LoadFindingKind.CONTRADICTION]
    assert FIRST in picture.findings[0].what


def test_boundaries_of_the_policies_count_where_there_are_no_local_ones() -> None:
    changed = {"/admin/policies/shop/orders": boundaries("0x00000000", "0xffffffff")}
    with_local = pictured(changed).namespaces["shop/orders"].boundaries
    without = pictured(changed, without=("/admin/local-policies/shop/orders",)).namespaces["shop/orders"].boundaries
    assert with_local is not None
    assert without is not None
    assert (len(with_local.value), len(without.value)) == (3, 2)


@pytest.mark.parametrize(("age_ms", "used"), [(STALE_MS, True), (STALE_MS + 1, False)])
def test_a_stale_report_is_no_figure(age_ms: int, used: bool) -> None:
    picture = pictured({"/loadbalance/brokers/b1:8080": local_broker("b1:8080", FIRST, lastUpdate=NOW_MS - age_ms)})
    assert (picture.brokers["b1:8080"].figures is not None) is used
    assert (picture.bundles[FIRST].stats is not None) is used
    assert (LoadFindingKind.STALE in kinds(picture)) is not used
    assert owner_of(picture, FIRST) == "b1:8080"


def test_a_clock_that_is_ahead_is_said() -> None:
    ahead = local_broker("b1:8080", FIRST, lastUpdate=NOW_MS + AHEAD_MS + 1)
    picture = pictured({"/loadbalance/brokers/b1:8080": ahead})
    assert kinds(picture) == [LoadFindingKind.IMPOSSIBLE]
    figures = picture.brokers["b1:8080"].figures
    assert figures is not None
    assert figures.origin.age_ms(NOW_MS) == 0


def test_a_report_without_a_time_has_no_age() -> None:
    picture = pictured({"/loadbalance/brokers/b1:8080": local_broker("b1:8080", FIRST, lastUpdate=None)})
    figures = picture.brokers["b1:8080"].figures
    assert figures is not None
    assert figures.origin.age_ms(NOW_MS) is None
    assert set(kinds(picture)) == {LoadFindingKind.MISSING}


def test_both_managers_at_once_are_neither() -> None:
    picture = pictured({"/loadbalance/brokers/b2:8080": lookup_data("b2:8080")})
    assert picture.manager is None
    assert LoadFindingKind.CONTRADICTION in kinds(picture)


def test_a_broker_without_a_report_is_there_and_its_load_unknown() -> None:
    picture = pictured(
        {"/loadbalance/brokers/b1:8080": lookup_data("b1:8080")}, without=("/loadbalance/brokers/b2:8080",)
    )
    assert picture.manager is LoadManager.EXTENSIBLE
    assert picture.brokers["b1:8080"].figures is None
    assert any("b1:8080" in each.what and each.kind is LoadFindingKind.MISSING for each in picture.findings)


def test_a_leader_that_is_not_registered_is_unknown() -> None:
    picture = pictured({"/loadbalance/leader": {"brokerId": "gone:8080"}})
    assert picture.leader is None
    assert kinds(picture) == [LoadFindingKind.CONTRADICTION]


def test_bundles_that_their_owner_does_not_report_are_counted() -> None:
    document = local_broker("b1:8080", FIRST)
    document["lastStats"] = {}
    picture = pictured({"/loadbalance/brokers/b1:8080": document})
    assert picture.bundles[FIRST].stats is None
    assert [each.what for each in picture.findings] == [
        f"1 bundles that b1:8080 owns have no figures in its report, {FIRST} is one"
    ]


def test_an_empty_cluster_is_a_picture_without_brokers() -> None:
    picture = assembled(taken({}), cluster="east", taken_ms=NOW_MS)
    assert (picture.manager, dict(picture.brokers), dict(picture.bundles), picture.findings) == (None, {}, {}, ())


def test_zero_traffic_is_a_figure() -> None:
    quiet = local_broker("b1:8080", FIRST, msgRateIn=0.0, msgRateOut=0.0, msgThroughputIn=0.0, msgThroughputOut=0.0)
    quiet["lastStats"][FIRST] = stats(msgRateIn=0.0, msgRateOut=0.0, msgThroughputIn=0.0, msgThroughputOut=0.0)
    picture = pictured({"/loadbalance/brokers/b1:8080": quiet})
    assert picture.findings == ()
    seen = picture.bundles[FIRST].stats
    assert seen is not None
    assert seen.value.traffic.rate == 0.0
