"""``/api/v1/clusters/{cluster}/…``: the load of a cluster of the configuration, and what would be better.

All of it is read only. A look is shared by those who ask at about the same time; ``taken_ms`` says when it was made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from api.admission import Reader
from api.connections import allow_time
from api.documents import FINDING
from api.inquiries import Inquiries
from api.inside import RegionInside
from api.problems import PROBLEM
from syncer.balancer.moving.bounds import RunBounds
from syncer.balancer.planner.picking import Aim, PickRule
from syncer.config.clusters import cluster_table
from syncer.documents.balancing.advice import AdviceDocument, SizeDocument
from syncer.documents.balancing.comparison import ComparisonDocument
from syncer.documents.balancing.doctor import DoctorDocument
from syncer.documents.balancing.load import LoadDocument
from syncer.errors import RequestInvalid
from syncer.inspection.balancing.questions import (
    LISTEN_S,
    MOST_ROUNDS,
    AdviceQuestion,
    ComparisonQuestion,
    DoctorQuestion,
    DrainQuestion,
    HistoryPart,
    LoadQuestion,
    LookWish,
    PlanQuestion,
    Question,
    quiet_hours,
)

MOST_LISTEN_S: Final = 60.0
WITHIN_S: Final = 60.0
MOST_WITHIN_S: Final = 300.0
MOST_SINCE_S: Final = 366 * 86400.0
_BOUNDS: Final = RunBounds()
ASKING: Final[dict[int | str, dict[str, Any]]] = {
    **FINDING,
    502: {**PROBLEM, "description": "The cluster refuses, or its answer cannot be used."},
    503: {**PROBLEM, "description": "The cluster cannot be reached, or too many ask."},
    504: {**PROBLEM, "description": "There was no answer within the time that was given."},
}
PLAN: Final[dict[int | str, dict[str, Any]]] = {
    **ASKING,
    200: {
        "description": "The sealed plan, as 'syncer balancer advise --save' writes it: keep its bytes.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    },
    412: {**PROBLEM, "description": "The picture of 'taken_ms' is not kept any more."},
}
Table = Annotated[
    str, Path(min_length=1, max_length=200, description="Name of the cluster's table in the configuration.")
]
Topics = Annotated[bool, Query(description="Each broker is asked for its topics, too.")]
Broker = Annotated[str, Query(min_length=1, max_length=300)]
Brokers = Annotated[list[Broker], Query(alias="broker", min_length=1, max_length=1_000, description="To be emptied.")]


@dataclass(frozen=True, slots=True)
class LookQuery:
    """How a cluster is looked at, and how long an answer is waited for."""

    listen: Annotated[
        float,
        Query(
            ge=0,
            le=MOST_LISTEN_S,
            description="Seconds to hear the load topics of the extensible manager, which keep nothing.",
        ),
    ] = LISTEN_S
    within: Annotated[
        float, Query(ge=1, le=MOST_WITHIN_S, description="Seconds to wait for the answer; then there is none.")
    ] = WITHIN_S


@dataclass(frozen=True, slots=True)
class AimQuery:
    """What a plan is to come to."""

    rule: Annotated[PickRule, Query(description="How one plan of the front of balance against cost is picked.")] = (
        PickRule.CHEAPEST_WITHIN
    )
    reach: Annotated[float, Query(ge=0, le=1, description="The spread to come to.")] = Aim().reach
    act_above: Annotated[float, Query(ge=0, le=1, description="A spread up to this is left alone.")] = Aim().act_above
    where_pulsar_rests: Annotated[bool, Query(description="Even where no strategy of Pulsar would act.")] = False
    fill: Annotated[str | None, Query(max_length=300, description="Bring load to this broker, a new one.")] = None
    cuts: Annotated[
        bool, Query(description="Bundles may be split without an unload, and a part be moved: asks for topics.")
    ] = False

    def question(self, *, rolling_restart: bool = False, most_usage: float | None = None) -> AdviceQuestion:
        """The question that it is."""
        aim = Aim(
            act_above=self.act_above, reach=self.reach, rule=self.rule, where_pulsar_rests=self.where_pulsar_rests
        )
        return AdviceQuestion(
            aim=aim, fill=self.fill, rolling_restart=rolling_restart, most_usage=most_usage, cuts=self.cuts
        )


@dataclass(frozen=True, slots=True)
class PlanQuery:
    """Bounds of the run that will carry a plan out, and the picture that it is to go by."""

    per_broker: Annotated[
        int, Query(ge=1, le=1_000_000, description="Moves at a time that a broker takes part in.")
    ] = _BOUNDS.per_broker
    per_namespace: Annotated[int, Query(ge=1, le=1_000_000, description="Moves at a time of a namespace.")] = (
        _BOUNDS.per_namespace
    )
    per_hour: Annotated[int, Query(ge=1, le=1_000_000, description="Unloads in any hour.")] = _BOUNDS.per_hour
    quiet: Annotated[
        str | None, Query(max_length=20, description="When bundles may move, UTC, as 22:00-05:30; always if not given.")
    ] = None
    taken_ms: Annotated[
        int | None,
        Query(ge=0, le=2**63 - 1, description="'taken_ms' of the advice that was looked at; another is refused."),
    ] = None

    def question(self, advice: AdviceQuestion | DrainQuestion) -> PlanQuestion:
        """The question that it is.

        Raises:
            RequestInvalid: The quiet hours are no hours of a day.
            PlanInvalid: They end when they begin.
        """
        quiet = None if self.quiet is None else quiet_hours(self.quiet)
        if quiet is None and self.quiet is not None:
            raise RequestInvalid(f"{self.quiet!r} is not of the form HH:MM-HH:MM, as 22:00-05:30")
        bounds = RunBounds(
            per_broker=self.per_broker, per_namespace=self.per_namespace, per_hour=self.per_hour, quiet=quiet
        )
        return PlanQuestion(advice=advice, bounds=bounds, taken_ms=self.taken_ms)


@dataclass(frozen=True, slots=True)
class ComparisonQuery:
    """What is compared."""

    rounds: Annotated[int, Query(ge=1, le=MOST_ROUNDS, description="Rounds of shedding at most.")] = 120
    setting: Annotated[
        tuple[Annotated[str, Query(pattern="^[^=]+=", max_length=1_000)], ...],
        Query(max_length=200, description="PROPERTY=VALUE of all brokers; once for each."),
    ] = ()
    strategy: Annotated[
        tuple[Annotated[str, Query(max_length=200)], ...],
        Query(max_length=100, description="Only this strategy, as ThresholdShedder; once for each."),
    ] = ()
    recorded: Annotated[bool, Query(description="Over the load that was recorded, each sample a round at least.")] = (
        False
    )
    since: Annotated[
        float | None, Query(gt=0, le=MOST_SINCE_S, description="Of recorded load only so many seconds; all else.")
    ] = None

    def wish(self, table: str) -> LookWish:
        """The look that it is answered by."""
        if not self.recorded:
            return LookWish(table=table, history=HistoryPart.OUTCOMES)
        since = None if self.since is None else timedelta(seconds=self.since)
        return LookWish(table=table, history=HistoryPart.SAMPLES, since=since)

    def question(self) -> ComparisonQuestion:
        """The question that it is."""
        told = {name: value for name, _, value in (each.partition("=") for each in self.setting)}
        return ComparisonQuestion(rounds=self.rounds, settings=told, strategies=self.strategy, recorded=self.recorded)


Looking = Annotated[LookQuery, Depends()]


def router(inside: RegionInside, inquiries: Inquiries) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1/clusters/{cluster}", tags=["clusters"])

    async def told(request: Request, question: Question, wish: LookWish, look: LookQuery) -> Response:
        cluster_table(inside.config, wish.table)  # at once: no process is begun for what is not there
        allow_time(request.scope, look.within)
        wish = replace(wish, listen_s=look.listen)
        return Response(await inquiries.ask(inside.config, wish, question, look.within), media_type="application/json")

    @routes.get("/load", response_model=LoadDocument, responses=ASKING)
    async def load(caller: Reader, request: Request, cluster: Table, look: Looking, topics: Topics = False) -> Response:
        """What is known of the load: brokers, bundles, each figure with its source and age; unknown is null."""
        del caller
        return await told(request, LoadQuestion(), LookWish(table=cluster, topics=topics), look)

    @routes.get("/doctor", response_model=DoctorDocument, responses=ASKING)
    async def doctor(
        caller: Reader, request: Request, cluster: Table, look: Looking, topics: Topics = False
    ) -> Response:
        """Whatever hinders load balancing, each finding with evidence and remedy; and what cannot be judged."""
        del caller
        wish = LookWish(table=cluster, topics=topics, properties=True, names=True, history=HistoryPart.CHANGES)
        return await told(request, DoctorQuestion(), wish, look)

    @routes.get("/advice", response_model=AdviceDocument | SizeDocument, responses=ASKING)
    async def advice(
        caller: Reader,
        request: Request,
        cluster: Table,
        look: Looking,
        aim: Annotated[AimQuery, Depends()],
        rolling_restart: Annotated[bool, Query(description="Order of a rolling restart, instead.")] = False,
        most_usage: Annotated[
            float | None, Query(ge=0.01, le=1, description="How many brokers would do up to this usage, instead.")
        ] = None,
    ) -> Response:
        """The few moves that balance a cluster, each with its reason, gain and price, or why none is worth it."""
        del caller
        question = aim.question(rolling_restart=rolling_restart, most_usage=most_usage)
        return await told(
            request, question, LookWish(table=cluster, topics=aim.cuts, history=HistoryPart.OUTCOMES), look
        )

    @routes.get("/advice/plan", responses=PLAN)
    async def advice_plan(
        caller: Reader,
        request: Request,
        cluster: Table,
        look: Looking,
        aim: Annotated[AimQuery, Depends()],
        plan: Annotated[PlanQuery, Depends()],
    ) -> Response:
        """The plan of these moves, to be sent to /move-runs."""
        del caller
        wish = LookWish(table=cluster, topics=aim.cuts, history=HistoryPart.OUTCOMES)
        return await told(request, plan.question(aim.question()), wish, look)

    @routes.get("/drain", response_model=AdviceDocument, responses=ASKING)
    async def drain(caller: Reader, request: Request, cluster: Table, look: Looking, brokers: Brokers) -> Response:
        """The moves that empty brokers, each bundle moving once to where there is room, and what they cost."""
        del caller
        wish = LookWish(table=cluster, history=HistoryPart.OUTCOMES)
        return await told(request, DrainQuestion(tuple(brokers)), wish, look)

    @routes.get("/drain/plan", responses=PLAN)
    async def drain_plan(
        caller: Reader,
        request: Request,
        cluster: Table,
        look: Looking,
        brokers: Brokers,
        plan: Annotated[PlanQuery, Depends()],
    ) -> Response:
        """The plan of these moves, to be sent to /move-runs."""
        del caller
        question = plan.question(DrainQuestion(tuple(brokers)))
        return await told(request, question, LookWish(table=cluster, history=HistoryPart.OUTCOMES), look)

    @routes.get("/comparison", response_model=ComparisonDocument, responses=ASKING)
    async def comparison(
        caller: Reader, request: Request, cluster: Table, look: Looking, query: Annotated[ComparisonQuery, Depends()]
    ) -> Response:
        """Strategies and settings of Pulsar over the cluster's load, beside each our cheapest plan as even."""
        del caller
        return await told(request, query.question(), query.wish(cluster), look)

    return routes
