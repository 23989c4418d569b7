"""JSON documents of load balancing: strategies of Pulsar beside each other, and our plans beside each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pydantic import Field

from syncer.balancer.cost.estimate import Basis
from syncer.balancer.rounds.synthetic import FleetShape
from syncer.documents.document import Document

if TYPE_CHECKING:
    from syncer.balancer.comparing.comparison import ComparedRow
    from syncer.balancer.rounds.outcome import PlayedRounds


class ComparedLoadDocument(Document):
    """The load that was drawn by ``seed``, or read of ``cluster`` at ``taken_ms``; the others are null.

    Recorded load is that of ``samples``, one for each round, from ``first_ms`` to ``last_ms``.
    """

    seed: int | None = None
    shape: FleetShape | None = None
    cluster: str | None = None
    taken_ms: int | None = None
    brokers: int
    bundles: int
    samples: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None
    unknown_brokers: int = Field(
        default=0, description="Brokers that were left out: not all of their figures are known."
    )
    unknown_bundles: int = Field(default=0, description="Bundles that were left out, likewise.")


class PlayedRoundDocument(Document):
    """One round."""

    round: int
    unloads: int
    futile: int = Field(description="Choices of shedding for which placement found no other broker.")
    spread: float = Field(description="Greatest weighted usage less the mean, a fraction.")


class PlayedRoundsDocument(Document):
    """Rounds one after another."""

    unloads: int
    client_seconds: float | None = Field(description="Seconds without service of all clients; null where unknown.")
    client_seconds_basis: Basis
    spread: float = Field(description="The spread after the last round.")
    settled_after_rounds: int | None = Field(description="Null where bundles still moved near the end.")
    moved_again: list[str] = Field(description="Bundles that moved more than once.")
    ping_pong: list[str] = Field(description="Bundles that came back to a broker that they had left.")
    rounds: list[PlayedRoundDocument]


class ComparedStrategyDocument(Document):
    """A strategy with its settings; ``ours`` is our cheapest plan with its spread or a smaller one."""

    strategy: str = Field(description="Of shedding.")
    placement: str = Field(description="Strategy of placement.")
    settings: dict[str, bool | int | float | str] = Field(description="By property, what differs from the cluster's.")
    pulsar: PlayedRoundsDocument
    ours: PlayedRoundsDocument | None = Field(description="Null where the strategy moved nothing.")


class ComparisonDocument(Document):
    """``syncer balancer compare``."""

    load: ComparedLoadDocument
    settings: dict[str, bool | int | float | str] = Field(description="By property, what all brokers were told.")
    spread: float | None = Field(description="The spread at the beginning; null where nothing was compared.")
    strategies: list[ComparedStrategyDocument]


def comparison_document(
    load: ComparedLoadDocument, base: Mapping[str, object], rows: Iterable[ComparedRow]
) -> ComparisonDocument:
    """Tell a comparison as the contract has it.

    Args:
        load: What was drawn.
        base: What all brokers were told.
        rows: The strategies.
    """
    known = list(rows)
    return ComparisonDocument(
        load=load,
        settings=_told(base),
        spread=known[0].played.spread_before if known else None,
        strategies=[
            ComparedStrategyDocument(
                strategy=row.contender.strategy,
                placement=row.contender.placement,
                settings=_told(row.contender.variation),
                pulsar=_played(row.played),
                ours=_played(row.ours) if row.ours is not None else None,
            )
            for row in known
        ],
    )


def _told(properties: Mapping[str, object]) -> dict[str, bool | int | float | str]:
    return {name: value if isinstance(value, bool | int | float) else str(value) for name, value in properties.items()}


def _played(found: PlayedRounds) -> PlayedRoundsDocument:
    cost = found.client_seconds
    return PlayedRoundsDocument(
        unloads=found.unloads,
        client_seconds=cost.value,
        client_seconds_basis=cost.basis,
        spread=found.final_spread,
        settled_after_rounds=found.settled,
        moved_again=sorted(found.moved_again),
        ping_pong=sorted(found.ping_pong),
        rounds=[
            PlayedRoundDocument(round=each.number, unloads=len(each.moves), futile=each.futile, spread=each.spread)
            for each in found.rounds
        ],
    )
