"""Paths of ledgers below their root, and ids, in each layout; both drivers and all stores have the same.

Source: StringUtils, LongHierarchicalLedgerManager, ZkLedgerUnderreplicationManager, BookKeeper 4.17.2.
"""

from __future__ import annotations

import re
from typing import Final

ROOT: Final = "/ledgers"
"""Pulsar's; BookKeeper's own driver takes it from the address of the store."""
SHORT_IDS: Final = 2**31 - 1
"""Ids below it have the short path in the layout of Pulsar and of BookKeeper's default; it has the long one itself."""
LAST_ID: Final = 2**63 - 1

_SHORT: Final = re.compile(r"\d{2}")
_LONG: Final = re.compile(r"\d{3}")
_USUAL: Final = re.compile(r"([0-9]{2})/([0-9]{4})/L([0-9]{4})").fullmatch
_FLAT: Final = re.compile(r"L(\d{10,19})")
_NUMBER: Final = re.compile(r"[+-]?\d+")
_MARK: Final = re.compile(r"urL(\d{1,19})")
_PARTS: Final = (3, 5)
_DIGITS: Final = 100
"""A path with more is none, be they zeros."""


def flat_path(ledger_id: int) -> str:
    """The path in the flat layout, relative to the root."""
    return f"L{ledger_id:010d}"


def short_path(ledger_id: int) -> str | None:
    """The path in the hierarchical layout of old, relative to the root; None for an id that it has no place for."""
    if ledger_id >= SHORT_IDS:
        return None
    digits = f"{ledger_id:010d}"
    return f"{digits[:2]}/{digits[2:6]}/L{digits[6:]}"


def short_id_of(relative: str) -> int | None:
    """Read the id out of a path that :func:`short_path` makes, as nearly all have; None for any other.

    Args:
        relative: The path, relative to the root.
    """
    found = _USUAL(relative)
    return None if found is None else int("".join(found.groups()))


def long_path(ledger_id: int) -> str:
    """The path in the long hierarchical layout, relative to the root."""
    digits = f"{ledger_id:019d}"
    return f"{digits[:3]}/{digits[3:7]}/{digits[7:11]}/{digits[11:15]}/L{digits[15:]}"


def ledger_path(ledger_id: int) -> str:
    """The path in the layout of Pulsar and of BookKeeper's default, relative to the root."""
    return short_path(ledger_id) or long_path(ledger_id)


def mark_path(ledger_id: int) -> str:
    """The path of a ledger's mark of under-replication, relative to the root."""
    digits = f"{ledger_id:016x}"
    folders = "/".join(digits[start : start + 4] for start in range(0, 16, 4))
    return f"underreplication/ledgers/{folders}/urL{ledger_id:010d}"


def lock_path(ledger_id: int) -> str:
    """The path of the lock of a ledger that is being copied, relative to the root."""
    return f"underreplication/locks/urL{ledger_id:010d}"


def holds_ledgers(top: str) -> bool:
    """Tell whether a child of the root is a ledger, or has ledgers below it; all others are something else."""
    return any(pattern.fullmatch(top) for pattern in (_SHORT, _LONG, _FLAT))


def ledger_id_of(relative: str) -> int | None:
    """Read the id out of a path of any layout; None where it is none.

    Args:
        relative: The path, relative to the root.
    """
    flat = _FLAT.fullmatch(relative)
    found = int(flat[1]) if flat is not None else hierarchical_number(relative)
    return None if found is None else _within(found)


def hierarchical_number(relative: str) -> int | None:
    """Read the number out of a path of 3 or 5 parts, as BookKeeper does: digits are joined, whatever their groups.

    Args:
        relative: The path, relative to the root.

    Returns:
        None where it is no number of 64 bits; one below zero is a number, and no id.
    """
    parts = relative.rstrip("/").split("/")
    if len(parts) not in _PARTS:
        return None
    joined = "".join([*parts[:-1], parts[-1][1:]])
    if _NUMBER.fullmatch(joined) is None or len(joined) > _DIGITS:
        return None
    number = int(joined)
    return number if -LAST_ID - 1 <= number <= LAST_ID else None


def marked_ledger_id(leaf: str) -> int | None:
    """Read the id out of the name of a mark or of a lock; None where it is none.

    Args:
        leaf: The last part of the path.
    """
    found = _MARK.fullmatch(leaf)
    return _within(int(found[1])) if found else None


def _within(number: int) -> int | None:
    return number if 0 <= number <= LAST_ID else None
