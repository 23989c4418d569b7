"""What of a version vector is believed, and how much room it may take."""

from __future__ import annotations

from dataclasses import replace

from syncer.conflict.acts import Decision, RecordConflict
from syncer.conflict.causality.order import Relation, relate
from syncer.conflict.causality.vectors import MAX_COUNTERS, MAX_NAMES_BYTES, bounded, covers, sound
from syncer.model import Counter, Millis, Seen, counter_of
from tests.property.strategies import NOW
from tests.unit.registers import (
    BY_HERE,
    HERE,
    THERE,
    THIRD,
    X,
    Y,
    Z,
    at,
    decisions,
    entry,
    event,
    moment,
    none_of,
    only,
    register,
    replica,
    seen,
    settled_on,
    stored,
    version,
)

YEAR_9999 = Millis(253_000_000_000_000)
BY_THERE, BY_THIRD = counter_of(THERE, 1), counter_of(THIRD, 1)


def many(count: int, time: Millis = NOW) -> Seen:
    return {Counter(f"r{number:06}~1"): time for number in range(count)}


def size(vector: Seen) -> int:
    return sum(len(counter.encode()) for counter in vector)


def test_nobody_has_seen_what_is_not_earlier_than_his_own_change() -> None:
    mine = version(X, at(5, THIRD), at(3, THERE))
    assert covers(mine, BY_THERE, at(3).updated_at_ms)
    assert not covers(mine, BY_THERE, at(4).updated_at_ms)
    assert not covers(mine, BY_HERE, at(3).updated_at_ms)
    lying = replace(mine, seen={**mine.seen, BY_THERE: YEAR_9999})
    assert not covers(lying, BY_THERE, at(3).updated_at_ms), "a time beyond its own says nothing"
    equal = replace(mine, seen={**mine.seen, BY_THERE: at(5).updated_at_ms})
    assert not covers(equal, BY_THERE, at(5).updated_at_ms), "nor can it have seen what was made in its own moment"
    assert covers(equal, BY_THERE, at(4).updated_at_ms)


def test_a_vector_of_the_year_9999_overwrites_nothing_in_silence() -> None:
    """It is held; an operator may let it pass; then what it pretends to include is a conflict all the same."""
    before = settled_on(X, at(1, THERE))
    forged = replace(event(Y, at(2, THIRD)), seen={BY_THIRD: at(2).updated_at_ms, BY_THERE: YEAR_9999})
    held = replica().fold(before, forged, NOW)
    assert decisions(held) == [Decision.HELD_FUTURE]
    assert "says to have seen what is" in held.acts[-1].detail  # type: ignore[union-attr]
    passed = replica().fold(before, forged, NOW, released=True)
    assert only(passed, RecordConflict).loser == at(1, THERE)
    assert passed.register.known is not None
    assert passed.register.known.seen == seen(at(2, THIRD)), "and it travels no further"


def test_what_loses_to_a_forged_vector_is_recorded() -> None:
    """One that was taken before vectors were bounded stands in the database still."""
    forged = replace(version(Y, at(9, THIRD)), seen={BY_THIRD: at(9).updated_at_ms, BY_THERE: YEAR_9999})
    outcome = replica().fold(register(known=forged), event(X, at(5, THERE)), NOW)
    assert only(outcome, RecordConflict).loser == at(5, THERE)
    also = replace(forged, seen={BY_THIRD: YEAR_9999})
    outcome = replica().fold(register(known=also), event(X, at(5, THIRD)), NOW)
    assert only(outcome, RecordConflict).loser == at(5, THIRD)


def test_what_was_inherited_is_cut_at_the_next_edit() -> None:
    """Also where the counter is that of the very value which is edited: of that, its own time is known."""
    lie = {BY_THERE: YEAR_9999, BY_THIRD: YEAR_9999, counter_of(THIRD, 2): at(1).updated_at_ms}
    before = register(
        known=replace(version(X, at(2, THERE)), seen=lie),
        stored=replace(stored(X, at(2, THERE)), seen=lie),
    )
    outcome = replica().observe(before, entry(Y), moment(5))
    edited = outcome.register.known
    assert edited is not None
    time = edited.stamp.updated_at_ms
    assert edited.seen == {BY_HERE: time, BY_THERE: at(2).updated_at_ms, counter_of(THIRD, 2): at(1).updated_at_ms}
    assert none_of(outcome, RecordConflict), "it is a successor of what it was written over"


def test_who_claims_of_this_region_what_it_never_gave_out_is_believed_in_nothing() -> None:
    before = replace(settled_on(X, at(1, THERE)), own=at(3).updated_at_ms)
    true = event(Y, at(9, THIRD), at(1, THERE), at(3))
    assert decisions(replica().fold(before, true, NOW)) == [Decision.ADOPTED]
    lie = event(Y, at(9, THIRD), at(1, THERE), at(4))
    outcome = replica().fold(before, lie, NOW)
    assert decisions(outcome) == [Decision.CONFLICT_WON]
    assert only(outcome, RecordConflict).loser == at(1, THERE)
    assert outcome.register.known is not None
    assert outcome.register.known.seen == seen(at(9, THIRD))


