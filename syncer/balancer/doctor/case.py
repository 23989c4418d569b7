"""Case: all that the doctor judges."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from syncer.balancer.doctor.diagnosis import DiagnosisEvidence
from syncer.balancer.history.changes import OwnerChange
from syncer.balancer.picture import FigureOrigin, Known, LoadPicture
from syncer.balancer.settings import BalancerSettings, Properties
from syncer.balancer.versions import BalancerRules, balancer_rules
from syncer.errors import VersionUnknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A picture, the pictures before it, oldest first, and each broker's runtime configuration.

    ``changes`` are those of owners that were recorded, also before these pictures; None where nothing was recorded.
    ``topics`` are the full names of all topics, partitions one by one, loaded or not.
    """

    picture: LoadPicture
    history: tuple[LoadPicture, ...] = ()
    changes: tuple[OwnerChange, ...] | None = None
    properties: Mapping[str, Known[Properties]] = field(default_factory=dict)
    topics: Known[AbstractSet[str]] | None = None

    @property
    def settings(self) -> BalancerSettings | None:
        """Settings that the cluster decides by; None where they are not known."""
        return None if self.picture.settings is None else self.picture.settings.value

    def rules(self) -> BalancerRules | None:
        """Rules of the brokers' version; None where a version or its rules are not known, or rules differ."""
        found: set[BalancerRules | None] = set()
        for broker in self.picture.registered:
            registration = self.picture.brokers[broker].registration
            version = None if registration is None else registration.value.version
            try:
                found.add(None if version is None else balancer_rules(version))
            except VersionUnknown:
                found.add(None)
        return found.pop() if len(found) == 1 else None

    def decisive(self) -> Known[Properties] | None:
        """Properties of the leader, which decides; of the first broker that told them where the leader's are unknown.

        That brokers differ is a finding of its own.
        """
        leader = self.picture.leader
        found = None if leader is None else self.properties.get(leader.value)
        return found or next(iter(self.properties.values()), None)

    def flag(self, name: str) -> bool | None:
        """Read a property that is true or false; None where it is not known.

        Args:
            name: Of the property.
        """
        return {"true": True, "false": False}.get(self._text(name).lower())

    def number(self, name: str) -> float | None:
        """Read a property that is a number; None where it is not known.

        Args:
            name: Of the property.
        """
        try:
            return float(self._text(name))
        except ValueError:
            return None

    def shown(self, name: str) -> DiagnosisEvidence:
        """Show a property as evidence.

        Args:
            name: Of the property.
        """
        known = self.decisive()
        return DiagnosisEvidence(name, self._text(name), None if known is None else known.origin)

    def setting(self, name: str, value: object) -> DiagnosisEvidence:
        """Show a setting as evidence.

        Args:
            name: Of its property.
            value: Its value.
        """
        return DiagnosisEvidence(name, str(value), self.settings_origin)

    @property
    def settings_origin(self) -> FigureOrigin | None:
        """The place that the settings were read from."""
        return None if self.picture.settings is None else self.picture.settings.origin

    def _text(self, name: str) -> str:
        known = self.decisive()
        value = None if known is None else known.value.get(name)
        return "" if value is None else str(value).strip()


def short(strategy: str) -> str:
    """Name a strategy by its class alone.

    Args:
        strategy: With or without its package.
    """
    return strategy.rpartition(".")[2]
