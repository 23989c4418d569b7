"""A comparison of load balancing as one page to read: self-contained HTML with plots, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from syncer.cli.render.balancing import HEADINGS, comparison_rows, load_words, points
from syncer.pages import charts
from syncer.pages.frame import PAGE
from syncer.terminal import visible
from syncer.version import made_by

if TYPE_CHECKING:
    from syncer.documents.balancing.comparison import (
        ComparedStrategyDocument,
        ComparisonDocument,
        PlayedRoundsDocument,
    )

CLASSES: Final = ("pulsar", "ours")
PER_MILLE: Final = 1000


def comparison_page(found: ComparisonDocument) -> str:
    """The whole page as HTML text; the same comparison makes the same page."""
    load = found.load
    title = f"Load balancing compared: {load.cluster or f'{load.shape}, seed {load.seed}'}"
    acting = [each for each in found.strategies if each.ours is not None]
    cheaper = sum(_costs_less(each) for each in acting)
    verdict = (
        f"{len(acting)} of {len(found.strategies)} strategies and settings move bundles; beside {cheaper} of them our"
        " plan costs clients less."
    )
    return PAGE.substitute(
        name=_clean(title),
        title=_clean(title),
        made=_clean(made_by()),
        verdict=escape(verdict),
        tone="good" if cheaper == len(acting) else "bad",
        body="\n".join(_body(found, acting)),
    )


def _costs_less(each: ComparedStrategyDocument) -> bool:
    ours, pulsar = each.ours, each.pulsar.client_seconds
    return ours is not None and ours.client_seconds is not None and pulsar is not None and ours.client_seconds < pulsar


def _body(found: ComparisonDocument, acting: Sequence[ComparedStrategyDocument]) -> Iterator[str]:
    yield (
        f"<p>{_clean(load_words(found))}. The spread is the greatest usage less the mean. Our plan is the"
        " cheapest found that leaves a spread as small as the strategy does.</p>"
    )
    yield "<h2>Seconds without service, of all clients together</h2>"
    bars: list[tuple[str, dict[str, int]]] = []
    for each in acting:
        bars.append((_name(each), {"pulsar": _seconds(each.pulsar)}))
        bars.append((f"our plan, to {points(each.pulsar.spread)}", {"ours": _seconds(each.ours)}))
    yield charts.stacked(bars, "client-seconds", CLASSES)
    yield "<h2>The spread after each round</h2>"
    for each in acting:
        heights = {f"round {one.round}": round(one.spread * PER_MILLE) for one in each.pulsar.rounds}
        yield f"<details><summary>{_clean(_name(each))}: {points(each.pulsar.spread)} at the end</summary>"
        yield charts.columns(heights, "per mille")
        yield "</details>"
    yield "<h2>All that were compared</h2>"
    yield _table(found)


def _seconds(found: PlayedRoundsDocument | None) -> int:
    return round(found.client_seconds or 0) if found is not None else 0


def _name(each: ComparedStrategyDocument) -> str:
    settings = "".join(f", {name}={value}" for name, value in each.settings.items())
    return f"{each.strategy}, placed by {each.placement}{settings}"


def _table(found: ComparisonDocument) -> str:
    head = "".join(f"<th>{_clean(name)}</th>" for name in HEADINGS)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_clean('-' if cell is None else str(cell))}</td>" for cell in row) + "</tr>"
        for row in comparison_rows(found)
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _clean(text: str) -> str:
    return escape(visible(text))
