"""Compare answers with Java's: numbers within a tolerance, everything else exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

RELATIVE: Final = 1e-9
RELATIVE_STD: Final = 1e-6


def near(wanted: Any, found: float, tolerance: float = RELATIVE) -> bool:
    """Compare two doubles, of which Java's may be text where JSON has no word for it."""
    value = float(wanted)
    if math.isnan(value):
        return math.isnan(found)
    return value == found or math.isclose(value, found, rel_tol=tolerance, abs_tol=0.0)


def same(what: str, wanted: Any, found: Any) -> Iterator[str]:
    """Yield what differs where two values are not equal."""
    if wanted != found:
        yield f"{what}: Pulsar {_short(wanted)}, here {_short(found)}"


def same_number(what: str, wanted: Any, found: float, tolerance: float = RELATIVE) -> Iterator[str]:
    """Yield what differs where two doubles are not near each other."""
    if not near(wanted, found, tolerance):
        yield f"{what}: Pulsar {wanted}, here {found}"


def same_numbers(what: str, wanted: Mapping[str, Any], found: Mapping[str, float]) -> Iterator[str]:
    """Yield what differs between two tables of doubles."""
    yield from same(f"names of {what}", sorted(wanted), sorted(found))
    for name in wanted:
        if name in found:
            yield from same_number(f"{what} of {name}", wanted[name], found[name])


def _short(value: Any, length: int = 300) -> str:
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}…"
