"""Options of the commands around a migration, and the wish that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from syncer.errors import PlanInvalid
from syncer.migration.checks import CHECKS
from syncer.migration.migration_plan import MigrationWish
from syncer.migration.scope import MigrationBounds, MigrationScope, Overrides

From = Annotated[str | None, typer.Option("--from", metavar="NAME", help="Blue: the name of its table, cluster.NAME.")]
To = Annotated[str | None, typer.Option("--to", metavar="NAME", help="Green: the table where clients go.")]
Canary = Annotated[
    list[str] | None,
    typer.Option("--canary", metavar="NAMESPACE,…", help="Namespaces that are moved first, to measure by them."),
]
Wave = Annotated[
    list[str] | None,
    typer.Option("--wave", metavar="NAMESPACE,…", help="Namespaces that are moved together next; once for each wave."),
]
AllNamespaces = Annotated[
    bool,
    typer.Option("--all-namespaces", help="Every namespace that clients use: the smallest as canary, then waves."),
]
WaveSize = Annotated[int, typer.Option("--wave-size", min=1, help="Namespaces of a wave that --all-namespaces makes.")]
WholeCluster = Annotated[
    bool,
    typer.Option(
        "--whole-cluster",
        help="At the end mark the cluster itself: no namespace may have topics then that was not named.",
    ),
]
Override = Annotated[
    list[str] | None,
    typer.Option("--override", metavar="CHECK=REASON", help="Pass over a check; may be repeated."),
]
Bound = Annotated[
    list[str] | None,
    typer.Option(
        "--bound",
        metavar="NAME=NUMBER",
        help="What it may cost, past which it pauses; may be repeated. "
        + ", ".join(f"{name}={value}" for name, value in asdict(MigrationBounds()).items())
        + " where not given.",
    ),
]


def wished(
    *,
    blue: str | None,
    green: str | None,
    canary: Sequence[str] | None,
    waves: Sequence[str] | None,
    every: bool,
    wave_size: int,
    whole_cluster: bool,
    overrides: Sequence[str] | None,
    bounds: Sequence[str] | None,
) -> MigrationWish:
    """Read the options.

    Raises:
        PlanInvalid: They do not go together.
    """
    if blue is None or green is None:
        raise typer.BadParameter("give --from NAME and --to NAME")
    if every == bool(canary) or (every and waves):
        raise typer.BadParameter("give either --canary and --wave, or --all-namespaces")
    scope = None
    if not every:
        first = tuple(name for given in canary or () for name in given.split(","))
        rest = tuple(tuple(given.split(",")) for given in waves or ())
        scope = MigrationScope(canary=first, waves=rest, whole_cluster=whole_cluster)
    return MigrationWish(
        tables=(blue, green),
        scope=scope,
        wave_size=wave_size,
        whole_cluster=whole_cluster,
        overrides=_overrides(overrides or ()),
        bounds=_bounds(bounds or ()),
    )


def _overrides(given: Sequence[str]) -> Overrides:
    reasons: dict[str, str] = {}
    for each in given:
        check, _, reason = each.partition("=")
        if check not in CHECKS:
            raise PlanInvalid(
                f"--override {each!r}: there is no check {check!r}", hint=f"The checks are: {', '.join(CHECKS)}."
            )
        reasons[check] = reason
    return Overrides(reasons=reasons)


def _bounds(given: Sequence[str]) -> MigrationBounds:
    bounds = asdict(MigrationBounds())
    for each in given:
        name, _, value = each.partition("=")
        if name not in bounds:
            raise PlanInvalid(
                f"--bound {each!r}: there is no bound {name!r}", hint=f"The bounds are: {', '.join(bounds)}."
            )
        if not (value.isascii() and value.isdecimal()):
            raise PlanInvalid(f"--bound {each!r}: {value!r} is no whole number", hint=f"Write --bound {name}=60.")
        bounds[name] = int(value)
    return MigrationBounds(**bounds)
