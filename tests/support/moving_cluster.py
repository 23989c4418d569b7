"""A cluster in thought whose bundles move: brokers, owners, settings, and whatever goes wrong on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from syncer.balancer.moving.course import (
    BundleSight,
    ClusterSight,
    LookUp,
    MoveAct,
    SetSetting,
    Unload,
    UnsetSetting,
)
from syncer.model import Millis


@dataclass
class MovingCluster:
    """Obeys the acts of a run; ``fates`` says of each unload in turn where the bundle goes.

    A fate is ``target``, ``lost`` (nothing happens), ``back`` (to its owner), or the name of a broker.
    """

    owners: dict[str, str | None]
    brokers: set[str]
    dynamic: dict[str, str] = field(default_factory=dict)
    fates: list[str] = field(default_factory=list)
    throughput: dict[str, float] = field(default_factory=dict)
    now_ms: int = 1_764_000_000_000
    coming: dict[str, str] = field(default_factory=dict)
    unloads: list[Unload] = field(default_factory=list)

    def sight(self, bundles: Iterable[str]) -> ClusterSight:
        """The cluster as it is."""
        return ClusterSight(
            at_ms=Millis(self.now_ms),
            dynamic=dict(self.dynamic),
            brokers=frozenset(self.brokers),
            bundles={each: self._bundle(each) for each in bundles},
        )

    def perform(self, act: MoveAct) -> bool:
        """Do what is asked; whether it was answered."""
        match act:
            case SetSetting(key, value):
                self.dynamic[key] = value
            case UnsetSetting(key):
                self.dynamic.pop(key, None)
            case LookUp(bundle):
                self.owners[bundle] = self.coming.pop(bundle, None) or self.owners.get(bundle)
            case Unload():
                return self._unload(act)
        return True

    def _unload(self, act: Unload) -> bool:
        self.unloads.append(act)
        fate = self.fates.pop(0) if self.fates else "target"
        owner = self.owners.get(act.bundle)
        if fate == "lost" or owner is None:
            return False
        self.coming[act.bundle] = {"target": act.target, "back": owner}.get(fate, fate)
        self.owners[act.bundle] = None
        return True

    def _bundle(self, bundle: str) -> BundleSight:
        if bundle not in self.owners:
            return BundleSight(exists=False)
        return BundleSight(exists=True, owner=self.owners[bundle], throughput=self.throughput.get(bundle))
