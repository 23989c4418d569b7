"""Laws of a history of load: its bounds hold, the newest stays, changes are not thinned, a sample comes back whole."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.history.changes import owner_changes
from syncer.balancer.history.encoding import decoded, encoded
from syncer.balancer.history.sample import LoadSample, SampledBroker, SampledBundle
from syncer.balancer.history.thinning import HistoryBounds, SampleMark, keep
from syncer.balancer.load import BundleStats, Rates, Usage
from syncer.balancer.picture import LoadManager, Ownership, SeenUsages, Tenure

BROKERS: Final = st.sampled_from(["a:8080", "b:8080", "c:8080"])
COUNTS: Final = st.integers(0, 10**9)
FIGURES: Final = st.floats(0, 1e12, allow_nan=False)
RATES: Final = st.builds(Rates, FIGURES, FIGURES, FIGURES, FIGURES)
USAGES: Final = st.none() | st.builds(Usage, FIGURES, FIGURES)
HELD: Final = st.builds(Ownership, st.sampled_from(Tenure), st.none() | BROKERS, st.none() | BROKERS)
SAMPLES: Final = st.builds(
    LoadSample,
    cluster=st.text(max_size=5),
    taken_ms=COUNTS,
    manager=st.none() | st.sampled_from(LoadManager),
    brokers=st.dictionaries(
        st.text(max_size=5) | BROKERS,
        st.builds(
            SampledBroker,
            usages=st.builds(
                SeenUsages, cpu=USAGES, memory=USAGES, direct_memory=USAGES, bandwidth_in=USAGES, bandwidth_out=USAGES
            ),
            traffic=st.none() | RATES,
            topics=st.none() | COUNTS,
            bundle_count=st.none() | COUNTS,
            producers=st.none() | COUNTS,
            consumers=st.none() | COUNTS,
        ),
        max_size=4,
    ),
    bundles=st.dictionaries(
        st.text(max_size=5),
        st.builds(SampledBundle, st.none() | HELD, st.none() | st.builds(BundleStats, RATES, COUNTS, COUNTS, COUNTS)),
        max_size=4,
    ),
)
BOUNDS: Final = st.builds(
    HistoryBounds,
    keep_ms=st.integers(1, 500),
    full_ms=st.integers(1, 500),
    thin_ms=st.integers(1, 100),
    most_bytes=st.integers(1, 300),
)
MARKS: Final = st.lists(
    st.builds(SampleMark, st.integers(0, 1000), st.integers(0, 50), st.integers(0, 20)),
    unique_by=lambda each: each.taken_ms,
).map(lambda each: sorted(each, key=lambda mark: mark.taken_ms))


@given(SAMPLES)
def test_a_sample_comes_back_as_it_was(sample: LoadSample) -> None:
    assert decoded(encoded(sample)) == sample


@given(MARKS, BOUNDS)
def test_what_stays_is_within_the_bounds_or_the_newest_alone(marks: list[SampleMark], bounds: HistoryBounds) -> None:
    found = keep(marks, bounds, 1000)
    samples = [
        each
        for each in marks
        if each.sample_bytes and each.taken_ms >= found.since_ms and each.taken_ms not in found.thinned
    ]
    there = [each.taken_ms for each in marks if each.sample_bytes]
    if there:
        assert samples[-1].taken_ms == there[-1]
    newest = there[-1] if there else None
    size = sum(each.sample_bytes for each in samples) + sum(
        each.changes_bytes for each in marks if each.taken_ms >= found.since_ms
    )
    alone = all(each.taken_ms >= (newest or 0) for each in marks if each.taken_ms >= found.since_ms)
    assert size <= bounds.most_bytes or alone
    assert all(each.taken_ms >= 1000 - bounds.keep_ms or each.taken_ms == newest for each in samples)
    old = [each.taken_ms for each in samples if each.taken_ms < 1000 - bounds.full_ms and each.taken_ms != newest]
    assert len({each // bounds.thin_ms for each in old}) == len(old)


@given(MARKS, BOUNDS)
def test_changes_go_by_age_and_room_alone(marks: list[SampleMark], bounds: HistoryBounds) -> None:
    thinning = keep(marks, bounds, 1000)
    total = sum(each.changes_bytes for each in marks) + sum(each.sample_bytes for each in marks)
    if total <= bounds.most_bytes:
        assert all(each.taken_ms >= thinning.since_ms for each in marks if each.taken_ms >= 1000 - bounds.keep_ms)


@given(st.lists(st.none() | BROKERS, max_size=12))
def test_owners_followed_lead_from_the_first_to_the_last(owners: list[str | None]) -> None:
    samples = [
        LoadSample(
            cluster="c",
            taken_ms=number,
            bundles={"t/n/0x00_0x10": SampledBundle(None if each is None else Ownership(Tenure.OWNED, each))},
        )
        for number, each in enumerate(owners)
    ]
    changes = owner_changes(samples)
    known = [each for each in owners if each is not None]
    path = known[:1]
    for change in changes:
        assert change.source == path[-1]
        assert owners[change.after_ms] == change.source
        assert owners[change.by_ms] == change.target
        path.append(change.target)
    assert path[-1:] == known[-1:]
    assert len(changes) == sum(one != other for one, other in pairwise(known))
