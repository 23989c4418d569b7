"""Encoding: a sample as bytes, and back. Compressed JSON; names are there once, figures stand in rows."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from syncer.balancer.history.sample import LoadSample, SampledBroker, SampledBundle
from syncer.balancer.load import BundleStats, Rates, Usage
from syncer.balancer.picture import LoadManager, Ownership, SeenUsages, Tenure
from syncer.errors import HistoryForeign

MOST_BYTES: Final = 1 << 28
"""Of a sample before it is compressed; 100,000 bundles take about a tenth of it."""
_FAST: Final = 3


def encoded(sample: LoadSample) -> bytes:
    """Write a sample.

    Args:
        sample: The sample.
    """
    brokers = list(sample.brokers)
    extra = sorted({each for row in sample.bundles.values() for each in _named(row.held)} - set(brokers))
    numbers = {name: number for number, name in enumerate([*brokers, *extra])}
    plain = {
        "cluster": sample.cluster,
        "taken_ms": sample.taken_ms,
        "manager": None if sample.manager is None else sample.manager.value,
        "names": list(numbers),
        "brokers": [_broker_row(each) for each in sample.brokers.values()],
        "bundles": {name: _bundle_row(each, numbers) for name, each in sample.bundles.items()},
    }
    return zlib.compress(json.dumps(plain, separators=(",", ":"), allow_nan=False).encode(), _FAST)


def decoded(data: bytes) -> LoadSample:
    """Read a sample.

    Args:
        data: What :func:`encoded` wrote.

    Raises:
        HistoryForeign: It is no sample.
    """
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(data, MOST_BYTES)
        if not unpacking.eof:
            raise ValueError("it is cut off, or too large")
        plain = json.loads(text)
        names: Sequence[str] = plain["names"]
        return LoadSample(
            cluster=str(plain["cluster"]),
            taken_ms=int(plain["taken_ms"]),
            manager=None if plain["manager"] is None else LoadManager(plain["manager"]),
            brokers={names[number]: _broker(row) for number, row in enumerate(plain["brokers"])},
            bundles={str(name): _bundle(row, names) for name, row in plain["bundles"].items()},
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, zlib.error) as exc:
        raise HistoryForeign(f"a sample of the history cannot be read: {type(exc).__name__}") from exc


def _named(held: Ownership | None) -> tuple[str, ...]:
    return () if held is None else tuple(each for each in (held.broker, held.target) if each is not None)


def _broker_row(known: SampledBroker) -> list[Any]:
    own = known.usages
    usages = (own.cpu, own.memory, own.direct_memory, own.bandwidth_in, own.bandwidth_out)
    return [
        [None if each is None else [each.usage, each.limit] for each in usages],
        None if known.traffic is None else _rates_row(known.traffic),
        known.topics,
        known.bundle_count,
        known.producers,
        known.consumers,
    ]


def _broker(row: Sequence[Any]) -> SampledBroker:
    usages, traffic, topics, bundle_count, producers, consumers = row
    cpu, memory, direct, inward, outward = (None if each is None else Usage(*each) for each in usages)
    return SampledBroker(
        usages=SeenUsages(cpu=cpu, memory=memory, direct_memory=direct, bandwidth_in=inward, bandwidth_out=outward),
        traffic=None if traffic is None else Rates(*traffic),
        topics=topics,
        bundle_count=bundle_count,
        producers=producers,
        consumers=consumers,
    )


def _bundle_row(known: SampledBundle, numbers: Mapping[str, int]) -> list[Any]:
    held, stats = known.held, known.stats
    return [
        None
        if held is None
        else [
            held.tenure.value,
            None if held.broker is None else numbers[held.broker],
            None if held.target is None else numbers[held.target],
        ],
        None if stats is None else [_rates_row(stats.traffic), stats.topics, stats.producers, stats.consumers],
    ]


def _bundle(row: Sequence[Any], names: Sequence[str]) -> SampledBundle:
    held, stats = row
    owner = None
    if held is not None:
        tenure, broker, target = held
        owner = Ownership(
            Tenure(tenure), None if broker is None else names[broker], None if target is None else names[target]
        )
    return SampledBundle(owner, None if stats is None else BundleStats(Rates(*stats[0]), *stats[1:]))


def _rates_row(known: Rates) -> list[float]:
    return [known.rate_in, known.rate_out, known.throughput_in, known.throughput_out]
