"""Rows of snapshots for tests, and a generator of regions that differ in every way that is known."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_snapshot.diff.verdict import RegionRow
from spark_snapshot.format.rows import SNAPSHOT
from spark_snapshot.format.words import StampOrigin
from syncer.model import Millis, Region, Stamp

DIGESTS = [bytes([number]) * 16 for number in (0, 1, 127, 128, 255)] + [b"raw:" + b"\x01" * 16]
AUTHORS = ["east", "north", "west", "we", "ü", "\uffee", "\U00010000"]


def path_of(number: int) -> str:
    """A path; a thousand of them are one tenant's."""
    return f"/admin/policies/tenant-{number // 1000:03}/namespace-{number:06}"


def snapshot_row(path: str, state: RegionRow, value: bytes | None = None) -> tuple[Any, ...]:
    """A row of ``SNAPSHOT``."""
    tenant = path.split("/")[3]
    revision, shown = ("1", value or b"{}") if state.alive else (None, None)
    return (
        path,
        "namespace",
        tenant,
        state.digest,
        int(state.stamp.updated_at_ms),
        state.stamp.region,
        state.origin.value,
        state.hold,
        f"{state.stamp.region}~1",
        "{}",
        None,
        revision,
        shown,
    )


def frame(spark: SparkSession, states: Mapping[str, RegionRow]) -> DataFrame:
    """Rows of one region."""
    return spark.createDataFrame([snapshot_row(path, state) for path, state in states.items()], SNAPSHOT)


def random_state(source: random.Random, like: RegionRow | None) -> RegionRow | None:
    """A state; often one that has to do with another region's."""
    chance = source.random()
    if like is not None and chance < 0.3:
        return like
    if chance < 0.4:
        return None
    if chance < 0.43:
        return RegionRow(digest=None, stamp=Stamp(Millis(0), Region("")), hold="unknown-cluster")
    digest = None if chance < 0.55 else source.choice(DIGESTS)
    stamp = Stamp(Millis(1_700_000_000_000 + source.randrange(4)), Region(source.choice(AUTHORS)))
    if like is not None and chance < 0.65:
        stamp = like.stamp
    elif like is not None and chance < 0.8:
        digest = like.digest
    if not stamp.region:
        digest = None
    return RegionRow(
        digest=digest,
        stamp=stamp,
        origin=source.choice([StampOrigin.REGISTER, StampOrigin.REGISTER, StampOrigin.UNSEEN, StampOrigin.STORE]),
        hold=source.choice(["first-contact", "flipping"]) if source.random() < 0.08 else None,
    )


def random_regions(seed: int, names: Iterable[str], paths: int) -> dict[str, dict[str, RegionRow]]:
    """What each region has at each path."""
    source = random.Random(seed)
    regions: dict[str, dict[str, RegionRow]] = {name: {} for name in names}
    for number in range(paths):
        first: RegionRow | None = None
        for held in source.sample(list(regions.values()), len(regions)):
            state = random_state(source, first)
            first = first or state
            if state is not None:
                held[path_of(number)] = state
    return regions
