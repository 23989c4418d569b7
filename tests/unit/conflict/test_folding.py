"""Each row of the classification, and what a newer known version ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.conflict.acts import Decision, HoldEvent, Journal, Need, RecordConflict, ReleaseHeld
from syncer.conflict.causality.order import Relation, relate
from syncer.conflict.folding import TWO_VALUES
from syncer.conflict.register import Hold, HoldReason, Parked, ParkReason, Wish
from syncer.errors import InvariantBroken, ValueInvalid
from syncer.model import Counter, EventType, MetaPath, Millis
from tests.property.strategies import NOW, tenant_event
from tests.unit.registers import (
    HERE,
    SKEW,
    THERE,
    THIRD,
    X,
    Y,
    Z,
    at,
    decisions,
    event,
    none_of,
    only,
    register,
    replica,
    seen,
    settled_on,
    stored,
    version,
)


def test_the_first_version_of_a_path_is_known_and_due() -> None:
    outcome = replica().fold(register(), event(X, at(1, THERE)), NOW)
    assert outcome.register.known == version(X, at(1, THERE))
    assert outcome.register.due
    assert outcome.need is Need.READ
    assert decisions(outcome) == [Decision.ADOPTED]


def test_the_same_stamp_is_the_same_change() -> None:
    before = register(known=version(X, at(1, THERE)))
    outcome = replica().fold(before, event(X, at(1, THERE)), NOW)
    assert (outcome.register, outcome.acts) == (before, ())
    assert outcome.need is Need.READ


BOTH = sorted((X, Y), key=lambda value: version(value, at(1, THERE)).digest or b"")
"""The lesser and the greater one."""


def test_of_two_values_of_one_stamp_the_same_one_stands_whichever_comes_first() -> None:
    lesser, greater = BOTH
    for first, second in (BOTH, (greater, lesser)):
        before = register(known=version(first, at(1, THERE)))
        outcome = replica().fold(before, event(second, at(1, THERE)), NOW)
        assert outcome.register.known == version(greater, at(1, THERE))
        assert decisions(outcome) == [Decision.ALARM]


def test_what_is_displaced_under_its_own_stamp_is_kept_whole() -> None:
    lesser, greater = BOTH
    before = register(known=version(lesser, at(1, THERE)))
    record = only(replica().fold(before, event(greater, at(1, THERE)), NOW), RecordConflict)
    assert (record.loser.region, record.value, record.winner) == (HERE, lesser, at(1, THERE))
    assert record.reason == TWO_VALUES
    stays = replica().fold(register(known=version(greater, at(1, THERE))), event(lesser, at(1, THERE)), NOW)
    assert none_of(stays, RecordConflict)


def test_a_value_prevails_over_a_delete_of_its_stamp_and_is_due_where_another_one_is_seated() -> None:
    lesser, greater = BOTH
    outcome = replica().fold(settled_on(None, at(1, THERE)), event(X, at(1, THERE)), NOW)
    assert outcome.register.due
    assert only(outcome, RecordConflict).loser_digest is None
    outcome = replica().fold(settled_on(lesser, at(1, THERE)), event(greater, at(1, THERE)), NOW)
    assert outcome.register.due
    assert outcome.register.known == version(greater, at(1, THERE))  # its value is kept until the store has it


def test_a_value_that_was_only_listed_gives_way_to_one_that_is_told() -> None:
    lesser, greater = BOTH
    before = register(known=version(greater, at(1, THERE), kept=False))
    outcome = replica().fold(before, event(lesser, at(1, THERE)), NOW)
    assert outcome.register.known == version(lesser, at(1, THERE))
    assert none_of(outcome, RecordConflict)


def test_a_hold_of_a_value_ends_when_another_one_of_its_stamp_takes_its_place() -> None:
    lesser, greater = BOTH
    hold = Hold(reason=HoldReason.UNKNOWN_CLUSTER, stamp=at(1, THERE), since_ms=NOW, detail="")
    before = register(known=version(lesser, at(1, THERE)), hold=hold)
    assert replica().fold(before, event(greater, at(1, THERE)), NOW).register.hold is None


def test_an_ancestor_that_comes_late_is_ignored() -> None:
    before = register(known=version(Y, at(2, THIRD), at(1, THERE)))
    outcome = replica().fold(before, event(X, at(1, THERE)), NOW)
    assert outcome.register == before
    assert decisions(outcome) == [Decision.IGNORED]


def test_a_successor_is_adopted_without_a_conflict() -> None:
    outcome = replica().fold(register(known=version(X, at(1, THERE))), event(Y, at(2, THIRD), at(1, THERE)), NOW)
    assert outcome.register.known == version(Y, at(2, THIRD), at(1, THERE))
    assert decisions(outcome) == [Decision.ADOPTED]
    assert none_of(outcome, RecordConflict)


@pytest.mark.parametrize("value", [X, None], ids=["value", "two-deletes"])
@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1)])
def test_equal_values_merge_to_the_greater_stamp_and_join_what_was_seen(
    value: bytes | None, first: int, second: int
) -> None:
    before = register(known=version(value, at(first, THERE)))
    outcome = replica().fold(before, event(value, at(second, THIRD)), NOW)
    known = outcome.register.known
    assert known is not None
    assert known.stamp == max(at(first, THERE), at(second, THIRD), key=lambda stamp: stamp.updated_at_ms)
    assert known.seen == seen(at(first, THERE), at(second, THIRD))
    assert known.value == value
    assert decisions(outcome) == [Decision.MERGED]
    assert none_of(outcome, RecordConflict)


def test_a_merge_supplies_the_value_that_lacks_and_none_that_does_not() -> None:
    lacks = version(X, at(2, THERE), kept=False)
    missing = Parked(reason=ParkReason.VALUE_MISSING, since_ms=Millis(NOW))
    supplied = replica().fold(register(known=lacks, parked=missing), event(X, at(1, THIRD)), NOW).register
    assert supplied.known == version(X, at(2, THERE), at(1, THIRD))
    assert supplied.parked is None
    stands = replica().fold(register(known=lacks, stored=stored(X, at(0))), event(X, at(1, THIRD)), NOW).register
    assert stands.known == version(X, at(2, THERE), at(1, THIRD), kept=False)


def test_of_two_concurrent_versions_the_known_loser_is_kept_whole() -> None:
    outcome = replica().fold(register(known=version(X, at(1, THERE))), event(Y, at(2, THIRD)), NOW)
    assert outcome.register.known == version(Y, at(2, THIRD))
    record = only(outcome, RecordConflict)
    assert (record.loser, record.value, record.winner) == (at(1, THERE), X, at(2, THIRD))
    assert record.loser_seen == seen(at(1, THERE))
    assert decisions(outcome) == [Decision.CONFLICT_WON]


def test_of_two_concurrent_versions_the_incoming_loser_is_kept_whole() -> None:
    before = register(known=version(X, at(2, THERE)))
    outcome = replica().fold(before, event(None, at(1, THIRD)), NOW)
    assert outcome.register == before
    record = only(outcome, RecordConflict)
    assert (record.loser, record.loser_digest, record.value) == (at(1, THIRD), None, None)
    assert decisions(outcome) == [Decision.CONFLICT_LOST]


def test_a_seated_loser_is_recorded_and_its_value_comes_with_the_read() -> None:
    outcome = replica().fold(settled_on(X, at(1, THERE)), event(Y, at(2, THIRD)), NOW)
    record = only(outcome, RecordConflict)
    assert record.loser_digest is not None
    assert record.value is None


def test_a_successor_with_a_smaller_stamp_does_not_win() -> None:
    """A broken clock: the greater stamp wins all the same, and the conflict is shown."""
    before = register(known=version(X, at(5, THERE)))
    outcome = replica().fold(before, event(Y, at(1, THIRD), at(5, THERE)), NOW)
    assert outcome.register == before
    assert only(outcome, RecordConflict).loser == at(1, THIRD)


def test_an_ancestor_with_a_greater_stamp_wins() -> None:
    lying = replace(version(X, at(1, THERE)), seen=seen(at(1, THERE), at(5, THIRD)))
    outcome = replica().fold(register(known=lying), event(Y, at(5, THIRD)), NOW)
    assert outcome.register.known == version(Y, at(5, THIRD))
    assert only(outcome, RecordConflict).loser == at(1, THERE)


def test_a_counter_of_an_earlier_database_says_nothing_about_the_next_one() -> None:
    """Schedule 21: a rebuilt region stamps low; peers that saw its former counter must not call that an ancestor."""
    known = version(X, at(0, THERE), at(1_000_000, HERE))
    reborn = replace(version(Y, at(-5, HERE)), by=Counter("here~2"), seen={Counter("here~2"): at(-5).updated_at_ms})
    assert relate(known, reborn) is Relation.CONCURRENT


def test_a_counter_never_heard_of_covers_nothing() -> None:
    zero = replace(version(Y, at(-NOW, THIRD)), stamp=replace(at(0, THIRD), updated_at_ms=Millis(0)))
    assert relate(version(X, at(1, THERE)), zero) is Relation.CONCURRENT


@pytest.mark.parametrize(("ahead", "held"), [(SKEW, False), (SKEW + 1, True)])
def test_an_event_from_the_future_is_set_aside(ahead: int, held: bool) -> None:
    incoming = event(X, at(ahead, THERE))
    outcome = replica().fold(register(), incoming, NOW)
    assert (outcome.register.known is None) is held
    if held:
        assert only(outcome, HoldEvent).event == incoming
        assert decisions(outcome) == [Decision.HELD_FUTURE]
        assert only(outcome, Journal).detail == "stamped 30 s ahead of this clock"
        assert outcome.need is Need.NOTHING


def test_a_released_event_from_the_future_is_folded_as_it_is() -> None:
    outcome = replica().fold(register(), event(X, at(10**9, THERE)), NOW, released=True)
    assert outcome.register.known == version(X, at(10**9, THERE))


def test_what_follows_a_released_event_is_not_held_again() -> None:
    """Schedule 24: the limit is relative to what is known."""
    before = register(known=version(X, at(10**9, THERE)))
    outcome = replica().fold(before, event(Y, at(10**9 + 1, THIRD), at(10**9, THERE)), NOW)
    assert outcome.register.known == version(Y, at(10**9 + 1, THIRD), at(10**9, THERE))


def test_an_event_of_this_region_raises_the_time_that_it_may_never_give_again() -> None:
    """A rebuilt database hears of changes that a former one has stamped: a stamp names one value for ever."""
    outcome = replica(generation=2).fold(register(), event(X, at(5)), NOW)
    assert outcome.register.own == NOW + 5
    assert replica().fold(register(), event(X, at(5, THERE)), NOW).register.own == 0
    assert replica().fold(register(own=Millis(NOW + 9)), event(X, at(5)), NOW).register.own == NOW + 9


@pytest.mark.parametrize("reason", [HoldReason.FIRST_CONTACT, HoldReason.FLAPPING])
def test_a_newer_version_ends_the_hold_the_permission_and_the_wish_of_the_former(reason: HoldReason) -> None:
    hold = Hold(reason=reason, stamp=at(1, THERE), since_ms=NOW, detail="")
    before = register(known=version(X, at(1, THERE)), hold=hold, allowed=at(1, THERE), wish=Wish.REASSERT)
    before = replace(before, shown=before.shows)
    outcome = replica().fold(before, event(Y, at(2, THIRD)), NOW)
    after = outcome.register
    assert (after.hold, after.allowed, after.wish, after.shown) == (None, None, None, None)
    assert decisions(outcome)[-1] is Decision.OVERTAKEN, "the operator sees that his decision has ended"
    (note,) = (act for act in outcome.acts if isinstance(act, Journal) and act.decision is Decision.OVERTAKEN)
    assert note.stamp == at(1, THERE)


def test_a_newer_version_ends_the_wish_to_revive_without_a_word() -> None:
    before = register(known=version(None, at(1, THERE)), stored=stored(X, at(0)), wish=Wish.REVIVE)
    outcome = replica().fold(before, event(Y, at(2, THIRD)), NOW)
    assert outcome.register.wish is None
    assert Decision.OVERTAKEN not in decisions(outcome)


def test_a_loser_ends_nothing() -> None:
    hold = Hold(reason=HoldReason.FLAPPING, stamp=at(2, THERE), since_ms=NOW, detail="")
    before = register(known=version(X, at(2, THERE)), hold=hold, wish=Wish.REASSERT)
    assert replica().fold(before, event(Y, at(1, THIRD)), NOW).register == before


@pytest.mark.parametrize(
    ("reason", "local"), [(HoldReason.MASS_DELETE, True), (HoldReason.UNREADABLE, False)], ids=["local", "unreadable"]
)
def test_a_frozen_or_unreadable_path_stays_so(reason: HoldReason, local: bool) -> None:
    hold = Hold(reason=reason, stamp=at(1), since_ms=NOW, detail="", local=local)
    before = register(known=version(X, at(1)), stored=stored(X, at(1)), hold=hold)
    after = replica().fold(before, event(Y, at(2, THIRD)), NOW).register
    assert after.hold == hold
    assert after.due


COLLECTED = Hold(reason=HoldReason.COLLECTED_TOPIC, stamp=at(5), since_ms=NOW, detail="", local=True)


@pytest.mark.parametrize(
    ("value", "time", "released"), [(None, 6, True), (None, 4, True), (Y, 6, False), (Y, 4, False)]
)
def test_a_delete_elsewhere_publishes_what_a_broker_may_have_deleted_here(
    value: bytes | None, time: int, *, released: bool
) -> None:
    before = register(known=version(None, at(5), at(1)), stored=stored(None, at(5)), hold=COLLECTED)
    outcome = replica().fold(before, event(value, at(time, THIRD)), NOW)
    assert (outcome.register.hold is None) == released
    assert (ReleaseHeld(path=before.path) in outcome.acts) == released


def test_a_delete_that_was_known_before_publishes_nothing() -> None:
    known = version(None, at(5), at(1), at(2, THIRD))
    before = register(known=known, stored=stored(None, at(5)), hold=COLLECTED)
    assert replica().fold(before, event(None, at(2, THIRD)), NOW).register.hold == COLLECTED


@pytest.mark.parametrize(("reason", "local"), [(HoldReason.MASS_DELETE, True), (HoldReason.COLLECTED_TOPIC, False)])
def test_a_delete_elsewhere_publishes_no_other_held_change(reason: HoldReason, *, local: bool) -> None:
    hold = replace(COLLECTED, reason=reason, local=local)
    before = register(known=version(None, at(5), at(1)), stored=stored(None, at(5)), hold=hold)
    assert ReleaseHeld(path=before.path) not in replica().fold(before, event(None, at(6, THIRD)), NOW).acts


def test_the_value_of_a_tombstone_is_nothing() -> None:
    known = replica().fold(register(), event(None, at(1, THERE)), NOW).register.known
    assert known is not None
    assert (known.alive, known.value) == (False, None)


def test_an_event_of_another_path_is_a_bug() -> None:
    with pytest.raises(InvariantBroken, match="folded into"):
        replica().fold(register(), replace(event(X, at(1)), path=MetaPath("/admin/policies/other")), NOW)


def test_an_unreadable_event_is_refused() -> None:
    with pytest.raises(ValueInvalid, match="no JSON"):
        replica().fold(register(), replace(event(X, at(1)), value=b"{"), NOW)


def test_a_change_without_a_value_is_not_taken_for_a_delete() -> None:
    with pytest.raises(ValueInvalid, match="without a value"):
        replica().fold(register(), replace(event(Z, at(1, THERE)), value=None), NOW)


def test_a_delete_never_parses_a_value() -> None:
    odd = replace(tenant_event(None, at(1, THERE), seen(at(1, THERE))), value=b"{", type=EventType.DELETED)
    known = replica().fold(register(), odd, NOW).register.known
    assert known is not None
    assert known.value is None
