"""Laws of forgetting: whatever order reports come in, nothing goes before every member has told what it must."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.tombstones import EpochPhase, Report, advance, close
from syncer.model import Millis, Region

REGIONS = tuple(map(Region, "abc"))
SENDERS = {region: f"d{region}" for region in REGIONS}
UNTIL = Millis(100)
numbers = st.integers(0, 6)
vectors = st.fixed_dictionaries({}, optional=dict.fromkeys(SENDERS.values(), numbers))


@st.composite
def reports(draw: st.DrawFn, region: Region) -> Report:
    """Any report of a region, sensible or not."""
    unseated = draw(st.integers(0, 1))
    return Report(
        sender=SENDERS[region],
        last_sequence=draw(numbers),
        consumed=draw(vectors),
        reached=draw(vectors),
        unseated=unseated,
        oldest_ms=Millis(draw(st.sampled_from((50, 100, 101, 200)))) if unseated else None,
        unfolded=draw(st.sampled_from((0, 0, 0, 1))),
    )


rounds = st.fixed_dictionaries({region: reports(region) for region in REGIONS})


@given(rounds, st.lists(rounds, max_size=12))
def test_nothing_goes_before_both_rounds_hold(first: dict[Region, Report], later: list[dict[Region, Report]]) -> None:
    epoch = close(first, UNTIL)
    qualified: dict[Region, list[Report]] = {region: [] for region in REGIONS}
    for told in later:
        before = epoch.phase
        after = advance(epoch, told)
        assert after is not None
        assert after.stored >= epoch.stored
        assert after.consumed >= epoch.consumed
        for region in after.stored - epoch.stored:
            report = told[region]
            assert report.lacks(epoch.first) is None
            assert report.oldest_ms is None or report.oldest_ms > UNTIL
            assert not report.unfolded
            qualified[region].append(report)
            assert all(after.second[sender] >= number for sender, number in report.met.items())
        if before is EpochPhase.SEATING:
            assert not after.consumed
        for region in after.consumed - epoch.consumed:
            assert told[region].lacks(after.second) is None
            assert not told[region].unfolded
        epoch = after
    if epoch.phase is EpochPhase.OVER:
        assert all(qualified.values())


@given(rounds, st.lists(rounds, max_size=8))
def test_a_report_that_comes_again_changes_nothing(
    first: dict[Region, Report], later: list[dict[Region, Report]]
) -> None:
    once = again = close(first, UNTIL)
    for told in later:
        after = advance(once, told)
        assert after is not None
        twice = advance(advance(again, told) or again, told)
        assert twice is not None
        if after.phase is not EpochPhase.SEATING and once.phase is EpochPhase.SEATING:
            after = advance(after, told)
            assert after is not None
        assert twice == (advance(after, told) or after)
        once = again = twice
