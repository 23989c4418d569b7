"""The report of a run: JSON for machines, one page for people with a timeline, no file and no network beside it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.faults.runner import Outcome, Played
from tests.faults.sampling import Sample

_WIDTH: Final = 1100
_LEFT: Final = 110
_ROW: Final = 16
_CURVE: Final = 90
_COLOURS: Final = ("#1769aa", "#b3541e", "#2e7d32")
_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1140px; color: #222; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
.verdict { padding: .7rem 1rem; border-left: 6px solid; font-weight: 600 }
.GREEN { border-color: #2e7d32; background: #edf7ee } .RED { border-color: #b71c1c; background: #fdeeee }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .25rem .6rem; vertical-align: top }
tr + tr td { border-top: 1px solid #ddd } td.n { text-align: right; font-variant-numeric: tabular-nums }
svg { width: 100%; height: auto } svg text { font: 11px system-ui, sans-serif; fill: #444 }
"""


_ABOUT: Final = (
    "Outside writers recorded every answer of their stores in a file apart from the product; the referee compared it "
    "with the stores, the bus and the sidecar databases at the end."
)


def write(outcome: Outcome, directory: Path) -> tuple[Path, Path]:
    """Write ``report.json`` and ``report.html`` into a directory; both places."""
    directory.mkdir(parents=True, exist_ok=True)
    places = directory / "report.json", directory / "report.html"
    places[0].write_text(json.dumps(document(outcome), indent=1) + "\n", encoding="utf-8")
    places[1].write_text(page(outcome), encoding="utf-8")
    return places


def document(outcome: Outcome) -> dict[str, Any]:
    """All of it as JSON; times are milliseconds since the epoch."""
    judgement = outcome.judgement
    return {
        "verdict": outcome.verdict,
        "good": outcome.good,
        "seed": outcome.seed,
        "regions": list(outcome.regions),
        "began_ms": outcome.began_ms,
        "ended_ms": outcome.ended_ms,
        "settled_s": outcome.settled_s,
        "writes": outcome.writes,
        "counts": dict(judgement.counts) if judgement is not None else None,
        "broken": [
            {"rule": each.rule, "path": each.path, "detail": each.detail}
            for each in (judgement.broken if judgement is not None else ())
        ],
        "stories": {path: list(lines) for path, lines in (judgement.stories if judgement is not None else {}).items()},
        "trouble": outcome.trouble,
        "steps": [asdict(played) for played in outcome.steps],
        "rests": [{"at_ms": at, "settled_s": took} for at, took in outcome.rests],
        "samples": [asdict(sample) for sample in outcome.samples],
    }


def page(outcome: Outcome) -> str:
    """The page."""
    word = "GREEN" if outcome.good else "RED"
    judgement = outcome.judgement
    counts = [(what, number) for what, number in (judgement.counts if judgement is not None else {}).items()]
    broken = [(each.rule, each.path, each.detail) for each in (judgement.broken if judgement is not None else ())]
    steps = [
        (
            f"{(played.began_ms - outcome.began_ms) / 1000:.1f}",
            played.step,
            f"{(played.ended_ms - played.began_ms) / 1000:.1f}",
            (played.failed and f"NOT SEEN: {played.failed}") or _notes(played),
        )
        for played in outcome.steps
    ]
    rests = [(f"{(at - outcome.began_ms) / 1000:.1f}", f"{took:.1f}") for at, took in outcome.rests]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Faults, seed {outcome.seed}</title>",
        f"<style>{_STYLE}</style><h1>Real faults on real servers</h1>",
        f"<p class='verdict {word}'>{html.escape(outcome.verdict)}</p>",
        f"<p>Regions: {html.escape(', '.join(outcome.regions))}. {_ABOUT}</p>",
        "<h2>Timeline</h2>",
        timeline(outcome),
        "<h2>Writes and what became of them</h2>",
        _table(("", ""), [*((f"writes {what}", n) for what, n in outcome.writes.items()), *counts]),
        "<h2>Faults</h2>",
        _table(("at, s", "fault", "took, s", "what was seen"), steps),
        "<h2>Rests: all regions equal after the last write</h2>",
        _table(("at, s", "after, s"), rests),
        "<h2>Broken rules</h2>",
        _table(("rule", "path", "what"), broken) if broken else "<p>None.</p>",
    ]
    for path, lines in (judgement.stories if judgement is not None else {}).items():
        parts.append(f"<h3>{html.escape(path)}</h3><pre>" + html.escape("\n".join(lines)) + "</pre>")
    if outcome.trouble:
        parts.append("<h2>Trouble</h2><pre>" + html.escape("\n".join(outcome.trouble)) + "</pre>")
    return "\n".join(parts) + "\n"


