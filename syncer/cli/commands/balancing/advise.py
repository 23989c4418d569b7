"""``syncer balancer advise`` and ``drain``: which bundles to move, why, and what each move costs; nothing is moved."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.balancer.planner.picking import Aim, PickRule
from syncer.cli.commands.balancing.balancer import app
from syncer.cli.commands.balancing.looking import ClusterOption, ListenOption
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
from syncer.cli.session import session_of
from syncer.inspection.balancing.questions import LISTEN_S, AdviceQuestion, DrainQuestion, HistoryPart, LookWish

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
    aim = Aim(act_above=act_above, reach=reach, rule=rule, where_pulsar_rests=always)
    question = AdviceQuestion(aim=aim, fill=fill, rolling_restart=rolling_restart, most_usage=most_usage, cuts=cuts)
    if question.overfull:
        raise typer.BadParameter(
            "ask for one of these at a time", param_hint="'--fill', '--rolling-restart', '--most-usage'"
        )
    if save is not None and not question.of_moves:
        raise typer.BadParameter(
            "this advice is no plan of moves: keep the moves of one broker at a time by 'syncer balancer drain --save'",
            param_hint="'--save'",
        )
    if question.misplaced_cuts:
        raise typer.BadParameter("this advice moves whole bundles", param_hint="'--cuts'")
    wish = kept_moves(save, per_broker=per_broker, per_namespace=per_namespace, per_hour=per_hour, quiet=quiet)
    _advised(
        context, LookWish(table=cluster, listen_s=listen, topics=cuts, history=HistoryPart.OUTCOMES), question, wish
    )


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
    wish = kept_moves(save, per_broker=per_broker, per_namespace=per_namespace, per_hour=per_hour, quiet=quiet)
    _advised(
        context,
        LookWish(table=cluster, listen_s=listen, history=HistoryPart.OUTCOMES),
        DrainQuestion(tuple(brokers)),
        wish,
    )


def _advised(
    context: typer.Context, look: LookWish, question: AdviceQuestion | DrainQuestion, wish: KeptMovesWish | None
) -> None:
    """Look at a cluster, show the answer, and keep its moves where that is wished."""
    from syncer.balancer.running import plan_file
    from syncer.cli.reaching.clusters import usage
    from syncer.cli.render.balancing_advice import show_advice

    session = session_of(context)
    with usage("BROKER"):
        document, plan = session.clusters().advice(look, question, None if wish is None else wish.bounds)
    if wish is not None and plan is not None:
        plan_file.write(wish.file, plan)
    show_advice(document, session.form)
    if wish is not None:
        say(
            f"wrote {wish.file}; see what would keep its moves back with: syncer balancer apply {wish.file}"
            if plan is not None
            else f"{wish.file} was not written: there is no move"
        )
