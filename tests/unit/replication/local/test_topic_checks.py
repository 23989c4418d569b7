"""Questions about topics that nobody could answer: asked again each minute, a few at a time, for ever."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.guards import UNTOLD_TOPICS, Topics
from syncer.conflict.register import Hold, HoldReason, Register
from syncer.model import MetaPath, Millis, Region, Stamp
from syncer.replication.local import topic_answers
from syncer.replication.local.topic_answers import AGAIN_MS, FEW, MANY, UnansweredTopics

T0 = 1_700_000_000_000


def held(number: int, since: int = 0, detail: str = UNTOLD_TOPICS) -> Register:
    stamp = Stamp(Millis(T0), Region("west"))
    hold = Hold(reason=HoldReason.HAS_TOPICS, stamp=stamp, since_ms=Millis(T0 + since), detail=detail)
    return Register(path=path_of(number), hold=hold)


def path_of(number: int) -> MetaPath:
    return MetaPath(f"/admin/policies/acme/n{number}")


def choose(memory: UnansweredTopics, due: Sequence[Register], after: int) -> list[MetaPath]:
    return memory.choose(due, Millis(T0 + after))


def test_what_is_held_is_asked_again_after_a_minute_and_each_minute() -> None:
    memory, due = UnansweredTopics(), [held(1)]
    assert choose(memory, due, AGAIN_MS - 1) == []
    assert choose(memory, due, AGAIN_MS) == [path_of(1)]
    assert choose(memory, due, 3 * AGAIN_MS) == [], "it is being asked"
    assert memory.answer(path_of(1), Topics.CANNOT_ASK)
    assert not memory.told
    assert choose(memory, due, 2 * AGAIN_MS - 1) == []
    assert choose(memory, due, 2 * AGAIN_MS) == [path_of(1)]


def test_a_clock_that_was_set_back_keeps_nothing_waiting() -> None:
    assert choose(UnansweredTopics(), [held(1, since=0)], -1) == [path_of(1)]


def test_nothing_else_is_asked() -> None:
    memory = UnansweredTopics()
    assert choose(memory, [held(1, detail="topics still exist here"), Register(path=path_of(2))], AGAIN_MS) == []
    assert not memory.answer(path_of(1), Topics.NONE), "the guard's own first question"
    assert not memory.told


def test_the_longest_waiting_are_asked_first_and_few_of_who_does_not_answer() -> None:
    memory, due = UnansweredTopics(), [held(number, since=100 - number) for number in range(100)]
    first = choose(memory, due, AGAIN_MS + 100)
    assert first == [path_of(99 - step) for step in range(FEW)]
    assert choose(memory, due, AGAIN_MS + 101) == [], "no more before these are answered"
    for path in first:
        memory.answer(path, Topics.CANNOT_ASK)
    assert choose(memory, due, AGAIN_MS + 102) == [path_of(99 - FEW - step) for step in range(FEW)]


def test_who_answers_is_asked_for_more_at_a_time() -> None:
    memory, due = UnansweredTopics(), [held(number) for number in range(1000)]
    largest = 0
    for step in range(20):
        chosen = choose(memory, due, AGAIN_MS + step)
        largest = max(largest, len(chosen))
        assert [memory.answer(path, Topics.NONE) for path in chosen] == [True] * len(chosen)
        due = [each for each in due if each.path not in memory.told]
    assert not due, "in twenty steps a thousand are answered"
    assert largest == MANY
    memory.clear()
    assert (memory.told, memory.open, memory.asked, memory.room) == ({}, {}, {}, FEW)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_answers, "ASKED_KEPT", 10)
    memory, due = UnansweredTopics(), [held(number) for number in range(100)]
    for step in range(50):
        for path in choose(memory, due, AGAIN_MS + step):
            memory.answer(path, Topics.CANNOT_ASK)
        assert len(memory.asked) <= 10


@given(seed=st.integers(0, 2**32), number=st.integers(1, 40), away=st.integers(0, 5), mute=st.sets(st.integers(0, 39)))
def test_all_are_answered_in_the_end_whoever_stays_mute(seed: int, number: int, away: int, mute: set[int]) -> None:
    """The broker is away for some minutes; then it answers for all but a few, for which nobody ever can."""
    source, memory = random.Random(seed), UnansweredTopics()
    left = {path_of(each): held(each) for each in range(number)}
    never = {path_of(each) for each in mute}
    asked: dict[MetaPath, int] = {}
    for second in range(0, (away + 2) * AGAIN_MS + number * AGAIN_MS // FEW, 1000):
        chosen = choose(memory, list(left.values()), second)
        source.shuffle(chosen)
        assert len(memory.open) <= MANY
        for path in chosen:
            assert path not in asked or second - asked[path] >= AGAIN_MS, "not more than once a minute"
            asked[path] = second
            silent = second < away * AGAIN_MS or path in never
            memory.answer(path, Topics.CANNOT_ASK if silent else source.choice([Topics.NONE, Topics.SOME]))
        for path in memory.told:
            del left[path]
        memory.told.clear()
    assert set(left) <= never
