"""News of topic policies that brokers keep in system topics: how they fare, and which edits were overtaken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from syncer.model import MetaPath, Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class OvertakenPolicies:
    """A broker's edit that a write of this region has overwritten, and that a later edit kept from being put back.

    Args:
        path: Where.
        lost_id: Id of the message that held it.
        value: The whole document; ``None``: the policies were removed, or cannot be read.
        unreadable: They cannot be read.
        lost_at_ms: When it was made.
        by_at_ms: When the later edit was made.
    """

    path: MetaPath
    lost_id: str
    value: bytes | None = field(repr=False)
    unreadable: bool
    lost_at_ms: Millis
    by_at_ms: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPoliciesStanding:
    """How the source of topic policies fares.

    Args:
        namespaces: How many are selected and exist.
        followed: Of how many a topic is open.
        unread: How many were not yet read.
        replicated: Those that Pulsar replicates, and whose policies it carries itself.
        withheld: Others that cannot be answered, and why.
        counts: What was done since the start, by name.
    """

    namespaces: int
    followed: int
    unread: int
    replicated: Sequence[str]
    withheld: Mapping[str, str]
    counts: Mapping[str, int]


@runtime_checkable
class TellsTopicPolicies(Protocol):
    """A store that keeps topic policies in system topics."""

    def topic_policies(self) -> TopicPoliciesStanding | None:
        """How they fare; ``None``: it keeps none there after all."""
        ...

    def take_overtaken(self) -> Sequence[OvertakenPolicies]:
        """What was overtaken and not yet taken; who takes it keeps it, or puts it back."""
        ...

    def put_back(self, overtaken: Sequence[OvertakenPolicies]) -> None:
        """What could not be kept is told again."""
        ...
