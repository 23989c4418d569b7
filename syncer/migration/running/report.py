"""The report of one flip: what was foreseen, what was done, and who stands where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from syncer.migration.cure import TopicCure
from syncer.migration.roll_call import Answered, Who
from syncer.migration.topics import TopicState


class FlipOutcome(StrEnum):
    """How a flip has ended."""

    MIGRATED = "migrated"
    """Every topic of the wave was migrated."""
    REFUSED = "refused"
    """A topic cannot be moved as it is; nothing was set."""
    TAKEN_BACK = "taken-back"
    """Something did not hold; all that was set was put back, and nothing is marked."""
    UNFINISHED = "unfinished"
    """A namespace could not be marked, or a topic of it has not shown that it was migrated: its mark is off again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What a flip will do to clients, said before it begins.

    Attributes:
        cures: Of each topic of the wave.
        longest_gap_s: For which a producer is without an answer, if nothing goes wrong.
        shared: Connections that will be stopped, and everybody who is on them.
    """

    cures: tuple[TopicCure, ...]
    longest_gap_s: float
    shared: Mapping[str, tuple[Who, ...]]

    def told(self) -> dict[str, object]:
        """As plain data; the rate and the reason only of topics that have one."""
        return {
            "longest_gap_s": self.longest_gap_s,
            "cures": {each.topic: each.cure.value for each in self.cures},
            "rates": {each.topic: each.rate for each in self.cures if each.rate is not None},
            "why": {each.topic: each.why.value for each in self.cures if each.why is not None},
            "shared": {
                address: [[who.topic, who.subscription, who.name] for who in there]
                for address, there in self.shared.items()
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipReport:
    """What a flip has done.

    Attributes:
        foreseen: ``None``: there was nothing left to do.
        reasons: Topic, namespace or call → why the flip has not gone through.
        moved: Topics that were closed at another position than was read before the mark → where.
        closed: Topics that were migrated → where their ledgers end.
        left: Of these, those of which nothing is left to read, and whose clients, if any, all stand at green.
        closing_s: From the mark until the last topic has shown that it was migrated.
        held_s: From the kick until producers were let in again; ``None``: nobody was sent away.
        answered: The roll call at green; ``None``: it was not called.
        ill: Topics that were stranded or fenced: their namespaces' marks are off again.
    """

    outcome: FlipOutcome
    foreseen: Foreseen | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    closed: Mapping[str, str] = field(default_factory=dict)
    left: frozenset[str] = frozenset()
    closing_s: float | None = None
    held_s: float | None = None
    answered: Answered | None = None
    ill: Mapping[str, TopicState] = field(default_factory=dict)