def timeline(outcome: Outcome) -> str:
    """Faults as bars, one row for each kind, above curves of what was measured; all on one axis of time."""
    begin, span = outcome.began_ms, max(outcome.ended_ms - outcome.began_ms, 1)

    def across(at_ms: int) -> float:
        return _LEFT + (at_ms - begin) / span * (_WIDTH - _LEFT - 10)

    kinds = sorted({_kind(played) for played in outcome.steps})
    parts: list[str] = []
    for row, kind in enumerate(kinds):
        parts.append(f"<text x=0 y={row * _ROW + 12}>{html.escape(kind)}</text>")
        parts += [_bar(played, across, row * _ROW) for played in outcome.steps if _kind(played) == kind]
    top = len(kinds) * _ROW + 24
    parts += [
        f"<line x1={across(at):.1f} x2={across(at):.1f} y1=0 y2={top + 4 * (_CURVE + 22)} stroke='#2e7d32' "
        f"stroke-dasharray='2 3'><title>all regions equal, {took:.1f} s after the last write</title></line>"
        for at, took in outcome.rests
    ]
    curves: tuple[tuple[str, Callable[[Sample], float]], ...] = (
        ("news late, s", lambda sample: sample.lag_ms / 1000),
        ("outbox", lambda sample: sample.outbox),
        ("writes due", lambda sample: sample.due),
        ("conflicts", lambda sample: sample.conflicts),
    )
    for title, value in curves:
        parts += _curve(outcome, title, value, across, top)
        top += _CURVE + 22
    ticks = [begin + span * part // 6 for part in range(7)]
    parts += [f"<text x={across(at):.1f} y={top} text-anchor=middle>{(at - begin) / 1000:.0f} s</text>" for at in ticks]
    legend = " ".join(
        f"<tspan fill='{colour}'>{html.escape(name)}</tspan>"
        for name, colour in zip(outcome.regions, _COLOURS, strict=False)
    )
    parts.append(f"<text x=0 y={top}>{legend}</text>")
    return f"<svg viewBox='0 0 {_WIDTH} {top + 8}' role=img>{''.join(parts)}</svg>"


def _bar(played: Played, across: Callable[[int], float], top: int) -> str:
    left, width = across(played.began_ms), max(across(played.ended_ms) - across(played.began_ms), 2)
    colour = "#b71c1c" if played.failed else "#5c7cfa"
    what = html.escape(f"{played.step}: {played.failed or _notes(played)}")
    place = f"x={left:.1f} y={top + 2} width={width:.1f} height={_ROW - 4}"
    return f"<rect {place} fill='{colour}'><title>{what}</title></rect>"


def _curve(
    outcome: Outcome, title: str, value: Callable[[Sample], float], across: Callable[[int], float], top: int
) -> Iterable[str]:
    highest = max((value(sample) for sample in outcome.samples), default=0.0) or 1.0
    yield f"<text x=0 y={top + 12}>{title}</text><text x=0 y={top + 26}>up to {highest:.0f}</text>"
    yield f"<line x1={_LEFT} x2={_WIDTH - 10} y1={top + _CURVE} y2={top + _CURVE} stroke='#bbb' />"
    for region, colour in zip(outcome.regions, _COLOURS, strict=False):
        points = " ".join(
            f"{across(sample.at_ms):.1f},{top + _CURVE - value(sample) / highest * (_CURVE - 4):.1f}"
            for sample in outcome.samples
            if sample.region == region
        )
        yield f"<polyline points='{points}' fill=none stroke='{colour}' stroke-width=1.2 />"


def _kind(played: Played) -> str:
    return played.step.split(" ")[0]


def _notes(played: Played) -> str:
    return "; ".join(text for _, text in played.notes)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{html.escape(each)}</th>" for each in heads)
    body = "".join(
        "<tr>" + "".join(f"<td{_number(each)}>{html.escape(str(each))}</td>" for each in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _number(cell: object) -> str:
    return " class=n" if isinstance(cell, int) else ""
