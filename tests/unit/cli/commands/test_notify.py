"""``syncer notify test``, and what ``syncer config check`` says of webhooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.configuration import CheckDocument
from syncer.documents.notices import NotifyTestDocument
from tests.support.environment import without_settings
from tests.support.webhook_server import answering, receiving

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    without_settings(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


@pytest.fixture
def run(file: Path) -> Run:
    def call(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--config", str(file)])

    return call


def configure(file: Path, **webhooks: Any) -> None:
    tables = {"store": {"kind": "sqlite", "path": "/s"}, "bus": {"kind": "embedded", "path": "/b"}}
    file.write_text(json.dumps({"region": "east", **tables, "webhook": webhooks}), encoding="utf-8")


def test_each_webhook_is_called_once_and_its_answer_told(run: Run, file: Path) -> None:
    with receiving() as well, receiving(answering(403, b"not \x1b[1myou")) as ill:
        template = '{"text": "$event: $text"}'
        configure(file, well={"url": well.url, "template": template}, ill={"url": ill.url})
        result = run("notify", "test", "-o", "json")
        table = run("notify", "test", "--webhook", "well")
    assert result.exit_code == 4
    found = NotifyTestDocument.model_validate_json(result.stdout)
    assert [(each.webhook, each.ok, each.outcome, each.status) for each in found.items] == [
        ("well", True, "delivered", 204),
        ("ill", False, "refused", 403),
    ]
    assert "\x1b" not in found.items[1].cause
    assert json.loads(well.posted[0].body) == {"text": "test: east: this is a test; nothing is wrong"}
    assert NotifyTestDocument.model_validate_json(result.stdout).notice == found.notice
    assert json.loads(ill.posted[0].body)["type"] == "syncer.holds.test"
    assert (table.exit_code, len(well.posted), len(ill.posted)) == (0, 2, 1)
    assert "well" in table.stdout


def test_where_there_is_none_it_says_so(run: Run, file: Path) -> None:
    configure(file)
    assert run("notify", "test").exit_code == 5
    configure(file, ops={"url": "https://hooks.example/"})
    assert run("notify", "test", "--webhook", "other").exit_code == 1


def test_files_that_cannot_be_used_are_told_by_the_check_and_by_the_test(run: Run, file: Path, tmp_path: Path) -> None:
    secret, template = tmp_path / "secret", tmp_path / "template"
    secret.write_text("whsec_hunter2")
    secret.chmod(0o600)
    template.write_text("$hunter")
    configure(file, ops={"url": "https://hooks.example/", "secret_file": str(secret), "template_file": str(template)})
    checked = run("config", "check", "-o", "json")
    assert checked.exit_code == 78
    problems = CheckDocument.model_validate_json(checked.stdout).problems
    assert [each.field for each in problems] == ["webhook.ops.secret_file", "webhook.ops.template_file"]
    assert "hunter2" not in checked.stdout
    tested = run("notify", "test", "-o", "json")
    assert NotifyTestDocument.model_validate_json(tested.stdout).items[0].outcome == "not-sent"
