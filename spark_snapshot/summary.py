"""What a comparison comes to: counts by class, resource and tenant. DataFrame in, plain values out.

Cost: two small aggregations over what differs; what is the same is only counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncer.model import FIRST_REAL_TIME_MS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CLASSES: Final = ("only-in", "differs", "deleted", "held")
"""Classes of what is not the same, in the order in which they are shown."""

MAX_TENANTS: Final = 50
"""Tenants that are named, those with most differences first; the others are one number."""


MAX_DAYS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
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
    """

    same: int
    by_class: Mapping[str, int]
    kinds: tuple[Counts, ...]
    tenants: tuple[Counts, ...]
    more_tenants: int
    winners: Mapping[str, int]
    losers: Mapping[str, int]
    origins: Mapping[str, int]
    reasons: Mapping[str, int]
    holds: Mapping[str, int]
    days: Mapping[str, int] = field(default_factory=dict)

    @property
    def different(self) -> int:
        """Paths that are not the same."""
        return sum(self.by_class.values())

    @property
    def equal(self) -> bool:
        """Whether every region holds the same."""
        return self.different == 0


def summarised(found: DataFrame, same: int) -> Summary:
    """Count what a comparison has found.

    Args:
        found: Rows of :func:`spark_snapshot.diff.diff` that are not the same; read three times, so keep it.
        same: How many paths are the same.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's own name for it

    groups = found.groupBy("kind", "class", "winner", "origin", "reason").count().collect()
    tenants = found.groupBy("tenant").pivot("class", list(CLASSES)).count().na.fill(0)
    total = sum((F.col(f"`{name}`") for name in CLASSES), F.lit(0))
    named = tenants.withColumn("total", total).orderBy(F.desc("total"), "tenant").limit(MAX_TENANTS + 1).collect()
    beyond = tenants.count() - MAX_TENANTS if len(named) > MAX_TENANTS else 0
    losers = found.select(F.explode("losers").alias("region")).groupBy("region").count().collect()
    holds = found.select(F.explode(F.map_keys("holds")).alias("region")).groupBy("region").count().collect()

    real = found.where(F.col("winner_ms") >= FIRST_REAL_TIME_MS)
    day = F.date_format(F.timestamp_millis("winner_ms"), "yyyy-MM-dd").alias("day")
    days = {row["day"]: row["count"] for row in real.groupBy(day).count().orderBy("day").collect()}

    def by(column: str) -> dict[str, int]:
        counted: Counter[str] = Counter()
        for row in groups:
            counted[row[column] or ""] += row["count"]
        return dict(sorted(counted.items()))

    by_class = by("class")
    return Summary(
        same=same,
        by_class={name: by_class.get(name, 0) for name in CLASSES},
        kinds=tuple(_by_kind((row["kind"], row["class"], row["count"]) for row in groups)),
        tenants=tuple(
            Counts(name=row["tenant"], by_class={name: row[name] for name in CLASSES}) for row in named[:MAX_TENANTS]
        ),
        more_tenants=beyond,
        winners=by("winner"),
        losers={row["region"]: row["count"] for row in sorted(losers)},
        origins=by("origin"),
        reasons=by("reason"),
        holds={row["region"]: row["count"] for row in sorted(holds)},
        days=_latest(days),
    )


def _latest(days: Mapping[str, int]) -> dict[str, int]:
    names = list(days)
    older = sum(days[name] for name in names[:-MAX_DAYS])
    return ({"before": older} if older else {}) | {name: days[name] for name in names[-MAX_DAYS:]}


def _by_kind(rows: Iterable[tuple[str, str, int]]) -> list[Counts]:
    kinds: dict[str, Counter[str]] = {}
    for kind, of_class, count in rows:
        kinds.setdefault(kind, Counter())[of_class] += count
    return [
        Counts(name=kind, by_class={name: counts[name] for name in CLASSES}) for kind, counts in sorted(kinds.items())
    ]
