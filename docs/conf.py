"""Configuration of the documentation: MyST pages, and reference pages made from the code itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from docutils import nodes
from docutils.parsers.rst import Directive

from docs.pages import MARK, filled
from syncer.dispositions import DISPOSITIONS
from syncer.errors import SyncerError
from tests.suites import REPOSITORY, Target, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "pulsar-syncer"
author = "The pulsar-syncer authors"
copyright = "The pulsar-syncer authors, Apache-2.0"  # noqa: A001 - the name is Sphinx's

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
nitpicky = True

html_theme = "furo"
html_title = "pulsar-syncer"
html_show_sphinx = False

_NARROW: Final = 1
_WIDE: Final = 4


def _table(headings: Sequence[str], widths: Sequence[int], rows: Iterable[Sequence[nodes.Node]]) -> nodes.table:
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in widths), cols=len(headings))
    group += nodes.thead("", _row([nodes.Text(heading) for heading in headings]))
    group += nodes.tbody("", *(_row(row) for row in rows))
    return nodes.table("", group)


def _row(cells: Sequence[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def _code(text: object) -> nodes.literal:
    return nodes.literal("", str(text))


class ErrorTable(Directive):
    """The error tree: code, meaning, what to do, and how each error leaves the program."""

    def run(self) -> list[nodes.Node]:
        """Make the table from :data:`syncer.dispositions.DISPOSITIONS`."""
        rows = []
        for cls, row in DISPOSITIONS.items():
            if cls is SyncerError:
                continue
            meaning = (cls.__doc__ or "").strip().splitlines()[0]
            rows.append(
                [
                    _code(cls.code),
                    nodes.Text(meaning),
                    nodes.Text(cls.default_hint),
                    nodes.Text("yes" if cls.retryable else "no"),
                    nodes.Text(str(row.http_status)),
                    nodes.Text(str(int(row.exit_code))),
                ]
            )
        headings = ("Code", "Meaning", "What to do", "Retried", "HTTP", "Exit")
        return [_table(headings, (2, _WIDE, _WIDE, _NARROW, _NARROW, _NARROW), rows)]


class SuiteTable(Directive):
    """The test suites with the targets that run their steps."""

    def run(self) -> list[nodes.Node]:
        """Make the table from ``tests/suites.toml``."""
        rows = []
        for suite in load(REPOSITORY / "tests" / "suites.toml").suites:
            for step in suite.steps:
                less = bool(step.in_test or step.beyond) and step.target is not Target.ALL
                told = f"{step.target}; in test a part of it" if less else step.target
                rows.append([_code(suite.name), nodes.Text(step.name), nodes.Text(told)])
        return [_table(("Suite", "Step", "From target"), (_NARROW, _WIDE, _WIDE), rows)]


def _fill(app: Sphinx, docname: str, content: list[str]) -> None:
    """Put what is made from the code in its place (event ``source-read``)."""
    content[0] = filled(content[0])


def _stale(app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Pages made from the code are read at every build (event ``env-get-outdated``)."""
    return [name for name in env.found_docs if MARK.search(env.doc2path(name).read_text(encoding="utf-8"))]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives of the generated pages."""
    app.connect("source-read", _fill)
    app.connect("env-get-outdated", _stale)
    app.add_directive("error-table", ErrorTable)
    app.add_directive("suite-table", SuiteTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
