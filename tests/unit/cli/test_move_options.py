"""Options of plans of moves: what is not given is as a run has it, and hours are hours of a day."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from syncer.balancer.moving.bounds import QuietHours, RunBounds
from syncer.cli.move_options import KeptMovesWish, kept_moves

FILE = Path("moves.json")


def wish(
    file: Path | None = FILE, per_broker: int | None = None, per_hour: int | None = None, quiet: str | None = None
) -> KeptMovesWish | None:
    return kept_moves(file, per_broker=per_broker, per_namespace=None, per_hour=per_hour, quiet=quiet)


def test_what_is_not_given_is_as_a_run_has_it() -> None:
    assert wish() == KeptMovesWish(file=FILE, bounds=RunBounds())
    assert wish(per_hour=5) == KeptMovesWish(file=FILE, bounds=RunBounds(per_hour=5))
    assert wish(file=None) is None


@pytest.mark.parametrize(
    ("given", "first", "end"), [("00:00-23:59", 0, 1439), ("22:30-05:05", 1350, 305), ("09:00-10:00", 540, 600)]
)
def test_quiet_hours_are_minutes_of_the_day(given: str, first: int, end: int) -> None:
    found = wish(quiet=given)
    assert found is not None
    assert found.bounds.quiet == QuietHours(first=first, end=end)


@pytest.mark.parametrize(
    "given", ["", "22:00", "22:00-24:00", "22:60-23:00", "22:00-05:00 ", "9:00-10:00", "٢٢:00-05:00"]
)
def test_hours_of_no_day_are_refused(given: str) -> None:
    with pytest.raises(typer.BadParameter, match="not of the form"):
        wish(quiet=given)


def test_bounds_without_a_plan_are_refused() -> None:
    with pytest.raises(typer.BadParameter, match="give --save FILE"):
        wish(file=None, per_broker=2)
