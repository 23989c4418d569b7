"""A migration's report as one page to read or print: self-contained HTML, no script, nothing loaded from anywhere.

Every name that comes from a cluster or an operator is escaped; a policy of the page forbids scripts and requests
besides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from string import Template
from typing import Final

from syncer.cli.render.migration_report import cut, facts_of, parts_of, summary_line
from syncer.documents.migration_report.document import MigrationReportDocument
from syncer.terminal import visible
from syncer.version import made_by

MAX_ROWS: Final = 2_000
"""Rows of one table; JSON has all."""
_SLASH: Final = re.compile(r"(?<=[^/])/")
_PAGE: Final = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light dark; --ink: #1c2127; --soft: #5f6b7c; --paper: #fff; --line: #d8dde3; --shade: #f3f5f7;
        --good: #238551; --bad: #c87619; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e5e8eb; --soft: #abb3bf; --paper: #14181c; --line: #383e47; --shade: #1f252b; --good: #32a467;
          --bad: #ec9a3c; }
}
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 72rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
.made { color: var(--soft); margin-top: .2rem; }
.verdict { font-size: 1.15rem; padding: .7rem 1rem; border-left: .4rem solid; background: var(--shade); }
.good { border-color: var(--good); } .bad { border-color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line);
         overflow-wrap: break-word; }
thead th { font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 400; color: var(--soft); white-space: nowrap; }
@media print {
  :root { --ink: #000; --soft: #444; --paper: #fff; --line: #bbb; --shade: #fff; }
  body { max-width: none; margin: 0; font-size: 10px; } .wide { overflow: visible; } tr { break-inside: avoid; }
}
</style>
</head>
<body>
<main>
<h1>$title</h1>
<p class="made">$made</p>
<p class="verdict $tone">$verdict</p>
$body
</main>
</body>
</html>
""")


def page_of(found: MigrationReportDocument) -> str:
    """The whole page as HTML text; the same report makes the same page."""
    summary = found.summary
    well = summary.lost.count == 0 and not summary.clients_missing and found.stop is None
    facts = "".join(
        f'<tr><th scope="row">{_clean(name)}</th><td>{_cell(value)}</td></tr>' for name, value in facts_of(found)
    )
    body = [f'<div class="wide"><table><tbody>{facts}</tbody></table></div>']
    body += [_section(heading, columns, cut(rows, MAX_ROWS)) for heading, columns, rows in parts_of(found) if rows]
    return _PAGE.substitute(
        title=_clean(f"Migration {found.id}, from {found.plan.blue} to {found.plan.green}"),
        made=_clean(made_by()),
        verdict=_clean(summary_line(summary)),
        tone="good" if well else "bad",
        body="\n".join(body),
    )


def _section(heading: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table under its heading, in a box of its own that moves sideways where there is no room for all."""
    head = "".join(f'<th scope="col">{_clean(name)}</th>' for name in columns)
    cells = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<h2>{_clean(heading)}</h2>\n<div class="wide" tabindex="0" role="region" aria-label="{_clean(heading)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    """A name may be broken before its slashes, so that long ones need no room of their own."""
    return _SLASH.sub("<wbr>/", _clean(value))


def _clean(value: object) -> str:
    """Escaped; what does not print (control signs, turns of direction) as its escape."""
    return escape(visible("-" if value is None else "yes" if value is True else "no" if value is False else str(value)))
