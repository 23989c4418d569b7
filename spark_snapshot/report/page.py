"""A comparison as one page to read: self-contained HTML with plots, no script, nothing loaded from anywhere.

Every name and value that comes from a store is escaped; a policy of the page forbids scripts and requests besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final

from spark_snapshot.diff.fields import Differences, FieldDifference
from spark_snapshot.diff.summary import CLASSES, Summary
from syncer.model import Stamp
from syncer.pages import charts
from syncer.pages.frame import PAGE
from syncer.terminal import visible

MEANINGS: Final = {
    "only-in": "only some regions have it, and all that do agree",
    "differs": "live values differ, or a newer value meets an older delete",
    "deleted": "the newest version is a delete, and somebody still has the path",
    "held": "a region that would change has a hold on the path: an operator decides there",
}
_MAX_VALUE_CHARS: Final = 400
_MAX_FIELDS: Final = 40
_TENANTS_DRAWN: Final = 15
_PARTS: Final = re.compile(r"/*[^/]+|/+")
"""Of a path: its names, each with the slashes before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionFacts:
    """One side of the comparison: names and values, in the order in which they are shown."""

    name: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedPath:
    """One path that is not the same everywhere.

    Args:
        path: Key of the store.
        kind: What it means.
        of_class: ``only-in``, ``differs``, ``deleted`` or ``held``.
        underlying: Its class without the hold; empty where it is not held.
        winner: A region that holds what the others should.
        stamp: Time and region of the winner's version.
        reason: What decided.
        origin: Where the winner's stamp comes from.
        losers: Regions that would change.
        holds: Reason of the hold by region.
        fields: What differs inside of the value, where that was asked for.
    """

    path: str
    kind: str
    of_class: str
    underlying: str
    winner: str
    stamp: Stamp
    reason: str
    origin: str
    losers: tuple[str, ...]
    holds: tuple[tuple[str, str], ...] = ()
    fields: Differences | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All that a report says."""

    title: str
    made_at_ms: int
    made_by: str
    regions: tuple[RegionFacts, ...]
    summary: Summary
    findings: tuple[ReportedPath, ...]
    notes: tuple[str, ...] = ()


def render(page: Page) -> str:
    """The whole page as HTML text."""
    summary = page.summary
    verdict = "All regions hold the same." if summary.equal else f"{summary.different:,} paths are not the same."
    trust = f' <a href="#notes">How far to trust this: {len(page.notes)} notes.</a>' if page.notes else ""
    return PAGE.substitute(
        name=_clean(page.title),
        title=_words(page.title),
        made=_clean(f"{_moment(page.made_at_ms)}, {page.made_by}"),
        verdict=f"{escape(verdict)} {summary.same:,} paths are the same.{_left_out(summary)}{trust}",
        tone="good" if summary.equal else "bad",
        body=_facts(page) if summary.equal else f"{_body(page)}\n{_facts(page)}",
    )


def _left_out(summary: Summary) -> str:
    """What is no difference, and not the same either."""
    found = f" {summary.unshared:,} are not shared: only one region carries them." if summary.unshared else ""
    return found + (f" {summary.excluded:,} differ only in excluded fields." if summary.excluded else "")


def _body(page: Page) -> str:
    summary = page.summary
    parts = [
        "<h2>Differences</h2>",
        _table(
            ("class", "paths", "what it means"),
            [(name, f"{summary.by_class[name]:,}", MEANINGS[name]) for name in CLASSES],
        ),
        "<h2>By resource</h2>",
        charts.stacked([(each.name, each.by_class) for each in summary.kinds], "paths", CLASSES),
        "<h2>By tenant</h2>",
        charts.stacked(
            [(_tenant(each.name), each.by_class) for each in summary.tenants[:_TENANTS_DRAWN]], "paths", CLASSES
        ),
        _table(
            ("tenant", *CLASSES, "all"),
            [
                (_tenant(each.name), *(f"{each.by_class[name]:,}" for name in CLASSES), f"{each.total:,}")
                for each in summary.tenants
            ],
        ),
    ]
    if summary.more_tenants:
        parts.append(f"<p>… and {summary.more_tenants:,} more tenants.</p>")
    if summary.days:
        parts += ["<h2>When the newest versions were written</h2>", charts.columns(summary.days, "paths")]
    parts += [
        "<h2>Who would change</h2>",
        _table(
            ("region", "holds the newest version of", "would change"),
            [
                (name, f"{summary.winners.get(name, 0):,}", f"{summary.losers.get(name, 0):,}")
                for name in sorted(summary.winners.keys() | summary.losers.keys())
            ],
        ),
        "<h2>Why</h2>",
        _table(
            ("decided by", "paths"), [(name or "-", f"{count:,}") for name, count in sorted(summary.reasons.items())]
        ),
        _table(
            ("the winner's stamp comes from", "paths"),
            [(name or "-", f"{count:,}") for name, count in sorted(summary.origins.items())],
        ),
        "<h2>Paths</h2>",
        *_findings(page),
    ]
    return "\n".join(parts)


def _facts(page: Page) -> str:
    """What was compared, and what a reader should know of it; after what differs."""
    parts = ["<h2>What was compared</h2>", _table(*_sides(page.regions))]
    if page.summary.pairs:
        parts += [
            "<h2>What each pair shares</h2>",
            _table(
                ("regions", "shared paths", "not shared"),
                [(" × ".join(each.regions), f"{each.shared:,}", f"{each.unshared:,}") for each in page.summary.pairs],
            ),
        ]
    if page.notes:
        parts.append('<h2 id="notes">Notes</h2>')
        parts += [f'<p class="note">{_words(note)}</p>' for note in page.notes]
    return "\n".join(parts)


def _findings(page: Page) -> Iterator[str]:
    more = page.summary.different - len(page.findings)
    if more > 0:
        yield f"<p>The first {len(page.findings):,} of {page.summary.different:,}, in order of the paths.</p>"
    yield "<div class=paths>"
    for each in page.findings:
        shown = f"{each.of_class} ({each.underlying})" if each.underlying else each.of_class
        yield (
            f'<details><summary><span class="tag {escape(each.of_class)}">{_clean(shown)}</span> '
            f"<code>{_words(_cut(each.path))}</code></summary>"
        )
        facts = [
            ("resource", each.kind),
            ("newest version", f"{_said(each.stamp)}, held by {each.winner}"),
            ("decided by", f"{each.reason} (stamp from {each.origin})"),
            ("would change", ", ".join(each.losers) or "nobody"),
            *((f"held in {region}", why) for region, why in each.holds),
        ]
        yield _table(("", ""), facts, heading=False)
        if each.fields is not None:
            yield from _fields(each.fields)
        yield "</details>"
    yield "</div>"


def _fields(found: Differences) -> Iterator[str]:
    if found.unreadable:
        yield f"<p>No JSON object in {_clean(', '.join(found.unreadable))}.</p>"
    for heading, fields in (
        ("replicated", found.replicated),
        ("local to each cluster, never changed", found.local),
        ("excluded by a region, never changed", found.excluded),
    ):
        if fields:
            regions = sorted({region for each in fields for region in each.values})
            yield f"<p>Fields, {heading}:</p>"
            yield _table(("field", *regions), [_field(each, regions) for each in fields[:_MAX_FIELDS]], values=True)
            if len(fields) > _MAX_FIELDS:
                yield f"<p>… and {len(fields) - _MAX_FIELDS:,} more fields.</p>"


def _field(each: FieldDifference, regions: Sequence[str]) -> tuple[str, ...]:
    texts = (each.values.get(region) for region in regions)
    return (each.pointer or "(whole)", *("—" if text is None else text for text in texts))


def _sides(regions: Sequence[RegionFacts]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    names = list(dict.fromkeys(name for each in regions for name, _ in each.facts))
    facts = [dict(each.facts) for each in regions]
    return ("", *(each.name for each in regions)), [(name, *(each.get(name, "-") for each in facts)) for name in names]


def _table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, heading: bool = True, values: bool = False
) -> str:
    """A table in a box of its own, which moves sideways where there is no room for all.

    Args:
        headings: Of the columns.
        rows: Their cells; the first of each is a name.
        heading: Whether the headings are shown.
        values: The other cells are values, which may be broken anywhere.
    """
    head = f"<tr>{''.join(f'<th>{_words(_cut(name))}</th>' for name in headings)}</tr>" if heading else ""
    body = "".join(
        f"<tr>{''.join(_cell(cell, value=values and at > 0) for at, cell in enumerate(row))}</tr>" for row in rows
    )
    return f'<div class="wide"><table>{head}{body}</table></div>'


def _cell(text: str, *, value: bool) -> str:
    return f'<td class="value">{_clean(_cut(text))}</td>' if value else f"<td>{_words(_cut(text))}</td>"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[: _MAX_VALUE_CHARS - 1]}…"


def _words(text: str) -> str:
    """Escaped, and so that no name is broken over two lines: only between words, and a path before each slash."""
    return " ".join(
        "<wbr>".join(f'<span class="w">{escape(part)}</span>' for part in _PARTS.findall(word))
        for word in visible(text).split(" ")
    )


def _clean(text: str) -> str:
    """Escaped; what does not print (control signs, turns of direction) as its escape."""
    return escape(visible(text))


def _said(stamp: Stamp) -> str:
    """A stamp in words; a baseline's number and the 0 of a store without times are no moments."""
    when = "at an unknown time" if stamp.is_baseline else _moment(stamp.updated_at_ms)
    return f"{when} by {stamp.region}"


def _tenant(name: str) -> str:
    return name or "(no tenant)"


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
