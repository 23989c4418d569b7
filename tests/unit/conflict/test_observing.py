"""Each row of what a valid read can mean, the stamp of a local change, drift, and what cannot be read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from syncer.conflict.acts import Decision, DropHeld, Need, Outcome, Publish, Quarantine, RecordConflict
from syncer.conflict.guards import Facts
from syncer.conflict.observing import retracted, stays_here
from syncer.conflict.register import Hold, HoldReason, Intent, Parked, ParkReason, Register, Wish
from syncer.errors import InvariantBroken
from syncer.model import EventType, MetaPath, Millis, Revision, Stamp, baseline_time
from syncer.paths import resource_at
from syncer.stores.contract import Put, Written
from tests.property.strategies import NOW, encoded, tenant_digest
from tests.unit.registers import (
    BY_HERE,
    HERE,
    SKEW,
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

UNREADABLE = Hold(reason=HoldReason.UNREADABLE, stamp=at(0), since_ms=NOW, detail="")


# -- nothing new


def test_the_seated_revision_says_it_all() -> None:
    before = settled_on(X, at(0))
    assert replica().observe(before, entry(b"not even read", "7"), moment()).register is before


def test_the_seated_value_at_another_revision_is_no_change() -> None:
    """Schedule 27: other bytes, other local fields, equal projection."""
    before = settled_on(X, at(0))
    outcome = replica().observe(before, entry(X.replace(b" ", b"   "), "9"), moment())
    assert outcome.acts == ()
    assert outcome.register.stored == stored(X, at(0), revision="9")
    assert outcome.register.known == before.known


def test_absent_where_nothing_was_ever_known_is_no_change() -> None:
    outcome = replica().observe(register(), None, moment())
    assert (outcome.register, outcome.acts) == (register(), ())


def test_absent_where_a_delete_is_seated_is_no_change() -> None:
    before = settled_on(None, at(0))
    assert replica().observe(before, None, moment()).register == before


def test_an_empty_inner_node_holds_nothing() -> None:
    outcome = replica().observe(register(), entry(b""), moment())
    assert (outcome.register, outcome.acts) == (register(), ())
    dead = replica().observe(settled_on(None, at(0)), entry(b"", "9"), moment()).register
    assert dead.stored is not None
    assert dead.stored.revision == "9"  # the write of a value is conditional on it


# -- the store met the known value


def test_a_store_that_met_the_known_value_by_itself_needs_no_write() -> None:
    hold = Hold(reason=HoldReason.FLAPPING, stamp=at(5, THERE), since_ms=NOW, detail="")
    before = register(
        known=version(Y, at(5, THERE)),
        stored=stored(X, at(0)),
        hold=hold,
        parked=Parked(reason=ParkReason.PARENT_MISSING, since_ms=NOW),
        wish=Wish.REVIVE,
        allowed=at(5, THERE),
    )
    outcome = replica().observe(before, entry(Y), moment())
    after = outcome.register
    assert after.stored == stored(Y, at(5, THERE), at(0), revision="8"), "its writer had seen what stood there too"
    assert not after.due
    assert (after.hold, after.parked, after.wish, after.allowed) == (None, None, None, None)
    assert after.known == version(Y, at(5, THERE), kept=False)
    assert none_of(outcome, Publish, RecordConflict)
    assert decisions(outcome) == [Decision.MET]


def test_a_store_that_met_the_known_delete_by_itself() -> None:
    outcome = replica().observe(register(known=version(None, at(5, THERE)), stored=stored(X, at(0))), None, moment())
    assert outcome.register.stored == stored(None, at(5, THERE), at(0))
    assert decisions(outcome) == [Decision.MET]


def test_a_digest_of_the_past_is_a_new_change() -> None:
    """Schedule 12: x was applied, then y; outside sets x again."""
    outcome = replica().observe(settled_on(Y, at(5, THERE), at(1, THERE)), entry(X, modified=6), moment(6))
    assert only(outcome, Publish).event.stamp == at(6)
    assert outcome.register.known == version(X, at(6), at(5, THERE), kept=False)


# -- baselines


def test_a_value_found_before_the_first_scan_ended_is_a_baseline() -> None:
    outcome = replica(generation=3).observe(register(), entry(X), moment(first_scan_done=False))
    baseline = Stamp(baseline_time(3), HERE)
    change = only(outcome, Publish).event
    assert (change.stamp, change.by, change.seen) == (baseline, "here~3", {"here~3": baseline_time(3)})
    assert (change.type, change.base, change.value) == (EventType.CREATED, None, X)
    assert outcome.register.stored is not None
    assert outcome.register.stored.stamp == baseline
    assert outcome.register.own == baseline_time(3)
    assert not outcome.register.due
    assert decisions(outcome) == [Decision.BASELINE]


def test_a_baseline_loses_to_any_change_and_is_kept() -> None:
    """Schedule 19: whoever starts last must not win."""
    before = register(known=version(Y, at(0, THERE)))
    outcome = replica().observe(before, entry(X), moment(first_scan_done=False))
    assert outcome.register.known == before.known
    assert outcome.register.due
    record = only(outcome, RecordConflict)
    assert (record.loser, record.value) == (Stamp(baseline_time(1), HERE), X)
    assert none_of(outcome, Publish)


def test_a_baseline_whose_stamp_was_guessed_is_kept_if_the_other_value_stands() -> None:
    lesser, greater = sorted((X, Y), key=lambda value: version(value, at(1, THERE)).digest or b"")
    other = version(greater, Stamp(baseline_time(1), HERE))
    outcome = replica().observe(register(known=other), entry(lesser), moment(first_scan_done=False))
    assert outcome.register.known == other
    assert outcome.register.due
    assert only(outcome, RecordConflict).value == lesser
    assert none_of(outcome, Publish)
    other = version(lesser, Stamp(baseline_time(1), HERE))
    outcome = replica().observe(register(known=other), entry(greater), moment(first_scan_done=False))
    assert only(outcome, RecordConflict).value == lesser
    assert only(outcome, Publish).event.value == greater


def test_a_baseline_that_wins_over_another_one_is_published() -> None:
    other = version(Y, Stamp(baseline_time(1), THERE))
    outcome = replica().observe(register(known=other), entry(X), moment(first_scan_done=False))
    assert outcome.register.known is not None
    assert outcome.register.known.stamp == Stamp(baseline_time(1), HERE)
    assert only(outcome, RecordConflict).value == Y
    assert only(outcome, Publish).event.value == X


def test_what_appears_after_genesis_is_a_change() -> None:
    outcome = replica().observe(register(), entry(X, modified=-5), moment())
    change = only(outcome, Publish).event
    assert (change.type, change.stamp, change.seen) == (EventType.CREATED, at(-5), seen(at(-5)))


# -- local changes


def test_a_local_change_is_stamped_seated_and_published_at_once() -> None:
    before = replace(
        settled_on(X, at(-9, THERE)),
        parked=Parked(reason=ParkReason.CHILDREN_ALIVE, since_ms=NOW),
        wish=Wish.REVIVE,
    )
    outcome = replica().observe(before, entry(Y, modified=-1), moment())
    after, change = outcome.register, only(outcome, Publish).event
    assert (change.type, change.stamp, change.by) == (EventType.MODIFIED, at(-1), BY_HERE)
    assert change.seen == seen(at(-9, THERE), at(-1))
    assert (change.base, change.value, change.path) == (at(-9, THERE), Y, before.path)
    assert (change.resource_name, change.sender, change.sequence) == ("acme", "", 0)
    assert after.stored == stored(Y, at(-1), at(-9, THERE), revision="8")
    assert after.known == version(Y, at(-1), at(-9, THERE), kept=False)
    assert (after.own, after.parked, after.wish, after.due) == (NOW - 1, None, None, False)
    assert decisions(outcome) == [Decision.PUBLISHED]


def test_a_local_delete() -> None:
    outcome = replica().observe(settled_on(X, at(-9)), None, moment(0, seen_at=-3))
    change = only(outcome, Publish).event
    assert (change.type, change.value, change.stamp) == (EventType.DELETED, None, at(-3))
    assert outcome.register.stored == stored(None, at(-3), at(-9))
    assert outcome.register.known == version(None, at(-3), at(-9))


def test_a_path_made_again_after_its_delete_is_created() -> None:
    outcome = replica().observe(settled_on(None, at(-9)), entry(X), moment())
    assert only(outcome, Publish).event.type is EventType.CREATED


@pytest.mark.parametrize(
    ("modified", "stored_at", "own", "expected"),
    [
        (-5, -9, -9, -5),  # the store's own time
        (-9, -5, -9, -4),  # but later than what its author saw
        (-5, -5, -9, -4),
        (-9, -9, -5, -4),  # and than any time given before
        (SKEW, -9, -9, SKEW),
        (SKEW + 1, -9, -9, SKEW),  # a store's clock is trusted that far
        (SKEW + 9, SKEW + 9, -9, SKEW + 10),
        (None, -9, -9, -2),  # no modification time: when it was seen
        (None, -1, -9, 0),
    ],
)
def test_the_time_of_a_local_change(modified: int | None, stored_at: int, own: int, expected: int) -> None:
    before = replace(settled_on(X, at(stored_at, THERE)), own=Millis(NOW + own))
    outcome = replica().observe(before, entry(Y, modified=modified), moment(0, seen_at=-2))
    assert only(outcome, Publish).event.stamp == at(expected)


def test_stamp_and_vector_come_from_the_seated_value_not_from_the_known_one() -> None:
    """Schedule 3: x was folded and not written; y's author could not see it."""
    before = register(known=version(X, at(50, THERE)), stored=stored(Z, at(0)))
    outcome = replica().observe(before, entry(Y, modified=60), moment(60))
    change = only(outcome, Publish).event
    assert change.seen == seen(at(60))
    record = only(outcome, RecordConflict)
    assert (record.loser, record.value, record.winner) == (at(50, THERE), X, at(60))
    assert outcome.register.known == version(Y, at(60), kept=False)


