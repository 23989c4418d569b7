"""The moves that were advised, as a plan that can be kept, sent and applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.moving.planning import planned
from syncer.errors import NotFound, PreconditionFailed, RequestInvalid
from syncer.inspection.balancing.answering import advised, asked_by
from syncer.inspection.balancing.questions import AdviceQuestion
from syncer.model import Millis

if TYPE_CHECKING:
    from syncer.balancer.inquiry import AskedCluster
    from syncer.balancer.moving.bounds import RunBounds
    from syncer.balancer.moving.move_plan import MovePlan
    from syncer.balancer.planner.advice import AdvisedPlan
    from syncer.inspection.balancing.looking import ClusterLook
    from syncer.inspection.balancing.questions import PlanQuestion


def plan_of_moves(
    advice: AdvisedPlan | None, look: ClusterLook, asked: AskedCluster, bounds: RunBounds
) -> MovePlan | None:
    """Make the plan of what was advised; ``None``: there is no move.

    Args:
        advice: The moves.
        look: By which they were advised.
        asked: What the planner took from it.
        bounds: Of the run that will carry it out.

    Raises:
        PlanInvalid: There are too many moves.
    """
    if advice is None or not advice.moves:
        return None
    picture = look.picture
    return planned(
        advice,
        asked.fleet,
        table=look.table,
        cluster=picture.cluster,
        taken_ms=Millis(picture.taken_ms),
        bounds=bounds,
        cuts=tuple(each.cut for each in advice.cuts),
        sheds=asked.bounds.settings.shedding.enabled,
    )


def plan_for(question: PlanQuestion, look: ClusterLook) -> MovePlan:
    """Make the plan that is asked for.

    Raises:
        NotFound: There is no move.
        PreconditionFailed: The picture that it was to go by is not kept any more.
        RequestInvalid: The advice is none of moves, or names a broker that there is not.
        BalancerError: What is known of the cluster does not suffice.
    """
    if isinstance(question.advice, AdviceQuestion) and not question.advice.of_moves:
        raise RequestInvalid("this advice is no plan of moves", hint="Ask for the plan that drains one broker.")
    if question.taken_ms not in {None, look.picture.taken_ms}:
        raise PreconditionFailed(
            f"the cluster was looked at anew: the picture of {question.taken_ms} is not kept any more",
            hint="Ask for the advice again, and then for its plan.",
        )
    asked = asked_by(look)
    found = plan_of_moves(advised(question.advice, look, asked)[1], look, asked, question.bounds)
    if found is None:
        raise NotFound(
            f"no move of {look.picture.cluster} is advised", hint="The advice says why: ask for it, and not its plan."
        )
    return found
