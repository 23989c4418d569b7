"""A store that has lost a path by nobody's decision: what is kept of it, and what is due again."""

from __future__ import annotations

import json

import pytest

from syncer.conflict.acts import Decision, FillConflict, Journal, Publish, RecordConflict
from syncer.conflict.guards import Facts
from syncer.conflict.losing import LOST, lost
from syncer.conflict.register import Hold, HoldReason, Intent, Register, Wish
from syncer.model import Millis
from syncer.replacing import replace
from syncer.stores.contract import Entry, Put
from tests.property.strategies import NOW
from tests.unit.registers import (
    THERE,
    X,
    Y,
    at,
    decisions,
    entry,
    moment,
    none_of,
    only,
    register,
    replica,
    settled_on,
    stored,
    version,
)

STANDS = settled_on(X, at(1))
FACTS = Facts(now=Millis(NOW))


def test_the_groups_value_is_due_again_and_nothing_is_told() -> None:
    outcome = lost(STANDS, entry(X, "7"))
    register = outcome.register
    assert (register.known, register.stored, register.due) == (version(X, at(1)), None, True)
    assert none_of(outcome, Publish, RecordConflict)
    note = only(outcome, Journal)
    assert (note.decision, note.stamp, note.digest, note.detail) == (
        Decision.IGNORED,
        at(1),
        version(X, at(1)).digest,
        LOST,
    )
    seen = replica().observe(register, None, moment())
    assert (seen.register, seen.acts) == (register, ())
    applied = replica().apply_due(register, None, FACTS, "1")
    assert isinstance(applied.write, Put)
    assert (json.loads(applied.write.value), applied.write.expected) == (json.loads(X), None)


@pytest.mark.parametrize("last", [None, entry(Y, "6")])
def test_a_value_that_is_not_known_any_more_is_asked_for(last: Entry | None) -> None:
    outcome = lost(STANDS, last)
    assert outcome.register.value_missing
    assert none_of(outcome, FillConflict)


def test_a_conflict_that_it_has_lost_has_it_whole_and_the_winner_stays() -> None:
    outcome = lost(register(known=version(Y, at(2, THERE)), stored=stored(X, at(1))), entry(X, "7"))
    filled = only(outcome, FillConflict)
    assert (filled.digest, filled.value) == (version(X, at(1)).digest, X)
    assert outcome.register.known == version(Y, at(2, THERE))


def test_a_delete_of_the_group_is_done() -> None:
    gone = lost(register(known=version(None, at(2, THERE)), stored=stored(X, at(1))), None).register
    seen = replica().observe(gone, None, moment())
    done = replica().apply_due(seen.register, None, FACTS, "1")
    assert (done.write, done.register.due) == (None, False)
    assert none_of(seen, Publish)


def test_what_nobody_has_told_of_is_unknown() -> None:
    assert lost(register(stored=stored(X, at(1))), entry(X, "7")).register == register()


@pytest.mark.parametrize(
    "known",
    [
        register(),
        register(known=version(X, at(1, THERE))),
        settled_on(None, at(1)),
        replace(STANDS, intent=Intent(batch="1", version=version(Y, at(2)), expected=None)),
    ],
)
def test_where_nothing_stood_or_a_write_is_open_all_stays_as_it_is(known: Register) -> None:
    outcome = lost(known, None)
    assert (outcome.register, outcome.acts) == (known, ())


@pytest.mark.parametrize(("reason", "left"), [(HoldReason.FIRST_CONTACT, False), (HoldReason.FLAPPING, True)])
def test_what_was_found_at_first_contact_holds_nothing_any_more(reason: HoldReason, *, left: bool) -> None:
    hold = Hold(reason=reason, stamp=at(2, THERE), since_ms=Millis(NOW), detail="")
    held = register(known=version(Y, at(2, THERE)), stored=stored(X, at(1)), hold=hold)
    assert (lost(held, None).register.hold is not None) is left


def test_a_decision_about_what_stood_there_ends() -> None:
    for wish, told in ((Wish.REASSERT, [Decision.IGNORED, Decision.OVERTAKEN]), (Wish.REVIVE, [Decision.IGNORED])):
        outcome = lost(replace(STANDS, wish=wish, shown=STANDS.shows), None)
        assert (outcome.register.wish, decisions(outcome)) == (None, told)