def test_a_local_change_that_loses_is_published_and_kept() -> None:
    before = register(known=version(X, at(50, THERE)), stored=stored(Z, at(0)), allowed=at(50, THERE))
    outcome = replica().observe(before, entry(Y, modified=40), moment(60))
    assert only(outcome, Publish).event.value == Y
    record = only(outcome, RecordConflict)
    assert (record.loser, record.value) == (at(40), Y)
    assert outcome.register.known == before.known
    assert outcome.register.stored == stored(Y, at(40), at(0), revision="8")
    assert outcome.register.due


@pytest.mark.parametrize("value", [X, None], ids=["value", "delete"])
def test_what_was_restored_and_never_stood_here_is_kept_when_somebody_writes_in_its_place(value: bytes | None) -> None:
    """One counter counts both, so that it looks as if who wrote had seen what was restored."""
    before = settled_on(Z, at(5, THERE))
    restored = replica().restore(before, value, seen(at(3, THIRD)), Millis(NOW + 10)).register
    outcome = replica().observe(restored, entry(Y, modified=7), moment(20))
    change = only(outcome, Publish).event
    assert (change.stamp, change.seen) == (at(11), seen(at(5, THERE), at(11)))
    assert outcome.register.known == version(Y, at(11), at(5, THERE), kept=False)
    record = only(outcome, RecordConflict)
    assert (record.loser, record.loser_digest, record.value) == (at(10), tenant_digest(value), value)
    assert record.loser_seen == seen(at(5, THERE), at(3, THIRD), at(10))
    assert (record.winner, record.reason) == (at(11), "concurrent")
    assert decisions(outcome) == [Decision.PUBLISHED, Decision.CONFLICT_WON]


