"""Operators never queue behind machines: what stops something is answered while dry runs wait for a hanging cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from syncer.balancer.running import plan_file
from syncer.errors import OperationsFull
from syncer.model import MetaPath
from syncer.operations.contract import OperationKind
from syncer.state.contract.operations import MAX_PENDING, OperationState
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.region import Site, active, path_of, tenant
from tests.unit.balancer.moving.test_move_plan import PLAN

DRY: Final = {"plan": plan_file.to_text(PLAN), "dry": "true"}


@asynccontextmanager
async def hanging() -> AsyncIterator[tuple[str, list[SocketStream]]]:
    """An admin API that takes connections and never answers: its URL, and who has come."""
    came: list[SocketStream] = []

    async def hang(stream: SocketStream) -> None:
        async with stream:
            came.append(stream)
            await anyio.sleep_forever()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        port = listener.extra(SocketAttribute.local_port)
        tasks.start_soon(listener.serve, hang)
        yield f"http://127.0.0.1:{port}", came
        tasks.cancel_scope.cancel()


def table(url: str) -> dict[str, Any]:
    return {
        "service_url": url,
        "broker_service_url": "pulsar://127.0.0.1:6650",
        "admin": {"url": url, "timeout": "PT10M"},
    }


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.real("postgres"))])
async def test_what_stops_something_is_answered_while_dry_runs_wait_and_one_is_slow(
    database: str, make_site: MakeSite, request: pytest.FixtureRequest
) -> None:
    async with hanging() as (url, came):
        east = make_site("east", limits={"max_deletes": 1}, cluster={PLAN.table: table(url)})
        if database == "postgres":
            east.shared = request.getfixturevalue("postgres_url")
        for number in range(12):
            east.writer.put(path_of(f"t{number}"), tenant(str(number)))
        async with east.running():
            await active(east)
            await until(lambda: len(east.picture()) == 12, "it holds all")
        for number in range(6):
            east.writer.delete(path_of(f"t{number}"))
        async with east.running():
            await until(lambda: len(east.holds()) == 6, "the deletes are held")
            await _answered_beside_dry_runs(east, came)


async def _answered_beside_dry_runs(east: Site, came: list[SocketStream]) -> None:
    dry = east.ask(lambda views: [views.ask("moves-dry-run", DRY, "a script", "") for _ in range(MAX_PENDING)])
    await until(lambda: bool(came), "the first dry run asks the cluster")
    with pytest.raises(OperationsFull):
        east.ask(lambda views: views.ask("moves-dry-run", DRY, "a script", ""))
    held = MetaPath(min(east.holds()))
    decided = await east.decide("confirm", held)
    assert (decided.state, decided.code) == (OperationState.DONE, "")
    paused = await east.do(OperationKind.PAUSE, everywhere="false")
    assert (paused.state, paused.code) == (OperationState.DONE, "")
    await until(lambda: east.report()["paused"], "it is paused")
    resumed = await east.do(OperationKind.RESUME, everywhere="false")
    assert resumed.state is OperationState.DONE
    stopped = await east.do(OperationKind.MOVES_STOP)
    assert (stopped.state, stopped.code) == (OperationState.FAILED, "precondition-failed"), "no run is open"
    aborted = await east.do(OperationKind.MIGRATION_COMMAND, command="abort", migration="1")
    assert (aborted.state, aborted.code) == (OperationState.FAILED, "not-found"), "no migration is open"
    states = {each.state for each in east.ask(lambda views: [views.operation(number) for number in dry])}
    assert states == {OperationState.PENDING}, "the dry runs wait all the while"
    assert len(came) == 1
