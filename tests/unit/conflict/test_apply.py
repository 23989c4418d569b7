"""Each row of seating: what a due write waits for, what is written, and what follows its outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from syncer.conflict import apply
from syncer.conflict.acts import Decision, FillConflict, Need, Publish, RecordConflict
from syncer.conflict.guards import Facts, Topics
from syncer.conflict.register import Hold, HoldReason, Intent, Parked, ParkReason, Register, Wish
from syncer.errors import InvariantBroken
from syncer.model import MetaPath, Millis, ResourceKind, Revision, Version
from syncer.stores.contract import Delete, Put, Written
from tests.property.strategies import NOW, TENANT, encoded, tenant_digest
from tests.unit.registers import (
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
    only,
    register,
    replica,
    seen,
    settled_on,
    stored,
    version,
)

GRACE = 5 * 60_000
HOLD = Hold(reason=HoldReason.FLAPPING, stamp=at(5, THERE), since_ms=NOW, detail="")
INTENT = Intent(batch="b0", version=version(Y, at(5, THERE), kept=False), expected=Revision("7"))


def due(value: bytes | None = Y, over: bytes | None = X, **changes: Any) -> Register:
    """Known at 5 from there, over a value seated at 0 that its author had seen."""
    return register(known=version(value, at(5, THERE), at(0, THIRD)), stored=stored(over, at(0, THIRD)), **changes)


def facts(offset: int = 10, **changes: Any) -> Facts:
    return Facts(now=Millis(NOW + offset), **changes)


# -- what it waits for


@pytest.mark.parametrize("before", [register(), settled_on(X, at(0))], ids=["unknown", "settled"])
def test_nothing_is_due(before: Register) -> None:
    outcome = replica().waits(before, facts())
    assert outcome is not None
    assert (outcome.register, outcome.acts, outcome.need, outcome.write) == (before, (), Need.NOTHING, None)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"hold": HOLD}, {}),
        ({"intent": INTENT}, {}),
        ({}, {"outbox_open": True}),
        ({}, {"applies": False}),
    ],
    ids=["hold", "in-flight", "outbox", "scope"],
)
def test_a_due_write_waits_without_being_parked(changes: dict[str, Any], told: dict[str, Any]) -> None:
    before = due(**changes)
    for outcome in (
        replica().waits(before, facts(**told)),
        replica().apply_due(before, entry(X, "7"), facts(**told), "b"),
    ):
        assert outcome is not None
        assert (outcome.register, outcome.acts, outcome.write) == (before, (), None)


def test_a_value_waits_for_its_parent() -> None:
    outcome = replica().waits(due(), facts(parent_alive=False))
    assert outcome is not None
    assert outcome.register.parked == Parked(reason=ParkReason.PARENT_MISSING, since_ms=Millis(NOW + 10))
    assert decisions(outcome) == [Decision.PARKED]
    again = replica().waits(outcome.register, facts(10 + 10 * GRACE, parent_alive=False))
    assert again is not None
    assert (again.register, again.acts, again.need) == (outcome.register, (), Need.NOTHING)
    assert replica().waits(outcome.register, facts()) is None


def test_a_delete_waits_for_the_children_and_is_answered_after_the_grace() -> None:
    """Schedule 17: a tenant is deleted there while a namespace is made here."""
    parked = replica().waits(due(None), facts(child_alive=True))
    assert parked is not None
    assert parked.register.parked == Parked(reason=ParkReason.CHILDREN_ALIVE, since_ms=Millis(NOW + 10))
    early = replica().waits(parked.register, facts(10 + GRACE - 1, child_alive=True))
    assert early is not None
    assert (early.register, early.need) == (parked.register, Need.NOTHING)
    wish = replica().waits(parked.register, facts(10 + GRACE, child_alive=True))
    assert wish is not None
    assert (wish.register.wish, wish.need) == (Wish.REVIVE, Need.READ)
    revived = replica().apply_due(wish.register, entry(X, "7"), facts(10 + GRACE, child_alive=True), "b")
    change = only(revived, Publish).event
    assert change.stamp == at(10 + GRACE)
    assert change.value == X
    assert change.seen == seen(at(0, THIRD), at(5, THERE), at(10 + GRACE))
    assert decisions(revived) == [Decision.REASSERTED]
    after = revived.register
    assert (after.due, after.wish, after.parked, after.own) == (False, None, None, NOW + 10 + GRACE)
    assert after.stored_digest == tenant_digest(X)


def test_the_reason_of_a_wait_may_change_and_its_time_starts_anew() -> None:
    before = due(None, parked=Parked(reason=ParkReason.STORE_REFUSED, since_ms=NOW))
    outcome = replica().waits(before, facts(child_alive=True))
    assert outcome is not None
    assert outcome.register.parked == Parked(reason=ParkReason.CHILDREN_ALIVE, since_ms=Millis(NOW + 10))


@pytest.mark.parametrize("told", [{"parent_alive": False}, {"child_alive": True}])
def test_equal_digests_wait_for_nobody(told: dict[str, Any]) -> None:
    value = None if "child_alive" in told else X
    assert replica().waits(due(value, value), facts(**told)) is None


# -- what is written


def test_equal_digests_are_seated_without_a_write_and_what_was_seen_is_joined() -> None:
    before = register(
        known=version(X, at(5, THERE)),
        stored=stored(X, at(0, THIRD)),
        parked=Parked(reason=ParkReason.STORE_REFUSED, since_ms=NOW),
    )
    outcome = replica().apply_due(before, entry(X, "7"), facts(), "b")
    after = outcome.register
    assert (outcome.write, outcome.acts, after.due, after.parked) == (None, (), False, None)
    assert after.stored is not None
    assert (after.stored.stamp, after.stored.revision) == (at(5, THERE), "7")
    assert after.stored.seen == seen(at(0, THIRD), at(5, THERE))
    assert after.known is not None
    assert after.known.value is None


def test_who_overwrites_a_value_that_two_authors_wrote_has_seen_both() -> None:
    merged = register(known=version(X, at(5, THERE)), stored=stored(X, at(0, THIRD)))
    core = replica()
    held = core.apply_due(merged, entry(X, "7"), facts(), "b").register
    written = only(core.observe(held, entry(Y, "8", modified=9), moment(9)), Publish).event
    elsewhere = replica(region=THIRD)
    outcome = elsewhere.fold(register(known=version(X, at(0, THIRD)), own=Millis(NOW)), written, Millis(NOW + 9))
    assert decisions(outcome) == [Decision.ADOPTED]


def test_two_deletes_need_no_write() -> None:
    outcome = replica().apply_due(due(None, None), None, facts(child_alive=True), "b")
    assert (outcome.write, outcome.register.due) == (None, False)


def test_a_value_is_laid_over_the_one_just_read() -> None:
    path = MetaPath("/admin/policies/acme/orders")
    author = encoded({"a": 2, "bundles": {"numBundles": 4}, "deleted": True})
    stored = encoded({"a": 1, "bundles": {"numBundles": 16}})
    core = replica()
    first = core.observe(Register(path=path), replace(entry(stored, "7"), path=path), moment(-5)).register
    change = replace(event(X, at(5, THERE), at(0)), path=path, value=author, resource=ResourceKind.NAMESPACE)
    folded = core.fold(first, change, NOW).register
    outcome = core.apply_due(folded, replace(entry(stored, "7"), path=path), facts(), "b1")
    assert isinstance(outcome.write, Put)
    assert outcome.write == Put(
        path=path,
        value=b'{"a":2,"bundles":{"numBundles":16}}',
        expected=Revision("7"),
        scaffold=(MetaPath("/admin"), MetaPath("/admin/policies")),
    )


def test_a_write_is_an_intent_at_the_revision_just_read() -> None:
    outcome = replica().apply_due(due(), entry(X, "7"), facts(), "b1")
    assert isinstance(outcome.write, Put)
    assert (outcome.write.path, outcome.write.expected) == (TENANT, "7")
    assert tenant_digest(outcome.write.value) == tenant_digest(Y)
    assert outcome.register.intent == Intent(
        batch="b1", version=version(Y, at(5, THERE), at(0, THIRD), kept=False), expected=Revision("7")
    )
    assert outcome.register.known == due().known  # its value stays until it landed
    assert [type(act) for act in outcome.acts] == [FillConflict]


def test_a_create_expects_nothing_there() -> None:
    for before in (register(known=version(Y, at(5, THERE))), due(Y, None)):
        outcome = replica().apply_due(before, None, facts(), "b1")
        assert isinstance(outcome.write, Put)
        assert (outcome.write.expected, outcome.write.scaffold) == (None, ("/admin", "/admin/policies"))


def test_a_value_lands_in_an_empty_inner_node_at_its_revision() -> None:
    outcome = replica().apply_due(due(Y, None), entry(b"", "3"), facts(), "b1")
    assert isinstance(outcome.write, Put)
    assert outcome.write.expected == "3"


def test_a_delete_expects_the_revision_just_read() -> None:
    outcome = replica().apply_due(due(None), entry(X, "7"), facts(), "b1")
    assert outcome.write == Delete(path=TENANT, expected=Revision("7"))


def test_a_delete_of_what_was_read_to_be_absent_is_a_bug() -> None:
    with pytest.raises(InvariantBroken, match="read to be absent"):
        replica().apply_due(due(None), None, facts(), "b1")


def test_a_due_value_that_is_not_known_here_waits_for_a_peer() -> None:
    lost = register(known=version(Y, at(5, THERE), kept=False), stored=stored(X, at(0, THIRD)))
    parked = replica().apply_due(lost, entry(X, "7"), facts(), "b1")
    assert parked.write is None
    assert parked.register.parked is not None
    assert parked.register.parked.reason is ParkReason.VALUE_MISSING
    came = replica().fold(parked.register, event(Y, at(5, THERE)), NOW)
    assert came.need is Need.READ
    assert came.register.parked is None
    assert replica().apply_due(came.register, entry(X, "7"), facts(), "b1").write is not None


def test_something_due_of_which_nothing_is_known_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "waits", lambda *_: None)
    with pytest.raises(InvariantBroken, match="nothing is known"):
        replica().apply_due(register(), None, facts(), "b1")


def test_the_whole_loser_is_kept_before_it_is_overwritten() -> None:
    """Schedule 30: local fields and all."""
    whole = encoded({"adminRoles": [], "number": 1, "unknown": "field"})
    before = register(known=version(Y, at(5, THERE)), stored=stored(whole, at(0, THIRD)))
    outcome = replica().apply_due(before, entry(whole, "7"), facts(), "b1")
    fill = only(outcome, FillConflict)
    assert (fill.path, fill.digest, fill.value) == (TENANT, tenant_digest(whole), whole)
    assert outcome.write is not None


@pytest.mark.parametrize(
    "before",
    [due(Y, None), register(known=version(Y, at(5, THERE)))],
    ids=["nothing-there", "never-known"],
)
def test_nothing_is_kept_where_nothing_is_lost(before: Register) -> None:
    assert replica().apply_due(before, None, facts(), "b1").acts == ()


def test_a_loser_is_kept_although_a_later_winner_has_seen_it() -> None:
    """It lost to an earlier winner, whose conflict was recorded while the value stood in the store only."""
    before = due()
    assert before.known is not None
    assert before.stored is not None
    assert before.known.seen[before.stored.by] >= before.stored.stamp.updated_at_ms
    assert only(replica().apply_due(before, entry(X, "7"), facts(), "b1"), FillConflict).value == X


def test_a_guard_holds_the_write_and_keeps_the_loser() -> None:
    before = register(
        known=version(encoded({"allowedClusters": ["nowhere"]}), at(5, THERE)),
        stored=stored(X, at(0, THIRD)),
        parked=Parked(reason=ParkReason.PARENT_MISSING, since_ms=NOW),
    )
    outcome = replica().apply_due(before, entry(X, "7"), facts(), "b1")
    hold = outcome.register.hold
    assert hold is not None
    assert (hold.reason, hold.stamp, hold.since_ms, hold.local) == (
        HoldReason.UNKNOWN_CLUSTER,
        at(5, THERE),
        NOW + 10,
        False,
    )
    assert "nowhere" in hold.detail
    assert (outcome.write, outcome.register.intent, outcome.register.parked) == (None, None, None)
    assert decisions(outcome) == [Decision.HELD]
    assert only(outcome, FillConflict).value == X
    assert outcome.register.known == before.known


def test_a_guard_that_has_to_ask_changes_nothing_yet() -> None:
    path = MetaPath("/admin/policies/acme/orders")
    before = Register(path=path, known=version(None, at(5, THERE)), stored=stored(X, at(0, THIRD)))
    found = replace(entry(X, "7"), path=path)
    outcome = replica().apply_due(before, found, facts(), "b1")
    assert (outcome.register, outcome.acts, outcome.need, outcome.write) == (before, (), Need.TOPICS, None)
    gone = replica().apply_due(before, found, facts(topics=Topics.NONE), "b1")
    assert gone.write == Delete(path=path, expected=Revision("7"))


# -- what follows


def landed(state: Register, answer: Written | None) -> Any:
    return replica().written(state, answer, Millis(NOW + 20))


def test_a_confirmed_write_is_what_the_store_holds() -> None:
    sent = replica().apply_due(
        due(parked=Parked(reason=ParkReason.PARENT_MISSING, since_ms=NOW)), entry(X, "7"), facts(), "b"
    )
    outcome = landed(replace(sent.register, allowed=at(5, THERE)), Written(path=TENANT, revision=Revision("8")))
    after = outcome.register
    assert after.stored is not None
    assert (after.stored.stamp, after.stored.revision, after.stored.seen) == (
        at(5, THERE),
        "8",
        seen(at(0, THIRD), at(5, THERE)),
    )
    assert (after.due, after.intent, after.parked, after.allowed) == (False, None, None, None)
    assert after.known is not None
    assert after.known.value is None
    assert (outcome.acts, outcome.need) == ((), Need.NOTHING)


def test_a_write_that_a_receipt_proves_is_read_again() -> None:
    """Schedule 10: it landed, the answer was lost; what is found now is somebody's change, or nobody's."""
    outcome = landed(due(intent=INTENT), None)
    assert outcome.need is Need.READ
    assert outcome.register.stored is not None
    assert outcome.register.stored.revision is None
    deleted = replica().observe(outcome.register, None, moment(30))
    assert only(deleted, Publish).event.value is None
    same = replica().observe(outcome.register, entry(Y, "12"), moment(30))
    assert same.acts == ()


def test_what_landed_is_seated_even_if_something_newer_is_known_by_now() -> None:
    """Schedule 11: the store holds the intent's version, not today's."""
    newer = version(Z, at(9, THIRD), at(5, THERE))
    outcome = landed(replace(due(intent=INTENT), known=newer), Written(path=TENANT, revision=Revision("8")))
    assert outcome.register.stored is not None
    assert outcome.register.stored.stamp == at(5, THERE)
    assert outcome.register.known == newer
    assert (outcome.register.due, outcome.need) == (True, Need.READ)


def test_a_confirmed_delete() -> None:
    sent = replica().apply_due(due(None), entry(X, "7"), facts(), "b").register
    after = landed(sent, Written(path=TENANT, revision=None)).register
    assert (after.stored_alive, after.due) == (False, False)


def test_an_overwritten_value_that_was_not_the_one_read_is_an_alarm() -> None:
    """Schedule 14: a store whose check can be passed by a node deleted and made again."""
    outcome = landed(due(intent=INTENT), Written(path=TENANT, revision=Revision("8"), replaced_unread=True))
    record = only(outcome, RecordConflict)
    assert (record.reason, record.value, record.loser, record.winner) == (
        "value-unknown",
        None,
        at(20, HERE),
        at(5, THERE),
    )
    assert decisions(outcome) == [Decision.ALARM]
    assert outcome.register.stored is not None
    assert outcome.register.stored.stamp == at(5, THERE)


def test_an_alarm_is_not_named_like_what_was_kept_in_the_same_moment() -> None:
    before = replace(due(intent=INTENT), own=Millis(NOW + 20))
    outcome = landed(before, Written(path=TENANT, revision=Revision("8"), replaced_unread=True))
    assert only(outcome, RecordConflict).loser == at(21, HERE)


def test_a_write_that_was_never_intended_is_a_bug() -> None:
    with pytest.raises(InvariantBroken, match="never intended"):
        landed(due(), Written(path=TENANT, revision=Revision("8")))


def test_a_refused_revision_is_read_again() -> None:
    before = due(intent=INTENT)
    outcome = replica().refused(before, None, Millis(NOW + 20))
    assert outcome.register == replace(before, intent=None)
    assert (outcome.need, outcome.acts) == (Need.READ, ())


@pytest.mark.parametrize("cause", ParkReason)
def test_a_refusal_for_others_sake_is_parked_and_not_tried_at_once(cause: ParkReason) -> None:
    """Schedule 18: no busy loop."""
    outcome = replica().refused(due(intent=INTENT), cause, Millis(NOW + 20), "said the store")
    assert outcome.register.intent is None
    assert outcome.register.parked == Parked(reason=cause, since_ms=Millis(NOW + 20), detail="said the store")
    assert outcome.need is Need.NOTHING
    again = replica().refused(replace(outcome.register, intent=INTENT), cause, Millis(NOW + 30))
    assert again.register == outcome.register


def test_a_delete_that_the_store_keeps_refusing_is_answered_after_the_grace() -> None:
    """Children out of scope: nobody here will ever delete them."""
    once = replica().refused(due(None, intent=INTENT), ParkReason.CHILDREN_ALIVE, Millis(NOW + 20)).register
    late = replica().refused(replace(once, intent=INTENT), ParkReason.CHILDREN_ALIVE, Millis(NOW + 20 + GRACE))
    assert late.register.wish is Wish.REVIVE


def test_a_flip_is_counted_by_what_we_write_too() -> None:
    core = replica()
    state = settled_on(X, at(0, THERE))
    state = core.observe(state, entry(Y, "8", modified=1), moment(1)).register
    state = core.fold(state, event(X, at(2, THERE), at(1)), Millis(NOW + 2)).register
    state = core.apply_due(state, entry(Y, "8"), facts(3), "b").register
    state = core.written(state, Written(path=TENANT, revision=Revision("9")), Millis(NOW + 3)).register
    assert state.flips == (NOW + 3,)


def test_versions_carry_no_value_into_an_intent() -> None:
    sent = replica().apply_due(due(), entry(X, "7"), facts(), "b").register
    assert sent.intent is not None
    assert isinstance(sent.intent.version, Version)
    assert sent.intent.version.value is None
