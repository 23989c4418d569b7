"""``syncer status`` over a database that is not there yet, or whose daemon has just been started."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from syncer.cli import waiting
from syncer.cli.commands import status
from syncer.cli.main import app
from syncer.documents.status import VerdictDocument
from syncer.model import Millis
from syncer.state.sql.database import SqlState
from tests.unit.inspection.test_verdict import peer
from tests.unit.registers import HERE, THERE

Run = Callable[..., Result]
STATE = 'path = "{}/state.db"'


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; ``state`` is what the table of the database says."""
    monkeypatch.delenv("SYNCER_CONFIG", raising=False)

    def call(*arguments: str, state: str = STATE) -> Result:
        file = tmp_path / "config.toml"
        file.write_text(
            f'region = "here"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/s.db"\n'
            f'[bus]\nkind = "embedded"\npath = "{tmp_path}/b.db"\n[state]\n{state.format(tmp_path)}\n',
            encoding="utf-8",
        )
        return CliRunner().invoke(app, ["--config", str(file), *arguments])

    return call


def wall_ms() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


def opened(tmp_path: Path) -> SqlState:
    state = SqlState.open(f"sqlite:///{tmp_path}/state.db", HERE)
    state.activate()
    return state


def silent_s(said: str) -> int:
    """How long the daemon is said to be silent; a busy machine has taken its time before it looked."""
    found = re.search(r"the daemon has been silent for (\d+) s", said)
    return int(found[1]) if found is not None else -1


def reported(state: SqlState, at_ms: Millis, *, scanned: bool) -> None:
    with state.transaction() as tx:
        tx.set_identity(first_scan_done=scanned)
        tx.save_status({"mode": "active", "watch_whole": True}, at_ms)


# -- where it is looked for


def test_a_missing_database_is_named_by_the_setting_that_says_where_it_is(run: Run, tmp_path: Path) -> None:
    for command in (("status",), ("state", "check"), ("holds", "list")):
        result = run(*command)
        assert result.exit_code == 4
        assert f"there is no sidecar database at {tmp_path}/state.db" in result.stderr
        assert f"'state.path' is {tmp_path}/state.db." in result.stderr
        assert "start it, or wait with 'syncer status --wait 60'" in result.stderr
        assert "state.url" not in result.stderr


def test_the_default_place_is_said_to_be_the_default(run: Run) -> None:
    result = run("status", state="")
    assert "'state.path' is /var/lib/pulsar-syncer/state.db, by default" in result.stderr


def test_a_url_is_named_without_its_secrets(run: Run, tmp_path: Path) -> None:
    result = run("status", state='url = "sqlite:///{}/elsewhere.db?password=hunter2"')
    assert f"'state.url' is sqlite:///{tmp_path}/elsewhere.db" in result.stderr
    assert "state.path" not in result.stderr
    assert "hunter2" not in result.stderr


def test_a_database_that_is_about_to_be_made_is_missing(run: Run, tmp_path: Path) -> None:
    """A daemon makes the file, then the tables, then its own row: a command may look in between."""
    (tmp_path / "state.db").touch()
    result = run("status")
    assert (result.exit_code, "holds no sidecar database yet" in result.stderr) == (4, True)
    with closing(opened(tmp_path)) as state, state.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM identity")
    result = run("status")
    assert (result.exit_code, "holds no facts" in result.stderr) == (4, True)


# -- waiting


def test_waiting_ends_in_time_and_says_what_it_waited_for(run: Run, tmp_path: Path) -> None:
    def outcome() -> str:
        result = run("status", "--wait", "0.01")
        assert result.exit_code == 4
        assert result.stdout == ""
        return result.stderr

    assert "after 0.01 s: there is no sidecar database at" in outcome()
    with closing(opened(tmp_path)) as state:
        assert "no daemon has reported yet" in outcome()
        reported(state, Millis(wall_ms() - 60_000), scanned=True)
        assert silent_s(outcome()) >= 60
        reported(state, wall_ms(), scanned=False)
        assert "the daemon reads its store" in outcome()
        reported(state, wall_ms(), scanned=True)
        assert run("status", "--wait", "0").exit_code == 0, "it is looked once"


def test_waiting_goes_on_from_no_database_to_a_finished_scan(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    states: list[SqlState] = []
    original = waiting._lacking

    def looked(*arguments: object) -> tuple[str, str] | None:
        lacking = original(*arguments)  # type: ignore[arg-type]  # what it was called with
        looks.append(lacking[0] if lacking is not None else "")
        if len(looks) == 1:
            states.append(opened(tmp_path))
        elif len(looks) <= 3:
            reported(states[0], wall_ms(), scanned=len(looks) == 3)
        return lacking

    monkeypatch.setattr(waiting, "_lacking", looked)
    result = run("status", "--wait", "60")
    states[0].close()
    assert result.exit_code == 0
    assert "first scan  finished" in result.stdout
    assert [look.split(" at ")[0] for look in looks] == [
        "there is no sidecar database",
        "no daemon has reported yet",
        "the daemon reads its store",
        "",
    ]


def test_what_no_waiting_mends_is_not_waited_for(run: Run, tmp_path: Path) -> None:
    with closing(SqlState.open(f"sqlite:///{tmp_path}/state.db", THERE)):
        result = run("status", "--wait", "600")
    assert result.exit_code == 78
    assert "belongs to region there" in result.stderr


# -- the verdict


def test_the_verdict_is_two_lines_or_a_document_and_its_exit_status(run: Run, tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as state:
        reported(state, wall_ms(), scanned=True)
        assert (
            run("status", "--check").stdout == "well: here works; no other region was heard yet\nnext: nothing to do\n"
        )
        reported(state, Millis(wall_ms() - 60_000), scanned=True)
        assert run("status").exit_code == 0, "it could be shown"
        result = run("status", "--check", "-o", "json")
    found = VerdictDocument.model_validate_json(result.stdout)
    assert (result.exit_code, found.exit_status, found.verdict, found.region) == (4, 4, "silent", "here")
    assert [(each.code, each.severity) for each in found.reasons] == [("daemon-silent", "alarm")]


def test_the_next_command_names_the_configuration_that_this_one_has_named(run: Run, tmp_path: Path) -> None:
    result = run("status", "--check")
    assert result.exit_code == 4
    assert f"next: syncer status --wait 60 --config {tmp_path}/config.toml  # " in result.stdout


def test_a_verdict_is_not_watched(run: Run) -> None:
    assert run("status", "--check", "--watch", "1").exit_code == 2


@pytest.mark.parametrize(
    ("same", "shared", "said"),
    [
        (True, 7, "equal"),
        (None, 7, "equal"),
        (False, None, "equal"),
        (False, 7, "equal (7 shared paths)"),
        (False, 1, "equal (1 shared path)"),
    ],
)
def test_of_regions_with_other_rules_it_says_over_how_many_paths(
    same: bool | None, shared: int | None, said: str
) -> None:
    met = peer(same_rules=same, shared_class="label", shared_paths=shared)
    assert status._shared(met, "equal") == said
    assert status._shared(met, None) is None
