"""Text of strangers on a terminal: whatever stands in the database or a file, no command writes a sign that acts."""

from __future__ import annotations

import io
import json
import logging
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
import structlog
import yaml
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from typer.testing import CliRunner

from api.app import create_app
from syncer.cli.main import app, main
from syncer.log import configure
from syncer.metrics import PEER_HEARD, Metrics
from syncer.state.sql import tables
from syncer.state.sql.database import SqlState
from syncer.terminal import json_text, visible, visible_lines, yaml_text
from syncer.waiting import WAIT_S
from tests.api.test_app import STATUS, Daemon
from tests.support.logs import logging_restored
from tests.support.region_database import fill
from tests.unit.registers import HERE

SIGNS: Final = (
    "\x00\x07\x08\x0b\x0c\r\x1b\x7f"  # controls
    "\x80\x85\x9b\x9d\x9f"  # their second set: what begins a sequence in one sign
    "\xa0\xad\u061c\u115f\u200b\u200d\u200e\u2028\u2029\u202a\u202e\u2066\u2069\u3000\u3164\ufe0f\ufeff"
    "\ue000\U000e0041\U0010ffff\u0378"
)
HOSTILE: Final = f"\x1b]0;owned\x07\x1b[2J{SIGNS}\nsyncer: all is well\t"
READING: Final = (
    ("status",),
    ("regions", "list"),
    ("events", "tail"),
    ("explain", "/admin/policies/quiet"),
    ("explain", "/admin/policies/held-remote"),
    ("conflicts", "list", "--all"),
    ("conflicts", "show", "1"),
    ("holds", "list"),
    ("quarantine", "list"),
    ("parked", "list"),
    ("operations", "list"),
    ("operations", "show", "1"),
    ("operations", "export"),
    ("snapshot", "repairs"),
    ("snapshot", "progress", "1"),
    ("state", "check"),
    ("config", "show"),
    ("config", "check"),
    ("regions", "join"),
    ("pause", "--reason", HOSTILE.replace("\x00", ""), "--timeout", "0"),
    ("conflicts", "restore", "1", "--yes", "--timeout", "0"),
    ("holds", "confirm", "--all", "--yes", "--timeout", "0"),
    ("holds", "reject", "/admin/policies/held-remote", "--yes", "--timeout", "0"),
    ("quarantine", "discard", "1", "--yes", "--timeout", "0"),
    ("regions", "forget", "there", "--yes", "--timeout", "0"),
)


TOLD_BY: Final = {
    "registers": ("explain", "holds", "parked"),
    "journal": ("events", "explain"),
    "conflicts": ("conflicts", "explain"),
    "quarantine": ("quarantine",),
    "future_events": ("holds",),
    "held_publications": ("holds",),
    "operations": ("pause", "operations"),
    "peers": ("regions",),
    "identity": ("regions", "pause", "config"),
    "daemons": (),
    "status": (),
}
TEXT: Final = (type(tables.journal.c.detail.type), type(tables.journal.c.path.type))
"""The commands, beside the status, that show what a table holds."""


def acting(text: str) -> list[str]:
    """The signs of a text that a terminal would act on, or not show."""
    return sorted({hex(ord(sign)) for sign in text if sign != "\n" and visible(sign) != sign})


# -- the function


@given(st.text() | st.text(st.sampled_from(SIGNS + "a\n\t\ud800\udfff")))
def test_what_is_shown_prints_and_says_the_same(text: str) -> None:
    assert visible(text).isprintable()
    assert "\n" not in visible(text)
    lines = visible_lines(text)
    assert lines.count("\n") == text.count("\n")
    assert all(sign.isprintable() or sign in "\n\t" for sign in lines)
    if text.isascii() and text.isprintable():
        assert visible(text) == text


@given(st.recursive(st.text() | st.text(st.sampled_from(SIGNS)), lambda inner: st.dictionaries(st.text(), inner)))
def test_a_parser_gets_the_exact_text(value: Any) -> None:
    assert json.loads(json_text(value)) == value
    assert json.loads(json_text(value, indent=2)) == value
    assert yaml.safe_load(yaml_text(value)) == value
    assert not acting(json_text(value, indent=2) + yaml_text(value))


def test_a_lone_surrogate_is_shown_and_survives() -> None:
    assert visible("a\ud800") == "a\\ud800"
    assert json.loads(json_text("a\ud800")) == "a\ud800"
    assert yaml.safe_load(yaml_text(["a\udfff"])) == ["a\udfff"]


