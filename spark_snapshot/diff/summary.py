"""Summary of a comparison: counts by class, resource and tenant. DataFrame in, plain values out.

Cost: two small aggregations over what differs; what is the same is a number that the comparison has told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncer.model import FIRST_REAL_TIME_MS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_snapshot.diff.sharing import SharedPaths

CLASSES: Final = ("only-in", "differs", "deleted", "held")
"""Classes of what is not the same, in the order in which they are shown."""

MAX_TENANTS: Final = 50
"""Tenants that are named, those with most differences first; the others are one number."""


MAX_DAYS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassCounts:
    """Paths by class."""

    name: str
    by_class: Mapping[str, int]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.by_class.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A comparison in numbers.

    Args:
        same: Paths that no region would change.
        by_class: What is not the same, by class.
        kinds: The same by resource, in order of the names.
        tenants: The same by tenant, most differences first; at most :data:`MAX_TENANTS`. The name of what has no tenant
            is empty.
        more_tenants: How many tenants are not named.
        winners: Paths by the region that holds what the others should.
        losers: Paths by the region that would change.
        origins: Paths by where the winner's stamp comes from.
        reasons: Paths by what decided.
        holds: Holds by region.
        days: Paths by the day (UTC) of the winner's stamp, in order; the last :data:`MAX_DAYS` that have any, what is
            older in one. Without stamps that are no real time.
        excluded: Paths whose values differ in nothing but fields that a region has for itself.
        unshared: Paths that fewer than two of the regions carry.
        pairs: What each pair of regions shares; empty where all have the same scope, and share everything.
    """

    same: int
    by_class: Mapping[str, int]
    kinds: tuple[ClassCounts, ...]
    tenants: tuple[ClassCounts, ...]
    more_tenants: int
    winners: Mapping[str, int]
    losers: Mapping[str, int]
    origins: Mapping[str, int]
    reasons: Mapping[str, int]
    holds: Mapping[str, int]
    days: Mapping[str, int] = field(default_factory=dict)
    excluded: int = 0
    unshared: int = 0
    pairs: tuple[SharedPaths, ...] = ()

    @property
    def different(self) -> int:
        """Paths that are not the same."""
        return sum(self.by_class.values())

    @property
    def equal(self) -> bool:
        """Whether every region holds the same."""
        return self.different == 0


def summarised(
    found: DataFrame, same: int, *, excluded: int = 0, unshared: int = 0, pairs: tuple[SharedPaths, ...] = ()
) -> Summary:
    """Count what a comparison has found.

    Args:
        found: Rows of :func:`spark_snapshot.diff.regions.diff` that are not the same; read twice, so keep it.
        same: How many paths are the same.
        excluded: How many differ in nothing but fields that a region has for itself.
        unshared: How many fewer than two of the regions carry.
        pairs: What each pair of regions shares.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's own name for it

    day = F.when(F.col("winner_ms") >= FIRST_REAL_TIME_MS, F.date_format(F.timestamp_millis("winner_ms"), "yyyy-MM-dd"))
    held = F.array_sort(F.map_keys("holds"))
    wanted = ("class", "kind", "winner", "origin", "reason", "losers")
    groups = found.groupBy(*wanted, day.alias("day"), held.alias("held")).count().collect()
    by_tenant = found.groupBy("tenant").pivot("class", list(CLASSES)).count().na.fill(0).collect()

    counts: dict[str, Counter[str]] = {name: Counter() for name in (*wanted, "day", "held")}
    kinds: dict[str, Counter[str]] = {}
    for row in groups:
        number = row["count"]
        for name in ("class", "winner", "origin", "reason"):
            counts[name][row[name]] += number
        for name in ("losers", "held"):
            for region in row[name] or ():
                counts[name][region] += number
        if row["day"] is not None:
            counts["day"][row["day"]] += number
        kinds.setdefault(row["kind"], Counter())[row["class"]] += number
    tenants = [_counts(row["tenant"], row.asDict()) for row in by_tenant]
    tenants.sort(key=lambda each: (-each.total, each.name))
    return Summary(
        same=same,
        by_class=_counts("", counts["class"]).by_class,
        kinds=tuple(_counts(kind, by_class) for kind, by_class in sorted(kinds.items())),
        tenants=tuple(tenants[:MAX_TENANTS]),
        more_tenants=max(0, len(tenants) - MAX_TENANTS),
        winners=_sorted(counts["winner"]),
        losers=_sorted(counts["losers"]),
        origins=_sorted(counts["origin"]),
        reasons=_sorted(counts["reason"]),
        holds=_sorted(counts["held"]),
        days=_latest(_sorted(counts["day"])),
        excluded=excluded,
        unshared=unshared,
        pairs=pairs,
    )


def _counts(name: str, by_class: Mapping[str, int]) -> ClassCounts:
    return ClassCounts(name=name, by_class={each: by_class.get(each, 0) for each in CLASSES})


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _latest(days: Mapping[str, int]) -> dict[str, int]:
    names = list(days)
    older = sum(days[name] for name in names[:-MAX_DAYS])
    return ({"before": older} if older else {}) | {name: days[name] for name in names[-MAX_DAYS:]}
