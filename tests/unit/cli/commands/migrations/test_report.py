"""``syncer migration report``: from the database alone, for the latest migration or another one, and as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.migration_report.document import MigrationReportDocument
from syncer.migration.phases import MigrationPhase
from syncer.migration.reading.plan_file import to_text
from syncer.model import Region
from syncer.state.sql.database import SqlState
from tests.unit.migration.reporting.samples import migration, whole
from tests.unit.migration.test_migration_plan import plan

pytestmark = pytest.mark.usefixtures("state")
Run = Callable[..., Result]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[SqlState]:
    with closing(SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", Region("east"))) as opened:
        opened.activate()
        yield opened


@pytest.fixture
def run(tmp_path: Path) -> Run:
    file = tmp_path / "config.toml"
    file.write_text(
        f'region = "east"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/s.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{tmp_path}/b.db"\n[state]\npath = "{tmp_path}/state.db"\n',
        encoding="utf-8",
    )
    return lambda *words: CliRunner().invoke(app, ["migration", "report", *words, "--config", str(file)])


def begun(state: SqlState) -> int:
    """Keep a migration of which the wave was moved, and something that has yet to be put back."""
    with state.transaction() as tx:
        number = tx.begin_migration(migration(MigrationPhase.DRAINING), to_text(plan()))
        tx.remember_value(number, "former/publish-rate/t", None)
        for event in whole():
            tx.add_migration_event(number, event.kind, event.document, event.at_ms)
    return number


def test_what_was_kept_is_told(run: Run, state: SqlState) -> None:
    number = begun(state)
    for words in ((), (str(number),)):
        result = run(*words, "-o", "json")
        assert result.exit_code == 0, result.output
        found = MigrationReportDocument.model_validate_json(result.stdout)
        assert (found.id, found.phase, found.summary.lost.count) == (number, "draining", 0)
        assert found.rollback.set_still == ["publish-rate/t"]
        assert len(found.timeline) == len(whole())
    assert run().stdout.startswith("lost 0, doubled not measured")


def test_a_page_is_written_beside_and_never_over_another(run: Run, state: SqlState, tmp_path: Path) -> None:
    begun(state)
    page = tmp_path / "report.html"
    result = run("--html", str(page))
    assert result.exit_code == 0, result.output
    assert f"wrote {page}" in result.stderr
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    again = run("--html", str(page))
    assert again.exit_code == 5
    assert again.stdout == ""
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("words", [(), ("3",)])
def test_where_there_is_no_migration_nothing_is_told(run: Run, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.exit_code != 0
    assert result.stdout == ""
    assert "there is no migration" in result.stderr