def test_what_was_restored_and_stood_here_was_seen() -> None:
    """Also when another value has been written over it since, whose author had seen it."""
    later = settled_on(Z, at(20, THERE), at(10))
    known = replace(later, known=version(X, at(10), at(5, THERE)), own=at(10).updated_at_ms)
    for before in (settled_on(X, at(10), at(5, THERE)), known):
        outcome = replica().observe(before, entry(Y, modified=30), moment(30))
        assert none_of(outcome, RecordConflict)


def test_absent_is_not_dead_until_it_was_read_to_be() -> None:
    """Schedule 4: a tombstone is known, nothing was read yet; what is found was made without seeing the delete."""
    before = register(known=version(None, at(20, THERE), at(10, THERE)))
    outcome = replica().observe(before, entry(Z, modified=15), moment(30))
    assert only(outcome, Publish).event.seen == seen(at(15))
    assert outcome.register.known == before.known
    assert only(outcome, RecordConflict).value == Z


def test_a_newer_local_change_replaces_the_held_one() -> None:
    hold = Hold(reason=HoldReason.MASS_DELETE, stamp=at(-5), since_ms=NOW, detail="", local=True)
    before = replace(settled_on(None, at(-5), at(-9)), hold=hold)
    outcome = replica().observe(before, entry(Y), moment())
    assert outcome.register.hold is None
    assert only(outcome, DropHeld).path == before.path
    assert outcome.acts[0] == DropHeld(path=before.path)  # before the new publication is stored
    assert not only(outcome, Publish).held


