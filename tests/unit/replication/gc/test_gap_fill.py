"""Messages that never came: what is told again for them, when they count as had, and when not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from unittest import mock

import pytest

from syncer.bus.wire.messages import Control, ControlAction, Heartbeat
from syncer.conflict.register import Hold, HoldReason, Register, Wish
from syncer.conflict.tombstones import Cause, Report
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region
from syncer.replication.gc.state import TombstoneGc
from syncer.replication.local.observe import state_event
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import (
    BEAT_MS,
    T0,
    Pair,
    Said,
    Site,
    both_have,
    path_of,
    value_of,
    version,
)

GONE, LATER = path_of("gone"), path_of("later")
NEVER = Millis(10**12)
FORGETTING = TombstoneGc(
    grace_ms=NEVER,
    pause_ms=Millis(1),
    gap_patience_ms=Millis(2 * BEAT_MS),
    gap_longest_ms=Millis(2 * BEAT_MS),
    alarm_after_ms=Millis(3 * BEAT_MS),
    per_step=2,
)


def changed(site: Site, path: MetaPath, edition: int | None, time: int) -> MetadataChangeEvent:
    """A change of the region's own is known, seated, and in the outbox; its event without number."""
    site.has(path, edition, time)
    value = None if edition is None else value_of(edition)
    event = state_event(Register(path=path, known=version(path, edition, time, site.region)), value)
    assert event is not None
    with site.state.transaction() as tx:
        tx.enqueue([event])
    return event


def had(pair: Pair) -> int:
    """Up to which number west has all that east has said."""
    with pair.west.state.transaction() as tx:
        consumed = tx.consumed(["db-east"]).get("db-east")
    return consumed.through if consumed is not None else 0


def pair_with(limits: TombstoneGc = FORGETTING) -> Pair:
    """Two regions that hold the same."""
    pair = Pair()
    both_have(pair, 3)
    for site in (pair.east, pair.west):
        parts_of(site.driver).gc.tombstones.limits = limits
    return pair


def of_path(path: MetaPath, times: int) -> Callable[[Said], bool]:
    """Loses the first messages about a path."""
    left = [times]

    def loses(said: Said) -> bool:
        if isinstance(said, MetadataChangeEvent) and said.path == path and left[0]:
            left[0] -= 1
            return True
        return False

    return loses


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_lost_delete_of_an_unknown_path_is_told_again_until_it_has_come(lost: int) -> None:
    pair = pair_with()
    pair.loses = of_path(GONE, lost)
    changed(pair.east, GONE, None, 50)
    pair.beat(2)
    assert had(pair) == 0
    assert pair.west.known(GONE) is None
    pair.beat(6 * lost)
    assert pair.west.known(GONE) == pair.east.known(GONE)
    assert had(pair) == lost + 1
    assert not parts_of(pair.west.driver).gc.gaps.gaps


def test_a_lost_change_of_a_living_path_needs_the_comparison_too() -> None:
    pair = pair_with()
    pair.loses = lambda said: not isinstance(said, Heartbeat | Control)
    changed(pair.east, LATER, 7, 50)
    pair.beat(12)
    assert had(pair) == 0, "both trees differ, so what is missing is not known"
    assert parts_of(pair.east.driver).gc.gaps.offer is None, "and it would be told in vain"
    pair.loses = lambda _: False
    pair.beat(12)
    assert pair.west.known(LATER) == pair.east.known(LATER)
    with pair.east.state.transaction() as tx:
        assert had(pair) == tx.identity().last_sequence


def test_deletes_are_forgotten_although_a_message_was_lost() -> None:
    pair = pair_with(replace(FORGETTING, grace_ms=Millis(1)))
    pair.loses = of_path(GONE, 1)
    changed(pair.east, GONE, None, 50)
    pair.beat(2)
    assert pair.east.known(GONE) is not None
    pair.beat(12)
    assert pair.east.known(GONE) is None
    assert pair.west.known(GONE) is None


def test_nothing_is_asked_for_while_nothing_is_missing() -> None:
    pair = pair_with()
    changed(pair.east, GONE, None, 50)
    pair.beat(12)
    assert had(pair) == 1
    assert not any(isinstance(said, Control) for said in pair.heard)
    assert parts_of(pair.east.driver).gc.gaps.offer is None


def test_every_delete_is_told_settled_or_not_but_those_that_wait_for_a_person() -> None:
    pair = pair_with()
    east = pair.east
    for number in range(5):
        east.has(path_of(f"dead-{number}"), None, number)
    due = Register(path=path_of("due"), known=version(path_of("due"), None, 9, "east"), wish=Wish.REASSERT)
    known = version(path_of("held"), None, 9, "east")
    hold = Hold(reason=HoldReason.MASS_DELETE, stamp=known.stamp, since_ms=T0, detail="", local=True)
    held = Register(path=path_of("held"), known=known, hold=hold)
    with east.state.transaction() as tx:
        tx.save([due, held])
    parts_of(east.driver).gc.gaps.wanted = 1
    told: list[str] = []
    for beat in range(8):
        east.driver.tick(Millis(T0 + beat))
        rows = east.driver.outbox(100)
        told += [row.event.path for row in rows]
        east.driver.published(rows, T0)
    assert sorted(told) == sorted([*(path_of(f"dead-{number}") for number in range(5)), path_of("due")])
    assert east.driver.heartbeat(T0, "1").retold == (0, 6)


