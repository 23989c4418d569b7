"""Operators who decide by what they were shown, while something is written that they were not shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.wire.messages import Control
from syncer.conflict.acts import Decision
from syncer.conflict.register import HoldReason
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import Region
from tests.simulation.faults import NARROW, WIDE
from tests.simulation.script import ETCD, ZOOKEEPER, Script
from tests.simulation.store import StoreKind
from tests.simulation.world import LONE

P = LONE
FIRST, LOST, WON, LATER = 1, 2, 3, 4

both_stores = pytest.mark.parametrize("kind", [ZOOKEEPER, ETCD])


def in_conflict(kind: StoreKind) -> Script:
    """Everybody knows of a conflict, and holds its winner."""
    w = Script(kind, kind)
    w.everybody_has(P, FIRST)
    w.at(10)
    w.write("b", P, LOST)
    w.at(20)
    w.write("a", P, WON)
    lost, won = w.tell("b"), w.tell("a")
    w.deliver("a", lost)
    w.deliver("b", won)
    w.apply("b")
    w.holds(P, WON)
    return w


@both_stores
@pytest.mark.parametrize("region", ["a", "b"])
def test_what_is_written_after_a_look_at_a_conflict_is_not_overruled_by_its_loser(kind: StoreKind, region: str) -> None:
    """Here or elsewhere; the one who looks again may overrule it, knowing it."""
    w = in_conflict(kind)
    look = w.look_at_conflict("a")
    w.at(40)
    w.write(region, P, LATER)
    later = w.tell(region)
    if region == "b":
        w.deliver("a", later)
    number = w.ask("a", "restore", look)
    w.daemon("a").operate()
    answer = w.answer_of("a", number)
    assert (answer.state, answer.code) == ("failed", "precondition-failed")
    assert "Look at it again with 'syncer conflicts show 1'" in answer.answer
    w.settle()
    w.holds(P, LATER)
    w.ask("a", "restore", w.look_at_conflict("a"))
    w.end()
    w.holds(P, LOST)


@both_stores
def test_a_loser_that_nothing_has_come_over_is_restored(kind: StoreKind) -> None:
    w = in_conflict(kind)
    w.ask("a", "restore", w.look_at_conflict("a"))
    w.end()
    w.holds(P, LOST)
    assert w.decisions("a", Decision.RESTORED) == 1


def held(kind: StoreKind) -> Script:
    """A holds a change of B's: the path flips."""
    w = Script(kind, kind, limits=replace(NARROW, max_flips=0))
    w.everybody_has(P, FIRST)
    w.everybody_has(P, LOST)
    w.at(10)
    w.write("a", P, FIRST)
    w.deliver("b", w.tell("a"))
    w.apply("b")
    w.at(20)
    w.write("b", P, WON)
    w.deliver("a", w.tell("b"))
    w.learn("a")
    hold = w.sites[Region("a")].disk.tables.registers[P].hold
    assert hold is not None
    assert hold.reason is HoldReason.FLAPPING
    return w


@both_stores
def test_another_change_than_the_one_that_was_shown_is_not_rejected(kind: StoreKind) -> None:
    w = held(kind)
    look = w.look("a", P)
    w.at(30)
    w.write("b", P, LATER)
    w.deliver("a", w.tell("b"))
    w.learn("a")
    number = w.ask("a", "reject", look)
    w.daemon("a").operate()
    assert w.answer_of("a", number).code == "precondition-failed"
    w.ask("a", "confirm", w.look("a", P))
    w.end()
    w.holds(P, LATER)


def rejected(kind: StoreKind) -> Script:
    """An operator has been answered that A's value will win, and nothing has been read since."""
    w = held(kind)
    number = w.ask("a", "reject", w.look("a", P))
    w.daemon("a").operate()
    assert w.answer_of("a", number).state == "done"
    w.at(30)
    return w


