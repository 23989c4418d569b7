"""TransferShedder: the fullest brokers hand bundles to the emptiest ones, or swap, until the spread is small.

Source: TransferShedder, Pulsar 4.0.8; with excluded namespaces where its version knows them, PIP-380.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from syncer.balancer.java import ascending, quotient
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.strategies.spread import Spread

if TYPE_CHECKING:
    from syncer.balancer.settings import BalancerSettings

MS: Final = 1000
_SWAPPED_ENOUGH: Final = 0.75
_MOST_UNDERLOADED: Final = 0.5


class TransferReason(StrEnum):
    """Why bundles are transferred, or why a round is skipped."""

    OVERLOADED = "Overloaded"
    UNDERLOADED = "Underloaded"
    HIT_COUNT = "HitCount"
    COOL_DOWN = "CoolDown"
    NO_BROKERS = "NoBrokers"
    NO_BUNDLES = "NoBundles"
    NO_LOAD_DATA = "NoLoadData"
    OUT_DATED_DATA = "OutDatedData"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensibleReport:
    """What a broker of the extensible manager reports.

    ``top_bundles`` are its busiest bundles with their bytes a second, in the order of the report, None where it has
    sent none. ``since_unload_ms`` is the time from its last unload to this report, None where nothing is remembered.
    """

    usage: float
    throughput: float
    average_throughput: float
    topics: int = 0
    age_ms: int = 0
    since_unload_ms: int | None = None
    top_bundles: Sequence[tuple[str, float]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensibleLoad:
    """All that the leader of the extensible manager decides by; the order of the brokers decides ties.

    ``transferable`` says whether a bundle may leave one broker for another, by ownership and policies.
    """

    brokers: Mapping[str, ExtensibleReport]
    available: AbstractSet[str]
    recently_unloaded: AbstractSet[str] = frozenset()
    transferable: Callable[[str, str, str], bool] = lambda _bundle, _source, _target: True


@dataclass(frozen=True, slots=True)
class Transfer:
    """A bundle that leaves a broker; without a target a new owner is looked for."""

    source: str
    bundle: str
    target: str | None
    reason: TransferReason


@dataclass(slots=True)
class _Tally:
    """What a round met on its way."""

    chosen: dict[Transfer, None] = field(default_factory=dict)
    without_data: int = 0
    without_bundles: int = 0


@dataclass(slots=True)
class TransferShedder:
    """Sheds by pairs of brokers; the number of rounds in which the condition held is kept from round to round.

    ``skipped`` says why the last round chose nothing; ``spread`` is what it reckoned with.
    """

    settings: BalancerSettings
    hits: int = 0
    skipped: TransferReason | None = None
    spread: Spread = field(default_factory=Spread)

    def round(self, load: ExtensibleLoad) -> list[Transfer]:
        """Choose what is transferred in this round.

        Args:
            load: The cluster as the leader sees it.
        """
        self.spread = Spread()
        self.skipped = self._measured(load)
        if self.skipped is not None:
            return []
        brokers = ascending(load.brokers, lambda broker: load.brokers[broker].usage)
        self.hits = self.hits + 1 if self._reason(load, brokers[0], brokers[-1]) is not None else 0
        if self.hits <= self.settings.transfer.hits:
            self.skipped = TransferReason.HIT_COUNT
            return []
        tally = self._paired(load, brokers)
        if tally.chosen:
            self.hits = 0
        elif tally.without_data:
            self.skipped = TransferReason.NO_LOAD_DATA
        elif tally.without_bundles:
            self.skipped = TransferReason.NO_BUNDLES
        else:
            self.skipped = TransferReason.HIT_COUNT
        return list(tally.chosen)

    def _measured(self, load: ExtensibleLoad) -> TransferReason | None:
        """Reckon mean and spread of the brokers whose reports may be used."""
        own = self.settings.transfer
        reason = TransferReason.NO_BROKERS
        usages = []
        for report in load.brokers.values():
            if report.age_ms > own.report_ttl_s * MS:
                reason = TransferReason.OUT_DATED_DATA
                continue
            if report.since_unload_ms is not None and report.since_unload_ms < own.delay_s * MS:
                return TransferReason.COOL_DOWN
            usages.append(report.usage)
        if not usages:
            return reason
        if any(broker not in load.brokers for broker in load.available):
            return TransferReason.NO_LOAD_DATA
        self.spread = Spread.of(usages)
        return None

    def _reason(self, load: ExtensibleLoad, emptiest: str, fullest: str) -> TransferReason | None:
        """Say why these two brokers ought to be levelled."""
        own = self.settings.transfer
        if self.spread.std > own.target_std:
            return TransferReason.OVERLOADED
        low, high = load.brokers[emptiest], load.brokers[fullest]
        share = min(_MOST_UNDERLOADED, max(0.0, own.target_std / 2.0))
        if low.usage < self.spread.mean * share or low.average_throughput < high.average_throughput * share:
            return TransferReason.UNDERLOADED
        threshold = self.settings.usage.overloaded_percent / 100.0
        if high.usage > threshold and high.usage > self.spread.mean + own.target_std:
            return TransferReason.OVERLOADED
        return None

    def _paired(self, load: ExtensibleLoad, brokers: list[str]) -> _Tally:
        tally = _Tally()
        first, last, levelled = 0, len(brokers) - 1, 0
        while levelled < self.settings.transfer.max_pairs and first < last:
            reason = self._reason(load, brokers[first], brokers[last])
            if reason is None:
                break
            source, target = brokers[last], brokers[first]
            last -= 1
            top = load.brokers[source].top_bundles
            if not top:
                tally.without_data += 1
            elif len(top) == 1:
                tally.without_bundles += 1
            else:
                levelling = _Levelling(self.settings, load, source, target, reason)
                levelling.run(top)
                tally.chosen.update(dict.fromkeys(levelling.chosen))
                if levelling.offloaded > 0:
                    high, low = load.brokers[source].usage, load.brokers[target].usage
                    self.spread = self.spread.levelled(high, low, levelling.moved_usage())
                    first, levelled = first + 1, levelled + 1
                else:
                    tally.without_bundles += 1
        return tally


class _Levelling:
    """One pair of brokers in one round: bundles from the fuller to the emptier one, swapped where one is too big."""

    def __init__(
        self, settings: BalancerSettings, load: ExtensibleLoad, source: str, target: str, reason: TransferReason
    ) -> None:
        self.chosen: list[Transfer] = []
        self.offloaded = 0.0
        self._gained = 0.0
        self._settings = settings
        self._load = load
        self._source = source
        self._target = target
        self._reason = reason
        self._high = load.brokers[source]
        self._low = load.brokers[target]
        self._others: Iterator[tuple[str, float]] = iter(self._low.top_bundles or ())

    def moved_usage(self) -> float:
        """Reckon the usage that went over with the bytes."""
        return quotient((self.offloaded - self._gained) * self._high.usage, self._high.throughput)

    def run(self, top: Sequence[tuple[str, float]]) -> None:
        """Choose bundles of the fuller broker until half of the difference is gone."""
        half = (self._high.usage - self._low.usage) / 2
        need = quotient(self._high.throughput * half, self._high.usage)
        transfer = self._settings.transfer.transfer
        remaining = len(top)
        for bundle, throughput in top:
            if not self._may_leave(bundle):
                continue
            if remaining <= 1:
                break
            if throughput == 0:
                continue
            if self.offloaded - self._gained + throughput > need:
                swapped = self._swapped(throughput) if transfer else None
                if swapped is None:
                    break
                self.chosen.extend(Transfer(self._target, other, self._source, self._reason) for other, _ in swapped)
                if self._settings.transfer.debug:  # Pulsar counts the gain in debug mode alone
                    self._gained += sum(gain for _, gain in swapped)
            self.chosen.append(Transfer(self._source, bundle, self._target if transfer else None, self._reason))
            self.offloaded += throughput
            remaining -= 1

    def _may_leave(self, bundle: str) -> bool:
        excluded = self._settings.shedding.excluded_namespaces
        return (
            not (excluded and namespace_of_bundle(bundle) in excluded)
            and bundle not in self._load.recently_unloaded
            and self._load.transferable(bundle, self._source, self._target)
        )

    def _swapped(self, throughput: float) -> list[tuple[str, float]] | None:
        """Walk on over the emptier broker's bundles, once a pair, for some that make the swap worth it."""
        before = self._high.throughput
        high = before - self.offloaded + self._gained - throughput
        low = self._low.throughput + self.offloaded - self._gained + throughput
        swapped = []
        for bundle, own in self._others:
            if own == 0 or not self._load.transferable(bundle, self._target, self._source):
                continue
            if high + own < before and low - own < before:
                swapped.append((bundle, own))
                high, low = high + own, low - own
                if low <= high < before * _SWAPPED_ENOUGH:
                    return swapped
        return None
