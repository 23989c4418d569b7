"""Questions about a cluster's load balancing: plain values, so that they can go to another process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final, assert_never

from syncer.balancer.moving.bounds import QuietHours, RunBounds
from syncer.balancer.planner.picking import Aim

LISTEN_S: Final = 5.0
"""How long the load topics of the extensible manager are heard where nobody says."""
MOST_ROUNDS: Final = 1440
"""A day of rounds, at one a minute."""
_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


class HistoryPart(StrEnum):
    """What is brought along of the history of a cluster's load."""

    OUTCOMES = "outcomes"
    """How far predictions of moves were off."""
    CHANGES = "changes"
    """The latest samples, and which bundles changed their broker."""
    SAMPLES = "samples"
    """The load of each round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookWish:
    """How a cluster is looked at.

    Args:
        table: Name of its table in the configuration.
        listen_s: How long the load topics of the extensible manager are heard.
        topics: Each broker is asked for its topics, too.
        properties: Each broker is asked for its runtime configuration, too.
        names: The stores are read for the names of all topics, too.
        history: What of the history of its load is brought along.
        since: How far samples go back; ``None``: all.
    """

    table: str
    listen_s: float = LISTEN_S
    topics: bool = False
    properties: bool = False
    names: bool = False
    history: HistoryPart | None = None
    since: timedelta | None = None


@dataclass(frozen=True, slots=True)
class LoadQuestion:
    """The load, as it is known."""


@dataclass(frozen=True, slots=True)
class DoctorQuestion:
    """Whatever hinders load balancing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceQuestion:
    """Moves that would be better.

    Args:
        aim: Of a plan that balances.
        fill: Bring load to this broker instead.
        rolling_restart: The order of a rolling restart instead.
        most_usage: How many brokers would do instead, none of them above this usage.
        cuts: A plan that balances may split bundles and move a part of one; the topics have to be looked at.
    """

    aim: Aim = field(default_factory=Aim)
    fill: str | None = None
    rolling_restart: bool = False
    most_usage: float | None = None
    cuts: bool = False

    @property
    def overfull(self) -> bool:
        """Whether more is asked than one thing."""
        return sum((self.fill is not None, self.rolling_restart, self.most_usage is not None)) > 1

    @property
    def misplaced_cuts(self) -> bool:
        """Whether parts are to be moved by what moves whole bundles alone."""
        return self.cuts and (self.fill is not None or not self.of_moves)

    @property
    def of_moves(self) -> bool:
        """Whether its answer has moves that can be kept as a plan."""
        return not self.rolling_restart and self.most_usage is None


@dataclass(frozen=True, slots=True)
class DrainQuestion:
    """Moves that empty brokers."""

    brokers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonQuestion:
    """Strategies and settings of Pulsar beside each other, over the load.

    Args:
        rounds: How many are played at most.
        settings: Of all brokers, by property of broker.conf.
        strategies: Only these; none: all.
        recorded: Over the load that was recorded, each sample a round at least.
    """

    rounds: int = 120
    settings: Mapping[str, str] = field(default_factory=dict)
    strategies: tuple[str, ...] = ()
    recorded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """The plan of the moves that are advised.

    Args:
        advice: By which.
        bounds: Of the run that will carry it out.
        taken_ms: Of the picture that the advice was given by; ``None``: whichever.
    """

    advice: AdviceQuestion | DrainQuestion
    bounds: RunBounds = field(default_factory=RunBounds)
    taken_ms: int | None = None


Shown = LoadQuestion | DoctorQuestion | AdviceQuestion | DrainQuestion | ComparisonQuestion
"""What is answered by a document."""
Question = Shown | PlanQuestion


def name_of(question: Question) -> str:
    """The word by which questions are counted."""
    match question:
        case LoadQuestion():
            return "load"
        case DoctorQuestion():
            return "doctor"
        case AdviceQuestion():
            return "advice"
        case DrainQuestion():
            return "drain"
        case ComparisonQuestion():
            return "comparison"
        case PlanQuestion():
            return "plan"
        case _:
            assert_never(question)


def quiet_hours(text: str) -> QuietHours | None:
    """Hours of a day, UTC, as ``22:00-05:30``; ``None``: it is not of that form.

    Raises:
        PlanInvalid: They end when they begin.
    """
    found = _HOURS.fullmatch(text)
    if found is None:
        return None
    first_hour, first, end_hour, end = map(int, found.groups())
    return QuietHours(first=first_hour * 60 + first, end=end_hour * 60 + end)
