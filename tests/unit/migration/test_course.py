"""What is recorded of a run: plain, whole, and the bounds that a wave may have passed."""

from __future__ import annotations

import json

import pytest

from syncer.migration.course import (
    MigrationAsk,
    MigrationCommand,
    MigrationRun,
    MigrationStop,
    StopCode,
    WaveVerdict,
    run_from,
    shown,
)
from syncer.migration.phases import MigrationPhase, MigrationStanding
from syncer.migration.scope import MigrationBounds
from syncer.model import Millis
from syncer.replacing import replace

VERDICT = WaveVerdict(
    wave=1,
    outcome="migrated",
    reasons={"a": "b"},
    longest_gap_s=6.3,
    closing_s=1.5,
    held_s=2.5,
    last_moved={"t": "7:8"},
    ill={"t": "fenced"},
    arrived=3,
    started_anew=1,
    missing=("producer p", "producer q"),
)
WELL = WaveVerdict(wave=1, outcome="migrated")
RUN = MigrationRun(
    standing=MigrationStanding(phase=MigrationPhase.PAUSED, wave=2, stopped_in=MigrationPhase.WAVE),
    since_ms=Millis(7),
    auto=True,
    asked=(MigrationAsk(command=MigrationCommand.RESUME, who="ann", why="it is night", at_ms=Millis(8)),),
    moved=2,
    accepted=("asked",),
    stop=MigrationStop(code=StopCode.GAP, words="too long", hint="wait"),
    verdicts=(VERDICT,),
)


@pytest.mark.parametrize("run", [RUN, MigrationRun(since_ms=Millis(0))], ids=["long", "new"])
def test_a_run_is_plain_and_comes_back_as_it_was(run: MigrationRun) -> None:
    assert run_from(json.loads(json.dumps(run.document))) == run


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (VERDICT, StopCode.LAST_MOVED),
        (replace(VERDICT, last_moved={}), StopCode.ILL),
        (replace(VERDICT, last_moved={}, ill={}), StopCode.MISSING),
        (WELL, None),
    ],
)
def test_a_wave_may_have_passed_a_bound(verdict: WaveVerdict, code: StopCode | None) -> None:
    stop = verdict.past(MigrationBounds())
    assert (None if stop is None else stop.code) == code


def test_bounds_are_the_plan_s() -> None:
    assert replace(VERDICT, last_moved={}).past(MigrationBounds(ill_topics=1, missing_clients=2)) is None


@pytest.mark.parametrize(("outcome", "nothing"), [("refused", True), ("taken-back", True), ("unfinished", False)])
def test_a_wave_that_was_refused_has_no_mark(outcome: str, *, nothing: bool) -> None:
    assert replace(WELL, outcome=outcome).nothing_marked is nothing


def test_of_many_names_the_first_few_are_shown() -> None:
    assert shown(("b", "a")) == "a; b"
    assert shown({f"t{number}": None for number in range(7)}) == "t0; t1; t2; t3; t4 and 2 more"


def test_a_run_is_shown_by_all_that_a_go_depends_on() -> None:
    assert MigrationRun(since_ms=Millis(1)).shown == "planned, wave 0, 0 moved"
