"""Turns: one request begins in each pass of the loop, in the order of arrival; probes never wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet

import pytest
from starlette.types import Message, Receive, Scope, Send

from api.turns import PROBES, Turns

MANY = 50


class Begun:
    """An application that keeps the paths of requests that have begun, and the pass of the loop in which they did."""

    def __init__(self) -> None:
        self.passes = 0
        self.paths: list[tuple[str, int]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send
        self.paths.append((scope["path"], self.passes))

    async def count(self) -> None:
        """Count passes until cancelled."""
        while True:
            self.passes += 1
            await asyncio.sleep(0)


async def _nothing() -> Message:
    raise AssertionError


async def _deaf(message: Message) -> None:
    raise AssertionError(message)


async def _asked(paths: list[str], leaving: AbstractSet[str] = frozenset()) -> Begun:
    begun = Begun()
    turns = Turns(begun)
    counting = asyncio.ensure_future(begun.count())
    requests = {path: asyncio.ensure_future(turns({"type": "http", "path": path}, _nothing, _deaf)) for path in paths}
    await asyncio.sleep(0)
    for path in leaving:
        requests[path].cancel()
    await asyncio.gather(*requests.values(), return_exceptions=True)
    counting.cancel()
    return begun


async def test_requests_begin_one_by_one_in_their_order() -> None:
    paths = [f"/{number}" for number in range(MANY)]
    begun = await _asked(paths)
    assert [path for path, _ in begun.paths] == paths
    assert len({when for _, when in begun.paths}) == MANY, "each in a pass of its own"


@pytest.mark.parametrize("probe", sorted(PROBES))
async def test_a_probe_waits_for_nobody(probe: str) -> None:
    begun = await _asked([*(f"/{number}" for number in range(MANY)), probe])
    assert begun.paths[0] == (probe, begun.paths[0][1])


async def test_whoever_leaves_holds_nobody_up() -> None:
    paths = [f"/{number}" for number in range(MANY)]
    begun = await _asked(paths, {"/3", "/4", f"/{MANY - 1}"})
    assert [path for path, _ in begun.paths] == [each for each in paths if each not in {"/3", "/4", f"/{MANY - 1}"}]


async def test_turns_go_on_after_all_had_theirs() -> None:
    begun = Begun()
    turns = Turns(begun)
    for path in ("/a", "/b"):
        await turns({"type": "http", "path": path}, _nothing, _deaf)
    assert [path for path, _ in begun.paths] == ["/a", "/b"]
