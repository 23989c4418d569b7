"""Samples of a small cluster's load."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType

from syncer.balancer.history.sample import LoadSample, SampledBroker, SampledBundle
from syncer.balancer.load import BundleStats, Rates, Usage
from syncer.balancer.picture import LoadManager, Ownership, SeenUsages, Tenure

MINUTE_MS = 60_000


def sample(
    taken_ms: int, owners: Mapping[str, str | None] = MappingProxyType({}), *, seed: int = 0, more: int = 0
) -> LoadSample:
    """Make a sample of two brokers; each bundle has its owner and load of its own, those of ``more`` are drawn."""
    dice = random.Random(seed + taken_ms)
    named = {**owners, **{f"t/more/0x{each:08x}_0x{each + 1:08x}": "a:8080" for each in range(more)}}
    bundles = {
        name: SampledBundle(
            None if owner is None else Ownership(Tenure.OWNED, owner),
            BundleStats(Rates(dice.random(), dice.random(), dice.random() * 1e6, dice.random() * 1e6), 3, 2, 1),
        )
        for name, owner in named.items()
    }
    usages = SeenUsages(cpu=Usage(50.0, 100.0))
    brokers = {name: SampledBroker(usages=usages, topics=3) for name in ("a:8080", "b:8080")}
    return LoadSample(cluster="east", taken_ms=taken_ms, manager=LoadManager.MODULAR, brokers=brokers, bundles=bundles)
