"""JSON documents of advice: cuts and moves with reason, gain and price, or why none; beside it what Pulsar would do."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from pydantic import Field

from syncer.balancer.cost.estimate import Basis
from syncer.balancer.goals.veto import VetoReason
from syncer.balancer.planner.advice import AdviceAnswer, AdviceReason, Assumption, CutReason, MoveReason, RejectReason
from syncer.balancer.planner.picking import PickRule
from syncer.documents.balancing.history import CalibrationDocument, calibration_document
from syncer.documents.document import Document

if TYPE_CHECKING:
    from syncer.balancer.cost.estimate import Estimate
    from syncer.balancer.goals.veto import Veto
    from syncer.balancer.inquiry import AskedCluster
    from syncer.balancer.planner.advice import (
        Advice,
        AdvisedCut,
        AdvisedMove,
        AdvisedPlan,
        PulsarAlone,
        RejectedMove,
        UsageChange,
    )
    from syncer.balancer.planner.rolling import RollingAdvice
    from syncer.balancer.planner.sizing import SizeAdvice


class EstimateDocument(Document):
    """A figure and what it rests on; null where it is unknown, which never counts as 0."""

    value: float | None
    basis: Basis


class ChangedFractionDocument(Document):
    """A usage or a spread before and after, fractions."""

    before: float
    after: float


class VetoDocument(Document):
    """A bundle that may not move, or not to that broker, and why."""

    bundle: str
    target: str | None
    reason: VetoReason
    detail: str


class RejectedMoveDocument(Document):
    """A move that was not chosen, and why."""

    bundle: str
    target: str | None
    reason: RejectReason
    detail: str
    veto: VetoDocument | None


class AdvisedMoveDocument(Document):
    """A move in its place in the plan; usages and spread are fractions, before and after this move."""

    bundle: str
    source: str
    target: str
    reason: MoveReason
    gain: float = Field(description="By how much the spread falls with this move alone.")
    source_usage: ChangedFractionDocument
    target_usage: ChangedFractionDocument
    client_seconds: EstimateDocument
    ready_s: EstimateDocument = Field(description="From the cut until the bundle is served again.")
    redelivered: EstimateDocument = Field(description="Messages that are delivered again.")
    catch_up_bytes: EstimateDocument
    bystanders: EstimateDocument | None = Field(
        default=None,
        description="Clients of other bundles on the connections of its publishers; null where it is unknown.",
    )
    bystanders_chance: EstimateDocument | None = Field(
        default=None,
        description="The chance, at most, that they are cut off with it; null where it is unknown.",
    )
    rejected: list[RejectedMoveDocument]


class CutPartDocument(Document):
    """A part that a cut makes: a bundle of its own, with its share of the traffic of the one that is cut."""

    bundle: str
    share: float
    topics: int
    goes: bool = Field(description="It is among the moves; the others stay where they are.")


class AdvisedCutDocument(Document):
    """A bundle that is split before all moves, without an unload: no client is cut off by that."""

    bundle: str
    broker: str
    positions: list[int] = Field(description="Places on the ring of hashes, each the lower boundary of a part.")
    parts: list[CutPartDocument]
    reason: CutReason = Field(description="Why it does not move whole.")
    gain: float = Field(description="By how much its broker's usage falls with the parts that go.")
    client_seconds: EstimateDocument = Field(description="Of the parts that go.")
    whole_client_seconds: EstimateDocument = Field(description="If it moved whole.")
    rejected: list[RejectedMoveDocument]


class AdvisedPlanDocument(Document):
    """Cuts, then moves in their order."""

    cuts: list[AdvisedCutDocument]
    moves: list[AdvisedMoveDocument]
    spread: ChangedFractionDocument = Field(description="The greatest weighted usage less the mean.")
    client_seconds: EstimateDocument = Field(description="Seconds without service of all clients together.")
    client_seconds_at_least: float = Field(description="The same without what is unknown.")
    undone: list[str] = Field(description="Bundles that Pulsar's next round would shed again.")


class FrontPointDocument(Document):
    """A plan of the front of balance against cost."""

    moves: int
    cuts: int = Field(description="Positions at which bundles are split before the moves.")
    spread: float
    client_seconds: EstimateDocument
    chosen: bool


class PulsarAloneDocument(Document):
    """What Pulsar would do without us, under the load as it is."""

    strategy: str
    unloads: int
    client_seconds: EstimateDocument
    spread: float
    rounds: int


class RestartStepDocument(Document):
    """A broker that is emptied and then restarted."""

    broker: str
    plan: AdvisedPlanDocument
    left: list[VetoDocument]


class BrokersDocument(Document):
    """How many brokers would do."""

    brokers: int
    most_usage: float
    would_do: int | None
    spare: list[str]
    stuck: str | None


class AdviceDocument(Document):
    """``syncer balancer advise`` and ``syncer balancer drain``."""

    cluster: str
    taken_ms: int
    answer: AdviceAnswer
    reason: AdviceReason | None = Field(description="Null for a rolling restart.")
    subject: str | None = Field(description="The bundle or broker that the reason is about.")
    rule: PickRule | None
    plan: AdvisedPlanDocument | None
    front: list[FrontPointDocument]
    vetoes: dict[str, int] = Field(description="By reason: bundles of the fullest broker that may not move.")
    left: list[VetoDocument]
    assumptions: list[Assumption]
    calibration: CalibrationDocument | None = Field(
        default=None, description="What seconds were corrected by; null where too few moves were observed here."
    )
    pulsar_alone: PulsarAloneDocument | None
    steps: list[RestartStepDocument] = Field(description="Of a rolling restart.")
    twice: list[str] = Field(description="Bundles that a rolling restart moves more than once.")
    unknown_brokers: list[str] = Field(description="Without figures: they get nothing.")
    unknown_bundles: list[str] = Field(description="Without figures: they stay where they are.")


class SizeDocument(Document):
    """``syncer balancer advise --most-usage``."""

    cluster: str
    taken_ms: int
    size: BrokersDocument
    unknown_brokers: list[str]
    unknown_bundles: list[str]


def advice_document(
    cluster: str, taken_ms: int, asked: AskedCluster, advice: Advice, alone: PulsarAlone | None = None
) -> AdviceDocument:
    """Tell advice as the contract has it.

    Args:
        cluster: Its name.
        taken_ms: When its picture was taken.
        asked: What the planner went by.
        advice: The answer.
        alone: What Pulsar would do; None where that was not asked.
    """
    return AdviceDocument(
        cluster=cluster,
        taken_ms=taken_ms,
        answer=advice.answer,
        reason=advice.reason,
        subject=advice.subject,
        rule=advice.rule,
        plan=None if advice.plan is None else _plan(advice.plan),
        front=[
            FrontPointDocument(
                moves=each.moves,
                cuts=each.cuts,
                spread=each.spread,
                client_seconds=_estimate(each.client_seconds),
                chosen=each.chosen,
            )
            for each in advice.front
        ],
        vetoes={reason.value: count for reason, count in advice.vetoes.items()},
        left=_vetoes(advice.left),
        assumptions=sorted(advice.assumptions),
        calibration=calibration_document(asked.calibration),
        pulsar_alone=None if alone is None else _alone(alone),
        steps=[],
        twice=[],
        unknown_brokers=list(asked.left_out.brokers),
        unknown_bundles=list(asked.left_out.bundles),
    )


def rolling_document(cluster: str, taken_ms: int, asked: AskedCluster, advice: RollingAdvice) -> AdviceDocument:
    """Tell the advice for a rolling restart.

    Args:
        cluster: Its name.
        taken_ms: When its picture was taken.
        asked: What the planner went by.
        advice: The answer.
    """
    return AdviceDocument(
        cluster=cluster,
        taken_ms=taken_ms,
        answer=advice.answer,
        reason=None,
        subject=None,
        rule=None,
        plan=None,
        front=[],
        vetoes={},
        left=[],
        assumptions=[],
        calibration=calibration_document(asked.calibration),
        pulsar_alone=None,
        steps=[
            RestartStepDocument(broker=each.broker, plan=_plan(each.plan), left=_vetoes(each.left))
            for each in advice.steps
        ],
        twice=sorted(advice.twice),
        unknown_brokers=list(asked.left_out.brokers),
        unknown_bundles=list(asked.left_out.bundles),
    )


def size_document(cluster: str, taken_ms: int, asked: AskedCluster, advice: SizeAdvice) -> SizeDocument:
    """Tell how many brokers would do.

    Args:
        cluster: Its name.
        taken_ms: When its picture was taken.
        asked: What the planner went by.
        advice: The answer.
    """
    return SizeDocument(
        cluster=cluster,
        taken_ms=taken_ms,
        size=BrokersDocument(
            brokers=advice.brokers,
            most_usage=advice.most_usage,
            would_do=advice.would_do,
            spare=list(advice.spare),
            stuck=advice.stuck,
        ),
        unknown_brokers=list(asked.left_out.brokers),
        unknown_bundles=list(asked.left_out.bundles),
    )


def _plan(plan: AdvisedPlan) -> AdvisedPlanDocument:
    return AdvisedPlanDocument(
        cuts=[_cut(each, {move.bundle for move in plan.moves}) for each in plan.cuts],
        moves=[_move(each) for each in plan.moves],
        spread=_changed(plan.spread),
        client_seconds=_estimate(plan.client_seconds),
        client_seconds_at_least=plan.at_least,
        undone=sorted(plan.undone),
    )


def _cut(advised: AdvisedCut, moving: AbstractSet[str]) -> AdvisedCutDocument:
    return AdvisedCutDocument(
        bundle=advised.cut.bundle,
        broker=advised.broker,
        positions=list(advised.cut.cuts),
        parts=[
            CutPartDocument(bundle=each.bundle, share=each.share, topics=each.topics, goes=each.bundle in moving)
            for each in advised.cut.parts
        ],
        reason=advised.reason,
        gain=advised.gain,
        client_seconds=_estimate(advised.price),
        whole_client_seconds=_estimate(advised.whole.client_seconds),
        rejected=[_rejected(each) for each in advised.rejected],
    )


def _move(move: AdvisedMove) -> AdvisedMoveDocument:
    return AdvisedMoveDocument(
        bundle=move.bundle,
        source=move.source,
        target=move.target,
        reason=move.reason,
        gain=move.gain,
        source_usage=_changed(move.source_usage),
        target_usage=_changed(move.target_usage),
        client_seconds=_estimate(move.price.client_seconds),
        ready_s=_estimate(move.price.ready),
        redelivered=_estimate(move.price.redelivered),
        catch_up_bytes=_estimate(move.price.catch_up_bytes),
        bystanders=_known(move.price.bystanders),
        bystanders_chance=_known(move.price.bystanders_chance),
        rejected=[_rejected(each) for each in move.rejected],
    )


def _changed(change: UsageChange) -> ChangedFractionDocument:
    return ChangedFractionDocument(before=change.before, after=change.after)


def _rejected(each: RejectedMove) -> RejectedMoveDocument:
    return RejectedMoveDocument(
        bundle=each.bundle,
        target=each.target,
        reason=each.reason,
        detail=each.detail,
        veto=None if each.veto is None else _veto(each.veto),
    )


def _vetoes(found: Iterable[Veto]) -> list[VetoDocument]:
    return [_veto(each) for each in found]


def _veto(veto: Veto) -> VetoDocument:
    return VetoDocument(bundle=veto.bundle, target=veto.target, reason=veto.reason, detail=veto.detail)


def _alone(alone: PulsarAlone) -> PulsarAloneDocument:
    return PulsarAloneDocument(
        strategy=alone.strategy,
        unloads=alone.unloads,
        client_seconds=_estimate(alone.client_seconds),
        spread=alone.spread,
        rounds=alone.rounds,
    )


def _estimate(estimate: Estimate) -> EstimateDocument:
    return EstimateDocument(value=estimate.value, basis=estimate.basis)


def _known(estimate: Estimate) -> EstimateDocument | None:
    return None if estimate.value is None else _estimate(estimate)