def test_a_full_outbox_is_emptied_first() -> None:
    pair = pair_with()
    changed(pair.east, GONE, None, 50)
    changed(pair.east, LATER, 1, 51)
    parts_of(pair.east.driver).gc.gaps.wanted = 1
    pair.east.driver.tick(T0)
    assert len(pair.east.driver.outbox(10)) == 2
    pair.east.driver.published(pair.east.driver.outbox(10), T0)
    pair.east.driver.tick(T0)
    assert [row.event.path for row in pair.east.driver.outbox(10)] == [GONE]


@pytest.mark.parametrize("retold", [(3, 1), (0, 9), (1, 1), (5, 5)])
def test_numbers_that_make_no_sense_close_nothing(retold: tuple[int, int]) -> None:
    pair = pair_with()
    pair.beat(2)
    beat = replace(pair.east.driver.heartbeat(T0, "1"), last_sequence=5, retold=retold)
    pair.west.hear([beat], Millis(pair.now))
    assert had(pair) == 0


def test_where_there_is_no_delete_to_tell_a_living_path_shows_that_all_was_told() -> None:
    pair = pair_with()
    pair.loses = of_path(LATER, 1)
    pair.west.has(LATER, 7, 50, "east")
    changed(pair.east, LATER, 7, 50)  # nothing differs
    pair.beat(8)
    assert had(pair) == 2
    assert not parts_of(pair.west.driver).gc.gaps.gaps


def test_what_is_missing_for_long_is_shown() -> None:
    pair = pair_with()
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    changed(pair.east, GONE, None, 50)
    pair.beat(10)
    now = Millis(pair.now)
    found = dict(parts_of(pair.west.driver).gc.gaps.conditions(now, FORGETTING.alarm_after_ms))
    assert "messages of east after number 0 never came" in found["changes-missing"]
    left = replace(pair.east.driver.heartbeat(now, "1"), mode="left")
    pair.west.hear([left], now)
    assert not parts_of(pair.west.driver).gc.gaps.gaps


def test_a_paused_region_neither_asks_nor_tells() -> None:
    pair = pair_with()
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    changed(pair.east, GONE, None, 50)
    parts_of(pair.west.driver).group.paused = "by hand"
    pair.beat(10)
    assert not any(isinstance(said, Control) for said in pair.heard)
    parts_of(pair.east.driver).group.paused = "by hand"
    parts_of(pair.east.driver).gc.gaps.wanted = 1
    pair.beat(2)
    assert parts_of(pair.east.driver).gc.gaps.offer is None


def test_it_is_not_told_again_without_pause() -> None:
    pair = pair_with()
    ask = Control(region=Region("west"), sender="db-west", action=ControlAction.RETELL, sent_at_ms=T0, target="east")
    pair.east.has(GONE, None, 5)
    for second in range(4):
        pair.east.hear([ask], T0)
        for _ in range(3):
            pair.east.driver.tick(Millis(T0 + 1000 * second))
    assert len(pair.east.driver.outbox(10)) == 1


def test_what_was_refused_for_its_region_is_missing_and_not_had() -> None:
    pair = pair_with(replace(FORGETTING, grace_ms=Millis(1)))
    pair.beat(3)
    parts_of(pair.west.driver).group.expected = frozenset({Region("other")})  # a mistake in its configuration
    changed(pair.east, path_of(1), None, 50)
    pair.beat(6)
    assert had(pair) == 0
    parts_of(pair.west.driver).group.expected = frozenset({Region("east")})
    pair.beat(60)
    assert path_of(1) not in pair.east.entries, "the delete was forgotten here before it was known there"
    assert path_of(1) not in pair.west.entries
    assert had(pair) > 0
    assert pair.east.known(path_of(1)) is None


def test_what_an_expected_region_tells_of_another_author_is_taken() -> None:
    pair = pair_with()
    parts_of(pair.west.driver).group.expected = frozenset({Region("east")})
    pair.beat(2)
    pair.east.has(path_of("old"), 5, 50, "gone-region")
    pair.beat(6)
    assert pair.west.entries[path_of("old")].value == value_of(5)
    assert pair.equal


