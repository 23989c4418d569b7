"""Numbers as texts, read as Java reads them: a sign, digits, and within 32 or 64 bits."""

from __future__ import annotations

import re
from typing import Final

from syncer.ledgers.decoding.undecodable import ValueDamaged

_NUMBER: Final = re.compile(r"[+-]?\d+")
_DIGITS: Final = 40
"""More of them are zeros in front, or too many."""


def int32(given: str, what: str) -> int:
    """Read a number of 32 bits.

    Args:
        given: The text.
        what: Its meaning, for the error.

    Raises:
        ValueDamaged: It is none.
    """
    return _integer(given, what, 31)


def int64(given: str, what: str) -> int:
    """Read a number of 64 bits.

    Args:
        given: The text.
        what: Its meaning, for the error.

    Raises:
        ValueDamaged: It is none.
    """
    return _integer(given, what, 63)


def _integer(given: str, what: str, bits: int) -> int:
    if _NUMBER.fullmatch(given):
        sign, digits = (given[0], given[1:]) if given[0] in "+-" else ("", given)
        kept = digits.lstrip("0") or "0"
        if len(kept) <= _DIGITS:
            number = int(sign + kept)
            if -(1 << bits) <= number < 1 << bits:
                return number
    raise ValueDamaged(f"{what} is no number of {bits + 1} bits")
