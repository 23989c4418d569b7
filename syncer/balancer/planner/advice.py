"""Advice: the answer to an operator's question, moves in their order, each with its reason and price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from syncer.balancer.cost.estimate import Estimate, total

if TYPE_CHECKING:
    from syncer.balancer.cost.price import Price
    from syncer.balancer.goals.veto import Veto, VetoReason
    from syncer.balancer.planner.cutting import CutAdvice
    from syncer.balancer.planner.picking import PickRule


class AdviceAnswer(StrEnum):
    """Answers to a question."""

    MOVES = "moves"
    NOTHING_TO_DO = "nothing-to-do"
    NO_MOVE_ALLOWED = "no-move-allowed"
    NO_MOVE_HELPS = "no-move-helps"
    NO_ROOM = "no-room"


class AdviceReason(StrEnum):
    """Why the answer is that one."""

    TOO_UNEQUAL = "too-unequal"
    OVERLOADED = "overloaded"
    ASKED_FOR = "asked-for"
    BALANCED = "balanced"
    FEW_BROKERS = "few-brokers"
    PULSAR_RESTS = "pulsar-rests"
    HARD_GOALS = "hard-goals"
    ONE_LARGE_BUNDLE = "one-large-bundle"
    BASE_USAGE = "base-usage"
    EMPTY_ALREADY = "empty-already"


class MoveReason(StrEnum):
    """Why a bundle moves."""

    SOURCE_TOO_FULL = "source-too-full"
    MAKES_ROOM = "makes-room"
    EXCHANGED = "exchanged"
    DRAINED = "drained"
    RESTARTED = "restarted"
    FILLS = "fills"


class CutReason(StrEnum):
    """Why a bundle is cut, and not moved whole."""

    PART_COSTS_LESS = "part-costs-less"
    WHOLE_DOES_NOT_FIT = "whole-does-not-fit"
    WHOLE_IS_FORBIDDEN = "whole-is-forbidden"


class RejectReason(StrEnum):
    """Why another move was not chosen."""

    VETO = "veto"
    DEARER = "dearer"
    TOO_LITTLE = "too-little"
    WORSE_TARGET = "worse-target"
    TARGET_TOO_FULL = "target-too-full"


class Assumption(StrEnum):
    """Facts that nobody knew and that the advice takes for granted."""

    CPU_BY_TRAFFIC = "cpu-by-traffic"
    PRICES_ASSUMED = "prices-assumed"
    CLIENTS_UNMEASURED = "clients-unmeasured"
    CUTS_UNNOTICED = "cuts-unnoticed"
    """A split without an unload cuts off no client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedMove:
    """A move that was not chosen; ``veto`` says why it may not be, ``detail`` by how much it is worse."""

    bundle: str
    target: str | None
    reason: RejectReason
    detail: str = ""
    veto: Veto | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChange:
    """A broker's usage before and after a move."""

    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedMove:
    """A move in its place in the plan: figures are those of the fleet when all moves before it were made."""

    bundle: str
    source: str
    target: str
    reason: MoveReason
    source_usage: UsageChange
    target_usage: UsageChange
    spread: UsageChange
    price: Price
    rejected: tuple[RejectedMove, ...] = ()

    @property
    def gain(self) -> float:
        """By how much the spread falls with this move alone; the move before another one may gain nothing yet."""
        return self.spread.before - self.spread.after


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedCut:
    """A bundle that is cut without an unload before parts of it move.

    ``gain`` is by how much its broker's usage falls with the parts that go, ``price`` what those cost together; the
    rejected alternative is to move it whole, at ``whole``.
    """

    cut: CutAdvice
    broker: str
    reason: CutReason
    gain: float
    price: Estimate
    whole: Price
    rejected: tuple[RejectedMove, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedPlan:
    """Cuts, then moves in their order; ``undone`` are bundles that move and that Pulsar's next round would shed again.

    Moves name the parts that the cuts make as other bundles.
    """

    moves: tuple[AdvisedMove, ...]
    spread: UsageChange
    undone: frozenset[str] = frozenset()
    cuts: tuple[AdvisedCut, ...] = ()

    @property
    def client_seconds(self) -> Estimate:
        """Seconds without service of all clients together."""
        return total(move.price.client_seconds for move in self.moves)

    @property
    def at_least(self) -> float:
        """Client-seconds without those that are unknown."""
        return sum(move.price.at_least for move in self.moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontPoint:
    """A plan of the front: how many moves, the spread then, and what it costs; ``cuts`` are the positions of all."""

    moves: int
    spread: float
    client_seconds: Estimate
    chosen: bool = False
    cuts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarAlone:
    """What Pulsar would do without us."""

    strategy: str
    unloads: int
    client_seconds: Estimate
    spread: float
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The answer to a question.

    ``vetoes`` count the reasons for which bundles of the fullest broker may not move; ``subject`` is the bundle or
    broker that the reason is about. ``left`` are bundles for which nobody has room, or may have.
    """

    answer: AdviceAnswer
    reason: AdviceReason
    subject: str | None = None
    plan: AdvisedPlan | None = None
    rule: PickRule | None = None
    front: tuple[FrontPoint, ...] = ()
    vetoes: Mapping[VetoReason, int] = field(default_factory=dict)
    left: tuple[Veto, ...] = ()
    assumptions: frozenset[Assumption] = frozenset()
    alone: PulsarAlone | None = None
