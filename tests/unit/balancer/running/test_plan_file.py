"""Plans of moves in files: what is read is what was written, and whatever was changed is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.moving.bounds import QuietHours, RunBounds
from syncer.balancer.moving.move_plan import MovePlan, MovePrediction, PlannedMove
from syncer.balancer.moving.split import PlannedSplit
from syncer.balancer.ranges import range_text
from syncer.balancer.running import plan_file
from syncer.errors import PlanInvalid, PreconditionFailed
from syncer.model import Millis
from tests.unit.balancer.moving.test_move_plan import MOVE, PLAN
from tests.unit.balancer.moving.test_split import SPLIT

figures: Final = st.none() | st.floats(0, 1e12)
names: Final = st.text(min_size=1, max_size=8)
moves = st.builds(
    PlannedMove,
    bundle=st.integers(0, 2**32 - 2).map(lambda low: f"acme/ü/{range_text(low, 2**32 - 1)}"),
    source=names.map("a{}".format),
    target=names.map("b{}".format),
    throughput=figures,
    prediction=st.builds(MovePrediction, ready_s=figures, client_seconds=figures, spread=figures),
    reason=st.text(max_size=8),
)
plans = st.builds(
    MovePlan,
    table=names,
    cluster=names,
    taken_ms=st.integers(0, 2**45).map(Millis),
    moves=st.lists(moves, min_size=1, max_size=4, unique_by=lambda move: move.bundle).map(tuple),
    splits=st.lists(
        st.builds(
            PlannedSplit,
            bundle=st.integers(0, 2**31).map(lambda low: f"acme/ö/{range_text(low, 2**32 - 1)}"),
            source=names,
            position=st.integers(2**31 + 1, 2**32 - 2),
            throughput=figures,
        ),
        max_size=2,
        unique_by=lambda split: split.bundle,
    ).map(tuple),
    bounds=st.builds(
        RunBounds,
        per_broker=st.integers(1, 9),
        per_hour=st.integers(1, 999),
        quiet=st.none() | st.builds(QuietHours, first=st.integers(0, 700), end=st.integers(701, 1439)),
    ),
)


def changed(**changes: Any) -> bytes:
    return json.dumps({**json.loads(plan_file.to_text(PLAN)), **changes}).encode()


def moved(**changes: Any) -> bytes:
    whole = json.loads(plan_file.to_text(PLAN))
    return json.dumps({**whole, "moves": [{**whole["moves"][0], **changes}]}).encode()


@given(plans)
def test_what_is_read_is_what_was_written(plan: MovePlan) -> None:
    text = plan_file.to_text(plan)
    assert plan_file.from_text(text.encode()) == plan
    assert json.loads(text)["sha256"] == plan.fingerprint


def test_a_plan_without_splits_is_written_as_before_there_were_any() -> None:
    assert "splits" not in json.loads(plan_file.to_text(PLAN))


def test_a_split_that_was_changed_is_refused() -> None:
    plan = replace(PLAN, moves=(replace(MOVE, bundle=SPLIT.halves[0]),), splits=(SPLIT,))
    whole = json.loads(plan_file.to_text(plan))
    whole["splits"][0]["position"] += 1
    with pytest.raises(PlanInvalid, match="was edited"):
        plan_file.from_text(json.dumps(whole).encode())


def test_a_file_is_written_once(tmp_path: Path) -> None:
    file = tmp_path / "moves.json"
    plan_file.write(file, PLAN)
    assert plan_file.read(file) == PLAN
    with pytest.raises(PreconditionFailed, match="is left as it is"):
        plan_file.write(file, PLAN)
    with pytest.raises(PreconditionFailed, match="cannot be read"):
        plan_file.read(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[]", "is no plan of moves"),
        (b'{"format": "pulsar-syncer-migration", "version": 1}', "is no plan of moves"),
        (changed(version=2), "of version 2; this program reads version 1"),
        (changed(more=1), "more: Extra inputs"),
        (changed(taken_ms="1"), "taken_ms: Input should be a valid integer"),
        (changed(moves=[]), "a plan has from 1 to"),
        (changed(sha256="0" * 64), "its fingerprint is not its own"),
        (changed(cluster="other"), "its fingerprint is not its own"),
        (moved(target="d:80"), "its fingerprint is not its own"),
        (moved(target=MOVE.source), "would go from"),
        (moved(bundle="acme/orders"), "is no bundle"),
        (moved(throughput=float("nan")), "throughput"),
        (moved(throughput=-1.0), "below zero"),
    ],
)
def test_what_is_no_plan_or_was_changed_is_refused(text: bytes, words: str) -> None:
    with pytest.raises(PlanInvalid, match=words):
        plan_file.from_text(text)


@given(st.integers(0, len(plan_file.to_text(PLAN)) - 1))
def test_a_plan_that_was_cut_off_is_refused(length: int) -> None:
    text = plan_file.to_text(PLAN).encode().rstrip()
    if length < len(text):
        with pytest.raises(PlanInvalid):
            plan_file.from_text(text[:length])