def test_a_winning_local_change_ends_a_remote_hold() -> None:
    hold = Hold(reason=HoldReason.FLAPPING, stamp=at(1, THERE), since_ms=NOW, detail="")
    before = register(known=version(X, at(1, THERE)), stored=stored(Z, at(0)), hold=hold)
    assert replica().observe(before, entry(Y, modified=2), moment(2)).register.hold is None
    assert replica().observe(before, entry(Y, modified=1, revision="9"), moment(2)).register.hold is None
    late = register(known=version(X, at(9, THERE)), stored=stored(Z, at(0)), hold=replace(hold, stamp=at(9, THERE)))
    assert replica().observe(late, entry(Y, modified=2), moment(2)).register.hold == late.hold


# -- flips


def test_returning_to_the_value_that_was_just_left_is_a_flip() -> None:
    core, state = replica(), settled_on(X, at(-99))
    for step, value in enumerate([Y, X, Y, X]):
        state = core.observe(state, entry(value, str(100 + step), modified=step), moment(step)).register
    assert state.flips == (NOW + 1, NOW + 2, NOW + 3)
    state = core.observe(state, entry(Z, "200", modified=9), moment(9)).register
    assert len(state.flips) == 3


def test_old_flips_are_forgotten_and_the_rest_is_bounded() -> None:
    core, state = replica(), settled_on(X, at(-99))
    for step in range(40):
        state = core.observe(state, entry(Y if step % 2 == 0 else X, str(step), modified=step), moment(step)).register
    assert len(state.flips) == 16
    window = core.settings.limits.flip_window_ms
    state = core.observe(state, entry(Y, "99", modified=window + 39), moment(window + 39)).register
    assert state.flips == (NOW + window + 39,)


# -- what cannot be read


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (entry(b"{"), "no JSON"),
        (entry(b"[]"), "object is due"),
        (entry(b""), "became empty"),
        (entry(X, ephemeral=True), "ephemeral"),
        (entry(b'{"adminRoles":5}'), "brokers here cannot read it: adminRoles: an array is due, found a number 5"),
        (entry(b'{"adminRoles":5, "adminRoles":[]}'), "adminRoles: an array is due"),
    ],
)
def test_an_unreadable_value_is_quarantined_and_the_path_left_alone(found: object, why: str) -> None:
    before = settled_on(X, at(0, THERE))
    outcome = replica().observe(before, found, moment(5))  # type: ignore[arg-type]  # parametrised
    hold = outcome.register.hold
    assert hold is not None
    assert (hold.reason, hold.stamp, hold.since_ms, hold.local) == (HoldReason.UNREADABLE, at(0, THERE), NOW + 5, False)
    assert why in hold.detail
    poison = only(outcome, Quarantine)
    assert (poison.path, poison.code, poison.value) == (before.path, "value-invalid", found.value)  # type: ignore[attr-defined]  # parametrised
    assert decisions(outcome) == [Decision.HELD]
    assert none_of(outcome, Publish)
    assert replace(outcome.register, hold=None) == before


