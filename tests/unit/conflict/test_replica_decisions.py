"""A person's decisions: hold back, confirm, reject, undo, restore; and the answers that they become."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from syncer.conflict.acts import Decision, DropHeld, Need, Outcome, Publish, ReleaseHeld
from syncer.conflict.guards import UNTOLD_TOPICS, Facts, Topics
from syncer.conflict.register import Hold, HoldReason, Register, Wish
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Settings
from syncer.conflict.shown import Look, look_at
from syncer.errors import PreconditionFailed, ValueInvalid
from syncer.model import EventType, Millis
from syncer.stores.contract import Put
from tests.property.strategies import NOW, encoded, tenant_digest
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


def held(value: bytes | None = Y, reason: HoldReason = HoldReason.FLAPPING, **changes: Any) -> Register:
    """A remote change that waits for a person."""
    hold = Hold(reason=reason, stamp=at(5, THERE), since_ms=NOW, detail="why")
    return register(known=version(value, at(5, THERE)), stored=stored(X, at(0)), hold=hold, **changes)


def shown_of(state: Register) -> Look:
    """What an operator who looks now is shown."""
    assert state.hold is not None
    return look_at(state, state.hold)


def wishing(**changes: Any) -> Register:
    """A path whose value an operator wants to win, once it is read as he was shown it."""
    state = register(wish=Wish.REASSERT, **changes)
    return replace(state, shown=state.shows)


def facts(offset: int = 10, **changes: Any) -> Facts:
    return Facts(now=Millis(NOW + offset), **changes)


def held_delete() -> Register:
    core = replica()
    return core.hold_back(core.observe(settled_on(X, at(-9, THERE)), None, moment()), NOW, "12 of 40").register


# -- local deletes


def test_a_mass_delete_is_held_back_and_freezes_its_path() -> None:
    core = replica()
    deleted = core.observe(settled_on(X, at(-9)), None, moment())
    outcome = core.hold_back(deleted, Millis(NOW + 1), "12 of 40")
    publication = only(outcome, Publish)
    assert publication.held
    assert publication.event == only(deleted, Publish).event
    assert outcome.register.hold == Hold(
        reason=HoldReason.MASS_DELETE, stamp=at(0), since_ms=Millis(NOW + 1), detail="12 of 40", local=True
    )
    assert decisions(outcome) == [Decision.HELD], "it is not published"
    told = core.fold(outcome.register, event(Y, at(5, THERE)), Millis(NOW + 6)).register
    waiting = core.waits(told, facts())
    assert waiting is not None
    assert waiting.register == told


def test_a_held_delete_may_be_held_for_another_reason_from_then_on() -> None:
    held, now = held_delete(), Millis(NOW + 5)
    outcome = replica().hold_for(held, HoldReason.COLLECTED_TOPIC, now, "unused")
    hold = Hold(reason=HoldReason.COLLECTED_TOPIC, stamp=at(0), since_ms=now, detail="unused", local=True)
    assert outcome.register == replace(held, hold=hold)
    assert decisions(outcome) == [Decision.HELD]


def test_a_released_delete_keeps_its_old_stamp() -> None:
    held = held_delete()
    outcome = replica().release(held)
    assert outcome.register == replace(held, hold=None)
    assert only(outcome, ReleaseHeld).path == held.path
    assert decisions(outcome) == [Decision.PUBLISHED], "it counts as a delete that has passed"


def test_a_confirmed_delete_keeps_its_old_stamp() -> None:
    outcome = replica().confirm(held_delete(), shown_of(held_delete()))
    assert (outcome.register.hold, outcome.register.allowed, outcome.acts) == (None, None, ())
    assert outcome.register.known is not None
    assert outcome.register.known.stamp == at(0)


def test_a_local_change_is_not_rejected_but_undone() -> None:
    with pytest.raises(PreconditionFailed, match="undone"):
        replica().reject(held_delete(), shown_of(held_delete()))


def test_an_undone_delete_was_never_told_and_its_value_comes_back_from_a_peer() -> None:
    core = replica()
    outcome = core.undo(held_delete(), shown_of(held_delete()))
    assert outcome.acts == (DropHeld(path=outcome.register.path),)
    assert (outcome.register.known, outcome.register.hold, outcome.need) == (None, None, Need.NOTHING)
    assert core.observe(outcome.register, None, moment(1)).acts == ()
    told = core.fold(outcome.register, event(X, at(-9, THERE)), Millis(NOW + 6))
    assert told.need is Need.READ
    assert isinstance(core.apply_due(told.register, None, facts(), "b").write, Put)


def test_a_change_that_arrived_meanwhile_is_due_after_the_undo() -> None:
    core = replica()
    newer = core.fold(held_delete(), event(Y, at(5, THERE), at(-9, THERE)), Millis(NOW + 6)).register
    outcome = core.undo(newer, shown_of(newer))
    assert outcome.register.known == newer.known
    assert outcome.need is Need.READ


@pytest.mark.parametrize("state", [held(), register(hold=replace(held_delete().hold or held().hold, local=True))])  # type: ignore[type-var]  # both have a hold
def test_only_a_held_local_change_is_undone(state: Register) -> None:
    with pytest.raises(PreconditionFailed, match="no local change"):
        replica().undo(state, shown_of(state))


# -- remote changes


@pytest.mark.parametrize("decide", ["confirm", "reject", "undo"])
def test_nothing_is_held(decide: str) -> None:
    with pytest.raises(PreconditionFailed, match="nothing is held") as refused:
        getattr(replica(), decide)(settled_on(X, at(0)), shown_of(held()))
    assert refused.value.hint == "See 'syncer holds list'."


def test_a_confirmed_change_passes_the_guards_once() -> None:
    core = replica()
    stubborn = register(
        known=version(encoded({"allowedClusters": ["nowhere"]}), at(5, THERE), at(0)), stored=stored(X, at(0))
    )
    waiting = core.apply_due(stubborn, entry(X, "7"), facts(), "b").register
    confirmed = core.confirm(waiting, shown_of(waiting))
    assert confirmed.need is Need.READ
    assert confirmed.register.allowed == at(5, THERE)
    assert core.apply_due(confirmed.register, entry(X, "7"), facts(), "b").write is not None
    newer = core.fold(
        confirmed.register, event(encoded({"allowedClusters": ["elsewhere"]}), at(6, THERE), at(5, THERE), at(0)), NOW
    ).register
    assert core.apply_due(newer, entry(X, "7"), facts(), "b").write is None


def test_what_cannot_be_read_cannot_be_confirmed() -> None:
    with pytest.raises(PreconditionFailed, match="cannot be read"):
        replica().confirm(held(reason=HoldReason.UNREADABLE), shown_of(held(reason=HoldReason.UNREADABLE)))


@pytest.mark.parametrize(
    ("value", "kind"), [(X, EventType.MODIFIED), (None, EventType.DELETED)], ids=["value", "absent"]
)
def test_a_rejected_change_loses_everywhere(value: bytes | None, kind: EventType) -> None:
    core = replica()
    state = replace(held(), stored=stored(value, at(0)))
    asked = core.reject(state, shown_of(state))
    assert (asked.register.wish, asked.register.hold, asked.need) == (Wish.REASSERT, None, Need.READ)
    assert asked.register.shown == state.shows
    outcome = core.apply_due(asked.register, None if value is None else entry(value, "7"), facts(), "b")
    change = only(outcome, Publish).event
    assert (change.type, change.value, change.stamp) == (kind, value, at(10))
    assert change.seen == seen(at(5, THERE), at(10))
    assert outcome.write is None
    assert (outcome.register.due, outcome.register.wish, outcome.register.own) == (False, None, NOW + 10)
    assert outcome.register.shown is None
    elsewhere = Replica(Settings(region=THIRD)).fold(settled_on(Y, at(5, THERE)), change, Millis(NOW + 10))
    assert decisions(elsewhere) == [Decision.ADOPTED]


def test_a_reassertion_wins_over_clocks_that_are_ahead() -> None:
    core = replica()
    state = wishing(known=version(Y, at(500, THERE)), stored=stored(X, at(600)), own=Millis(NOW + 700))
    assert only(core.apply_due(state, entry(X, "7"), facts(), "b"), Publish).event.stamp == at(701)
    state = replace(state, own=Millis(0))
    assert only(core.apply_due(state, entry(X, "7"), facts(), "b"), Publish).event.stamp == at(601)


def test_an_empty_inner_node_is_reasserted_as_nothing() -> None:
    state = wishing(known=version(Y, at(5, THERE)))
    assert only(replica().apply_due(state, entry(b"", "3"), facts(), "b"), Publish).event.type is EventType.DELETED


@pytest.mark.parametrize("told", [{"outbox_open": True}, {}])
def test_a_reassertion_waits_like_a_write(told: dict[str, Any]) -> None:
    state = replace(held() if not told else replace(held(), hold=None), wish=Wish.REASSERT, shown=held().shows)
    outcome = replica().apply_due(state, entry(X, "7"), facts(**told), "b")
    assert (outcome.register, outcome.acts, outcome.write) == (state, (), None)


def test_a_newer_change_ends_the_wish_to_reassert() -> None:
    core = replica()
    asked = core.reject(held(), shown_of(held())).register
    assert core.fold(asked, event(Z, at(9, THIRD), at(5, THERE)), Millis(NOW + 9)).register.wish is None


MOVED = {
    "a newer change is known": lambda state: replace(state, known=version(Z, at(6, THIRD))),
    "the store holds a newer change": lambda state: replace(state, stored=stored(Z, at(4))),
    "the store holds another edit of the same name": lambda state: replace(state, stored=stored(Z, at(0))),
}
"""What may have come between an operator's look and the daemon's act, with the very same hold."""
ANOTHER = {
    "stamp": at(4, THERE),
    "reason": HoldReason.FEWER_PARTITIONS,
    "since_ms": Millis(NOW + 1),
}
"""In what another hold of the path may differ."""


@pytest.mark.parametrize("moved", MOVED)
@pytest.mark.parametrize("decide", ["confirm", "reject"])
def test_what_is_not_as_it_was_shown_is_not_decided(decide: str, moved: str) -> None:
    state = MOVED[moved](held())
    with pytest.raises(PreconditionFailed, match=r"when it was shown|the one that was shown") as refused:
        getattr(replica(), decide)(state, shown_of(held()))
    assert refused.value.hint == "Look at it again with 'syncer holds list'."
    getattr(replica(), decide)(state, shown_of(state))


@pytest.mark.parametrize("differing", ANOTHER)
@pytest.mark.parametrize("decide", ["confirm", "reject", "undo"])
def test_another_hold_than_the_one_that_was_shown_is_not_decided(decide: str, differing: str) -> None:
    state = held_delete() if decide == "undo" else held()
    assert state.hold is not None
    changes: dict[str, Any] = {differing: ANOTHER[differing]}
    another = replace(state, hold=replace(state.hold, **changes))
    with pytest.raises(PreconditionFailed, match="another change is held now"):
        getattr(replica(), decide)(another, shown_of(state))
    getattr(replica(), decide)(another, shown_of(another))


@pytest.mark.parametrize("moved", MOVED)
def test_what_comes_before_the_read_ends_the_decision(moved: str) -> None:
    """Nothing of it is stamped; the guards see the path again, and the operator sees that it has ended."""
    core = replica()
    asked = core.reject(held(), shown_of(held())).register
    outcome = core.apply_due(MOVED[moved](asked), entry(X, "7"), facts(), "b")
    assert (outcome.register.wish, outcome.register.shown, outcome.need) == (None, None, Need.READ)
    assert decisions(outcome) == [Decision.OVERTAKEN]
    assert outcome.write is None


def test_a_wish_of_an_older_version_ends_and_is_decided_anew() -> None:
    """Its database says neither whose it was nor what he was shown."""
    outcome = replica().apply_due(replace(held(), hold=None, wish=Wish.REASSERT), entry(X, "7"), facts(), "b")
    assert (outcome.register.wish, decisions(outcome)) == (None, [Decision.OVERTAKEN])
    nothing = register(stored=stored(X, at(0)), wish=Wish.REASSERT)
    assert replica().apply_due(nothing, entry(X, "7"), facts(), "b").acts == (), "there is nothing to tell of"


def test_a_change_in_the_store_ends_the_wish_and_is_said_so() -> None:
    asked = replica().reject(held(), shown_of(held())).register
    outcome = replica().observe(asked, entry(Z, "8"), moment(3))
    assert only(outcome, Publish).event.value == Z
    assert outcome.register.wish is None
    assert decisions(outcome)[-1] is Decision.OVERTAKEN
    met = replica().observe(asked, entry(Y, "8"), moment(3))
    assert (met.register.wish, decisions(met)) == (None, [Decision.MET, Decision.OVERTAKEN])


def test_a_change_in_the_store_ends_what_was_let_pass_over_the_former_value() -> None:
    core = replica()
    confirmed = core.confirm(held(), shown_of(held())).register
    assert confirmed.allowed == at(5, THERE)
    changed = core.observe(confirmed, entry(Z, "8", modified=1), moment(3)).register
    assert changed.known is not None
    assert (changed.known.stamp, changed.allowed) == (at(5, THERE), None), "the guards see what it would replace now"


def test_what_the_store_has_refused_passes_no_guard_by_being_tried_again() -> None:
    refused = held(reason=HoldReason.STORE_REFUSED)
    assert replica().confirm(refused, shown_of(refused)).register.allowed is None
    passed = held(reason=HoldReason.STORE_REFUSED, allowed=at(5, THERE))
    assert replica().confirm(passed, shown_of(passed)).register.allowed == at(5, THERE)


# -- restore


@pytest.mark.parametrize("value", [X, None], ids=["value", "delete"])
def test_a_restored_loser_is_the_newest_version_for_everybody(value: bytes | None) -> None:
    core = replica()
    state = settled_on(Y, at(5, THERE), at(0, THERE))
    outcome = core.restore(state, value, seen(at(3, THIRD)), Millis(NOW + 10))
    change = only(outcome, Publish).event
    assert (change.value, change.stamp) == (value, at(10))
    assert change.seen == seen(at(5, THERE), at(3, THIRD), at(10))
    assert decisions(outcome) == [Decision.RESTORED]
    assert (outcome.register.due, outcome.need) == (True, Need.READ)
    assert outcome.register.own == NOW + 10
    write = core.apply_due(outcome.register, entry(Y, "7"), facts(), "b").write
    assert write is not None
    assert outcome.register.known is not None
    assert outcome.register.known.digest == tenant_digest(value)


def test_a_restore_of_an_unknown_path() -> None:
    outcome = replica().restore(register(), X, {}, NOW)
    assert only(outcome, Publish).event.seen == seen(at(0))
    assert isinstance(replica().apply_due(outcome.register, None, facts(), "b").write, Put)


def test_what_is_no_value_is_not_restored() -> None:
    with pytest.raises(ValueInvalid):
        replica().restore(settled_on(Y, at(5, THERE)), b"{", {}, NOW)


def test_what_brokers_could_not_read_is_not_restored() -> None:
    with pytest.raises(PreconditionFailed, match="could not read that value: adminRoles: an array is due"):
        replica().restore(settled_on(Y, at(5, THERE)), b'{"adminRoles":5}', {}, NOW)


def test_this_region_is_who_it_is() -> None:
    assert replica(generation=4).settings.by == f"{HERE}~4"


# -- an answer about topics


@pytest.mark.parametrize("topics", [Topics.NONE, Topics.SOME])
def test_an_answer_has_the_guards_decide_anew(topics: Topics) -> None:
    waiting = held(None, HoldReason.HAS_TOPICS)
    assert waiting.hold is not None
    waiting = replace(waiting, hold=replace(waiting.hold, detail=UNTOLD_TOPICS))
    outcome = replica().topics_told(waiting, topics)
    assert (outcome.register, outcome.need) == (replace(waiting, hold=None), Need.READ)
    assert outcome.register.allowed is None, "nobody has let it pass"


@pytest.mark.parametrize("topics", [Topics.NOT_ASKED, Topics.CANNOT_ASK])
def test_no_answer_changes_nothing(topics: Topics) -> None:
    waiting = held(None, HoldReason.HAS_TOPICS)
    assert waiting.hold is not None
    waiting = replace(waiting, hold=replace(waiting.hold, detail=UNTOLD_TOPICS))
    assert replica().topics_told(waiting, topics) == Outcome(waiting)


@pytest.mark.parametrize("reason", HoldReason)
def test_an_answer_ends_no_other_hold(reason: HoldReason) -> None:
    """Also not the one for topics that were found; nor what a person has decided meanwhile."""
    waiting = held(None, reason)
    assert replica().topics_told(waiting, Topics.NONE) == Outcome(waiting)
    topics = held(None, HoldReason.HAS_TOPICS)
    decided = replica().confirm(topics, shown_of(topics)).register
    assert replica().topics_told(decided, Topics.NONE) == Outcome(decided)
