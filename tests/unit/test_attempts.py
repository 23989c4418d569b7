"""Refused attempts on their way into the trail: kept in order, bounded, and never waited for."""

from __future__ import annotations

from typing import Any, Final

import anyio
import anyio.lowlevel

from api.admission import RefusedAttempt
from syncer.attempts import MOST_WAITING, AttemptTrail
from syncer.errors import StateUnavailable
from syncer.state.contract.operations import Asked
from syncer.waiting import WAIT_S


class Database:
    """Keeps what is written; it cannot be written as often as ``away`` says."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.rows: list[tuple[Asked, str]] = []

    def note_refused(self, kind: str, arguments: Any, asked: Asked, *, code: str, answer: str) -> None:
        if self.away:
            self.away -= 1
            raise StateUnavailable("locked")
        assert (kind, arguments, code) == ("request", {"method": "GET", "route": "/api/v1/holds"}, "forbidden")
        self.rows.append((asked, answer))


def attempt(number: int, credential: str = "") -> RefusedAttempt:
    return RefusedAttempt(
        method="GET", route="/api/v1/holds", address=f"192.0.2.{number}", credential=credential, code="forbidden"
    )


async def written(trail: AttemptTrail, database: Database, count: int) -> None:
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trail.run)
            while len(database.rows) < count:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


BOT: Final = "token:bot"


async def test_what_is_refused_is_written_in_order_with_who_it_was() -> None:
    database: Any = Database()
    trail = AttemptTrail(lambda: database)
    trail.keep(attempt(1, BOT))
    trail.keep(attempt(2))
    await written(trail, database, 2)
    assert [(asked.by, asked.credential, asked.origin) for asked, _ in database.rows] == [
        ("bot", BOT, "192.0.2.1"),
        ("", "", "192.0.2.2"),
    ]


async def test_what_comes_faster_than_it_can_be_written_is_counted() -> None:
    database: Any = Database()
    trail = AttemptTrail(lambda: database)
    for number in range(MOST_WAITING + 7):
        trail.keep(attempt(number % 250))
    await written(trail, database, MOST_WAITING)
    assert len(database.rows) == MOST_WAITING
    assert database.rows[0][1].startswith("7 more")
    assert not any(answer for _, answer in database.rows[1:])


async def test_a_database_that_is_away_ends_nothing() -> None:
    database: Any = Database(away=1)
    trail = AttemptTrail(lambda: database)
    trail.keep(attempt(1))
    trail.keep(attempt(2))
    await written(trail, database, 1)
    assert database.rows[0][0].origin == "192.0.2.2"
