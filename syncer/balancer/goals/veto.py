"""Vetoes: why a hard goal forbids a move."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class VetoReason(StrEnum):
    """Why a bundle may not move, or not to that broker."""

    HEARTBEAT = "heartbeat"
    SYSTEM_NAMESPACE = "system-namespace"
    EXCLUDED_NAMESPACE = "excluded-namespace"
    MOVED_JUST_NOW = "moved-just-now"
    ISOLATION = "isolation"
    ANTI_AFFINITY = "anti-affinity"
    OVER_CAPACITY = "over-capacity"
    TOO_MANY_TOPICS = "too-many-topics"
    OTHER_MANAGER = "other-manager"
    OLDER_VERSION = "older-version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Veto:
    """A veto of a move; ``target`` is None where the bundle may go nowhere at all.

    ``detail`` is what the rule itself says: the reason of a filter, a number and its limit.
    """

    reason: VetoReason
    bundle: str
    target: str | None = None
    detail: str = ""


class StayingGoal(Protocol):
    """A hard goal that looks at the bundle alone."""

    def stays(self, bundle: str) -> Veto | None:
        """Forbid every move of a bundle, or none."""


class TargetGoal(Protocol):
    """A hard goal that looks at the broker that would get a bundle."""

    def forbids(self, bundle: str, target: str) -> Veto | None:
        """Forbid a bundle to go to a broker, as the fleet stands now, or let it."""
