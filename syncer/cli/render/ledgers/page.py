"""An audit as one page to read: self-contained HTML with plots, nothing loaded from anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from syncer.cli.render.ledgers.answer import sized, spread_told
from syncer.documents.ledgers.audit import (
    LedgerAuditDocument,
    LossOverviewDocument,
    PairLossDocument,
    ReplicaTallyDocument,
)
from syncer.documents.words import counted, moment
from syncer.pages import charts
from syncer.pages.frame import PAGE
from syncer.terminal import visible
from syncer.version import made_by

CLASSES: Final = ("whole", "lacking", "lost")
MOST_GROUPS: Final = 200
"""Groups that are plotted: those with most entries; the sum has all."""
MOST_BOOKIES: Final = 100
"""Bookies that the map of pairs has: those that the worst pairs name."""
_MILLION: Final = 1_000_000


def audit_page(found: LedgerAuditDocument) -> str:
    """The whole page as HTML text; the same audit makes the same page.

    Args:
        found: The document of an audit.
    """
    title = f"Ledgers of {found.read.cluster}"
    lost = found.total.entries_by_replicas_left.get(0, 0)
    verdict = (
        f"{counted(found.total.ledgers, 'ledger')}, {counted(len(found.findings), 'finding')}; of {lost:,} entries no "
        f"replica is up, {found.total.entries_lacking:,} lack one."
    )
    if not found.read.whole:
        verdict += " Not all was read, or understood: this is a lower bound."
    return PAGE.substitute(
        name=_clean(title),
        title=_clean(title),
        made=_clean(f"{made_by()}, read at {moment(found.read.taken_ms)}"),
        verdict=escape(verdict),
        tone="bad" if found.findings else "good",
        body="\n".join(_body(found)),
    )


def _body(found: LedgerAuditDocument) -> Iterator[str]:
    if found.findings:
        yield "<h2>Findings</h2>"
        yield _table(
            ("severity", "code", "count", "what", "what to do"),
            [(each.severity.value, each.code.value, each.count, each.what, each.remedy) for each in found.findings],
        )
    yield "<h2>Entries by the replicas that are left</h2>"
    groups = sorted(found.groups, key=lambda each: (-each.entries, each.name))[:MOST_GROUPS]
    yield charts.stacked([(each.name or "(no reference)", _entries(each)) for each in groups], "entries", CLASSES)
    if found.loss is not None:
        yield from _losses(found.loss)
    if found.spread is not None:
        yield f"<h2>Spread over {found.spread.over}</h2>"
        yield f"<p>{_clean(spread_told(found.spread))}.</p>"
        yield charts.columns(dict(sorted(Counter(each.rack for each in found.bookies).items())), "bookies")
    yield "<h2>Why bytes are kept</h2>"
    yield _table(
        ("kept for", "ledgers", "bytes", "on disks", "ledgers unknown"),
        [
            (each.kept_for.value, each.ledgers, sized(each.bytes), sized(each.stored_bytes), each.unknown_bytes)
            for each in found.kept
        ],
    )
    yield "<h2>Bookies</h2>"
    yield _table(("bookie", "state", "rack"), [(each.bookie, each.state.value, each.rack) for each in found.bookies])


def _entries(tally: ReplicaTallyDocument) -> dict[str, int]:
    lost = tally.entries_by_replicas_left.get(0, 0)
    return {
        "whole": tally.entries - tally.entries_lacking,
        "lacking": tally.entries_lacking - lost,
        "lost": lost,
    }


def _losses(loss: LossOverviewDocument) -> Iterator[str]:
    yield "<h2>The probability that bookies lost at random harm anything</h2>"
    odds = {
        f"{each.size} of them: {each.probability:.4%}{'' if each.exact else ', drawn'}": round(
            each.probability * _MILLION
        )
        for each in loss.odds
    }
    yield charts.columns(odds, "in a million")
    yield "<h2>Pairs of bookies that must not be lost together</h2>"
    if not loss.pairs:
        yield "<p>No pair harms anything, or there are too many bookies for all pairs to be tried.</p>"
        return
    yield "<p>The darker, the more ledgers lose entries or cannot be recovered.</p>"
    yield _heat(loss.pairs)


def _heat(pairs: Sequence[PairLossDocument]) -> str:
    harm = {frozenset(each.bookies): each.lost_ledgers + each.blocked_ledgers for each in pairs}
    names = sorted(list(dict.fromkeys(name for each in pairs for name in each.bookies))[:MOST_BOOKIES])
    most = max(harm.values())
    rows = "".join(
        f"<tr><th>{_clean(one)}</th>{''.join(_cell(one, other, harm, most) for other in names)}</tr>" for one in names
    )
    return f'<div class="wide"><table class="heat"><tbody>{rows}</tbody></table></div>'


def _cell(one: str, other: str, harm: dict[frozenset[str], int], most: int) -> str:
    count = harm.get(frozenset((one, other)), 0) if one != other else 0
    if not count:
        return "<td></td>"
    shade = f"background:color-mix(in srgb, var(--deleted) {100 * count / most:.4g}%, transparent)"
    return f'<td style="{shade}" title="{_clean(one)}, {_clean(other)}: {counted(count, "ledger")}"></td>'


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    head = "".join(f"<th>{_clean(name)}</th>" for name in headings)
    body = "".join("<tr>" + "".join(f"<td>{_clean(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _clean(text: str) -> str:
    return escape(visible(text))
