"""Metrics as they are declared: a name, a type, what is counted, and the values that a label may have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """Type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


OTHER: Final = "other"
"""Value of a label that stands for all that are not listed."""
PEER: Final = None
"""Values of a label that holds a region id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric as declared.

    Args:
        name: Full name as exported, without the ``_total`` of counters.
        kind: Its type.
        help: What it counts and in which unit, for people.
        label: Name of its label; empty for none.
        values: Values of the label; ``PEER``: region ids.
        buckets: Upper bounds of a histogram, in its unit.
    """

    name: str
    kind: Kind
    help: str
    label: str = ""
    values: tuple[str, ...] | None = ()
    buckets: tuple[float, ...] = ()


def counter(name: str, text: str, label: str = "", values: tuple[str, ...] | None = ()) -> Family:
    """Declare a counter."""
    return Family(name=f"syncer_{name}", kind=Kind.COUNTER, help=text, label=label, values=values)


def gauge(name: str, text: str, label: str = "", values: tuple[str, ...] | None = ()) -> Family:
    """Declare a gauge."""
    return Family(name=f"syncer_{name}", kind=Kind.GAUGE, help=text, label=label, values=values)