def test_each_sign_has_the_escape_that_people_know() -> None:
    assert visible("\x1b\x9b\u202e\U000e0041\n\r\t\x7f") == r"\x1b\x9b\u202e\U000e0041\n\r\t\x7f"
    assert json_text("\U000e0041\x9b") == r'"\udb40\udc41\u009b"'


# -- the commands


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one of everything."""
    file = tmp_path_factory.mktemp("sound") / "state.db"
    with closing(SqlState.open(f"sqlite:///{file}", HERE)) as opened:
        opened.activate()
        fill(opened)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(
            "INSERT INTO operations VALUES (NULL, 'pause', '{}', 'x', 'y', 1, 'done', 'z', '', 2, '', '', '', NULL, 0)"
        )
        database.execute("INSERT INTO daemons VALUES ('d', 'h', 1, 'v', 'active', 1, 1, 1, 1, 't')")
        database.execute('INSERT INTO status VALUES (1, 1, \'{"mode": "active"}\')')
    return file


@pytest.fixture
def folder(tmp_path: Path, sound: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration beside a copy of the database."""
    shutil.copy(sound, tmp_path / "state.db")
    (tmp_path / "config.toml").write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/s.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{tmp_path}/b.db"\n[state]\npath = "{tmp_path}/state.db"\n',
        encoding="utf-8",
    )
    monkeypatch.delenv("SYNCER_CONFIG", raising=False)
    return tmp_path


def said(folder: Path, command: tuple[str, ...], form: str) -> tuple[int, str]:
    """Exit code, and all that was written."""
    result = CliRunner().invoke(app, ["--config", str(folder / "config.toml"), "-o", form, *command], input="")
    assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exc_info)
    return result.exit_code, result.stdout + result.stderr


def spoil(folder: Path, table: str, column: str, text: str) -> int:
    """Put text into every row of a column; where JSON stands, into all of its texts. The rows that took it."""
    with closing(sqlite3.connect(folder / "state.db")) as database, database:
        taken = 0
        for key, old in database.execute(
            f"SELECT rowid, {column} FROM {table}" if _numbered(table) else _keys(table, column)
        ).fetchall():
            if old is None:
                continue
            name = "rowid" if _numbered(table) else "path"
            try:
                database.execute(f"UPDATE {table} SET {column} = ? WHERE {name} = ?", (_spoilt(old, text), key))
            except sqlite3.IntegrityError:
                continue
            taken += 1
    return taken


def _numbered(table: str) -> bool:
    return table not in {"registers", "met"}


def _keys(table: str, column: str) -> str:
    return f"SELECT path, {column} FROM {table}"


def _spoilt(old: str, text: str) -> str:
    try:
        document = json.loads(old)
    except ValueError:
        return old + text
    return json.dumps(_within(document, text))


