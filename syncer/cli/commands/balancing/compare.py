"""``syncer balancer compare``: strategies and settings of Pulsar beside each other, and our plans beside each."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.balancer.rounds.synthetic import FleetShape
from syncer.cli.commands.balancing.balancer import app
from syncer.cli.commands.balancing.looking import ListenOption
from syncer.cli.commands.balancing.recorded import SinceOption, since_of
from syncer.cli.render.output import say
from syncer.cli.session import session_of
from syncer.inspection.balancing.questions import LISTEN_S, MOST_ROUNDS, ComparisonQuestion, HistoryPart, LookWish

if TYPE_CHECKING:
    from syncer.documents.balancing.comparison import ComparisonDocument

MOST_BROKERS: Final = 1000
MOST_BUNDLES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSize:
    """What is asked for of load that is drawn."""

    shape: FleetShape
    brokers: int
    bundles: int


@app.command("compare")
def compare_strategies(
    context: typer.Context,
    *,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="NAME", help="Read the load of the cluster that a table of the configuration names."
        ),
    ] = None,
    synthetic: Annotated[
        int | None, typer.Option("--synthetic", metavar="SEED", help="Draw a cluster's load by this seed, instead.")
    ] = None,
    shape: Annotated[
        FleetShape, typer.Option("--shape", help="How the load lies on the brokers.")
    ] = FleetShape.HOT_BROKERS,
    brokers: Annotated[int, typer.Option("--brokers", min=1, max=MOST_BROKERS, help="How many brokers.")] = 10,
    bundles: Annotated[int, typer.Option("--bundles", min=0, max=MOST_BUNDLES, help="How many bundles.")] = 150,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, max=MOST_ROUNDS, help="How many rounds of shedding at most.")
    ] = 120,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PROPERTY=VALUE", help="A setting of all brokers, of broker.conf; once for each."
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option("--strategy", metavar="NAME", help="Only this strategy, as ThresholdShedder; once for each."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with plots, too; never overwritten."),
    ] = None,
    listen: ListenOption = LISTEN_S,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Over the load that the daemon has recorded: each sample is a round.")
    ] = False,
    since: SinceOption = None,
) -> None:
    """Play Pulsar's shedding in thought, in every strategy and many settings, and show what each would cost.

    Over a cluster's load of now, as it was recorded, or over load that is drawn. Nothing is changed. Beside each
    strategy that moves bundles stands our cheapest plan that leaves the load as even.
    """
    from syncer.cli.reaching.clusters import usage
    from syncer.cli.render.balancing import show_comparison
    from syncer.cli.render.balancing_page import comparison_page
    from syncer.planning.whole_file import whole

    session = session_of(context)
    if (synthetic is None) == (cluster is None):
        raise typer.BadParameter("give either --synthetic or --cluster", param_hint="'--synthetic'")
    if (recorded and cluster is None) or (since is not None and not recorded):
        raise typer.BadParameter("recorded load is that of a cluster: give --recorded and --cluster, too")
    question = ComparisonQuestion(
        rounds=rounds, settings=_properties(settings or []), strategies=tuple(strategy or ()), recorded=recorded
    )
    with usage("--strategy"):
        if cluster is not None:
            history = HistoryPart.SAMPLES if recorded else HistoryPart.OUTCOMES
            wish = LookWish(table=cluster, listen_s=listen, history=history, since=since_of(since))
            found = session.clusters().comparison(wish, question)
        else:
            size = DrawnSize(shape=shape, brokers=brokers, bundles=bundles)
            found = _over_drawn(synthetic or 0, size, question)
    if html is not None:
        with whole(html) as file:
            file.write(comparison_page(found).encode())
    show_comparison(found, session.form)
    if html is not None:
        say(f"wrote {html}")


def _over_drawn(seed: int, size: DrawnSize, question: ComparisonQuestion) -> ComparisonDocument:
    from syncer.balancer.comparing.comparison import ComparedLoad
    from syncer.balancer.rounds.synthetic import synthetic_cluster
    from syncer.balancer.settings import balancer_settings
    from syncer.balancer.versions import BalancerRules
    from syncer.documents.balancing.comparison import ComparedLoadDocument, comparison_document
    from syncer.inspection.balancing.answering import rows_of

    settings = balancer_settings(question.settings)
    dice = random.Random(seed)  # noqa: S311 - it draws load, no secret
    drawn = synthetic_cluster(dice, settings, brokers=size.brokers, bundles=size.bundles, shape=size.shape)
    load = ComparedLoad(frames=[drawn.fleet], constraints=drawn.constraints, settings=settings, rules=BalancerRules())
    shown = ComparedLoadDocument(seed=seed, shape=size.shape, brokers=size.brokers, bundles=size.bundles)
    return comparison_document(shown, question.settings, rows_of(load, question, seed))


def _properties(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{pair!r} is not of the form PROPERTY=VALUE", param_hint="'--set'")
        found[name] = value
    return found
