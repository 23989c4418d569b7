"""``syncer balancer compare``: strategies and settings of Pulsar beside each other, and our plans beside each."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.balancer.rounds.synthetic import FleetShape
from syncer.cli.commands.balancing.balancer import app
from syncer.cli.commands.balancing.looking import LISTEN_S, ListenOption, picture_of
from syncer.cli.render.output import say
from syncer.cli.session import log_to_stderr, session_of

if TYPE_CHECKING:
    from syncer.balancer.comparing.comparison import ComparedLoad
    from syncer.cli.session import CommandSession
    from syncer.documents.balancing.comparison import ComparedLoadDocument

MOST_BROKERS: Final = 1000
MOST_BUNDLES: Final = 100_000
MOST_ROUNDS: Final = 1440
"""A day of rounds, at one a minute."""


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
) -> None:
    """Play Pulsar's shedding in thought, in every strategy and many settings, and show what each would cost.

    Over a cluster's load of now, or over load that is drawn. Nothing is changed. Beside each strategy that moves
    bundles stands our cheapest plan that leaves the load as even.
    """
    from syncer.balancer.comparing.comparison import compare
    from syncer.balancer.comparing.contending import contenders
    from syncer.balancer.cost.tariff import Tariff
    from syncer.cli.render.balancing import show_comparison
    from syncer.cli.render.balancing_page import comparison_page
    from syncer.documents.balancing.comparison import comparison_document
    from syncer.planning.whole_file import whole

    session = session_of(context)
    if (synthetic is None) == (cluster is None):
        raise typer.BadParameter("give either --synthetic or --cluster", param_hint="'--synthetic'")
    told = _properties(settings or [])
    if cluster is not None:
        load, shown = _read(session, cluster, listen, told)
    else:
        load, shown = _drawn(synthetic or 0, DrawnSize(shape=shape, brokers=brokers, bundles=bundles), told)
    listed = list(contenders(load.settings))
    names = sorted({each.strategy for each in listed})
    unknown = sorted(set(strategy or ()) - set(names))
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(names)}", param_hint="'--strategy'")
    rows = compare(
        load,
        [each for each in listed if not strategy or each.strategy in strategy],
        lambda kind: Tariff(kind=kind),
        lambda: random.Random(synthetic or 0).choice,  # noqa: S311 - it draws brokers, no secret
        rounds,
    )
    found = comparison_document(shown, told, rows)
    if html is not None:
        with whole(html) as file:
            file.write(comparison_page(found).encode())
    show_comparison(found, session.form)
    if html is not None:
        say(f"wrote {html}")


def _drawn(seed: int, size: DrawnSize, told: Mapping[str, object]) -> tuple[ComparedLoad, ComparedLoadDocument]:
    from syncer.balancer.comparing.comparison import ComparedLoad
    from syncer.balancer.rounds.synthetic import synthetic_cluster
    from syncer.balancer.settings import balancer_settings
    from syncer.balancer.versions import BalancerRules
    from syncer.documents.balancing.comparison import ComparedLoadDocument

    settings = balancer_settings(told)
    dice = random.Random(seed)  # noqa: S311 - it draws load, no secret
    found = synthetic_cluster(dice, settings, brokers=size.brokers, bundles=size.bundles, shape=size.shape)
    load = ComparedLoad(frames=[found.fleet], constraints=found.constraints, settings=settings, rules=BalancerRules())
    return load, ComparedLoadDocument(seed=seed, shape=size.shape, brokers=size.brokers, bundles=size.bundles)


def _read(
    session: CommandSession, cluster: str, listen_s: float, told: Mapping[str, object]
) -> tuple[ComparedLoad, ComparedLoadDocument]:
    from syncer.balancer.comparing.pictured import pictured_load
    from syncer.balancer.loads import unknown
    from syncer.documents.balancing.comparison import ComparedLoadDocument

    config = session.config(whole=False)
    log_to_stderr()

    picture = picture_of(config, cluster, listen_s)
    load, left_out = pictured_load(picture, told), unknown(picture)
    fleet = load.frames[0]
    return load, ComparedLoadDocument(
        cluster=picture.cluster,
        taken_ms=picture.taken_ms,
        brokers=len(fleet.brokers),
        bundles=len(fleet.bundles),
        unknown_brokers=len(left_out.brokers),
        unknown_bundles=len(left_out.bundles),
    )


def _properties(pairs: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{pair!r} is not of the form PROPERTY=VALUE", param_hint="'--set'")
        found[name] = value
    return found
