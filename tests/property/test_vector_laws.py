"""To believe less of a vector can only make more conflicts, never fewer; and what is honest is believed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.acts import RecordConflict
from syncer.conflict.causality.order import Relation, later, relate
from syncer.conflict.causality.vectors import MAX_COUNTERS, MAX_NAMES_BYTES, believed, bounded, join, sound
from syncer.conflict.folding import fold_version
from syncer.conflict.register import Register
from syncer.conflict.settings import Settings
from syncer.model import Counter, Millis, Region, Seen, Stamp, TieOrder, Version, counter_of
from syncer.replacing import replace
from tests.property.strategies import TENANT, History, histories, tenant_digest, tenant_value, ties

SETTINGS = Settings(region=Region("observer"))

counters = st.sampled_from(["a~1", "a~2", "b~1", "c~1", "observer~1"]).map(Counter)
claims: st.SearchStrategy[Seen] = st.dictionaries(counters, st.integers(0, 9).map(Millis))


@st.composite
def versions(draw: st.DrawFn) -> Version:
    """A version whose vector may say anything, but that it holds the version itself: else a message is refused."""
    stamp = Stamp(Millis(draw(st.integers(1, 6))), Region(draw(st.sampled_from("abc"))))
    seen = {**draw(claims), counter_of(stamp.region, 1): Millis(draw(st.integers(stamp.updated_at_ms, 9)))}
    digest = tenant_digest(tenant_value(draw(st.integers(0, 2))))
    return Version(stamp=stamp, by=counter_of(stamp.region, 1), seen=seen, digest=digest)


def less(draw: st.DrawFn, version: Version) -> Version:
    """The same with some entries forgotten."""
    kept = draw(st.sets(st.sampled_from(sorted(version.seen)))) if version.seen else set()
    return replace(version, seen={counter: time for counter, time in version.seen.items() if counter in kept})


def recorded(known: Version, incoming: Version, order: TieOrder) -> bool:
    """Whether the loser of the two is kept."""
    settings = Settings(region=Region("observer"), ties=order)
    _, acts = fold_version(settings, Register(path=TENANT, known=known), incoming, own=False)
    return any(isinstance(act, RecordConflict) for act in acts)


@given(known=versions(), incoming=versions(), case=st.data(), order=ties)
def test_to_forget_entries_makes_more_conflicts_never_fewer(
    known: Version, incoming: Version, case: st.DataObject, order: TieOrder
) -> None:
    fewer = case.draw(st.composite(less)(known)), case.draw(st.composite(less)(incoming))
    assert recorded(*fewer, order) >= recorded(known, incoming, order)


@given(known=versions(), incoming=versions(), case=st.data(), order=ties)
def test_to_disbelieve_makes_more_conflicts_never_fewer(
    known: Version, incoming: Version, case: st.DataObject, order: TieOrder
) -> None:
    own = Millis(case.draw(st.integers(0, 9)))
    time = incoming.stamp.updated_at_ms
    less_believed = believed(SETTINGS, Register(path=TENANT, own=own), incoming)
    incoming = replace(incoming, seen={**incoming.seen, incoming.by: time})  # beyond its change it claims nothing
    assert recorded(known, less_believed, order) >= recorded(known, incoming, order)


@given(known=versions(), incoming=versions(), order=ties)
def test_an_ancestor_is_the_lesser_one_and_a_successor_the_greater(
    known: Version, incoming: Version, order: TieOrder
) -> None:
    match relate(known, incoming):
        case Relation.ANCESTOR:
            assert later(known.stamp, incoming.stamp, order)
            assert relate(incoming, known) is not Relation.ANCESTOR
        case Relation.SUCCESSOR:
            assert later(incoming.stamp, known.stamp, order)


@given(incoming=versions(), own=st.integers(0, 9).map(Millis))
def test_what_is_believed_is_what_somebody_can_have_seen(incoming: Version, own: Millis) -> None:
    found = believed(SETTINGS, Register(path=TENANT, own=own), incoming)
    time = incoming.stamp.updated_at_ms
    assert found.seen[incoming.by] == time == max(found.seen.values())
    assert found.seen.get(SETTINGS.by, -1) <= own or incoming.seen.get(SETTINGS.by, -1) <= own
    assert all(incoming.seen[counter] >= at for counter, at in found.seen.items() if counter != incoming.by)
    assert believed(SETTINGS, Register(path=TENANT, own=own), found) == found


@given(history=histories())
def test_what_is_honest_is_believed(history: History) -> None:
    for event in history.events:
        version = Version(stamp=event.stamp, by=event.by, seen=event.seen, digest=None)
        assert believed(SETTINGS, Register(path=TENANT), version) is version


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=512)
large = st.dictionaries(names.map(Counter), st.integers(0, 2**50).map(Millis), max_size=60)
crowds = st.integers(0, 3 * MAX_COUNTERS).map(lambda count: {Counter(f"r{n}~1"): Millis(n % 7) for n in range(count)})


@given(one=st.one_of(large, crowds), other=st.one_of(large, crowds))
def test_vectors_stay_within_their_room_however_they_are_joined(one: Seen, other: Seen) -> None:
    for seen in (bounded(one), bounded(join(one, other)), sound(join(one, other), Counter("me~1"), Millis(5))):
        assert len(seen) <= MAX_COUNTERS
        assert sum(len(counter.encode()) for counter in seen) <= MAX_NAMES_BYTES or len(seen) <= 8
    whole = join(one, other)
    kept = bounded(whole)
    assert all(whole[counter] == time for counter, time in kept.items())
    gone = [time for counter, time in whole.items() if counter not in kept]
    assert max(gone, default=-1) <= min(kept.values(), default=max(gone, default=-1))
    assert bounded(kept) == kept
