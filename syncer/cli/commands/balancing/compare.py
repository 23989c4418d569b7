"""``syncer balancer compare``: strategies and settings of Pulsar beside each other, and our plans beside each."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated, Final

import typer

from syncer.balancer.rounds.synthetic import FleetShape
from syncer.cli.commands.balancing.balancer import app
from syncer.cli.render.output import say
from syncer.cli.session import session_of

MOST_BROKERS: Final = 1000
MOST_BUNDLES: Final = 100_000
MOST_ROUNDS: Final = 1440
"""A day of rounds, at one a minute."""


@app.command("compare")
def compare_strategies(
    context: typer.Context,
    *,
    synthetic: Annotated[int, typer.Option("--synthetic", metavar="SEED", help="Draw a cluster's load by this seed.")],
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
) -> None:
    """Play Pulsar's shedding in thought, in every strategy and many settings, and show what each would cost.

    Beside each that moves bundles stands our cheapest plan that leaves the load as even. No cluster is asked.
    """
    from syncer.balancer.comparing.comparison import ComparedLoad, compare
    from syncer.balancer.comparing.contending import contenders
    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.rounds.synthetic import synthetic_cluster
    from syncer.balancer.settings import balancer_settings
    from syncer.balancer.versions import BalancerRules
    from syncer.cli.render.balancing import show_comparison
    from syncer.cli.render.balancing_page import comparison_page
    from syncer.documents.balancing.comparison import ComparedLoadDocument, comparison_document
    from syncer.planning.whole_file import whole

    session = session_of(context)
    base = _properties(settings or [])
    listed = list(contenders(base))
    names = sorted({each.strategy for each in listed})
    unknown = sorted(set(strategy or ()) - set(names))
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(names)}", param_hint="'--strategy'")
    told = balancer_settings(base)
    dice = random.Random(synthetic)  # noqa: S311 - it draws load, no secret
    cluster = synthetic_cluster(dice, told, brokers=brokers, bundles=bundles, shape=shape)
    load = ComparedLoad(frames=[cluster.fleet], constraints=cluster.constraints, settings=told, rules=BalancerRules())
    rows = compare(
        load,
        [each for each in listed if not strategy or each.strategy in strategy],
        Tariff(),
        lambda: random.Random(synthetic).choice,  # noqa: S311 - as above
        rounds,
    )
    drawn = ComparedLoadDocument(seed=synthetic, shape=shape, brokers=brokers, bundles=bundles)
    found = comparison_document(drawn, base, rows)
    if html is not None:
        with whole(html) as file:
            file.write(comparison_page(found).encode())
    show_comparison(found, session.form)
    if html is not None:
        say(f"wrote {html}")


def _properties(pairs: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{pair!r} is not of the form PROPERTY=VALUE", param_hint="'--set'")
        found[name] = value
    return found
