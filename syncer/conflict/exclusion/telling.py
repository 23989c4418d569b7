"""Exclusions as a region tells them to others: which fields it has for itself where; nobody needs to act on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from syncer.conflict.exclusion.rules import Exclusion
from syncer.model import Region

EXCLUSIONS_TOLD: Final = 256
EXCLUSIONS_CHARACTERS: Final = 16 * 1024
"""Of all patterns and fields together; of more nothing is told."""

Told = Mapping[str, tuple[str, ...]]
"""By pattern, the fields that are a region's own at paths that match it."""
NOTHING_TOLD: Final[Told] = {}


def told_exclusions(rules: Sequence[Exclusion]) -> Told:
    """The exclusions as they are told; nothing when they are too many, or too long."""
    size = sum(len(each.pattern) + sum(map(len, each.fields)) for each in rules)
    if len(rules) > EXCLUSIONS_TOLD or size > EXCLUSIONS_CHARACTERS:
        return NOTHING_TOLD
    return {each.pattern: each.fields for each in rules}


def shared_by_nobody(ours: Told, others: Mapping[Region, Told]) -> Iterator[tuple[str, str]]:
    """Pattern and field of what every region has for itself, by the same pattern: no change of it reaches anybody.

    Args:
        ours: Of this region.
        others: By region; all others of the group.
    """
    for pattern, fields in sorted(ours.items()):
        for name in fields:
            if others and all(name in _fields(each, pattern) for each in others.values()):
                yield pattern, name


def _fields(told: Told, pattern: str) -> Collection[str]:
    return told.get(pattern, ())
