"""Questions about a cluster's ledgers: plain values, so that they can go to another process."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, assert_never

from syncer.errors import RequestInvalid
from syncer.ledgers.auditing.unreferenced import READINGS
from syncer.ledgers.metadata import Quorums
from syncer.ledgers.placement.adherence import RackPolicy

LOOKS_APART_S: Final = 10.0
"""Meanwhile brokers refer to a ledger that they have made, and delete one that they gave up."""
MOST_LOST: Final = 10
"""So many bookies at most are lost together, whichever they are."""
MOST_SHOWN: Final = 1000
"""So many of the worst sets are told at most."""
_QUORUMS: Final = re.compile(r"(\d{1,4})/(\d{1,4})/(\d{1,4})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningWish:
    """How brokers open ledgers.

    Args:
        quorums: Theirs; ``None``: those of most open ledgers are taken.
        policy: Theirs; ``None``: that of the cluster's table in the configuration.
    """

    quorums: Quorums | None = None
    policy: RackPolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuestion:
    """How all ledgers stand.

    Args:
        topics: They are grouped by topic, not by namespace.
        overview: Say, too, what the loss of bookies would harm.
    """

    topics: bool = False
    overview: bool = False


@dataclass(frozen=True, slots=True)
class ExplainQuestion:
    """How a ledger, by its id, or a topic, by its whole name, stands."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LossQuestion:
    """What the loss of bookies harms, beside those that are away.

    Args:
        bookies: Those that are lost.
        racks: All bookies of these are lost, too.
        opening: How brokers open ledgers.
    """

    bookies: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    opening: OpeningWish = field(default_factory=OpeningWish)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyLossQuestion:
    """What the loss of so many bookies harms, whichever they are; how many of the worst sets are told."""

    size: int
    shown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingQuestion:
    """What it moves to stop bookies for good, and what blocks it.

    Args:
        bookies: Those that are stopped.
        racks: All bookies of these are stopped, too.
        opening: How brokers open ledgers.
        together: All are stopped at once; otherwise one after the other, in the order that is found.
        bytes_per_s: Rate of all workers together; ``None``: no time is told.
    """

    bookies: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    opening: OpeningWish = field(default_factory=OpeningWish)
    together: bool = False
    bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class UnderReplicatedQuestion:
    """Which ledgers are marked, and whether recovery moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphansQuestion:
    """Which ledgers nobody refers to, and which references have no ledger.

    Args:
        whole: The clusters of the wish are all whose ledgers these bookies keep.
        apart_s: Seconds before references are asked for first, and again between the two looks.
    """

    whole: bool = False
    apart_s: float = LOOKS_APART_S

    @property
    def rests_s(self) -> float:
        """Seconds of all rests together."""
        return (len(READINGS) - 1) * self.apart_s


LedgersQuestion = (
    AuditQuestion
    | ExplainQuestion
    | LossQuestion
    | AnyLossQuestion
    | LeavingQuestion
    | UnderReplicatedQuestion
    | OrphansQuestion
)


def ledgers_question_name(question: LedgersQuestion) -> str:
    """The word by which questions are counted."""
    match question:
        case AuditQuestion():
            return "ledgers-audit"
        case ExplainQuestion():
            return "ledgers-explain"
        case LossQuestion() | AnyLossQuestion():
            return "ledgers-loss"
        case LeavingQuestion():
            return "ledgers-decommission"
        case UnderReplicatedQuestion():
            return "ledgers-under-replicated"
        case OrphansQuestion():
            return "ledgers-orphans"
        case _:
            assert_never(question)


def opening_wish_of(quorums: str | None, racks: int | None) -> OpeningWish:
    """Read how brokers open ledgers.

    Args:
        quorums: ``E/QW/QA``; ``None``: those of most open ledgers.
        racks: Brokers refuse a write quorum on fewer racks; ``None``: as the configuration says.

    Raises:
        RequestInvalid: The quorums are none.
    """
    policy = None if racks is None else RackPolicy(racks, enforced=True)
    if quorums is None:
        return OpeningWish(policy=policy)
    found = _QUORUMS.fullmatch(quorums)
    if found is None:
        raise RequestInvalid(f"'{quorums}' is not of the form E/QW/QA, as 3/2/2")
    wanted = Quorums(*map(int, found.groups()))
    if not wanted.ensemble >= wanted.write >= wanted.ack >= 1:
        raise RequestInvalid(f"'{quorums}' cannot be: E >= QW >= QA >= 1")
    return OpeningWish(quorums=wanted, policy=policy)
