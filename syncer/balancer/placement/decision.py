"""A decision of placement: who was left by each filter, who was dropped and why, and who was drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

Draw = Callable[[Sequence[str]], str]
"""Draws one of several brokers by lot."""


class Filter(StrEnum):
    """Filters of candidates."""

    ISOLATION = "isolation"
    TOPICS = "topics"
    FAILURE_DOMAIN = "failure-domain"
    ANTI_AFFINITY = "anti-affinity"
    FEWEST_BUNDLES = "fewest-bundles"
    MANAGER = "manager"
    VERSION = "version"


class DropReason(StrEnum):
    """Why a filter drops a broker."""

    NO_PORT = "no-port"
    NOT_IN_POLICY = "not-in-policy"
    ENOUGH_PRIMARIES = "enough-primaries"
    RESERVED = "reserved"
    DOMAIN_NOT_SERVED = "domain-not-served"
    TOO_MANY_TOPICS = "too-many-topics"
    FULLER_DOMAIN = "fuller-domain"
    FULLER_BROKER = "fuller-broker"
    MORE_BUNDLES = "more-bundles"
    OTHER_MANAGER = "other-manager"
    OLDER_VERSION = "older-version"


class Spared(StrEnum):
    """Why a filter drops nobody although it had cause."""

    NONE_LEFT = "none-left"
    VERSION_UNREADABLE = "version-unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterAnswer:
    """A filter's answer, brokers in the order in which it was given them."""

    filter: Filter
    left: tuple[str, ...]
    dropped: Mapping[str, DropReason] = field(default_factory=dict)
    spared: Spared | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTraits:
    """What a broker registers of itself, under either manager."""

    version: str | None = None
    manager: str | None = None
    persistent: bool = True
    non_persistent: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a bundle goes, and why there.

    ``candidates`` are asked of the strategy: those that the last filter left or, where ``restored`` says why, all that
    the isolation policies allow. ``best`` are equally good; ``drawn`` is one of them. Where that one is overloaded,
    ``second`` are the best of all that are allowed. ``chosen`` gets the bundle; None where nobody can.
    """

    bundle: str
    steps: tuple[FilterAnswer, ...]
    candidates: tuple[str, ...]
    restored: Spared | None = None
    best: tuple[str, ...] = ()
    drawn: str | None = None
    second: tuple[str, ...] = ()
    chosen: str | None = None

    @property
    def dropped(self) -> dict[str, tuple[Filter, DropReason]]:
        """Brokers that the strategy was not asked about, each with the filter that dropped it."""
        return {
            broker: (step.filter, reason)
            for step in self.steps
            for broker, reason in step.dropped.items()
            if broker not in self.candidates
        }


def kept(kind: Filter, candidates: Sequence[str], keep: Callable[[str], bool], reason: DropReason) -> FilterAnswer:
    """Keep the brokers that a filter with one reason keeps.

    Args:
        kind: The filter.
        candidates: The brokers.
        keep: Says whether one stays.
        reason: Why the others go.
    """
    left = tuple(broker for broker in candidates if keep(broker))
    staying = frozenset(left)
    return FilterAnswer(
        filter=kind, left=left, dropped={broker: reason for broker in candidates if broker not in staying}
    )
