"""``syncer balancer advise`` and ``drain``: which bundles to move, why, and what each move costs; nothing is moved."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.balancer.planner.picking import Aim, PickRule
from syncer.cli.commands.balancing.balancer import app
from syncer.cli.commands.balancing.looking import LISTEN_S, ClusterOption, ListenOption, picture_of
from syncer.cli.move_options import (
    KeptMoves,
    KeptMovesWish,
    PerBroker,
    PerHour,
    PerNamespace,
    Quiet,
    kept_moves,
)
from syncer.cli.render.output import say
from syncer.cli.session import log_to_stderr, session_of
from syncer.model import Millis

if TYPE_CHECKING:
    from syncer.balancer.inquiry import AskedCluster
    from syncer.balancer.planner.advice import AdvisedPlan
    from syncer.documents.balancing.advice import AdviceDocument, SizeDocument

SEED: Final = 1
"""Of the dice with which Pulsar draws one of equally good brokers: the same question gets the same answer."""

Answered = tuple["AdviceDocument | SizeDocument", "AdvisedPlan | None"]
"""What is shown, and the moves that can be kept as a plan."""

BrokerList = Annotated[list[str], typer.Argument(metavar="BROKER...", help="Brokers to empty, as 'host:port'.")]


@app.command("advise")
def advise(
    context: typer.Context,
    *,
    cluster: ClusterOption,
    rule: Annotated[
        PickRule, typer.Option("--rule", help="How one plan of the front of balance against cost is picked.")
    ] = PickRule.CHEAPEST_WITHIN,
    reach: Annotated[
        float, typer.Option("--reach", min=0, max=1, help="The spread to come to: the greatest usage less the mean.")
    ] = Aim().reach,
    act_above: Annotated[
        float, typer.Option("--act-above", min=0, max=1, help="A spread up to this is left alone.")
    ] = Aim().act_above,
    always: Annotated[
        bool,
        typer.Option("--where-pulsar-rests", help="Even where no strategy of Pulsar would act."),
    ] = False,
    fill: Annotated[
        str | None, typer.Option("--fill", metavar="BROKER", help="Bring load to this broker, a new one.")
    ] = None,
    rolling_restart: Annotated[
        bool, typer.Option("--rolling-restart", help="Order of a rolling restart: each bundle moves once.")
    ] = False,
    most_usage: Annotated[
        float | None,
        typer.Option("--most-usage", min=0.01, max=1, help="How many brokers would do, none of them above this usage."),
    ] = None,
    cuts: Annotated[
        bool,
        typer.Option("--cuts", help="Split bundles without an unload where moving a part costs less; asks for topics."),
    ] = False,
    listen: ListenOption = LISTEN_S,
    save: KeptMoves = None,
    per_broker: PerBroker = None,
    per_namespace: PerNamespace = None,
    per_hour: PerHour = None,
    quiet: Quiet = None,
) -> None:
    """Show the few moves that balance a cluster, each with its reason, its gain and its price, or why none is worth it.

    Beside them stands what Pulsar would do alone. Nothing is changed; --save keeps the moves to be applied.
    """
    from syncer.balancer.inquiry import pulsar_alone
    from syncer.balancer.planner.balance import balance
    from syncer.balancer.planner.fill import FILL_AIM
    from syncer.balancer.planner.fill import fill as filled
    from syncer.balancer.planner.rolling import rolling_restart as rolled
    from syncer.balancer.planner.sizing import size
    from syncer.documents.balancing.advice import advice_document, rolling_document, size_document

    if sum((fill is not None, rolling_restart, most_usage is not None)) > 1:
        raise typer.BadParameter(
            "ask for one of these at a time", param_hint="'--fill', '--rolling-restart', '--most-usage'"
        )
    if save is not None and (rolling_restart or most_usage is not None):
        raise typer.BadParameter(
            "this advice is no plan of moves: keep the moves of one broker at a time by 'syncer balancer drain --save'",
            param_hint="'--save'",
        )
    if cuts and (rolling_restart or most_usage is not None or fill is not None):
        raise typer.BadParameter("this advice moves whole bundles", param_hint="'--cuts'")
    if cuts and save is not None:
        raise typer.BadParameter(
            "moves of parts are not kept yet: split the bundles first, then ask again without it", param_hint="'--cuts'"
        )
    aim = Aim(act_above=act_above, reach=reach, rule=rule, where_pulsar_rests=always)
    wish = kept_moves(save, per_broker=per_broker, per_namespace=per_namespace, per_hour=per_hour, quiet=quiet)

    def answer(name: str, at_ms: int, asked: AskedCluster) -> Answered:
        if most_usage is not None:
            return size_document(name, at_ms, asked, size(asked.fleet, asked.bounds, asked.tariff, most_usage)), None
        if rolling_restart:
            return rolling_document(name, at_ms, asked, rolled(asked.fleet, asked.bounds, asked.tariff)), None
        if fill is not None:
            _known([fill], asked)
            found = filled(asked.fleet, asked.bounds, asked.tariff, fill, FILL_AIM)
            return advice_document(name, at_ms, asked, found), found.plan
        found = balance(asked.fleet, asked.bounds, asked.tariff, aim, topics=asked.topics if cuts else None)
        alone = pulsar_alone(asked, random.Random(SEED).choice)  # noqa: S311 - it draws brokers, no secret
        return advice_document(name, at_ms, asked, found, alone), found.plan

    _advised(context, cluster, listen, answer, wish, topics=cuts)


@app.command("drain")
def drain(
    context: typer.Context,
    *,
    brokers: BrokerList,
    cluster: ClusterOption,
    listen: ListenOption = LISTEN_S,
    save: KeptMoves = None,
    per_broker: PerBroker = None,
    per_namespace: PerNamespace = None,
    per_hour: PerHour = None,
    quiet: Quiet = None,
) -> None:
    """Show the moves that empty brokers, each bundle moving once to where there is room, and what they cost.

    Nothing is changed; --save keeps the moves to be applied.
    """
    from syncer.balancer.planner.drain import drain as drained
    from syncer.documents.balancing.advice import advice_document

    wish = kept_moves(save, per_broker=per_broker, per_namespace=per_namespace, per_hour=per_hour, quiet=quiet)

    def answer(name: str, at_ms: int, asked: AskedCluster) -> Answered:
        _known(brokers, asked)
        found = drained(asked.fleet, asked.bounds, asked.tariff, brokers)
        return advice_document(name, at_ms, asked, found), found.plan

    _advised(context, cluster, listen, answer, wish)


def _advised(
    context: typer.Context,
    cluster: str,
    listen_s: float,
    answer: Callable[[str, int, AskedCluster], Answered],
    wish: KeptMovesWish | None,
    *,
    topics: bool = False,
) -> None:
    """Read a cluster, show the answer, and keep its moves where that is wished."""
    from syncer.balancer.inquiry import asked_of
    from syncer.balancer.moving.planning import planned
    from syncer.balancer.running import plan_file
    from syncer.cli.render.balancing_advice import show_advice

    session = session_of(context)
    config = session.config(whole=False)
    log_to_stderr()
    picture = picture_of(config, cluster, listen_s, topics=topics)
    asked = asked_of(picture)
    document, advised = answer(picture.cluster, picture.taken_ms, asked)
    if wish is not None and advised is not None and advised.moves:
        plan = planned(
            advised,
            asked.fleet,
            table=cluster,
            cluster=picture.cluster,
            taken_ms=Millis(picture.taken_ms),
            bounds=wish.bounds,
            sheds=asked.bounds.settings.shedding.enabled,
        )
        plan_file.write(wish.file, plan)
    show_advice(document, session.form)
    if wish is not None:
        kept = advised is not None and advised.moves
        say(
            f"wrote {wish.file}; see what would keep its moves back with: syncer balancer apply {wish.file}"
            if kept
            else f"{wish.file} was not written: there is no move"
        )


def _known(brokers: list[str], asked: AskedCluster) -> None:
    for broker in brokers:
        if broker not in asked.fleet.brokers:
            there = ", ".join(sorted(asked.fleet.brokers)) or "none"
            raise typer.BadParameter(
                f"{broker!r} is no broker with known load; these are: {there}", param_hint="'BROKER'"
            )
