"""JSON documents of runs of moves: which there were, and one with the outcome of each move beside its prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from syncer.balancer.moving.run import MoveStanding, RunPhase
from syncer.balancer.moving.split import SplitStanding
from syncer.balancer.ranges import boundary_text
from syncer.documents.document import Document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from syncer.balancer.moving.move_plan import MovePlan, PlannedMove
    from syncer.balancer.moving.run import MoveProgress, MoveRun
    from syncer.balancer.moving.split import PlannedSplit, SplitProgress
    from syncer.state.contract.work.move_runs import KeptMoveRun


class RunStopDocument(Document):
    """Why a run ends before all is moved."""

    code: str = Field(description="'asked', 'settings-changed', or the code of an error.")
    words: str
    who: str = Field(description="Who asked for it; empty: nobody did.")


class RunTroubleDocument(Document):
    """Why a run is not carried on."""

    code: str = Field(description="Code of the error.")
    message: str
    hint: str = Field(description="What an operator does next.")
    since_ms: int
    next_ms: int = Field(description="When it is taken up again.")


class MoveRunRowDocument(Document):
    """A run of the list."""

    id: int
    phase: RunPhase
    made_at_ms: int
    finished_at_ms: int | None = Field(description="Null: it is open.")
    asked_by: str
    reason: str
    stop: RunStopDocument | None = Field(description="Null: nothing ends it early.")
    trouble: RunTroubleDocument | None = Field(description="Null: it is carried on, or over.")


class MoveRunList(Document):
    """``syncer balancer runs``: the latest first."""

    items: list[MoveRunRowDocument]


class MoveOutcomeDocument(Document):
    """A move beside what was predicted of it; null: unknown, or not yet."""

    bundle: str
    source: str
    target: str
    standing: MoveStanding
    owner: str | None = Field(description="Who was seen to own the bundle last.")
    asked_ms: list[int] = Field(description="When its unload was asked for, each time.")
    ended_ms: int | None
    words: str = Field(description="What the cluster said, where it refused.")
    predicted_ready_s: float | None = Field(description="From the unload until the new owner serves it.")
    observed_ready_s: float | None = Field(description="From the last unload until the new owner was seen.")
    predicted_client_seconds: float | None
    predicted_spread: float | None = Field(description="Of usages, once this move and those before it were made.")


class SplitOutcomeDocument(Document):
    """A split that comes before moves of its halves; null: unknown, or not yet."""

    bundle: str
    source: str = Field(description="Its owner, who keeps both halves.")
    position: str = Field(description="Where it is cut, such as 0x40000000; the upper half begins with it.")
    standing: SplitStanding
    asked_ms: int | None = Field(description="When it was asked for.")
    ended_ms: int | None
    words: str = Field(description="What the cluster said, where it refused.")


class MoveRunDocument(Document):
    """``syncer balancer runs ID``: splits and moves in the order of the plan."""

    id: int
    phase: RunPhase
    table: str = Field(description="Name of the cluster's table in the configuration.")
    cluster: str
    fingerprint: str = Field(description="SHA-256 of the plan.")
    taken_ms: int = Field(description="When the picture was taken by which the plan was made.")
    made_at_ms: int
    finished_at_ms: int | None = Field(description="Null: it is open.")
    asked_by: str
    reason: str
    waits_until_ms: int | None = Field(description="Before that it begins no move, by its bounds; null: it does.")
    claim: str = Field(description="Its name in the cluster, at a property of pulsar/system; empty: it has none.")
    holds_settings: bool = Field(description="Whether Pulsar's own moves and splits are switched off by it now.")
    stop: RunStopDocument | None = Field(description="Null: nothing ends it early.")
    trouble: RunTroubleDocument | None = Field(description="Null: it is carried on, or over.")
    standings: dict[MoveStanding, int] = Field(description="How many moves stand so.")
    splits: list[SplitOutcomeDocument]
    moves: list[MoveOutcomeDocument]


def move_run_row(kept: KeptMoveRun) -> MoveRunRowDocument:
    """Tell a run in a row."""
    return MoveRunRowDocument(
        id=kept.id,
        phase=RunPhase(kept.phase),
        made_at_ms=kept.made_at_ms,
        finished_at_ms=kept.finished_at_ms,
        asked_by=kept.asked_by,
        reason=kept.reason,
        stop=_stop(kept.run["stop"] or kept.stop),
        trouble=RunTroubleDocument(**kept.trouble) if kept.trouble and not kept.over else None,
    )


def move_run_document(kept: KeptMoveRun, run: MoveRun, plan: MovePlan) -> MoveRunDocument:
    """Tell a run as the contract has it.

    Args:
        kept: As it lies in the database.
        run: What that holds.
        plan: Its plan.
    """
    row = move_run_row(kept)
    standings = [each.standing for each in run.moves]
    return MoveRunDocument(
        id=row.id,
        phase=row.phase,
        table=plan.table,
        cluster=plan.cluster,
        fingerprint=kept.fingerprint,
        taken_ms=plan.taken_ms,
        made_at_ms=row.made_at_ms,
        finished_at_ms=row.finished_at_ms,
        asked_by=row.asked_by,
        reason=row.reason,
        waits_until_ms=run.until_ms or None,
        claim=run.claim,
        holds_settings=run.former is not None,
        stop=row.stop,
        trouble=row.trouble,
        standings={each: standings.count(each) for each in MoveStanding if each in standings},
        splits=_splits(plan.splits, run.splits),
        moves=_outcomes(plan.moves, run.moves),
    )


def _splits(planned: Sequence[PlannedSplit], seen: Sequence[SplitProgress]) -> list[SplitOutcomeDocument]:
    return [
        SplitOutcomeDocument(
            bundle=split.bundle,
            source=split.source,
            position=boundary_text(split.position),
            standing=progress.standing,
            asked_ms=progress.asked_ms,
            ended_ms=progress.ended_ms,
            words=progress.words,
        )
        for split, progress in zip(planned, seen, strict=True)
    ]


def _outcomes(planned: Sequence[PlannedMove], seen: Sequence[MoveProgress]) -> list[MoveOutcomeDocument]:
    return [
        MoveOutcomeDocument(
            bundle=move.bundle,
            source=move.source,
            target=move.target,
            standing=progress.standing,
            owner=progress.owner,
            asked_ms=list(progress.asked_ms),
            ended_ms=progress.ended_ms,
            words=progress.words,
            predicted_ready_s=move.prediction.ready_s,
            observed_ready_s=progress.observed_s,
            predicted_client_seconds=move.prediction.client_seconds,
            predicted_spread=move.prediction.spread,
        )
        for move, progress in zip(planned, seen, strict=True)
    ]


def _stop(told: Mapping[str, str] | None) -> RunStopDocument | None:
    return RunStopDocument(**told) if told else None
