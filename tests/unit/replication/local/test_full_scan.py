"""A scan of a store: what it asks about beyond what it has met."""

from __future__ import annotations

import pytest

from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import PreconditionFailed
from syncer.model import Millis
from tests.unit.replication.antientropy.test_protocol import T0, Site, path_of, value_of
from tests.unit.replication.local.test_store_migration import scanned

NOW = Millis(T0 + 2_000_000)


def test_what_has_left_the_scope_is_asked_about_no_more() -> None:
    """Else a delete there would count as seen, and what comes in later as an edit of what the group knows."""
    site = Site("east")
    left, stays, more = path_of("left"), path_of("stays"), path_of("more")
    for path in (left, stays, more):
        site.has(path, 3, 1)
    scanned(site, NOW)
    site.scope = Scope([Rule(left, Direction.IGNORE), *DEFAULT_RULES])
    site.begin()
    del site.entries[left], site.entries[stays]
    scanned(site, NOW)
    site.work(NOW)  # and its sums are kept by the new rules
    with site.state.transaction() as tx:
        registers = tx.registers([left, stays])
    assert registers[stays].hold is not None, "a delete that was found"
    assert registers[left].hold is None
    stored = registers[left].stored
    assert stored is not None
    assert stored.alive
    assert not site.state.database.conflicts
    site.scope = Scope()
    site.begin()
    site.put(left, value_of(5))
    scanned(site, NOW)
    with site.state.transaction() as tx:
        register = tx.registers([left])[left]
    assert register.known is not None
    assert register.known.stamp.updated_at_ms < T0, "what is found when it comes in is a baseline"


def test_a_region_may_opt_out_of_all_that_it_has_but_not_find_its_store_empty() -> None:
    site = Site("east")
    site.has(path_of("one"), 3, 1)
    scanned(site, NOW)
    site.scope = Scope([Rule("/admin/resourcegroups/**", Direction.IGNORE), *DEFAULT_RULES])
    site.begin()
    scanned(site, NOW)
    site.scope = Scope()
    site.begin()
    del site.entries[path_of("one")]
    with pytest.raises(PreconditionFailed, match="the store answers empty, where 1 paths were alive"):
        scanned(site, NOW)


def test_what_has_left_the_scope_does_not_count_as_missing_in_a_store_that_answers_empty() -> None:
    site = Site("east")
    for name in ("left", "stays"):
        site.has(path_of(name), 3, 1)
    scanned(site, NOW)
    site.scope = Scope([Rule(path_of("left"), Direction.IGNORE), *DEFAULT_RULES])
    site.begin()
    del site.entries[path_of("stays")]
    with pytest.raises(PreconditionFailed, match="the store answers empty, where 1 paths were alive"):
        scanned(site, NOW)
