"""Plots as HTML that goes into a page: boxes whose sizes are counts, laid out by the page's own style.

The legend is a list of its own before each plot. Sizes are shares of the room that there is, so a plot fits a telephone
and a wall alike, its text is never scaled, and its colours are the page's, by day and by night.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from syncer.terminal import visible

_MAX_NAME: Final = 60


def stacked(rows: Sequence[tuple[str, Mapping[str, int]]], label: str, classes: Sequence[str]) -> str:
    """Bars of counts by class, one below the other, the first on top.

    Args:
        rows: Name and counts of each bar.
        label: What is counted.
        classes: Classes in their order; the page's style has a colour for each.
    """
    used = [name for name in classes if any(counts.get(name) for _, counts in rows)]
    most = max((sum(counts.values()) for _, counts in rows), default=0)
    bars = "".join(_bar(name, counts, used, most, label) for name, counts in rows)
    legend = "".join(f'<li><i class="{name}"></i>{name}</li>' for name in used)
    return f'<figure><ul class="legend">{legend}</ul><div class="bars">{bars}</div></figure>'


def columns(counts: Mapping[str, int], label: str) -> str:
    """Columns of counts in the order given: one per name, the first and the last of which are written below."""
    most = max(counts.values(), default=0)
    boxes = "".join(
        f'<i style="height:{_share(count, most)}" title="{_clean(name)}: {count:,} {escape(label)}"></i>'
        for name, count in counts.items()
    )
    names = list(counts)
    ends = [names[0], *names[-1:]] if len(names) > 1 else names
    below = "".join(f"<span>{_short(name)}</span>" for name in ends)
    return (
        f'<figure><p class="most">{most:,} {escape(label)}</p><div class="columns">{boxes}</div>'
        f'<p class="ends">{below}</p></figure>'
    )


def _bar(name: str, counts: Mapping[str, int], used: Sequence[str], most: int, label: str) -> str:
    total = sum(counts.values())
    boxes = "".join(
        f'<i class="{each}" style="width:{_share(counts[each], most)}" title="{counts[each]:,} {each}"></i>'
        for each in used
        if counts.get(each)
    )
    return (
        f'<div class="bar"><span class="name" title="{_clean(name)}">{_short(name)}</span>'
        f'<span class="track">{boxes}</span><span class="count" title="{escape(label)}">{total:,}</span></div>'
    )


def _share(count: int, most: int) -> str:
    """A size, of the room that the greatest takes."""
    return f"{100 * count / most if most else 0:.4g}%"


def _clean(text: str) -> str:
    return escape(visible(text))


def _short(name: str) -> str:
    clean = visible(name)
    return escape(clean if len(clean) <= _MAX_NAME else f"{clean[: _MAX_NAME - 1]}…")
