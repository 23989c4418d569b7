"""Folding is commutative, associative and idempotent, invents no conflict and forgets no loser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.acts import RecordConflict
from syncer.conflict.causality.order import later
from syncer.conflict.register import Register
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Settings
from syncer.model import Counter, MetadataChangeEvent, Millis, Region, Stamp, TieOrder, Version
from tests.property.strategies import (
    NOW,
    TENANT,
    History,
    deliveries,
    histories,
    tenant_digest,
    tenant_event,
    tenant_value,
    ties,
)


def fold_all(events: Iterable[MetadataChangeEvent], order: TieOrder) -> tuple[Version, list[RecordConflict]]:
    """Fold at a region that writes nothing itself."""
    replica = Replica(Settings(region=Region("observer"), ties=order))
    register = Register(path=TENANT)
    conflicts: list[RecordConflict] = []
    for event in events:
        outcome = replica.fold(register, event, NOW)
        register = outcome.register
        conflicts += [act for act in outcome.acts if isinstance(act, RecordConflict)]
    assert register.known is not None
    return register.known, conflicts


def greatest(events: Iterable[MetadataChangeEvent], order: TieOrder) -> MetadataChangeEvent:
    winner, *others = events
    for event in others:
        winner = event if later(event.stamp, winner.stamp, order) else winner
    return winner


@st.composite
def delivered(draw: st.DrawFn, *, distinct: bool) -> tuple[History, list[MetadataChangeEvent]]:
    history = draw(histories(distinct=distinct))
    return history, draw(deliveries(history.events))


@given(case=delivered(distinct=False), order=ties)
def test_any_delivery_ends_in_the_greatest_stamp(
    case: tuple[History, list[MetadataChangeEvent]], order: TieOrder
) -> None:
    history, delivery = case
    known, _ = fold_all(delivery, order)
    winner = greatest(history.events, order)
    assert (known.stamp, known.by, known.digest) == (winner.stamp, winner.by, tenant_digest(winner.value))
    assert known.value == winner.value


@given(case=delivered(distinct=False), cut=st.integers(0, 8), order=ties)
def test_folding_a_part_first_ends_in_the_same(
    case: tuple[History, list[MetadataChangeEvent]], cut: int, order: TieOrder
) -> None:
    _, delivery = case
    head, tail = delivery[:cut], delivery[cut:]
    whole, _ = fold_all(delivery, order)
    winners = [greatest(part, order) for part in (head, tail) if part]
    assert fold_all(winners, order)[0].stamp == whole.stamp


@given(case=delivered(distinct=False), order=ties)
def test_a_second_delivery_of_everything_changes_and_records_nothing_new(
    case: tuple[History, list[MetadataChangeEvent]], order: TieOrder
) -> None:
    _, delivery = case
    once, conflicts = fold_all(delivery, order)
    twice, again = fold_all([*delivery, *delivery], order)
    assert (twice.stamp, twice.digest, twice.value) == (once.stamp, once.digest, once.value)
    winner_losses = {record.loser for record in again if record.loser == once.stamp}
    assert not winner_losses
    kept = {record.loser_digest for record in conflicts}
    seen_by_some = {tenant_digest(event.value) for event in delivery}
    assert kept <= {record.loser_digest for record in again} <= seen_by_some


@given(case=delivered(distinct=True), order=ties)
def test_only_changes_that_could_not_see_each_other_conflict(
    case: tuple[History, list[MetadataChangeEvent]], order: TieOrder
) -> None:
    history, delivery = case
    _, conflicts = fold_all(delivery, order)
    for record in conflicts:
        assert history.concurrent(record.loser, record.winner)
        assert later(record.winner, record.loser, order)


@given(case=delivered(distinct=True), order=ties)
def test_every_loser_that_nobody_saw_is_kept_whole(
    case: tuple[History, list[MetadataChangeEvent]], order: TieOrder
) -> None:
    history, delivery = case
    known, conflicts = fold_all(delivery, order)
    kept = {(record.loser, record.value) for record in conflicts}
    for event in history.frontier:
        if event.stamp != known.stamp:
            assert (event.stamp, event.value) in kept


@given(case=delivered(distinct=False), order=ties)
def test_a_value_is_kept_unless_it_won_or_was_seen(
    case: tuple[History, list[MetadataChangeEvent]], order: TieOrder
) -> None:
    """With equal values the loser may be kept under the stamp of another author of the same value."""
    history, delivery = case
    known, conflicts = fold_all(delivery, order)
    kept = {record.loser_digest for record in conflicts}
    frontier = history.frontier
    overwritten_knowingly = {
        tenant_digest(event.value) for event in history.events if event.stamp not in {lone.stamp for lone in frontier}
    }
    for event in frontier:
        digest = tenant_digest(event.value)
        assert digest == known.digest or digest in kept or digest in overwritten_knowingly


@given(case=st.data(), order=ties)
def test_authors_in_a_row_never_conflict(case: st.DataObject, order: TieOrder) -> None:
    """Each of them saw all before: late and repeated deliveries (schedules 1 and 2) are ancestors, not conflicts."""
    seen: Mapping[Counter, Millis] = {}
    events: list[MetadataChangeEvent] = []
    for number, name in enumerate(case.draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=7))):
        stamp = Stamp(Millis(NOW - 100 + number), Region(name))
        seen = {**seen, Counter(f"{name}~1"): stamp.updated_at_ms}
        events.append(tenant_event(tenant_value(number), stamp, seen))
    known, conflicts = fold_all(case.draw(deliveries(tuple(events))), order)
    assert known.stamp == events[-1].stamp
    assert conflicts == []


@st.composite
def foreign_events(draw: st.DrawFn) -> tuple[MetadataChangeEvent, ...]:
    """Events whose version vectors make no sense (broken clocks, broken authors); only a stamp names one value."""
    places = draw(st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abc")), min_size=1, max_size=6, unique=True))
    counters = st.sampled_from(["a~1", "b~1", "c~1"]).map(Counter)
    events = []
    for time, name in places:
        stamp = Stamp(Millis(time), Region(name))
        by = Counter(f"{name}~1")
        seen = {**draw(st.dictionaries(counters, st.integers(0, 5).map(Millis))), by: stamp.updated_at_ms}
        events.append(tenant_event(tenant_value(draw(st.integers(0, 2))), stamp, seen))
    return tuple(events)


@given(case=st.data(), order=ties)
def test_convergence_never_needs_the_version_vectors(case: st.DataObject, order: TieOrder) -> None:
    events = case.draw(foreign_events())
    known, _ = fold_all(case.draw(deliveries(events)), order)
    assert known.stamp == greatest(events, order).stamp