@pytest.mark.parametrize("ahead_ms", [0, 100_000_000])
def test_what_stands_in_the_outbox_of_a_paused_region_is_not_missing(ahead_ms: int) -> None:
    pair = pair_with()
    pair.beat(2)
    parts_of(pair.east.driver).group.paused = "maintenance"
    changed(pair.east, LATER, 7, 50 + ahead_ms)
    pair.beat(20)
    assert not parts_of(pair.west.driver).gc.gaps.gaps
    assert not any(isinstance(said, Control) for said in pair.heard)
    parts_of(pair.east.driver).group.paused = None
    pair.beat(4)
    assert had(pair) >= 1


def test_what_is_missing_before_others_is_missing_whatever_stands_in_the_outbox() -> None:
    pair = pair_with()
    pair.loses = of_path(GONE, 1)
    changed(pair.east, GONE, None, 50)
    changed(pair.east, LATER, 7, 51)
    pair.beat(1)
    parts_of(pair.east.driver).group.paused = "maintenance"
    changed(pair.east, path_of("third"), 7, 52)
    pair.beat(4)
    assert parts_of(pair.west.driver).gc.gaps.gaps[Region("east")].through == 0


def test_what_never_came_stays_missing_when_more_waits_in_the_outbox() -> None:
    pair = pair_with()
    pair.loses = of_path(GONE, 1)
    changed(pair.east, GONE, None, 50)
    pair.beat(3)
    gap = parts_of(pair.west.driver).gc.gaps.gaps[Region("east")]
    parts_of(pair.east.driver).group.paused = "maintenance"
    changed(pair.east, LATER, 7, 51)
    pair.beat(2)
    assert parts_of(pair.west.driver).gc.gaps.gaps[Region("east")] is gap


def test_what_came_meanwhile_is_not_missing_any_more_when_more_waits_in_the_outbox() -> None:
    pair = pair_with()
    pair.loses = of_path(GONE, 1)
    late = changed(pair.east, GONE, None, 50)
    pair.beat(2)
    assert parts_of(pair.west.driver).gc.gaps.gaps
    parts_of(pair.east.driver).group.paused = "maintenance"
    changed(pair.east, LATER, 7, 51)
    pair.west.hear([replace(late, sender="db-east", sequence=1)], Millis(pair.now))
    pair.beat(1)
    assert not parts_of(pair.west.driver).gc.gaps.gaps


def asked(pair: Pair) -> int:
    """How often deletes were asked for."""
    return sum(isinstance(said, Control) and said.action is ControlAction.RETELL for said in pair.heard)


def test_what_is_asked_for_in_vain_is_asked_for_more_and_more_rarely() -> None:
    pair = pair_with(replace(FORGETTING, gap_longest_ms=Millis(16 * BEAT_MS)))
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    changed(pair.east, GONE, None, 50)
    pair.beat(2 + 2 + 4 + 8)
    assert asked(pair) == 3
    pair.beat(16 * 4)
    assert asked(pair) == 3 + 4
    pair.loses = lambda _: False
    pair.beat(17)
    assert pair.west.known(GONE) is not None
    assert had(pair) > 0


def test_what_is_asked_for_while_it_is_told_is_not_told_twice() -> None:
    pair = pair_with()
    east = pair.east.driver
    for number in range(5):
        pair.east.has(path_of(f"dead-{number}"), None, number)
    changed(pair.east, LATER, 7, 50)
    ask = Control(
        region=Region("west"), sender="db-west", action=ControlAction.RETELL, sent_at_ms=T0, target="east", number=1
    )

    def told(beats: int) -> int:
        found = 0
        for _ in range(beats):
            pair.now += BEAT_MS
            east.tick(Millis(pair.now))
            rows = east.outbox(100)
            found += sum(row.event.value is None for row in rows)
            east.published(rows, Millis(pair.now))
        return found

    pair.east.hear([ask], T0)
    assert told(1) == 2
    pair.east.hear([ask], T0)
    assert told(10) == 3, "the rest, once"
    pair.east.hear([ask], T0)
    assert told(1) == 2
    pair.east.hear([replace(ask, number=8)], T0)
    assert told(10) == 3 + 5, "it was begun before that number was given out"
    pair.east.hear([replace(ask, number=2**50)], T0)
    assert told(20) == 5, "and a number that was never given out is none"


def test_no_delete_is_forgotten_while_trees_differ_whatever_the_numbers_say() -> None:
    pair = pair_with(replace(FORGETTING, grace_ms=Millis(1)))
    pair.beat(2)
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    changed(pair.east, path_of(1), None, 50)
    state = parts_of(pair.east.driver).gc.tombstones
    with mock.patch.object(Report, "lacks", return_value=None):
        pair.beat(12)
        ((_, wait),) = state.holding.values()
        assert wait.cause is Cause.UNEQUAL
        pair.beat(70)
    assert path_of(1) in pair.west.entries
    assert pair.east.known(path_of(1)) is not None, "the next epochs wait as well"
    pair.loses = lambda _: False
    pair.beat(90)
    assert path_of(1) not in pair.west.entries
    assert pair.east.known(path_of(1)) is None
