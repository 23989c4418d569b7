"""A comparison as one page to read: self-contained HTML with plots, no script, nothing loaded from anywhere.

Every name and value that comes from a store is escaped; a policy of the page forbids scripts and requests besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from string import Template
from typing import Final

from spark_snapshot import charts
from spark_snapshot.fields import Differences, FieldDifference
from spark_snapshot.summary import CLASSES, Summary
from syncer.model import Stamp
from syncer.terminal import visible

MEANINGS: Final = {
    "only-in": "only some regions have it, and all that do agree",
    "differs": "live values differ, or a newer value meets an older delete",
    "deleted": "the newest version is a delete, and somebody still has the path",
    "held": "a region that would change has a hold on the path: a person decides there",
}
_MAX_VALUE_CHARS: Final = 400
_MAX_FIELDS: Final = 40
_TENANTS_DRAWN: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionFacts:
    """One side of the comparison: names and values, in the order in which they are shown."""

    name: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
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
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


def render(page: Page) -> str:
    """The whole page as HTML text."""
    summary = page.summary
    verdict = "All regions hold the same." if summary.equal else f"{summary.different:,} paths are not the same."
    return _PAGE.substitute(
        title=_clean(page.title),
        made=_clean(f"{_moment(page.made_at_ms)}, {page.made_by}"),
        verdict=escape(verdict),
        tone="good" if summary.equal else "bad",
        same=f"{summary.same:,}",
        notes="".join(f"<p class=note>{_clean(note)}</p>" for note in page.notes),
        regions=_table(*_sides(page.regions)),
        classes=_table(
            ("class", "paths", "what it means"),
            [(name, f"{summary.by_class[name]:,}", MEANINGS[name]) for name in CLASSES],
        ),
        body="" if summary.equal else _body(page),
    )


def _body(page: Page) -> str:
    summary = page.summary
    parts = [
        "<h2>By resource</h2>",
        charts.stacked([(each.name, each.by_class) for each in summary.kinds], "paths"),
        "<h2>By tenant</h2>",
        charts.stacked([(_tenant(each.name), each.by_class) for each in summary.tenants[:_TENANTS_DRAWN]], "paths"),
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


def _findings(page: Page) -> Iterator[str]:
    more = page.summary.different - len(page.findings)
    if more > 0:
        yield f"<p>The first {len(page.findings):,} of {page.summary.different:,}, in order of the paths.</p>"
    yield "<div class=paths>"
    for each in page.findings:
        shown = f"{each.of_class} ({each.underlying})" if each.underlying else each.of_class
        yield (
            f'<details><summary><span class="tag {escape(each.of_class)}">{_clean(shown)}</span> '
            f"<code>{_shown(each.path)}</code></summary>"
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
    for heading, fields in (("replicated", found.replicated), ("local to each cluster, never changed", found.local)):
        if fields:
            regions = sorted({region for each in fields for region in each.values})
            yield f"<p>Fields, {heading}:</p>"
            yield _table(("field", *regions), [_field(each, regions) for each in fields[:_MAX_FIELDS]])
            if len(fields) > _MAX_FIELDS:
                yield f"<p>… and {len(fields) - _MAX_FIELDS:,} more fields.</p>"


def _field(each: FieldDifference, regions: Sequence[str]) -> tuple[str, ...]:
    texts = (each.values.get(region) for region in regions)
    return (each.pointer or "(whole)", *("—" if text is None else text for text in texts))


def _sides(regions: Sequence[RegionFacts]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    names = list(dict.fromkeys(name for each in regions for name, _ in each.facts))
    facts = [dict(each.facts) for each in regions]
    return ("", *(each.name for each in regions)), [(name, *(each.get(name, "-") for each in facts)) for name in names]


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, heading: bool = True) -> str:
    head = f"<tr>{''.join(f'<th>{_shown(name)}</th>' for name in headings)}</tr>" if heading else ""
    body = "".join(f"<tr>{''.join(f'<td>{_shown(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{head}{body}</table>"


def _shown(text: str) -> str:
    cut = text if len(text) <= _MAX_VALUE_CHARS else f"{text[: _MAX_VALUE_CHARS - 1]}…"
    return _clean(cut)


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


_PAGE: Final = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2127; background: #fff; max-width: 62rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
.made { color: #5f6b7c; margin-top: .2rem; }
.verdict { font-size: 1.15rem; padding: .7rem 1rem; border-left: .4rem solid; }
.good { border-color: #238551; background: #f0f9f4; } .bad { border-color: #c87619; background: #fdf6ee; }
.note { border-left: .4rem solid #8f99a8; background: #f6f7f9; padding: .5rem 1rem; }
table { border-collapse: collapse; margin: .8rem 0; } th, td { text-align: left; vertical-align: top;
        padding: .25rem .9rem .25rem 0; border-bottom: 1px solid #e1e5ea; overflow-wrap: anywhere; }
th { font-weight: 600; } code { font-size: .92em; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; }
details { border-bottom: 1px solid #e1e5ea; padding: .3rem 0; } details table { margin-left: 1.4rem; font-size: .92em; }
details p { margin: .4rem 0 0 1.4rem; font-size: .92em; }
summary { cursor: pointer; }
.tag { font-size: .8rem; color: #fff; border-radius: .2rem; padding: .05rem .45rem; background: #5c7080; }
.only-in { background: #3b7dd8; } .differs { background: #b8651b; } .deleted { background: #c23030; }
.held { background: #7157d9; }
</style>
</head>
<body>
<h1>$title</h1>
<p class="made">$made</p>
<p class="verdict $tone">$verdict $same paths are the same.</p>
$notes
<h2>Regions</h2>
$regions
<h2>Differences</h2>
$classes
$body
</body>
</html>
""")
