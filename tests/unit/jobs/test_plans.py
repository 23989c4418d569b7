"""Repair plans of jobs on a machine: where they lie, and how many stay."""

from __future__ import annotations

import os
from pathlib import Path

from syncer.jobs.commands import commands_of
from syncer.jobs.plans import KEPT_PLANS, make_room, plan_file
from syncer.model import Millis
from syncer.state.contract.jobs import JobKind, JobRow


def test_a_comparison_writes_the_plan_where_it_is_looked_for(tmp_path: Path) -> None:
    commands = commands_of("python", Path("c.toml"), "pics", tmp_path, region="here", keep=1, memory="2g")
    job = JobRow(
        id=1, kind=JobKind.DIFF, arguments={"plan": True}, asked_by="", reason="", asked_at_ms=Millis(1), run="r"
    )
    ((*_, option, _limit, _end),) = commands(job)
    assert option == f"--plan={plan_file(tmp_path, 'r')}"


def test_there_is_room_for_one_more_and_the_oldest_go(tmp_path: Path) -> None:
    make_room(tmp_path)
    files = [plan_file(tmp_path, f"r{number}") for number in range(KEPT_PLANS + 3)]
    for at, file in enumerate(files):
        file.write_bytes(b"x")
        os.utime(file, (at, at))
    make_room(tmp_path)
    assert sorted(plan_file(tmp_path, "any").parent.iterdir()) == sorted(files[4:])
    make_room(tmp_path)
    assert files[4].exists(), "there was room already"
