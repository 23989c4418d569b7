"""The law of gaps: whatever is lost, a message with a path's last delete counts as had only once that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncer.conflict.causality.consumed import Consumed
from syncer.model import MetadataChangeEvent, MetaPath
from tests.unit.replication.antientropy.test_protocol import Said, path_of
from tests.unit.replication.gc.test_gap_fill import changed, had, pair_with

PATHS = tuple(map(path_of, ("p", "q", "r")))
numbers = st.sets(st.integers(1, 12))
changes = st.lists(st.tuples(st.sampled_from(PATHS), st.booleans(), st.integers(0, 3)), min_size=1, max_size=8)


def check_the_law(told: Sequence[tuple[MetaPath, bool, int]], loses: Callable[[Said], bool]) -> None:
    """East changes these paths, each to something or nothing, and both regions talk for some heartbeats after each."""
    pair = pair_with()
    pair.loses = loses
    last: dict[MetaPath, tuple[int, bool]] = {}

    def recovery(beats: int) -> None:
        for _ in range(beats):
            pair.beat()
            for path, (number, alive) in last.items():
                if not alive and number <= had(pair):
                    assert pair.west.known(path) == pair.east.known(path)

    for time, (path, alive, beats) in enumerate(told):
        changed(pair.east, path, time if alive else None, 100 + time)
        with pair.east.state.transaction() as tx:
            last[path] = (tx.identity().last_sequence, alive)
        recovery(beats)
    recovery(8)
    pair.loses = lambda _: False
    recovery(12)
    with pair.east.state.transaction() as tx:
        assert had(pair) == tx.identity().last_sequence
    assert pair.equal


@settings(max_examples=25)
@given(changes, st.lists(st.booleans(), min_size=1, max_size=30))
def test_what_counts_as_had_is_known_or_was_outdone(told: list[tuple[MetaPath, bool, int]], lost: list[bool]) -> None:
    fate = cycle(lost)
    check_the_law(told, lambda _: next(fate))


def test_the_law_finds_a_gap_that_is_closed_although_what_was_told_again_is_lost() -> None:
    with mock.patch.object(Consumed, "holds", return_value=True), pytest.raises(AssertionError):
        check_the_law(
            [(PATHS[0], False, 3), (PATHS[1], True, 3)],
            lambda said: isinstance(said, MetadataChangeEvent) and said.path == PATHS[0],
        )


@given(numbers, st.integers(0, 14), st.integers(0, 14))
def test_a_stretch_is_held_if_each_of_its_numbers_is(some: set[int], after: int, until: int) -> None:
    consumed = Consumed().adding(sorted(some))
    assert consumed.holds(after, until) == all(each in consumed for each in range(after + 1, until + 1))


@given(numbers, st.integers(0, 14))
def test_closing_adds_all_up_to_a_number_and_nothing_else(some: set[int], until: int) -> None:
    consumed = Consumed().adding(sorted(some))
    assert consumed.closed(until) == consumed.adding(list(range(1, until + 1)))