def test_what_brokers_read_though_it_is_no_plain_json_is_published_as_plain_json() -> None:
    for odd in (b"\xef\xbb\xbf" + Y, Y + b"\n", Y + b" and more", Y + Y, Y.decode().encode("utf-16")):
        outcome = replica().observe(settled_on(X, at(-9)), entry(odd), moment())
        value = only(outcome, Publish).event.value
        assert value is not None
        assert (json.loads(value), outcome.register.hold) == (json.loads(Y), None)


def test_an_unreadable_value_is_reported_once() -> None:
    once = replica().observe(register(), entry(b"{"), moment()).register
    again = replica().observe(once, entry(b"{{", "9"), moment(1))
    assert (again.register, again.acts) == (once, ())
    assert once.hold is not None
    assert once.hold.stamp == Stamp(Millis(0), HERE)


def test_a_frozen_path_stays_frozen_when_its_value_is_unreadable() -> None:
    hold = Hold(reason=HoldReason.MASS_DELETE, stamp=at(0), since_ms=NOW, detail="", local=True)
    before = replace(settled_on(None, at(0)), hold=hold)
    assert replica().observe(before, entry(b"{"), moment()).register == before


@pytest.mark.parametrize(("found", "published"), [(entry(X, "7"), 0), (entry(X, "9"), 0), (None, 1), (entry(Y), 1)])
def test_a_value_that_can_be_read_again_opens_the_path(found: object, published: int) -> None:
    before = replace(settled_on(X, at(-9)), hold=UNREADABLE)
    outcome = replica().observe(before, found, moment())  # type: ignore[arg-type]  # parametrised
    assert outcome.register.hold is None
    assert sum(isinstance(act, Publish) for act in outcome.acts) == published


# -- paths that only take changes (schedule 29)


def test_an_edit_of_a_path_that_does_not_publish_is_kept_and_not_published() -> None:
    before = register(known=version(Y, at(5, THERE)), stored=stored(X, at(0, THERE)))
    outcome = replica().observe(before, entry(Z, modified=7), moment(9), publishes=False)
    record = only(outcome, RecordConflict)
    assert (record.loser, record.value, record.reason, record.winner) == (at(7), Z, "drift", at(5, THERE))
    assert record.loser_seen == seen(at(0, THERE))
    assert none_of(outcome, Publish)
    assert decisions(outcome) == [Decision.DRIFT]
    assert outcome.register.known == before.known
    assert outcome.register.stored_digest == tenant_digest(Z)
    assert outcome.register.due


def test_a_delete_where_nothing_is_published_is_drift_too() -> None:
    before = register(known=version(Y, at(5, THERE)), stored=stored(X, at(0, THERE)))
    outcome = replica().observe(before, None, moment(9, seen_at=8), publishes=False)
    record = only(outcome, RecordConflict)
    assert (record.loser, record.loser_digest, record.value) == (at(8), None, None)
    assert outcome.register.stored is not None
    assert (outcome.register.stored.alive, outcome.register.stored.revision) == (False, None)


def test_two_edits_of_the_same_moment_are_kept_by_two_names() -> None:
    before = register(known=version(X, at(5, THERE)), stored=stored(X, at(5, THERE)))
    first = replica().observe(before, entry(Y, "8", modified=7), moment(9), publishes=False)
    second = replica().observe(first.register, entry(Z, "9", modified=7), moment(9), publishes=False)
    assert only(first, RecordConflict).loser == at(7)
    assert (only(second, RecordConflict).loser, only(second, RecordConflict).value) == (at(8), Z)


def test_an_edit_that_stays_here_is_not_named_like_a_change_of_this_region() -> None:
    before = replace(register(known=version(Y, at(5, THERE)), stored=stored(X, at(0, THERE))), own=Millis(NOW + 20))
    outcome = replica().observe(before, entry(Z, modified=7), moment(9), publishes=False)
    assert only(outcome, RecordConflict).loser == at(21)


def test_drift_of_an_unknown_path_is_nobodys_business() -> None:
    outcome = replica().observe(register(), entry(X), moment(), publishes=False)
    assert (outcome.register, outcome.acts) == (register(), ())


