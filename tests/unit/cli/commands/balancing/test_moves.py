"""``syncer balancer apply``, ``stop`` and ``runs`` beside a daemon at work on a cluster in thought."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from syncer import log
from syncer.admin.calls import AdminCalls
from syncer.balancer.moving.bounds import RunBounds
from syncer.balancer.moving.move_plan import MovePlan, MovePrediction
from syncer.balancer.running import plan_file
from syncer.balancer.running.service import MoveService
from syncer.documents.balancing.moves import MoveRunDocument, MoveRunList
from syncer.documents.operations import OperationList
from syncer.model import Millis
from syncer.state.contract.operations import MAX_PENDING
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.waiting import wait_until
from tests.support.logs import logging_restored
from tests.support.moving_calls import MovingCalls
from tests.support.moving_cluster import MovingCluster
from tests.support.region_database import Run, good, run, state, template, views
from tests.unit.balancer.moving.test_move_plan import MOVE, PLAN
from tests.unit.balancer.moving.test_split import SPLIT
from tests.unit.balancer.running.test_service import DirectThread

__all__ = ["run", "state", "template", "views"]

OTHER: Final = replace(
    MOVE, bundle="acme/orders/0x80000000_0xffffffff", source="b:80", target="a:80", prediction=MovePrediction()
)
BOTH: Final = replace(PLAN, moves=(MOVE, OTHER))


class Clusters:
    """The one cluster that there is."""

    def __init__(self, moving: MovingCluster) -> None:
        self.moving = moving

    @asynccontextmanager
    async def calls(self, table: str) -> AsyncIterator[AdminCalls]:
        assert table == "east"
        yield MovingCalls(self.moving)


@pytest.fixture
def moving() -> MovingCluster:
    owners: dict[str, str | None] = {MOVE.bundle: "a:80", OTHER.bundle: "b:80"}
    return MovingCluster(owners, {"a:80", "b:80"}, {"other": "1"})


@contextmanager
def serving(state: SqlState, moving: MovingCluster) -> Iterator[None]:
    """The service of moves at work; its clock runs a hundred times as fast."""

    async def sleep(seconds: float) -> None:
        moving.now_ms += int(seconds * 1000)
        await anyio.sleep(seconds / 100)

    service = MoveService(state, DirectThread(), Clusters(moving), lambda: Millis(moving.now_ms), sleep=sleep)
    with logging_restored():
        log.configure(stream=io.StringIO())  # a daemon of its own would not write to the command's output
        with start_blocking_portal() as portal:
            serving = portal.start_task_soon(service.moves)
            try:
                yield
            finally:
                serving.cancel()


def saved(folder: Path, plan: MovePlan = BOTH) -> str:
    plan_file.write(folder / "moves.json", plan)
    return str(folder / "moves.json")


def shown(run: Run, number: int = 1) -> MoveRunDocument:
    return MoveRunDocument.model_validate_json(good(run("-o", "json", "balancer", "runs", str(number))))


def test_a_plan_is_tried_applied_and_told_beside_its_prediction(
    run: Run, state: SqlState, moving: MovingCluster, tmp_path: Path
) -> None:
    file = saved(tmp_path)
    with serving(state, moving):
        dry = run("-o", "json", "balancer", "apply", file)
        (tried,) = OperationList.model_validate_json(good(dry)).items
        assert tried.answer == "dry run: 2 of 2 moves would be asked for now"
        assert f"syncer balancer apply {file} --go" in dry.stderr
        assert moving.unloads == []
        begun = run("balancer", "apply", file, "--go", "--yes", "--reason", "uneven")
        assert "the run of moves 1 has begun: 2 moves" in good(begun)
        assert "2 bundles of east-1 would change the broker: at least 12.5 client-seconds" in begun.stderr
        wait_until(lambda: shown(run).finished_at_ms is not None, "the moves have come so far")
    assert moving.owners == {MOVE.bundle: "b:80", OTHER.bundle: "a:80"}
    assert moving.dynamic == {"other": "1"}
    found = shown(run)
    assert (found.phase, found.cluster, found.table, found.reason) == ("ended", "east-1", "east", "uneven")
    assert (found.fingerprint, found.holds_settings, found.stop) == (BOTH.fingerprint, False, None)
    assert found.standings == {"done": 2}
    assert [each.predicted_ready_s for each in found.moves] == [0.3, None]
    assert [each.predicted_client_seconds for each in found.moves] == [12.5, None]
    assert all(each.observed_ready_s is not None for each in found.moves)
    (row,) = MoveRunList.model_validate_json(good(run("-o", "json", "balancer", "runs"))).items
    assert (row.id, row.phase, row.reason) == (1, "ended", "uneven")
    table = good(run("balancer", "runs", "1"))
    assert "2 done" in table
    assert MOVE.bundle in table
    assert "12.5" in table
    assert "ended" in good(run("balancer", "runs"))


def test_a_split_is_told_before_the_moves_of_its_halves(
    run: Run, state: SqlState, moving: MovingCluster, tmp_path: Path
) -> None:
    plan = replace(PLAN, moves=(replace(MOVE, bundle=SPLIT.halves[0], throughput=None),), splits=(SPLIT,))
    with serving(state, moving):
        good(run("balancer", "apply", saved(tmp_path, plan), "--go", "--yes"))
        wait_until(lambda: shown(run).finished_at_ms is not None, "the moves have come so far")
    (split,) = shown(run).splits
    assert (split.bundle, split.position, split.standing) == (SPLIT.bundle, "0x00000123", "done")
    assert "0x00000123" in good(run("balancer", "runs", "1"))
    assert moving.owners[SPLIT.halves[0]] == "b:80"


def test_what_would_keep_a_move_back_is_said(run: Run, state: SqlState, moving: MovingCluster, tmp_path: Path) -> None:
    moving.owners[OTHER.bundle] = "a:80"
    moving.brokers.discard("b:80")
    with serving(state, moving):
        told = good(run("balancer", "apply", saved(tmp_path)))
    assert f"dry run: 0 of 2 moves would be asked for now; {MOVE.bundle}: target-gone" in told
    assert f"{OTHER.bundle}: already-there" in told
    assert "cluster east-1 dry" in told


def test_a_run_is_stopped_and_nobody_begins_another_beside_it(
    run: Run, state: SqlState, moving: MovingCluster, tmp_path: Path
) -> None:
    plan = replace(BOTH, bounds=RunBounds(per_hour=1))
    file = saved(tmp_path, plan)
    with serving(state, moving):
        good(run("balancer", "apply", file, "--go", "--yes"))
        wait_until(lambda: shown(run).moves[0].standing == "done", "the moves have come so far")
        second = run("balancer", "apply", file, "--go", "--yes")
        assert second.exit_code == 5
        assert "the run of moves 1 is not over" in second.stderr
        assert "syncer balancer stop" in second.stderr
        assert "begins nothing more" in good(run("balancer", "stop", "--reason", "enough"))
        wait_until(lambda: shown(run).finished_at_ms is not None, "the moves have come so far")
    found = shown(run)
    assert found.standings == {"done": 1, "not-begun": 1}
    assert found.stop is not None
    assert (found.stop.code, found.stop.words) == ("asked", "enough")
    assert "asked: enough" in good(run("balancer", "runs", "1"))
    assert moving.owners[OTHER.bundle] == "b:80"


def test_a_plan_for_another_cluster_is_refused_by_the_daemon(
    run: Run, state: SqlState, moving: MovingCluster, tmp_path: Path
) -> None:
    with serving(state, moving):
        result = run("balancer", "apply", saved(tmp_path, replace(BOTH, cluster="west")), "--go", "--yes")
    assert result.exit_code != 0
    assert "leads to 'east-1'" in result.stdout
    assert run("balancer", "runs").stderr == "there is no run of moves\n"


def test_nothing_is_moved_before_somebody_agrees(run: Run, views: Views, tmp_path: Path) -> None:
    file = saved(tmp_path)
    refused = run("balancer", "apply", file, "--go")
    assert refused.exit_code == 5
    assert "Pulsar itself moves and splits no bundle" in refused.stderr
    assert views.operations(10) == []


@pytest.mark.parametrize(("words", "kind"), [((), "moves-dry-run"), (("--go", "--yes"), "moves-apply")])
def test_without_a_daemon_the_request_stays_queued(
    words: tuple[str, ...], kind: str, run: Run, views: Views, tmp_path: Path
) -> None:
    assert run("balancer", "apply", saved(tmp_path), *words, "--reason", "why", "--timeout", "0").exit_code == 4
    (asked,) = views.operations(10)
    assert (asked.kind, asked.arguments["dry"], asked.reason) == (kind, str(not words).lower(), "why")
    assert plan_file.from_text(asked.arguments["plan"].encode()) == BOTH


def test_more_dry_runs_than_may_wait_are_refused_with_what_to_do(run: Run, views: Views, tmp_path: Path) -> None:
    for _ in range(MAX_PENDING):
        views.ask("moves-dry-run", {}, "a script", "")
    refused = run("balancer", "apply", saved(tmp_path), "--timeout", "0")
    assert refused.exit_code == 5
    assert "200 operations 'moves-dry-run' wait for the daemon already" in refused.stderr
    assert "syncer operations list --state pending" in " ".join(refused.stderr.split())
    assert len(views.pending_numbers()) == MAX_PENDING


def test_a_plan_that_was_edited_is_asked_for_by_nobody(run: Run, views: Views, tmp_path: Path) -> None:
    file = Path(saved(tmp_path))
    file.write_text(file.read_text(encoding="utf-8").replace("b:80", "c:80"), encoding="utf-8")
    result = run("balancer", "apply", str(file), "--go", "--yes")
    assert result.exit_code == 1
    assert "damaged or was edited" in result.stderr
    assert views.operations(10) == []
