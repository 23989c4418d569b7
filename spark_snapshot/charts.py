"""Plots of a comparison as SVG text that goes into a page: no file, no script, no font to load.

What is written in a plot is text, escaped, and read as it stands (a ``$`` begins no formula).
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from syncer.terminal import visible

COLOURS: Final = {"only-in": "#3b7dd8", "differs": "#d9822b", "deleted": "#c23030", "held": "#7157d9"}
_NEUTRAL: Final = "#5c7080"
_INK: Final = "#30404d"
_WIDTH_IN: Final = 8.4
_BAR_IN: Final = 0.3
_FRAME_IN: Final = 0.9
_MAX_NAME: Final = 44
_STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "pulsar-syncer",
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def stacked(rows: Sequence[tuple[str, Mapping[str, int]]], label: str) -> str:
    """Bars of counts by class, one below the other, the first on top.

    Args:
        rows: Name and counts of each bar.
        label: What is counted.
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH_IN, _FRAME_IN + _BAR_IN * max(len(rows), 1)), layout="constrained")
        axes = figure.add_subplot()
        places = range(len(rows))
        left = [0] * len(rows)
        for of_class, colour in COLOURS.items():
            counts = [row[1].get(of_class, 0) for row in rows]
            if any(counts):
                axes.barh(places, counts, left=left, color=colour, label=of_class, height=0.7)
            left = [before + count for before, count in zip(left, counts, strict=True)]
        for place, total in zip(places, left, strict=True):
            axes.annotate(f"{total:,}", (total, place), xytext=(4, 0), textcoords="offset points", va="center")
        axes.set_yticks(list(places), [_short(name) for name, _ in rows])
        axes.invert_yaxis()
        _finish(figure, label)
        if len(rows):
            axes.legend(loc="lower right", frameon=False)
        return _svg(figure)


def columns(counts: Mapping[str, int], label: str) -> str:
    """Columns of counts in the order given: one per name."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 2.4), layout="constrained")
        axes = figure.add_subplot()
        axes.bar(range(len(counts)), list(counts.values()), color=_NEUTRAL, width=0.8)
        step = max(1, len(counts) // 10)
        axes.set_xticks(list(range(0, len(counts), step)), [_short(name) for name in list(counts)[::step]])
        axes.set_ylabel(label)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return _svg(figure)


def _finish(figure: Figure, label: str) -> None:
    (axes,) = figure.axes
    axes.set_xlabel(label)
    axes.margins(x=0.12)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _svg(figure: Figure) -> str:
    FigureCanvasSVG(figure)
    written = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a letter that the measuring font lacks: the reader's has it
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    return text[text.index("<svg") :].strip()


def _short(name: str) -> str:
    clean = visible(name)
    return clean if len(clean) <= _MAX_NAME else f"{clean[: _MAX_NAME - 1]}…"
