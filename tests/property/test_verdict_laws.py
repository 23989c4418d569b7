"""Laws of the verdict on one path: it follows from the rows alone, its winner is the greatest, its classes part all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.diff.verdict import RegionRow, judge
from spark_snapshot.format.words import PathClass, StampOrigin, WinReason
from syncer.conflict.causality.order import later
from syncer.conflict.settings import Direction
from syncer.model import Region, Stamp, TieOrder
from tests.property.strategies import region_ids, stamps, ties

NAMES = tuple(Region(name) for name in ("east", "north", "south", "west"))

digests = st.one_of(st.none(), st.sampled_from([b"\x00" * 16, b"\x01" * 16, b"\xff" * 16, b"raw:" + b"\x01" * 16]))
rows = st.builds(
    RegionRow,
    digest=digests,
    stamp=st.one_of(stamps, st.sampled_from([Stamp(1, Region("a")), Stamp(2, Region("b"))])),  # type: ignore[arg-type]
    origin=st.sampled_from(StampOrigin),
    hold=st.one_of(st.none(), st.just("first-contact")),
)
sides = st.dictionaries(st.sampled_from(NAMES), st.one_of(st.none(), rows), min_size=2)


def content(state: RegionRow | None) -> bytes | None:
    return None if state is None else state.digest


@given(sides, ties, st.randoms(use_true_random=False))
def test_the_order_in_which_regions_are_given_does_not_matter(
    states: dict[Region, RegionRow | None], order: TieOrder, random: object
) -> None:
    items = list(states.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    assert judge(dict(items), order) == judge(states, order)


@given(sides, ties)
def test_same_exactly_when_all_hold_the_same(states: dict[Region, RegionRow | None], order: TieOrder) -> None:
    verdict = judge(states, order)
    held = {content(state) for state in states.values()}
    if verdict is None:
        assert held == {None}
    else:
        assert (verdict.finding is PathClass.SAME) == (len(held) == 1)
        assert (verdict.finding is PathClass.SAME) == (verdict.losers == ())


@given(sides, ties)
def test_no_stamp_is_greater_than_the_winners(states: dict[Region, RegionRow | None], order: TieOrder) -> None:
    verdict = judge(states, order)
    if verdict is None:
        return
    assert states[verdict.winner] is verdict.version
    for state in states.values():
        if state is None or state.bare:
            continue
        assert not later(state.stamp, verdict.version.stamp, order)
        if state.stamp == verdict.version.stamp:
            assert (state.alive, state.digest or b"") <= (verdict.version.alive, verdict.version.digest or b"")


@given(sides, ties)
def test_when_the_losers_take_the_winners_state_all_is_the_same(
    states: dict[Region, RegionRow | None], order: TieOrder
) -> None:
    verdict = judge(states, order)
    if verdict is None:
        return
    assert verdict.winner not in verdict.losers
    repaired = {region: verdict.version if region in verdict.losers else state for region, state in states.items()}
    after = judge(repaired, order)
    assert after is not None
    assert (after.finding, after.version.stamp, after.version.digest) == (
        PathClass.SAME,
        verdict.version.stamp,
        verdict.version.digest,
    )


@given(sides, ties)
def test_each_class_says_what_it_is(states: dict[Region, RegionRow | None], order: TieOrder) -> None:
    verdict = judge(states, order)
    if verdict is None:
        return
    plain = verdict.underlying or verdict.finding
    known = [state for state in states.values() if state is not None and not state.bare]
    alive = [state for state in known if state.alive]
    if plain is PathClass.DELETED:
        assert not verdict.version.alive
        assert alive
    elif plain is PathClass.ONLY_IN:
        assert {state.digest for state in known} == {verdict.version.digest}
        assert len(known) < len(states)
    elif plain is PathClass.DIFFERS:
        assert verdict.version.alive
        assert len({state.digest for state in known}) > 1
    else:
        assert plain is PathClass.SAME
    assert (verdict.finding is PathClass.HELD) == any(region in verdict.holds for region in verdict.losers)
    assert (verdict.reason is WinReason.ONLY) == (len({state.digest for state in known}) == 1)


@given(st.lists(region_ids, min_size=2, max_size=4, unique=True), digests, digests, ties)
def test_a_tie_is_decided_by_the_order_of_the_authors(
    names: list[Region], one: bytes | None, other: bytes | None, order: TieOrder
) -> None:
    left, right = Stamp(7, names[0]), Stamp(7, names[1])  # type: ignore[arg-type]
    verdict = judge(
        {names[0]: RegionRow(digest=one, stamp=left), names[1]: RegionRow(digest=other, stamp=right)}, order
    )
    assert verdict is not None
    assert verdict.version.stamp == (left if later(left, right, order) else right)
    assert verdict.reason is (WinReason.ONLY if one == other else WinReason.REGION_ORDER)


carriers = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([each for each in Direction if each != "ignore"]))


@given(sides, ties, carriers)
def test_regions_that_do_not_share_a_path_say_nothing_of_it(
    states: dict[Region, RegionRow | None], order: TieOrder, ways: dict[Region, Direction]
) -> None:
    ways = {region: way for region, way in ways.items() if region in states}
    verdict = judge(states, order, ways)
    assert verdict == judge({region: states[region] for region in ways}, order, ways)
    both = dict.fromkeys(ways, Direction.BOTH)
    assert judge(states, order, both) == judge({region: states[region] for region in ways}, order)
    if verdict is not None:
        assert verdict.winner in ways
        assert all(ways[loser].applies for loser in verdict.losers)
        held = {content(states[region]) for region in ways}
        assert (verdict.finding is PathClass.SAME) == (len(held) == 1)
        spreads = {
            region
            for region, state in states.items()
            if region in ways
            and state is not None
            and not state.bare
            and (state.origin is StampOrigin.REGISTER or ways[region].publishes)
        }
        assert not spreads or verdict.winner in spreads
