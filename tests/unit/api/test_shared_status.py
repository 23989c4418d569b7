"""The shared status: one look for all who ask, none older than said, none from before a change that was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest
from starlette.types import Message, Receive, Scope, Send

from api.probe import Probe
from api.shared_status import FRESH_S, TOLD_THERE, SharedStatus, StatusForgetting
from syncer.documents.status import Condition, SnapshotsDocument
from syncer.errors import StateUnavailable
from tests.api.test_app import STATUS


@dataclass
class Looked:
    """A daemon that counts the looks at its status, and ends them when it is told to."""

    looks: int = 0
    failure: Exception | None = None
    said: dict[str, object] = field(default_factory=dict)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def status(self) -> Mapping[str, object]:
        self.looks += 1
        seen, failure = self.looks, self.failure
        await self.go.wait()
        if failure is not None:
            raise failure
        return STATUS.model_copy(update={"epoch": seen, **self.said}).model_dump()


@dataclass
class Place:
    """What a test plays with."""

    daemon: Looked
    shared: SharedStatus
    now_s: float = 0.0

    async def epoch(self) -> int:
        return int((await self.shared.told()).document["epoch"])

    async def settled(self) -> None:
        """Let what can go on go on."""
        for _ in range(5):
            await asyncio.sleep(0)


def play(story: Callable[[Place], Awaitable[None]]) -> None:
    async def told() -> None:
        daemon = Looked()
        place = Place(daemon, SharedStatus(cast("Probe", daemon), clock_s=lambda: place.now_s))
        await story(place)

    asyncio.run(told())


def test_one_look_for_all_who_wait() -> None:
    async def story(place: Place) -> None:
        asked = [asyncio.create_task(place.epoch()) for _ in range(50)]
        await place.settled()
        place.daemon.go.set()
        assert set(await asyncio.gather(*asked)) == {1}
        assert place.daemon.looks == 1
        assert (await place.shared.told()).text.startswith('{"region": "east"')

    play(story)


def test_told_as_it_is_for_half_of_its_time_then_while_it_is_looked_at_anew_then_no_more() -> None:
    async def story(place: Place) -> None:
        place.daemon.go.set()
        assert await place.epoch() == 1
        place.now_s = FRESH_S / 2 - 0.01
        assert (await place.epoch(), place.daemon.looks) == (1, 1)
        place.now_s = FRESH_S / 2
        assert await place.epoch() == 1, "nobody waits for the look that was begun"
        await place.settled()
        assert (await place.epoch(), place.daemon.looks) == (2, 2)
        place.now_s += FRESH_S
        assert await place.epoch() == 3, "who asks later than that is told nothing old"

    play(story)


def test_an_age_counts_from_the_beginning_of_a_look() -> None:
    async def story(place: Place) -> None:
        asked = asyncio.create_task(place.epoch())
        await place.settled()
        place.now_s = FRESH_S  # so long the look takes
        place.daemon.go.set()
        assert await asked == 1
        assert await place.epoch() == 2

    play(story)


def test_nothing_from_before_a_change_is_told_behind_it() -> None:
    async def story(place: Place) -> None:
        place.daemon.go.set()
        assert await place.epoch() == 1
        place.daemon.go.clear()
        place.now_s = FRESH_S
        before = asyncio.create_task(place.epoch())
        await place.settled()
        place.shared.forget()
        after = asyncio.create_task(place.epoch())
        await place.settled()
        place.daemon.go.set()
        assert (await before, await after) == (2, 3)
        assert await place.epoch() == 3, "the look that was under way then is not kept"

    play(story)


def test_a_failure_is_told_to_who_waits_and_not_kept() -> None:
    async def story(place: Place) -> None:
        place.daemon.failure = StateUnavailable("locked")
        asked = [asyncio.create_task(place.epoch()) for _ in range(3)]
        await place.settled()
        place.daemon.failure = None
        place.daemon.go.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(each) for each in found] == [StateUnavailable] * 3
        assert await place.epoch() == 2

    play(story)


def test_who_goes_away_takes_the_look_from_nobody() -> None:
    async def story(place: Place) -> None:
        goes, stays = asyncio.create_task(place.epoch()), asyncio.create_task(place.epoch())
        await place.settled()
        goes.cancel()
        await place.settled()
        place.daemon.go.set()
        assert await stays == 1

    play(story)


@pytest.mark.parametrize(("method", "looks"), [("GET", 1), ("HEAD", 1), ("OPTIONS", 1), ("POST", 2), ("DELETE", 2)])
def test_forgotten_before_a_change_is_answered(method: str, looks: int) -> None:
    async def answered(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def story(place: Place) -> None:
        place.daemon.go.set()
        seen: list[int] = []

        async def send(_message: Message) -> None:
            seen.append(await place.epoch())

        async def receive() -> Message:
            return {"type": "http.request"}

        await place.epoch()
        await StatusForgetting(answered, place.shared)({"type": "http", "method": method}, receive, send)
        assert seen == [looks, looks]

    play(story)


def test_no_place_of_the_host_is_told() -> None:
    async def story(place: Place) -> None:
        trace = "job 3 ended: Traceback (most recent call last): File '/opt/x.py'"
        place.daemon.go.set()
        place.daemon.said = {
            "conditions": [
                Condition(
                    code="api-rights-unreadable",
                    message="/etc/tokens.json: denied",
                    severity="alarm",
                    next="",
                    command="",
                )
            ],
            "snapshots": SnapshotsDocument(running=False, trouble=f"cannot write /var/snapshots: {trace}"),
            "rebuilding": "of /srv/syncer/state.db",
        }
        found = (await place.shared.told()).document
        assert found["conditions"][0]["message"] == "…: denied"
        assert found["snapshots"]["trouble"] == f"cannot write …: job 3 ended: {TOLD_THERE}"
        assert found["rebuilding"] == "of …"

    play(story)