def test_the_groups_value_is_laid_over_an_edit() -> None:
    core = replica()
    before = register(known=version(Y, at(5, THERE)), stored=stored(X, at(0, THERE)))
    drifted = core.observe(before, entry(Z, "8"), moment(9), publishes=False).register
    outcome = core.apply_due(drifted, entry(Z, "8"), Facts(now=Millis(NOW + 9)), "b1")
    assert isinstance(outcome.write, Put)
    assert tenant_digest(outcome.write.value) == tenant_digest(Y)
    assert outcome.register.hold is None


def test_drift_from_a_value_that_is_no_longer_kept_waits_for_a_peer() -> None:
    """The value went with its write; an edit makes it due again, and there is nothing here to write."""
    core = replica()
    drifted = core.observe(settled_on(Y, at(5, THERE)), entry(Z), moment(9), publishes=False).register
    parked = core.apply_due(drifted, entry(Z), Facts(now=Millis(NOW + 9)), "b1").register.parked
    assert parked is not None
    assert parked.reason is ParkReason.VALUE_MISSING  # for which the shell asks the peers
    told = core.fold(drifted, event(Y, at(5, THERE)), Millis(NOW + 10)).register
    outcome = core.apply_due(told, entry(Z), Facts(now=Millis(NOW + 10)), "b1")
    assert isinstance(outcome.write, Put)


def test_a_change_that_may_not_leave_any_more_is_taken_back() -> None:
    """Nothing is known, so what the group has comes from a peer, and a person decides which value stands here."""
    core = replica()
    changed = core.observe(settled_on(X, at(5, THERE)), entry(Y, "8", modified=7), moment(9))
    waits = only(changed, Publish).event
    outcome = retracted(changed.register, waits)
    assert (outcome.register.known, outcome.register.stored) == (None, None)
    assert outcome.register.own == changed.register.own
    assert decisions(outcome) == [Decision.DRIFT]
    told = core.fold(outcome.register, event(X, at(5, THERE)), Millis(NOW + 10)).register
    drifted = core.observe(told, entry(Y, "8", modified=7), moment(11), publishes=False)
    assert (only(drifted, RecordConflict).value, only(drifted, RecordConflict).reason) == (Y, "drift")
    hold = core.apply_due(drifted.register, entry(Y, "8"), Facts(now=Millis(NOW + 12)), "b1").register.hold
    assert hold is not None
    assert hold.reason is HoldReason.FIRST_CONTACT


def test_a_change_that_was_outdone_is_not_taken_back() -> None:
    changed = replica().observe(settled_on(X, at(5, THERE)), entry(Y, "8", modified=7), moment(9))
    outdone = replica().fold(changed.register, event(Z, at(20, THERE)), Millis(NOW + 21)).register
    assert retracted(outdone, only(changed, Publish).event) == Outcome(outdone)


@pytest.mark.parametrize("wish", Wish)
def test_a_decision_ends_where_the_path_may_not_leave(wish: Wish) -> None:
    wished = replace(register(known=version(Y, at(5, THERE)), stored=stored(X, at(2))), wish=wish)
    outcome = replica().apply_due(wished, entry(X), Facts(now=Millis(NOW + 9), publishes=False), "b1")
    assert outcome.register.wish is None
    assert none_of(outcome, Publish)
    assert outcome.write is None
    assert decisions(outcome) == [Decision.IGNORED]
    assert outcome.need is Need.READ


def test_a_path_without_a_decision_is_read_again() -> None:
    assert stays_here(register()) == Outcome(register(), (), Need.READ)


@pytest.mark.parametrize("publishes", [True, False])
def test_a_parent_is_asserted_above_living_children_only_where_it_may_leave(publishes: bool) -> None:
    parked = Parked(reason=ParkReason.CHILDREN_ALIVE, since_ms=NOW)
    waits = replace(register(known=version(None, at(5, THERE)), stored=stored(X, at(2))), parked=parked)
    late = Millis(NOW + replica().settings.limits.park_grace_ms)
    facts = Facts(now=late, child_alive=True, publishes=publishes)
    outcome = replica().waits(waits, facts)
    assert outcome is not None
    assert outcome.register.wish is (Wish.REVIVE if publishes else None)
    sent = replace(waits, intent=Intent(batch="b1", version=version(None, at(5, THERE)), expected=None))
    refused = replica().refused(sent, ParkReason.CHILDREN_ALIVE, late, publishes=publishes)
    assert refused.register.wish is (Wish.REVIVE if publishes else None)


