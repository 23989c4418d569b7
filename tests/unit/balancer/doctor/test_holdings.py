"""Ownership over several pictures: stuck beyond a bound, returned, or moving beside its double."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, Unjudged
from syncer.balancer.doctor.holdings import odd_holdings
from syncer.balancer.history.changes import OwnerChange
from syncer.balancer.picture import Known, LoadPicture, Ownership, Tenure
from tests.support.doctor_cases import STORE, case
from tests.support.load_documents import EXTENSIBLE, NOW_MS

BUNDLE, DOUBLE = "t/n0/0x00000000_0x00000001", "t/n1/0x00000000_0x00000001"
MOVING = Ownership(Tenure.MOVING, "b0:8080", "b1:8080")
FREE = Ownership(Tenure.FREE, None)


def owned(broker: str) -> Ownership:
    return Ownership(Tenure.OWNED, broker)


def at(ago_ms: int, holdings: Mapping[str, Ownership | None], written_ms: int | None = None) -> LoadPicture:
    known = case(changed={"loadManagerClassName": EXTENSIBLE}).picture
    origin = replace(STORE, written_ms=written_ms)
    bundles = {
        name: replace(known.bundles[name], owner=None if held is None else Known(held, origin))
        for name, held in holdings.items()
    }
    return replace(known, taken_ms=NOW_MS - ago_ms, bundles={**known.bundles, **bundles})


def answers(code: str, pictures: Sequence[LoadPicture], without: Sequence[str] = ()) -> list[Answer]:
    known: Case = replace(case(without=without), picture=pictures[-1], history=tuple(pictures[:-1]))
    found = odd_holdings(known)
    return [each for each in found if (code == each.code if isinstance(each, Diagnosis) else code in each.codes)]


def test_a_move_is_stuck_beyond_the_time_that_an_unload_may_take() -> None:
    assert answers("ownership-stuck", [at(0, {BUNDLE: MOVING}, NOW_MS - 60_000)]) == []
    (found,) = answers("ownership-stuck", [at(0, {BUNDLE: MOVING}, NOW_MS - 60_001)])
    assert isinstance(found, Diagnosis)
    assert found.where == BUNDLE
    assert found.evidence[0].value == "moving from b0:8080 to b1:8080"
    assert "pulsar-admin namespaces unload t/n0 --bundle 0x00000000_0x00000001" in found.remedy


def test_earlier_pictures_tell_since_when_it_is_so() -> None:
    before = [at(70_000, {BUNDLE: MOVING}), at(30_000, {BUNDLE: MOVING})]
    assert len(answers("ownership-stuck", [*before, at(0, {BUNDLE: MOVING})])) == 1
    other = [at(70_000, {BUNDLE: owned("b0:8080")}), at(30_000, {BUNDLE: MOVING})]
    assert answers("ownership-stuck", [*other, at(0, {BUNDLE: MOVING})]) == []


def test_a_move_of_unknown_age_or_bound_and_an_unknown_owner_are_not_judged() -> None:
    for pictures, without in (
        ([at(0, {BUNDLE: MOVING})], ()),
        ([at(0, {BUNDLE: MOVING}, NOW_MS - 99_999)], ("namespaceBundleUnloadingTimeoutMs",)),
        ([at(0, {BUNDLE: None})], ()),
    ):
        assert [type(each) for each in answers("ownership-stuck", pictures, without)] == [Unjudged]


def test_a_bundle_that_comes_back_is_found_and_one_that_moves_on_is_not() -> None:
    def moved(*brokers: str) -> list[Answer]:
        pictures = [at(60_000 * (len(brokers) - n), {BUNDLE: owned(each)}) for n, each in enumerate(brokers)]
        return answers("bundle-ping-pong", pictures)

    assert moved("b0:8080", "b0:8080", "b1:8080") == []
    assert moved("b0:8080", "b1:8080", "b2:8080", "b2:8080") == []
    (found,) = moved("b0:8080", "b1:8080", "b0:8080")
    assert isinstance(found, Diagnosis)
    assert [each.value.partition(",")[0] for each in found.evidence] == ["b0:8080", "b1:8080", "b0:8080"]
    assert [type(each) for each in moved("b0:8080", "b1:8080")] == [Unjudged]


def modular(*holdings: Mapping[str, Ownership | None]) -> list[LoadPicture]:
    ages = range(len(holdings) - 1, -1, -1)
    return [
        replace(at(1000 * age, each), manager=case().picture.manager) for age, each in zip(ages, holdings, strict=True)
    ]


def test_equal_ranges_that_are_under_way_at_once_are_found() -> None:
    both = {BUNDLE: owned("b0:8080"), DOUBLE: owned("b1:8080")}
    (found,) = answers("equal-ranges-under-way", modular(both, {BUNDLE: FREE, DOUBLE: FREE}))
    assert isinstance(found, Diagnosis)
    assert found.where == "0x00000000_0x00000001"
    assert [each.what for each in found.evidence] == [BUNDLE, DOUBLE]
    assert answers("equal-ranges-under-way", modular(both, {BUNDLE: FREE, DOUBLE: owned("b1:8080")})) == []
    free = {BUNDLE: FREE, DOUBLE: FREE}
    assert answers("equal-ranges-under-way", modular(free, free)) == []
    assert [type(each) for each in answers("equal-ranges-under-way", modular(free))] == [Unjudged]
    assert answers("equal-ranges-under-way", [at(1000, both), at(0, {BUNDLE: FREE, DOUBLE: FREE})]) == []


def test_recorded_changes_are_judged_where_pictures_show_none() -> None:
    def found(*changes: OwnerChange) -> list[Answer]:
        taken = at(0, {BUNDLE: owned("b0:8080"), DOUBLE: owned("b1:8080")})
        return list(odd_holdings(replace(case(), picture=taken, changes=changes)))

    back = OwnerChange(BUNDLE, "b1:8080", "b0:8080", NOW_MS - 200_000, NOW_MS - 100_000)
    away = OwnerChange(BUNDLE, "b0:8080", "b1:8080", NOW_MS - 400_000, NOW_MS - 300_000)
    (to_and_fro,) = (each for each in found(away, back) if isinstance(each, Diagnosis))
    assert to_and_fro.code == "bundle-ping-pong"
    assert to_and_fro.evidence[0].value == "b0:8080, seen 400 s ago"
    long_ago = replace(away, after_ms=NOW_MS - 9_000_000, by_ms=NOW_MS - 8_000_000)
    assert not [each for each in found(long_ago, back) if isinstance(each, Diagnosis)]


def test_equal_ranges_that_were_recorded_to_move_at_once_are_found() -> None:
    taken = replace(at(0, {BUNDLE: owned("b0:8080"), DOUBLE: owned("b1:8080")}), manager=case().picture.manager)
    moved = (
        OwnerChange(BUNDLE, "b1:8080", "b0:8080", NOW_MS - 200_000, NOW_MS - 100_000),
        OwnerChange(DOUBLE, "b0:8080", "b1:8080", NOW_MS - 150_000, NOW_MS - 50_000),
    )
    known = replace(case(), picture=taken, changes=moved)
    (found,) = (each for each in odd_holdings(known) if isinstance(each, Diagnosis))
    assert (found.code, found.where) == ("equal-ranges-under-way", "0x00000000_0x00000001")
    assert [each.what for each in found.evidence] == [BUNDLE, DOUBLE]
