"""Jobs of real daemons: asked for, outliving a kill -9, taken over by a standby; with a stand-in for Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from syncer.operations import client
from syncer.operations.contract import OperationRequest
from syncer.state.contract.jobs import JobRow, JobState
from syncer.state.contract.operations import Asked
from syncer.waiting import WAIT_S, until
from tests.shell.conftest import MakeSite
from tests.shell.region import Site, active
from tests.suites import REPOSITORY

STAND_IN: Final = """
import json, os, sys, time
from pathlib import Path
here = Path(os.environ["STAND_IN"])
if "prune" not in sys.argv:
    number = len(list(here.glob("begun-*"))) + 1
    (here / f"new-{number}").write_text(" ".join(sys.argv))
    (here / f"new-{number}").rename(here / f"begun-{number}")  # whoever finds it finds it whole
    print(json.dumps({"phase": "read", "rows": number}), flush=True)
    while not (here / f"go-{number}").exists():
        time.sleep(0.02)
print(json.dumps({"id": "x" if "prune" in sys.argv else f"snapshot {number}"}), flush=True)
"""


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of Spark's jobs that waits for a file, and says so."""
    package = tmp_path / "stand-in" / "spark_snapshot"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(package.parent), str(REPOSITORY))))
    monkeypatch.setenv("STAND_IN", str(package.parent))
    monkeypatch.chdir(package.parent)
    yield package.parent
    for number in range(9):
        (package.parent / f"go-{number}").touch()  # whatever still waits goes


def ask(site: Site, kind: str, **arguments: str) -> str:
    """Ask the daemon, and wait for its answer."""
    answers = site.ask(
        lambda views: client.ask(
            views, [OperationRequest(kind, arguments)], Asked(by="ann", reason="a test"), timeout_s=WAIT_S
        )
    )
    assert not answers.pending
    (operation,) = answers.operations
    return str(operation.answer)


def job(site: Site, number: int) -> JobRow:
    found: JobRow | None = site.ask(lambda views: views.job(number))
    assert found is not None
    return found


async def test_jobs_outlive_a_killed_daemon_and_are_taken_over_by_a_standby(
    make_site: MakeSite, spark: Path, tmp_path: Path
) -> None:
    snapshots = {"folder": str(tmp_path / "snapshots")}
    first = make_site("east", snapshots=snapshots)
    first.start()
    await active(first)
    assert [ask(first, "job-take"), ask(first, "job-diff", snapshots="east,west"), ask(first, "job-take")] == [
        "job 1 waits", "job 2 waits", "job 3 waits",
    ]  # fmt: skip
    await until((spark / "begun-1").exists, "the first one runs")
    first.kill()
    (spark / "go-1").touch()  # it ends while no daemon is there
    first.start()
    await until(lambda: job(first, 1).over, "its end is found")
    assert (job(first, 1).state, job(first, 1).output) == (JobState.SUCCEEDED, {"id": "snapshot 1"})
    await until((spark / "begun-2").exists, "the next one runs")
    assert "diff --folder" in (spark / "begun-2").read_text()
    assert job(first, 3).state is JobState.QUEUED, "one at a time"
    second = make_site("east", snapshots=snapshots)
    second.start()
    first.kill()  # the standby becomes active: nothing that was asked for is lost
    (spark / "go-2").touch()
    await until(lambda: job(second, 2).over, "the standby tells its end")
    assert job(second, 2).state is JobState.SUCCEEDED
    await until((spark / "begun-3").exists, "and begins what was asked of the other")
    assert ask(second, "job-cancel", id="3") == "job 3 is being stopped"
    await until(lambda: job(second, 3).over, "it is stopped")
    assert (job(second, 3).state, job(second, 3).detail) == (JobState.CANCELLED, "cancelled by ann")
    assert not (spark / "begun-4").exists()
    assert second.stop() == 0


@pytest.mark.slow
async def test_spark_itself_takes_and_compares_snapshots_for_the_daemon(make_site: MakeSite, tmp_path: Path) -> None:
    east = make_site("east", snapshots={"folder": str(tmp_path / "snapshots"), "memory": "800m"})
    east.start()
    await active(east)
    assert ask(east, "job-take") == "job 1 waits"
    east.writer.put("/admin/policies/acme", b"{}")
    await until(lambda: job(east, 1).over, "it is taken")
    first = job(east, 1)
    assert first.state is JobState.SUCCEEDED, first.detail
    ask(east, "job-take")
    await until(lambda: job(east, 2).over, "it is taken again")
    both = [str(each.output["id"]) for each in (first, job(east, 2))]
    ask(east, "job-diff", snapshots=",".join(both))
    await until(lambda: job(east, 3).over, "they are compared")
    compared = job(east, 3)
    assert (compared.state, "counts" in compared.output) == (JobState.SUCCEEDED, True), compared.detail
