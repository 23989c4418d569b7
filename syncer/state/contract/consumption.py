"""Consumption of each sender's messages: sequence numbers, and their gaps."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from syncer.conflict.causality.consumed import Consumed


class ConsumptionTransaction(Protocol):
    """The part of a transaction that is about what was consumed."""

    def consumed(self, senders: Collection[str]) -> dict[str, Consumed]:
        """What was consumed of each sender that is known."""
        ...

    def senders(self) -> set[str]:
        """Every sender of whom something was consumed."""
        ...

    def save_consumed(self, consumed: dict[str, Consumed]) -> None:
        """Replace what was consumed of these senders."""
        ...
