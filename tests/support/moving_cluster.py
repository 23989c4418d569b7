"""A cluster in thought whose bundles move: brokers, owners, settings, and whatever goes wrong on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from syncer.balancer.moving.acts import (
    LookUp,
    MoveAct,
    ReleaseClaim,
    SetSetting,
    Split,
    TakeClaim,
    Unload,
    UnsetSetting,
)
from syncer.balancer.moving.sight import BundleSight, ClusterSight
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle, range_text
from syncer.model import Millis


@dataclass
class MovingCluster:
    """Obeys the acts of a run; ``fates`` says of each split and unload in turn what comes of it.

    The fate of an unload is ``target``, ``lost`` (nothing happens), ``back`` (to its owner), or the name of a broker.
    A split that is not ``lost`` is made.
    """

    owners: dict[str, str | None]
    brokers: set[str]
    dynamic: dict[str, str] = field(default_factory=dict)
    fates: list[str] = field(default_factory=list)
    throughput: dict[str, float] = field(default_factory=dict)
    now_ms: int = 1_764_000_000_000
    coming: dict[str, str] = field(default_factory=dict)
    unloads: list[Unload] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)
    most_bundles: int = 128
    claim: str | None = ""

    def sight(self, bundles: Iterable[str]) -> ClusterSight:
        """The cluster as it is."""
        bundles = tuple(bundles)
        return ClusterSight(
            at_ms=Millis(self.now_ms),
            dynamic=dict(self.dynamic),
            brokers=frozenset(self.brokers),
            bundles={each: self._bundle(each) for each in bundles},
            boundaries={each: self.boundaries(each) for each in map(namespace_of_bundle, bundles)},
            claim=self.claim,
            most_bundles=self.most_bundles,
        )

    def perform(self, act: MoveAct) -> bool:
        """Do what is asked; whether it was answered."""
        match act:
            case TakeClaim(claim):
                self.claim = claim
            case ReleaseClaim():
                self.claim = ""
            case SetSetting(key, value):
                self.dynamic[key] = value
            case UnsetSetting(key):
                self.dynamic.pop(key, None)
            case LookUp(bundle):
                self.owners[bundle] = self.coming.pop(bundle, None) or self.owners.get(bundle)
            case Split():
                return self._split(act)
            case Unload():
                return self._unload(act)
        return True

    def boundaries(self, namespace: str) -> tuple[int, ...]:
        """Where a namespace is cut, by the bundles that there are."""
        mine = (range_of_bundle(each) for each in self.owners if namespace_of_bundle(each) == namespace)
        return tuple(sorted({end for span in mine for end in span}))

    def split(self, bundle: str, position: int) -> None:
        """Cut a bundle, whose halves stay where it is."""
        low, high = range_of_bundle(bundle)
        owner, namespace = self.owners.pop(bundle), namespace_of_bundle(bundle)
        for half in (range_text(low, position), range_text(position, high)):
            self.owners[f"{namespace}/{half}"] = owner

    def _split(self, act: Split) -> bool:
        self.splits.append(act)
        fate = self.fates.pop(0) if self.fates else "target"
        if fate == "lost" or self.owners.get(act.bundle) is None:
            return False
        self.split(act.bundle, act.position)
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