def test_what_is_told_in_the_name_of_this_region_has_seen_nothing_that_is_known_here() -> None:
    """Its own counter at a time that it never gave: it would include every change of this region before."""
    before = replace(settled_on(X, at(1)), own=at(1).updated_at_ms)
    outcome = replica().fold(before, event(Y, at(9)), NOW)
    assert decisions(outcome) == [Decision.CONFLICT_WON]
    assert only(outcome, RecordConflict).loser == at(1), "what this region has written is kept"
    former = event(Y, at(9))
    former = replace(former, by=counter_of(HERE, 2), seen={counter_of(HERE, 2): at(9).updated_at_ms})
    outcome = replica().fold(before, replace(former, seen={**former.seen, BY_HERE: at(8).updated_at_ms}), NOW)
    assert only(outcome, RecordConflict).loser == at(1), "nor may it claim what was never given, by another counter"
    assert outcome.register.own == at(9).updated_at_ms
    same = replica().fold(before, event(X, at(9)), NOW)
    assert none_of(same, RecordConflict)
    assert decisions(same) == [Decision.MERGED]
    returned = replica().fold(replace(before, own=at(9).updated_at_ms), event(Y, at(9)), NOW)
    assert decisions(returned) == [Decision.ADOPTED], "what it has given comes back as it is"


def test_a_change_of_this_region_is_nobodys_ancestor() -> None:
    """Not even where an earlier version of the program has believed that somebody had seen it before it was made."""
    forged = version(Y, at(20_000, THIRD), at(10_000))
    before = register(known=forged, stored=stored(X, at(1, THERE)))
    outcome = replica().observe(before, entry(Z, modified=5), moment(5))
    record = only(outcome, RecordConflict)
    assert (record.loser, record.value) == (at(5), Z)
    assert decisions(outcome) == [Decision.PUBLISHED, Decision.CONFLICT_LOST]


def test_what_is_stamped_above_the_known_version_includes_it_whatever_its_vector_says() -> None:
    lie = replace(version(X, at(2, THERE)), seen={BY_THERE: YEAR_9999})
    before = register(known=lie, stored=stored(Y, at(1, THIRD)))
    restored = replica().restore(before, Z, {}, NOW).register.known
    assert restored is not None
    assert relate(lie, restored) is Relation.SUCCESSOR
    assert restored.seen == seen(restored.stamp, at(2, THERE), at(1, THIRD))


def test_the_room_of_a_vector_is_bounded_in_counters_and_in_bytes() -> None:
    small = many(8)
    assert bounded(small) is small
    whole = many(MAX_COUNTERS)
    assert bounded(whole) is whole
    assert len(bounded(many(MAX_COUNTERS + 1))) == MAX_COUNTERS
    wide = {Counter("é" * 500 + f"{number}~1"): Millis(number) for number in range(40)}
    assert size(wide) > MAX_NAMES_BYTES
    assert 0 < size(bounded(wide)) <= MAX_NAMES_BYTES
    assert min(bounded(wide).values()) > max(time for counter, time in wide.items() if counter not in bounded(wide))


def test_the_latest_stay_and_those_that_matter_before_all_others() -> None:
    vector = {**many(300, at(1).updated_at_ms), BY_THERE: at(2).updated_at_ms, BY_THIRD: Millis(1)}
    kept = bounded(vector, BY_THIRD)
    assert kept[BY_THIRD] == 1
    assert kept[BY_THERE] == at(2).updated_at_ms
    assert bounded(dict(reversed(vector.items())), BY_THIRD) == kept, "whatever their order"


def test_the_authors_own_entry_and_what_it_was_written_over_stay_in_a_full_vector() -> None:
    crowd = {**many(MAX_COUNTERS, at(7).updated_at_ms), BY_THERE: at(3).updated_at_ms}
    over = version(X, at(3, THERE))
    vector = sound(crowd, BY_HERE, at(7).updated_at_ms, over)
    assert len(vector) == MAX_COUNTERS
    assert vector[BY_HERE] == at(7).updated_at_ms
    assert vector[BY_THERE] == at(3).updated_at_ms


def test_equal_values_join_within_the_room() -> None:
    before = register(known=replace(version(X, at(8, THERE)), seen={**many(200), BY_THERE: at(8).updated_at_ms}))
    other = {Counter(f"s{number}~1"): NOW for number in range(200)}
    for time in (9, 7):
        stamp = at(time, THIRD)
        merged = replica().fold(before, replace(event(X, stamp), seen={**other, BY_THIRD: stamp.updated_at_ms}), NOW)
        assert decisions(merged) == [Decision.MERGED]
        known = merged.register.known
        assert known is not None
        assert len(known.seen) == MAX_COUNTERS
        assert known.seen[known.by] == known.stamp.updated_at_ms


def test_what_was_written_over_was_seen_whatever_the_vector_says() -> None:
    over = version(X, at(5, THERE))
    told = {BY_HERE: at(7).updated_at_ms, BY_THERE: at(3).updated_at_ms}
    assert sound(told, BY_HERE, at(7).updated_at_ms, over) == {**told, BY_THERE: at(5).updated_at_ms}


def test_an_honest_vector_is_kept_as_it_is() -> None:
    honest = version(X, at(5, THERE), at(1, THIRD))
    assert sound(honest.seen, honest.by, honest.stamp.updated_at_ms) is honest.seen
