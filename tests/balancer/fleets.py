"""Fleets drawn by seed: brokers with their bundles, as their reports tell, moving on from round to round.

Some are uneven as real ones are; others are made of few round figures, so that thresholds are met exactly and many
values are equal.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

LARGEST: Final = 300
IMPL: Final = "org.apache.pulsar.broker.loadbalance.impl."
GRACE_ROUNDS: Final = 2
_STEPS: Final[Mapping[str, Sequence[float]]] = {
    "usage": (0, 10, 25, 40, 50, 55, 60, 65, 85, 100),
    "rate": (0, 0.25, 1, 500, 1000, 1500, 4000, 5000),
    "bytes": (0, 1, 1024.0**2, 4 * 1024.0**2, 10 * 1024.0**2, 50 * 1024.0**2, 2.0**31),
}
_CONF: Final[Mapping[str, Sequence[object]]] = {
    "loadBalancerBrokerThresholdShedderPercentage": (5, 10, 20),
    "loadBalancerBundleUnloadMinThroughputThreshold": (0, 0.5, 10),
    "lowerBoundarySheddingEnabled": (False, True),
    "loadBalancerHistoryResourcePercentage": (0.0, 0.5, 0.9),
    "loadBalancerDirectMemoryResourceWeight": (0.0, 1.0),
    "loadBalancerBrokerOverloadedThresholdPercentage": (50, 85),
    "loadBalancerMsgRateDifferenceShedderThreshold": (0, 50, 300),
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": (0, 4, 1.5),
    "maxUnloadPercentage": (0.2, 0.5),
    "minUnloadMessage": (1000, 10, 0),
    "minUnloadMessageThroughput": (1024**2, 0),
    "maxUnloadBundleNumPerShedding": (-1, 1, 3),
    "loadBalancerAvgShedderHitCountHighThreshold": (2, 1, 3),
    "loadBalancerAvgShedderHitCountLowThreshold": (8, 2, 4),
    "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": (10, 0, 25),
}
"""Properties, Pulsar's default among the values of each."""


class Character(StrEnum):
    """How a fleet's figures are drawn."""

    UNEVEN = "uneven"
    STEPS = "steps"
    EQUAL = "equal"
    IDLE = "idle"
    ONE_BUNDLE_EACH = "one-bundle-each"


