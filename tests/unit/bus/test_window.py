"""Acknowledgements in any order become one mark that never runs ahead of what is stored."""

from __future__ import annotations

import itertools

import pytest

from syncer.bus.window import Window

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
async def test_the_mark_never_passes_an_open_delivery(order: tuple[int, ...]) -> None:
    window: Window[int] = Window(100)
    tokens = [window.deliver(10, place) for place in (10, 20, 30, 40)]
    done: set[int] = set()
    mark = 0
    for index in order:
        done.add(index)
        moved = window.acknowledge(tokens[index])
        whole = next((n for n in range(4) if n not in done), 4) * 10
        assert moved == (whole if whole > mark else None)
        mark = whole
        assert window.unacknowledged == (4 - len(done)) * 10
    assert mark == 40


async def test_a_token_counts_once_and_only_in_its_turn() -> None:
    window: Window[int] = Window(5)
    first = window.deliver(3, 3)
    second = window.deliver(2, 5)
    assert window.room == 0
    assert window.acknowledge(second) is None
    assert window.acknowledge(second) is None
    assert window.room == 2
    assert window.last == 5
    window.restart()
    assert window.room == 5
    assert window.acknowledge(first) is None
    again = window.deliver(3, 3)
    assert window.acknowledge(first) is None
    assert window.acknowledge(object()) is None
    assert window.acknowledge(again) == 3
