"""Schedules of repairs, step by step: a snapshot is told again long after what it shows has gone."""

from __future__ import annotations

from typing import Final

import pytest

from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import Region
from syncer.state.contract.repairs import RepairState
from tests.simulation import pictures
from tests.simulation.pictures import Picture
from tests.simulation.script import Script
from tests.simulation.store import StoreKind
from tests.simulation.world import LONE as P
from tests.simulation.world import SCOPE

W, X = 900, 901
both_stores = pytest.mark.parametrize("kind", [StoreKind.ZOOKEEPER, StoreKind.ETCD])


def deleted_since(kind: StoreKind) -> tuple[Script, Picture]:
    """A path that stands in a picture was deleted since, and the delete was forgotten everywhere."""
    w = Script(kind, kind, kind, forgets=True)
    w.everybody_has(P, W)
    w.at(20_000)
    picture = pictures.take(w.sites[Region("a")], SCOPE)
    assert P in {event.path for event in picture.events}
    w.at(30_000)
    w.remove("c", P)
    w.settle()
    assert not any(P in site.disk.tables.registers for site in w.sites.values())
    return w, picture


def refusals(w: Script, region: str) -> list[str]:
    """Why the region has not told some of it."""
    tables = w.sites[Region(region)].disk.tables
    assert [each.state for each in tables.repairs.values()] == [RepairState.DONE]
    return [getattr(each, "reason", "").split(":")[0] for each in tables.tellings.values()]


@both_stores
def test_what_was_deleted_and_forgotten_since_a_snapshot_does_not_rise_again(kind: StoreKind) -> None:
    w, picture = deleted_since(kind)
    w.tell_again(w.sites[Region("b")], picture)
    w.end()
    w.holds(P, None)
    assert refusals(w, "b") == ["forgotten"]


@both_stores
def test_a_database_that_was_made_since_a_snapshot_does_not_raise_what_it_never_heard_of(kind: StoreKind) -> None:
    w, picture = deleted_since(kind)
    site = w.sites[Region("b")]
    w.wipe(site, None)
    site.disk.set_facts(generation=site.clock() // 1000)
    w.settle()
    assert site.disk.tables.membership.floor == 0
    w.tell_again(site, picture)
    w.end()
    w.holds(P, None)
    assert refusals(w, "b") == ["young-database"]


WITHOUT: Final = Scope((Rule(P, Direction.IGNORE), *DEFAULT_RULES))


@both_stores
def test_what_was_deleted_and_forgotten_before_a_path_came_in_does_not_rise_again(kind: StoreKind) -> None:
    """The region that leaves it out has no floor: it has never forgotten anything of the path."""
    w = Script(kind, kind, kind, forgets=True, compares=True)
    b = w.sites[Region("b")]
    w.rescope(b, WITHOUT)
    w.settle()
    w.write("a", P, W)
    w.settle()
    picture = pictures.take(w.sites[Region("a")], SCOPE)
    assert P in {event.path for event in picture.events}
    w.advance(30_000)
    w.remove("a", P)
    w.settle()
    assert not any(P in site.disk.tables.registers for site in w.sites.values())
    w.rescope(b, SCOPE)
    w.settle()
    assert b.disk.tables.membership.floor == 0
    w.tell_again(b, picture)
    w.end()
    w.holds(P, None)
    assert refusals(w, "b") == ["came-in"]


@both_stores
def test_what_a_daemon_left_out_for_a_moment_is_met_anew_by_the_next_one(kind: StoreKind) -> None:
    """It has taken the delete off the bus and ended before it had read its store: its scope was never compared."""
    w = Script(kind, kind, forgets=True, compares=True)
    a, b = (w.sites[Region(region)] for region in "ab")
    w.everybody_has(P, W)
    w.rescope(b, WITHOUT)
    w.restart("b")
    w.advance(60_000)  # later than whatever was said while everybody got it
    w.remove("a", P)
    w.deliver("b", w.tell("a"))
    w.beat("b", "a")
    for _ in range(12):
        w.advance(10_000)
        w.drain(a)
    assert P in a.disk.tables.forgotten
    w.rescope(b, SCOPE)
    w.end()
    for site in (a, b):
        known = site.disk.tables.registers[P].known
        assert known is not None
        assert (known.stamp.is_baseline, known.stamp.region) == (True, "b"), "it is no version of before"


@both_stores
def test_a_change_made_since_a_snapshot_wins_over_it_before_anybody_has_heard_of_it(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.at(10_000)
    picture = pictures.take(w.sites[Region("a")], SCOPE)
    w.at(20_000)
    w.write("b", P, X)  # and its daemon has not read it yet
    w.tell_again(w.sites[Region("a")], picture)
    w.end()
    w.holds(P, X)
    w.no_conflicts()
