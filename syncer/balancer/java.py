"""Java's arithmetic where Python's differs: 32-bit floats and integers, division by zero, roots, order of doubles.

Pulsar's choices hang on it: a usage is reckoned in 32 bits, a rest to unload is an int that wraps.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Item = TypeVar("Item")

INT_MAX: Final = 2**31 - 1
INT_MIN: Final = -(2**31)
MIB: Final = 1024 * 1024


def float32(value: float) -> float:
    """Round a double to a 32-bit float, as ``(float)`` does."""
    return ctypes.c_float(value).value


def int32(value: int) -> int:
    """Wrap an integer into 32 bits, as an overflowing ``int`` does."""
    return (value + 2**31) % 2**32 - 2**31


def truncated(value: float) -> int:
    """Cast a double to an ``int``: toward zero, at most the extreme values, 0 for NaN."""
    if math.isnan(value):
        return 0
    return INT_MAX if value >= INT_MAX else INT_MIN if value <= INT_MIN else int(value)


def quotient(dividend: float, divisor: float) -> float:
    """Divide as IEEE 754 says: by zero gives an infinity or NaN, never an error."""
    if divisor != 0:
        return dividend / divisor
    if dividend == 0 or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def root(value: float) -> float:
    """Take the square root: NaN below zero."""
    return math.sqrt(value) if value >= 0 else math.nan


def greatest(*values: float) -> float:
    """Take the greatest of the values, NaN never counting.

    Source: LocalBrokerData.max, Pulsar 4.0.8.
    """
    found = -math.inf
    for value in values:
        found = max(found, value)
    return found


def ascending(items: Iterable[Item], key: Callable[[Item], float], *, falling: bool = False) -> list[Item]:
    """Sort by ``Double.compare``, equal ones staying in their order: -0.0 before 0.0, NaN as the greatest.

    Args:
        items: What is sorted.
        key: Its value.
        falling: The greatest comes first; equal ones stay in their order still.
    """
    known = list(items)
    if all(value != 0 and not math.isnan(value) for value in map(key, known)):
        return sorted(known, key=key, reverse=falling)
    return sorted(known, key=lambda item: _rank(key(item)), reverse=falling)


def _rank(value: float) -> tuple[bool, float, float]:
    if math.isnan(value):
        return (True, 0.0, 0.0)
    return (False, value, math.copysign(1.0, value))
