"""Requests over HTTP that come at the same time to one database, by two daemons: one decides, one operation per key."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import anyio
import httpx2
import pytest

from api.admission import Admission
from api.app import create_app
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate, RightsReader
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.waiting import WAIT_S
from tests.api.conftest import made_tokens
from tests.api.routes_table import API, HELD, WHY
from tests.api.test_app import Daemon
from tests.support.looking import LookingInside
from tests.support.region_database import REMOTE, driver_of, fill, performing, template
from tests.unit.registers import HERE

__all__ = ["template"]

HOLD: Final = f"{API}/holds/{HELD}"
CALLERS: Final = ("operate", "admin")
TIMES: Final = 4


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with one of everything."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("template"), tmp_path / "state.db")
        return f"sqlite:///{tmp_path / 'state.db'}"
    found: str = request.getfixturevalue("postgres_url")
    with closing(SqlState.open(found, HERE)) as opened:
        opened.activate()
        fill(opened)
    return found


@pytest.fixture
def state(url: str) -> Iterator[SqlState]:
    """The database of the active daemon."""
    with closing(SqlState.open(url, HERE)) as opened:
        opened.activate()
        yield opened


@pytest.fixture
def looks(url: str) -> Iterator[list[Views]]:
    """Those of an active daemon and of a standby."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Views.open(url, HERE))) for _ in CALLERS]


@asynccontextmanager
async def clients(looks: list[Views], folder: Path) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """One of each daemon, with a token of its own."""
    known = made_tokens(folder)
    admission = Admission(gate=Gate(RightsReader(folder / "tokens.json")), exposure=Exposure())
    async with AsyncExitStack() as stack:
        found = []
        for views, caller in zip(looks, CALLERS, strict=True):
            inside = LookingInside(views, SimpleNamespace(region="here"))
            app = create_app(Daemon(), inside=inside, admitting=admission)
            client = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=app),
                base_url="http://here",
                headers={"Authorization": f"Bearer {known[caller]}"},
                timeout=WAIT_S,
            )
            found.append(await stack.enter_async_context(client))
        yield found


async def at_once(*asked: Callable[[], Any]) -> list[httpx2.Response]:
    """Answers of requests that are made at the same time."""
    found = list[httpx2.Response]()

    async def ask(one: Callable[[], Any]) -> None:
        found.append(await one())

    async with anyio.create_task_group() as tasks:
        for each in asked:
            tasks.start_soon(ask, each)
    return found


def post(client: httpx2.AsyncClient, path: str, body: dict[str, Any], **headers: str) -> Callable[[], Any]:
    return lambda: client.post(path, json=body, headers=headers)


@pytest.mark.anyio
@pytest.mark.parametrize("path", [HOLD, f"{API}/hold-reasons/first-contact"])
async def test_of_those_who_decide_one_thing_at_once_one_wins_and_the_others_see_what_is_there(
    path: str, state: SqlState, looks: list[Views], tmp_path: Path
) -> None:
    async with clients(looks, tmp_path) as (one, other):
        (tag,) = {(await each.get(path)).headers["etag"] for each in (one, other)}
        said = {"If-Match": tag, "Prefer": "wait=30"}
        decisions = [
            post(each, path, {**WHY, "decision": decision}, **said)
            for each in (one, other)
            for decision in ("confirm", "reject") * TIMES
        ]
        with performing(driver_of(state)):
            answers = await at_once(*decisions)
    codes = Counter(each.status_code for each in answers)
    assert codes == {200: 1, 412: len(decisions) - 1}, [each.text for each in answers]
    for each in answers:
        if each.status_code == 412:
            now = each.json()["now"]
            assert (now["path"], now["held"]) == (REMOTE, None) if path == HOLD else now["count"] == 0
    done = [each for each in looks[0].operations(100) if each.state == "done"]
    assert len(done) == 1, "the group is told one thing"


@pytest.mark.anyio
@pytest.mark.parametrize("path", [HOLD, f"{API}/pause"])
async def test_requests_with_one_key_at_once_are_one_operation_with_one_answer(
    path: str, state: SqlState, looks: list[Views], tmp_path: Path
) -> None:
    async with clients(looks, tmp_path) as (one, other):
        other.headers["Authorization"] = one.headers["Authorization"]
        tag = (await one.get(HOLD)).headers["etag"]
        body = {**WHY, "decision": "confirm"} if path == HOLD else WHY
        said = {"If-Match": tag, "Prefer": "wait=30", "Idempotency-Key": "9b0c"}
        with performing(driver_of(state)):
            answers = await at_once(*(post(each, path, body, **said) for each in (one, other) for _ in range(TIMES)))
    assert {each.status_code for each in answers} == {200}, [each.text for each in answers]
    assert len(found := {each.text for each in answers}) == 1, found
    assert len(looks[0].operations(100)) == 1