@dataclass(slots=True)
class DrawnFleet:
    """A fleet that lives: ``owners`` are moved by who plays, figures move on by ``next_round``."""

    dice: random.Random
    character: Character
    brokers: list[str]
    owners: dict[str, str]
    traffic: dict[str, dict[str, float]]
    base: dict[str, list[float]]
    unloaded: dict[str, int] = field(default_factory=dict)
    joined: int = 0

    @classmethod
    def of(cls, seed: int) -> DrawnFleet:
        """Draw a fleet of 2 to 300 brokers, small ones more often."""
        dice = random.Random(seed)
        character = dice.choices(list(Character), (4, 4, 1, 1, 1))[0]
        count = min(LARGEST, int(2 * (LARGEST / 2 + 1) ** dice.random()))
        brokers = [f"broker-{number}.example:8080" for number in range(count)]
        fleet = cls(dice, character, brokers, {}, {}, {broker: [] for broker in brokers})
        each = 1 if character is Character.ONE_BUNDLE_EACH else dice.choice((2, 5, 9))
        for number in range(count * each):
            lower = number * (2**32 // (count * each))
            bundle = f"tenant/ns-{number % 7}/0x{lower:08x}_0x{lower + 100:08x}"
            owner = brokers[number % count] if each == 1 else dice.choice(brokers)
            fleet.owners[bundle] = owner
        for broker in brokers[:3]:
            fleet.owners[f"pulsar/{broker}/0x00000000_0xffffffff"] = broker
            fleet.owners[f"sla-monitor/local/{broker}/0x00000000_0xffffffff"] = broker
        for broker in brokers:
            fleet.base[broker] = fleet._usages()
        for bundle in fleet.owners:
            fleet.traffic[bundle] = fleet._traffic()
        return fleet

    def conf(self, shedding: str) -> dict[str, object]:
        """Draw settings with a strategy of shedding, each at its default half of the time."""
        places = ["LeastLongTermMessageRate", "LeastResourceUsageWithWeight", "RoundRobinBrokerSelector", "AvgShedder"]
        place = "AvgShedder" if shedding == "AvgShedder" and self.dice.random() < 0.7 else self.dice.choice(places)
        drawn = {name: self.dice.choice(values) for name, values in _CONF.items() if self.dice.random() < 0.5}
        return drawn | {
            "loadBalancerLoadSheddingStrategy": IMPL + shedding,
            "loadBalancerLoadPlacementStrategy": IMPL + place,
        }

    def asked(self) -> dict[str, Any]:
        """Tell the round as the referee reads it."""
        grace = [bundle for bundle, rounds in self.unloaded.items() if rounds > 0]
        return {"brokers": self.reports(), "recentlyUnloaded": grace, "brokersChanged": False}

    def reports(self) -> dict[str, Any]:
        """Tell what each broker reports."""
        owned: dict[str, list[str]] = {broker: [] for broker in self.brokers}
        for bundle, owner in self.owners.items():
            owned[owner].append(bundle)
        return {broker: self._report(broker, bundles) for broker, bundles in owned.items()}

    def move(self, bundle: str, target: str) -> None:
        """Give a bundle to another broker; it is in grace for some rounds."""
        self.owners[bundle] = target
        self.unloaded[bundle] = GRACE_ROUNDS + 1

    def next_round(self) -> bool:
        """Let time pass; say whether brokers came or went."""
        self.unloaded = {bundle: rounds - 1 for bundle, rounds in self.unloaded.items() if rounds > 0}
        still = self.character in {Character.EQUAL, Character.IDLE} or self.dice.random() < 0.4
        for bundle in self.traffic:
            if not still and self.dice.random() < 0.3:
                self.traffic[bundle] = self._traffic()
        for broker in self.brokers:
            if not still and self.dice.random() < 0.2:
                self.base[broker] = self._usages()
        changed = self.dice.random() < 0.15
        if changed and len(self.brokers) > 2 and self.dice.random() < 0.5:
            gone = self.brokers.pop(self.dice.randrange(len(self.brokers)))
            for bundle in [each for each, owner in self.owners.items() if owner == gone]:
                self.owners[bundle] = self.dice.choice(self.brokers)
        elif changed:
            self.joined += 1
            self.brokers.append(f"joined-{self.joined}.example:8080")
            self.base[self.brokers[-1]] = self._usages()
        return changed

    def _usages(self) -> list[float]:
        dice, steps = self.dice, _STEPS["usage"]
        match self.character:
            case Character.UNEVEN | Character.ONE_BUNDLE_EACH:
                return [dice.betavariate(2, 3) * 100, *(dice.random() * 100 for _ in range(4))]
            case Character.STEPS:
                return [dice.choice(steps), 50.0, dice.choice(steps), 0.0, dice.choice((0.0, 85.0))]
            case Character.EQUAL:
                return [60.0] * 5
            case Character.IDLE:
                return [dice.choice((0.0, 90.0)), 0.0, 0.0, 0.0, 0.0]

    def _traffic(self) -> dict[str, float]:
        dice = self.dice
        names = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
        match self.character:
            case Character.UNEVEN | Character.ONE_BUNDLE_EACH:
                rate, size = dice.paretovariate(0.9) * 10, dice.choice((0.1, 100, 10_000))
                fan = dice.choice((0.0, 1.0, 3.0))
                figures: tuple[float, ...] = (rate, rate * fan, rate * size, rate * fan * size)
            case Character.STEPS:
                rates, sizes = _STEPS["rate"], _STEPS["bytes"]
                figures = (dice.choice(rates), dice.choice(rates), dice.choice(sizes), dice.choice(sizes[:3]))
            case Character.EQUAL:
                figures = (500.0, 500.0, 1024.0**2, 1024.0**2)
            case Character.IDLE:
                figures = (0.0, 0.0, 0.0, 0.0)
        return dict(zip(names, figures, strict=True))

    def _report(self, broker: str, bundles: Sequence[str]) -> dict[str, Any]:
        total = {
            name: sum(self.traffic[bundle][name] for bundle in bundles)
            for name in ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
        }
        resources = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
        stats = {
            bundle: {**self.traffic[bundle], "topics": 3, "producerCount": 1, "consumerCount": 1} for bundle in bundles
        }
        usages = {
            name: {"usage": usage, "limit": 100.0} for name, usage in zip(resources, self.base[broker], strict=True)
        }
        return {**total, **usages, "bundles": list(bundles), "lastStats": stats, "numTopics": 3 * len(bundles)}