def ended(w: Script) -> None:
    """The decision has ended, which is told, and has overruled nothing."""
    w.learn("a")
    assert w.decisions("a", Decision.REASSERTED) == 0
    assert w.decisions("a", Decision.OVERTAKEN) == 1
    w.settle(operated=False)


@both_stores
def test_a_rejected_change_wins_nowhere_once_the_path_may_not_leave_the_region(kind: StoreKind) -> None:
    w = rejected(kind)
    a = w.sites[Region("a")]
    assert a.disk.tables.registers[P].wish is not None
    w.rescope(a, Scope((Rule(P, Direction.APPLY), *DEFAULT_RULES)))
    w.restart("a")
    w.settle(operated=False)
    register = a.disk.tables.registers[P]
    assert register.wish is None
    assert register.hold is not None, "the guards have examined the change again"
    assert w.decisions("a", Decision.REASSERTED) == 0
    w.holds(P, WON, "b")
    w.end()


@both_stores
def test_what_is_written_elsewhere_before_a_decision_is_completed_ends_it(kind: StoreKind) -> None:
    w = rejected(kind)
    w.write("b", P, LATER)
    w.deliver("a", w.tell("b"))
    ended(w)
    w.ask("a", "confirm", w.look("a", P))
    w.end()
    w.holds(P, LATER)


@both_stores
def test_what_is_written_here_before_a_decision_is_completed_ends_it(kind: StoreKind) -> None:
    w = rejected(kind)
    w.write("a", P, LATER)
    ended(w)
    w.end()
    w.holds(P, LATER)


@both_stores
def test_what_was_let_pass_is_asked_about_again_when_it_would_replace_another_value(kind: StoreKind) -> None:
    """Its author's clock is ahead: what is written here after the operator's word loses, and was not shown to him."""
    w = held(kind)
    w.ask("a", "confirm", w.look("a", P))
    w.daemon("a").operate()
    w.sites[Region("a")].skew_ms = -10_000
    w.write("a", P, LATER)
    w.tell("a")
    w.settle(operated=False)
    w.holds(P, LATER, "a")
    assert w.look("a", P).stored == w.sites[Region("a")].disk.tables.registers[P].stored_digest
    w.ask("a", "confirm", w.look("a", P))
    w.end()
    assert w.value(P, LATER) in w.lost_values("a", P)


@both_stores
def test_a_change_is_let_pass_over_what_was_shown_and_over_nothing_else(kind: StoreKind) -> None:
    """B's clock is ahead, so what is written here meanwhile loses; whether it may be replaced is asked anew."""
    w = held(kind)
    look = w.look("a", P)
    w.at(15)
    w.sites[Region("a")].skew_ms = -10_000
    w.write("a", P, LATER)
    w.tell("a")
    assert w.sites[Region("a")].disk.tables.registers[P].hold is not None
    number = w.ask("a", "confirm", look)
    w.daemon("a").operate()
    assert w.answer_of("a", number).code == "precondition-failed"
    w.settle(operated=False)
    w.holds(P, LATER, "a")
    w.ask("a", "confirm", w.look("a", P))
    w.end()
    assert w.value(P, LATER) in w.lost_values("a", P)


@both_stores
def test_what_a_delete_has_taken_that_is_taken_back_comes_by_comparing_where_nobody_had_it_when_asked(
    kind: StoreKind,
) -> None:
    """The value is on the bus, its author has read it again there, and the question overtakes it."""
    w = Script(kind, kind, compares=True, limits=replace(WIDE, max_deletes=0, min_deletes=0))
    w.write("b", P, FIRST)
    told = w.tell("b")
    w.deliver("b", told)
    w.remove("b", P)
    w.learn("b")
    w.ask("b", "undo", w.look("b", P))
    w.daemon("b").operate()
    asked = w.bus.log[-1]
    assert isinstance(asked, Control)
    w.deliver("a", asked)
    w.learn("a")
    w.deliver("a", told)
    w.end()
    w.holds(P, FIRST)