def test_a_drifted_delete_needs_no_value() -> None:
    drifted = replica().observe(settled_on(None, at(5, THERE)), entry(Z), moment(9), publishes=False).register
    assert drifted.known is not None
    assert drifted.due


def test_a_value_that_stood_there_before_the_group_told_its_own_is_first_contact() -> None:
    core = replica()
    found = core.observe(register(known=version(Y, at(5, THERE))), entry(Z), moment(9), publishes=False).register
    for value, revision in [(Z, "8"), (X, "9")]:  # edited once more, it still is
        found = core.observe(found, entry(value, revision), moment(9), publishes=False).register
        outcome = core.apply_due(found, entry(value, revision), Facts(now=Millis(NOW + 9)), "b1")
        assert outcome.register.hold is not None
        assert outcome.register.hold.reason is HoldReason.FIRST_CONTACT


def test_a_war_over_a_path_that_only_takes_changes_is_noticed() -> None:
    core, clock = replica(), 10
    state = register(known=version(Y, at(5, THERE)), stored=stored(X, at(0, THERE)))
    for turn in range(1, 20):
        clock += 10
        state = core.observe(state, entry(Z, f"z{turn}"), moment(clock), publishes=False).register
        if state.known is not None and state.known.value is None:  # a peer is asked
            state = core.fold(state, event(Y, at(5, THERE)), Millis(NOW + clock)).register
        outcome = core.apply_due(state, entry(Z, f"z{turn}"), Facts(now=Millis(NOW + clock)), f"b{turn}")
        state = outcome.register
        if state.hold is not None:
            break
        answer = Written(path=state.path, revision=Revision(f"y{turn}"))
        state = core.written(state, answer, Millis(NOW + clock)).register
    assert state.hold is not None
    assert state.hold.reason is HoldReason.FLAPPING


# -- odds and ends


def test_a_register_of_no_resource_is_a_bug() -> None:
    with pytest.raises(InvariantBroken, match="no resource"):
        resource_at(MetaPath("/admin/policies"))
    with pytest.raises(InvariantBroken, match="no resource"):
        replica().observe(Register(path=MetaPath("/admin")), entry(X), moment())


def test_local_fields_alone_are_no_change_of_a_namespace() -> None:
    path = MetaPath("/admin/policies/acme/orders")
    core = replica()
    first = core.observe(
        Register(path=path), replace(entry(encoded({"bundles": {"numBundles": 4}, "a": 1})), path=path), moment()
    ).register
    value = encoded({"a": 1, "bundles": {"numBundles": 8}, "deleted": True, "migrated": True})
    outcome = core.observe(first, replace(entry(value, "9"), path=path), moment())
    assert outcome.acts == ()


def test_what_nobody_spoke_for_is_a_change_of_this_region_once_it_publishes_the_path() -> None:
    """Written where the path was only applied, and what the group had instead is lost; the store stands as it stood."""
    before = register(stored=stored(X, at(5), revision="7"), own=at(5).updated_at_ms)
    assert before.unspoken
    same = replica().observe(before, entry(X, "7"), moment(9), publishes=False)
    assert (same.register, same.acts) == (before, ())
    outcome = replica().observe(before, entry(X, "7"), moment(9))
    told = only(outcome, Publish).event
    assert told.value == X
    assert told.stamp.updated_at_ms > before.own, "no name is given twice"
    assert not outcome.register.unspoken
    assert none_of(replica().observe(outcome.register, entry(X, "7"), moment(9)), Publish)


def test_what_nobody_spoke_for_waits_while_the_database_is_rebuilt_or_an_operator_has_asked() -> None:
    before = register(stored=stored(X, at(5), revision="7"), own=at(5).updated_at_ms)
    rebuilding = replace(moment(9), rebuilding=True)
    assert none_of(replica().observe(before, entry(X, "7"), rebuilding), Publish)
    assert not replace(before, hold=UNREADABLE).unspoken
    assert not replace(before, wish=Wish.REASSERT).unspoken
