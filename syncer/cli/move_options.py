"""Options of the commands that keep a plan of moves: its file, and the bounds of the run that will carry it out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from syncer.balancer.moving.bounds import QuietHours, RunBounds
from syncer.inspection.balancing.questions import quiet_hours

_BOUNDS: Final = RunBounds()

KeptMoves = Annotated[
    Path | None,
    typer.Option(
        "--save", metavar="FILE", help="Keep the moves as a plan for 'syncer balancer apply'; never overwritten."
    ),
]
PerBroker = Annotated[
    int | None,
    typer.Option(
        "--per-broker",
        min=1,
        metavar="N",
        help=f"Moves of the plan at a time that a broker takes part in; {_BOUNDS.per_broker} where not given.",
    ),
]
PerNamespace = Annotated[
    int | None,
    typer.Option(
        "--per-namespace",
        min=1,
        metavar="N",
        help=f"Moves of the plan at a time of a namespace; {_BOUNDS.per_namespace} where not given.",
    ),
]
PerHour = Annotated[
    int | None,
    typer.Option(
        "--per-hour",
        min=1,
        metavar="N",
        help=f"Unloads of the plan in any hour; {_BOUNDS.per_hour} where not given.",
    ),
]
Quiet = Annotated[
    str | None,
    typer.Option(
        "--quiet",
        metavar="HH:MM-HH:MM",
        help="When bundles of the plan may move, UTC; at any time where not given.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMovesWish:
    """Where a plan of moves goes, and the bounds of its run."""

    file: Path
    bounds: RunBounds


def kept_moves(
    file: Path | None, *, per_broker: int | None, per_namespace: int | None, per_hour: int | None, quiet: str | None
) -> KeptMovesWish | None:
    """Read the options; ``None``: no plan is kept.

    Raises:
        BadParameter: Bounds are given and no file, or the quiet hours are no hours of a day.
        PlanInvalid: The quiet hours end when they begin.
    """
    if file is None:
        if any(each is not None for each in (per_broker, per_namespace, per_hour, quiet)):
            raise typer.BadParameter("bounds are those of a plan that is kept: give --save FILE, too")
        return None
    bounds = RunBounds(
        per_broker=per_broker or _BOUNDS.per_broker,
        per_namespace=per_namespace or _BOUNDS.per_namespace,
        per_hour=per_hour or _BOUNDS.per_hour,
        quiet=None if quiet is None else _quiet(quiet),
    )
    return KeptMovesWish(file=file, bounds=bounds)


def _quiet(given: str) -> QuietHours:
    found = quiet_hours(given)
    if found is None:
        raise typer.BadParameter(f"{given!r} is not of the form HH:MM-HH:MM, as 22:00-05:30", param_hint="'--quiet'")
    return found