def _within(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return value + text
    if isinstance(value, dict):
        return {name + text: _within(inner, text) for name, inner in value.items()} | {
            name: _within(inner, text) for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_within(inner, text) for inner in value]
    return value


@pytest.mark.parametrize("table", TOLD_BY)
def test_no_command_writes_such_a_sign_whatever_a_column_holds(table: str, folder: Path, sound: Path) -> None:
    columns = [each.name for each in tables.metadata.tables[table].columns if isinstance(each.type, TEXT)]
    taken = 0
    for number, column in enumerate(columns):
        shutil.copy(sound, folder / "state.db")
        if not spoil(folder, table, column, HOSTILE):
            continue
        taken += 1
        for command in READING:
            if command[0] in {"status", "state", *TOLD_BY[table]}:
                form = ("table", "json")[(number + len(command)) % 2]
                code, text = said(folder, command, form)
                assert acting(text) == [], (column, command, form, code, text)
    assert taken, "some column took it"


FREE: Final = (
    ("registers", "hold_detail"),
    ("registers", "parked_detail"),
    ("journal", "detail"),
    ("conflicts", "reason"),
    ("conflicts", "loser_region"),
    ("quarantine", "origin"),
    ("quarantine", "detail"),
    ("quarantine", "properties"),
    ("daemons", "host"),
    ("daemons", "version"),
    ("daemons", "trouble"),
    ("identity", "paused"),
    ("operations", "asked_by"),
    ("operations", "reason"),
    ("operations", "answer"),
    ("operations", "origin"),
    ("operations", "credential"),
    ("peers", "document"),
    ("peers", "region"),
)
"""Where text of strangers lands as it came."""


def test_every_reading_command_works_on_a_database_full_of_it_and_says_it_exactly(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state.db")) as database, database:
        database.execute("UPDATE identity SET paused = 'because'")
        value = json.dumps({"note": HOSTILE}, ensure_ascii=False)
        database.execute("UPDATE conflicts SET value = ?", (value.encode(),))
    for table, column in FREE:
        assert spoil(folder, table, column, HOSTILE), (table, column)
    for command in READING:
        if "--timeout" in command:
            continue
        for form in ("table", "json", "yaml"):
            code, text = said(folder, command, form)
            assert acting(text) == [], (command, form)
            assert code in {0, 1, 3}, (command, form, text)
    code, text = said(folder, ("status",), "json")
    assert json.loads(text)["paused"] == "because" + HOSTILE
    code, text = said(folder, ("conflicts", "show", "1"), "json")
    assert json.loads(json.loads(text)["value"])["note"] == HOSTILE
    code, text = said(folder, ("conflicts", "show", "1"), "yaml")
    assert json.loads(yaml.safe_load(text)["value"])["note"] == HOSTILE


def test_one_decision_is_one_line_whatever_it_says(folder: Path) -> None:
    before = said(folder, ("events", "tail"), "table")[1].count("\n")
    spoil(folder, "journal", "detail", "\n2026-01-01 00:00:00.000Z  published      /admin/policies/forged")
    assert said(folder, ("events", "tail"), "table")[1].count("\n") == before


@pytest.mark.parametrize(
    "line",
    [
        ["--" + HOSTILE],
        [HOSTILE],
        ["explain", HOSTILE],
        ["conflicts", "show", HOSTILE],
        ["events", "tail", "--lines", HOSTILE],
        ["holds", "confirm", HOSTILE],
        ["plan", "show", HOSTILE.replace("\x00", "")],
        ["backup", "verify", HOSTILE.replace("\x00", "")],
        ["explain", "/admin/policies/" + HOSTILE],
        ["explain", "/a\udcff"],
    ],
)
def test_a_wrong_command_line_is_refused_without_repeating_what_acts(line: list[str], folder: Path) -> None:
    code, text = said(folder, tuple(line), "table")
    assert code != 0
    assert acting(text) == []


def test_a_bug_leaves_with_its_trace_and_without_such_a_sign(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError(HOSTILE)

    monkeypatch.setattr("syncer.cli.main.app", broken)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert acting(told.replace("\t", "")) == []


def test_a_terminal_that_cannot_encode_a_sign_ends_nothing(folder: Path) -> None:
    spoil(folder, "journal", "detail", "é€\u4e16")
    command = [sys.executable, "-m", "syncer", "--config", str(folder / "config.toml"), "events", "tail"]
    program = "import sys; from syncer.cli.main import main; sys.argv = ['syncer', *sys.argv[1:]]; main()"
    command = [sys.executable, "-c", program, *command[3:]]
    done = subprocess.run(
        command,
        env={"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"\\xe9\\u20ac\\u4e16" in done.stdout


# -- the log, the page, the surface


@pytest.fixture
def _log() -> Iterator[None]:
    with logging_restored():
        yield


class Terminal(io.StringIO):
    """A stream that people look at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("_log")
@pytest.mark.parametrize("form", ["console", "json"])
def test_the_log_holds_no_such_sign(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    configure(stream=stream, form=form)
    log = structlog.get_logger()
    log.warning("event_refused", path=HOSTILE, nested={HOSTILE: [HOSTILE]}, **{HOSTILE: 1})
    log.warning(HOSTILE)
    logging.getLogger("kazoo").error("lost %s", HOSTILE)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        log.exception("broke")
    text = stream.getvalue()
    assert acting(text.replace("\t", "") if form == "console" else text) == []
    if form == "json":
        assert json.loads(text.splitlines()[0])["path"] == HOSTILE


def test_the_http_surface_holds_no_such_sign() -> None:
    daemon = Daemon()
    with TestClient(create_app(daemon), raise_server_exceptions=False) as client:
        status = STATUS.model_copy(update={"paused": HOSTILE})

        async def told() -> dict[str, Any]:
            return status.model_dump()

        daemon.status = told  # type: ignore[method-assign]  # the state of this test's choice
        answer = client.get("/api/v1/status")
        assert acting(answer.text) == []
        assert answer.json()["paused"] == HOSTILE
        answer = client.get("/%1b%5b2J%c2%9b%e2%80%ae")
        assert acting(answer.text) == []
        assert answer.json()["instance"] == "/\x1b[2J\x9b\u202e"


def test_a_metric_holds_no_such_sign() -> None:
    metrics = Metrics(version="1", started_s=0)
    metrics.set(PEER_HEARD, 1, HOSTILE)
    assert acting(generate_latest(metrics.registry).decode()) == []
