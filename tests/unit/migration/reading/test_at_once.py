"""Many calls of one kind: in order, a few at once, and ended by the first that fails."""

from __future__ import annotations

import anyio
import pytest

from syncer.errors import AdminError
from syncer.migration.reading.at_once import AT_ONCE, all_of

pytestmark = pytest.mark.anyio


class Asking:
    """Counts how many calls are under way."""

    def __init__(self, *, failing: int | None = None) -> None:
        self.running = self.most = self.ended = 0
        self.failing = failing

    async def ask(self, item: int) -> int:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for _ in range(item % 7):
                await anyio.lowlevel.checkpoint()
            if item == self.failing:
                raise AdminError("item failed")
        finally:
            self.running -= 1
        self.ended += 1
        return item * 2


async def test_answers_stand_in_the_order_of_the_questions() -> None:
    asking = Asking()
    assert await all_of(asking.ask, range(100)) == [item * 2 for item in range(100)]
    assert asking.most == AT_ONCE
    assert await all_of(asking.ask, ()) == []


async def test_the_first_failure_comes_through_as_it_is_and_ends_the_others() -> None:
    asking = Asking(failing=20)
    with pytest.raises(AdminError, match="item failed"):
        await all_of(asking.ask, range(1_000))
    assert asking.ended < 40
    assert asking.running == 0
