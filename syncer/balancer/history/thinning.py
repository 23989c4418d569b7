"""Thinning: which samples stay within the bounds of a history.

All of the last hours stay, of older ones the last of each span, none beyond the age. Where that is more than there is
room for, the oldest go. Changes of owner stand beside the samples: they are not thinned, and go with their time.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryBounds:
    """How long samples stay whole and at all, how far apart older ones are, and the room that there is."""

    keep_ms: int = 7 * 24 * _HOUR_MS
    full_ms: int = 6 * _HOUR_MS
    thin_ms: int = _HOUR_MS // 6
    most_bytes: int = 1 << 28


@dataclass(frozen=True, slots=True)
class SampleMark:
    """A sample's time, its size, and the size of the changes that it showed; 0 bytes where it was taken out."""

    taken_ms: int
    sample_bytes: int
    changes_bytes: int = 0


@dataclass(frozen=True, slots=True)
class KeepDecision:
    """Samples to take out, and the time before which samples and changes go."""

    thinned: AbstractSet[int]
    since_ms: int


def keep(marks: Sequence[SampleMark], bounds: HistoryBounds, now_ms: int) -> KeepDecision:
    """Decide what stays; the newest sample always does.

    Args:
        marks: Oldest first; one of a sample that was taken out has no bytes of it.
        bounds: Of the history.
        now_ms: The time.
    """
    if not marks:
        return KeepDecision(frozenset(), now_ms - bounds.keep_ms)
    newest = max((each.taken_ms for each in marks if each.sample_bytes), default=marks[-1].taken_ms)
    thinned = _thinned(marks, bounds, now_ms, newest)
    since_ms = min(now_ms - bounds.keep_ms, newest)
    left = [each for each in marks if each.taken_ms >= since_ms]
    size = sum(_size(each, thinned) for each in left)
    for each in left:
        if size <= bounds.most_bytes or each.taken_ms >= newest:
            break
        size -= _size(each, thinned)
        since_ms = each.taken_ms + 1
    return KeepDecision(thinned, since_ms)


def _thinned(marks: Sequence[SampleMark], bounds: HistoryBounds, now_ms: int, newest: int) -> AbstractSet[int]:
    last: dict[int, int] = {}
    old = [each for each in marks if each.sample_bytes and each.taken_ms < min(newest, now_ms - bounds.full_ms)]
    for each in old:
        last[each.taken_ms // bounds.thin_ms] = each.taken_ms
    return frozenset(each.taken_ms for each in old) - frozenset(last.values())


def _size(mark: SampleMark, thinned: AbstractSet[int]) -> int:
    return mark.changes_bytes + (0 if mark.taken_ms in thinned else mark.sample_bytes)
