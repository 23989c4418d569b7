"""Metrics of runs of moves: they say what a report says, and know every phase, outcome and question."""

from __future__ import annotations

from syncer.balancer.moving.run import OPEN, MoveStanding, RunPhase
from syncer.inspection.balancing.questions import (
    AdviceQuestion,
    ComparisonQuestion,
    DoctorQuestion,
    DrainQuestion,
    LoadQuestion,
    PlanQuestion,
    name_of,
)
from syncer.inspection.ledgers.questions import (
    AnyLossQuestion,
    AuditQuestion,
    ExplainQuestion,
    LeavingQuestion,
    LossQuestion,
    OrphansQuestion,
    UnderReplicatedQuestion,
    ledgers_question_name,
)
from syncer.metrics import Metrics, moves

REPORT = {
    "phase": "moving",
    "began_ms": 1_790_000_000_500,
    "turned_ms": 1_790_000_060_000,
    "holds_settings": True,
    "failed": False,
    "standings": {"waiting": 3, "asked": 2, "done": 7},
}


def shown(collected: Metrics) -> dict[str, float]:
    """What is exported of moves, but for what is 0."""
    return {
        sample.name.removeprefix("syncer_") + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for each in collected.registry.collect()
        for sample in each.samples
        if sample.name.startswith(("syncer_move_run", "syncer_bundle_move")) and sample.value
    }


def test_a_report_is_shown_as_it_is_and_forgotten_when_the_run_is_over() -> None:
    collected = Metrics(version="1", started_s=0)
    for family, value, label in moves.samples(REPORT):
        collected.set(family, value, label)
    assert shown(collected) == {
        "move_run_phase moving": 1,
        "move_run_began_timestamp_seconds": 1_790_000_000.5,
        "move_run_turned_timestamp_seconds": 1_790_000_060,
        "move_run_holds_settings": 1,
        "move_run_moves waiting": 3,
        "move_run_moves asked": 2,
    }
    for family, value, label in moves.samples({"failed": True}):
        collected.set(family, value, label)
    assert shown(collected) == {"move_run_failed": 1}
    for family, value, label in moves.samples({}):
        collected.set(family, value, label)
    assert shown(collected) == {}


def test_a_move_that_has_ended_is_counted_and_its_seconds_stand_beside_the_prediction() -> None:
    collected = Metrics(version="1", started_s=0)
    collected.move("done", 0.3, 0.5)
    collected.move("refused", None, None)
    found = {name: value for name, value in shown(collected).items() if "bucket" not in name}
    assert found == {
        "bundle_moves_total done": 1,
        "bundle_moves_total refused": 1,
        "bundle_move_ready_seconds_count predicted": 1,
        "bundle_move_ready_seconds_sum predicted": 0.3,
        "bundle_move_ready_seconds_count observed": 1,
        "bundle_move_ready_seconds_sum observed": 0.5,
    }


def test_every_phase_standing_and_question_is_known() -> None:
    assert set(moves.PHASES) == set(RunPhase) - {RunPhase.ENDED}
    assert set(moves.OPEN_STANDINGS) == OPEN
    assert set(moves.OUTCOMES) == set(MoveStanding) - OPEN
    advice = AdviceQuestion()
    asked = (
        LoadQuestion(), DoctorQuestion(), advice, DrainQuestion(("b",)), ComparisonQuestion(),
        PlanQuestion(advice=advice),
    )  # fmt: skip
    of_ledgers = (
        AuditQuestion(), ExplainQuestion("1"), LossQuestion(), LeavingQuestion(), UnderReplicatedQuestion(),
        OrphansQuestion(),
    )  # fmt: skip
    told = [*(name_of(each) for each in asked), *(ledgers_question_name(each) for each in of_ledgers)]
    assert told == list(moves.QUESTIONS)
    assert ledgers_question_name(AnyLossQuestion(size=2, shown=1)) == ledgers_question_name(LossQuestion())
