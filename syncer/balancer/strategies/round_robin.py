"""RoundRobinBrokerSelector: bundles go to the brokers in turn.

Source: RoundRobinBrokerSelector, Pulsar 4.0.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.java import INT_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class RoundRobinBrokerSelector:
    """Places by turns; the turn and the list of brokers that it goes by are kept from call to call."""

    turn: int = 0
    known: tuple[str, ...] = ()

    def next(self, candidates: Sequence[str]) -> str | None:
        """Name the broker whose turn it is; None where there is no candidate.

        Args:
            candidates: Brokers that may get the bundle, in their order at the leader.
        """
        if not candidates:
            return None
        index = self.turn % len(candidates)
        self.turn = 0 if self.turn == INT_MAX else self.turn + 1
        if len(self.known) != len(candidates) or self.known[index] not in candidates:
            self.known = tuple(candidates)
        return self.known[index]
