"""The record of a run: what was kept is what is found again."""

from __future__ import annotations

import json

from syncer.balancer.moving.run import (
    MoveProgress,
    MoveRun,
    MoveStanding,
    RunPhase,
    RunStop,
    move_run_from,
    progress_from,
)
from syncer.model import Millis


def test_a_run_goes_through_json_and_is_the_same() -> None:
    progress = MoveProgress(
        standing=MoveStanding.AGAIN, asked_ms=(Millis(1), Millis(2)), asked_of="b:80", owner="a:80", words="ü"
    )
    run = MoveRun(
        phase=RunPhase.RESTORING,
        moves=(MoveProgress(), progress),
        former={"a": None, "b": "true"},
        stop=RunStop(code="asked", words="enough", who="ann"),
        until_ms=Millis(7),
    )
    moves = tuple(progress_from(json.loads(json.dumps(each.document()))) for each in run.moves)
    assert move_run_from(json.loads(json.dumps(run.document())), moves) == run
    plain = MoveRun(moves=())
    assert move_run_from(json.loads(json.dumps(plain.document())), ()) == plain
