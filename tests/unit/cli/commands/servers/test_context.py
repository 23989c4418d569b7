"""``syncer context``: daemons of other hosts by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.reached.contexts import ContextList

TOKEN = "syncer_0123_secret"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("SYNCER_CONFIG", raising=False)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.chdir(tmp_path)


def context(*words: str) -> Result:
    return CliRunner().invoke(app, ["context", *words])


def test_contexts_are_added_used_listed_and_removed(tmp_path: Path) -> None:
    assert "no context is kept" in context("list").stderr
    assert context("add", "east", "--server", "https://east:8950/", "--token-file", "token").exit_code == 0
    assert context("add", "west", "--server", "http://127.0.0.1:8950").exit_code == 0
    again = context("add", "east", "--server", "https://other")
    assert (again.exit_code, "it is left as it is" in again.stderr) == (5, True)
    assert context("use", "west").exit_code == 0
    found = ContextList.model_validate_json(context("list", "-o", "json").stdout)
    assert [(each.name, each.server, each.in_use, each.token_file) for each in found.items] == [
        ("east", "https://east:8950", False, str(tmp_path / "token")),
        ("west", "http://127.0.0.1:8950", True, None),
    ]
    assert "east" in context("list").stdout
    assert "no context is in use now" in context("remove", "west").stderr
    assert context("use", "--none").exit_code == 0
    assert context("use", "west").exit_code == 1
    kept = (tmp_path / "xdg" / "pulsar-syncer" / "contexts.json").read_text()
    assert TOKEN not in kept
    assert set(json.loads(kept)["contexts"]) == {"east"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--server", "http://east:8950", "--token-file", "token"), "would travel in clear"),
        (("--server", "https://east", "--token-file", "missing"), "missing cannot be read"),
        (("--server", "https://east", "--ca", "missing"), "missing cannot be used"),
    ],
)
def test_what_cannot_be_used_is_not_kept(words: tuple[str, ...], said: str) -> None:
    result = context("add", "east", *words)
    assert (result.exit_code, said in result.stderr) == (78, True), result.stderr
    assert ContextList.model_validate_json(context("list", "-o", "json").stdout).items == []
    clear = ("--server", "http://east:8950", "--token-file", "token", "--without-tls")
    assert context("add", "east", *clear).exit_code == 0
