"""Load history as Parquet: a row for each broker and each bundle of each sample; what is unknown is null."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from syncer.balancer.history.sample import LoadSample, SampledBroker, SampledBundle
    from syncer.balancer.load import Rates

_TEXTS: Final = ("cluster", "what", "name", "tenure", "owner", "target")
_COUNTS: Final = ("topics", "bundles", "producers", "consumers")
_RATES: Final = ("rate_in", "rate_out", "throughput_in", "throughput_out")
_RESOURCES: Final = ("cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out")
_USAGES: Final = tuple(f"{name}_{part}" for name in _RESOURCES for part in ("usage", "limit"))
_TYPES: Final[dict[str, pa.DataType]] = {
    "taken": pa.timestamp("ms", tz="UTC"),
    **{name: pa.string() for name in _TEXTS},
    **{name: pa.int64() for name in _COUNTS},
    **{name: pa.float64() for name in (*_RATES, *_USAGES)},
}
SCHEMA: Final = pa.schema(_TYPES)


def write_load_history(file: BinaryIO, samples: Iterable[LoadSample]) -> int:
    """Write samples, each a row group.

    Args:
        file: Open to write.
        samples: The oldest first.

    Returns:
        How many samples there were.
    """
    count = 0
    with pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
        for sample in samples:
            writer.write_table(pa.Table.from_pylist(list(_rows(sample)), schema=SCHEMA))
            count += 1
    return count


def _rows(sample: LoadSample) -> Iterator[dict[str, Any]]:
    same = {"taken": sample.taken_ms, "cluster": sample.cluster}
    for name, broker in sample.brokers.items():
        yield {**same, "what": "broker", "name": name, **_broker(broker)}
    for name, bundle in sample.bundles.items():
        yield {**same, "what": "bundle", "name": name, **_bundle(bundle)}


def _broker(known: SampledBroker) -> dict[str, Any]:
    own = known.usages
    usages = (own.cpu, own.memory, own.direct_memory, own.bandwidth_in, own.bandwidth_out)
    return {
        "topics": known.topics,
        "bundles": known.bundle_count,
        "producers": known.producers,
        "consumers": known.consumers,
        **_rates(known.traffic),
        **{
            f"{name}_{part}": None if usage is None else getattr(usage, part)
            for name, usage in zip(_RESOURCES, usages, strict=True)
            for part in ("usage", "limit")
        },
    }


def _bundle(known: SampledBundle) -> dict[str, Any]:
    held, stats = known.held, known.stats
    return {
        "tenure": None if held is None else held.tenure.value,
        "owner": None if held is None else held.broker,
        "target": None if held is None else held.target,
        "topics": None if stats is None else stats.topics,
        "producers": None if stats is None else stats.producers,
        "consumers": None if stats is None else stats.consumers,
        **_rates(None if stats is None else stats.traffic),
    }


def _rates(known: Rates | None) -> dict[str, float | None]:
    return {name: None if known is None else getattr(known, name) for name in _RATES}
