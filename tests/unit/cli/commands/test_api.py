"""``syncer api``: tokens and client certificates are made, listed without a secret, and taken away."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from syncer.access import token_file, tokens
from syncer.cli.main import app
from syncer.documents.configuration import ClientCertificateList, NewTokenDocument, TokenList
from tests.support.environment import without_settings

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    without_settings(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


@pytest.fixture
def run(tmp_path: Path, path: Path) -> Run:
    file = tmp_path / "config.yaml"
    store, bus = {"kind": "sqlite", "path": "s.db"}, {"kind": "embedded", "path": "b.db"}
    file.write_text(json.dumps({"region": "east", "store": store, "bus": bus, "api": {"tokens": str(path)}}))

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["api", *arguments, "--config", str(file)])

    return call


def test_a_token_is_shown_once_and_opens(run: Run, path: Path) -> None:
    made = run("token", "create", "grafana", "--role", "read", "--expires", "90d")
    assert made.exit_code == 0
    text = made.stdout.strip()
    rights = token_file.read(path).rights
    entry = tokens.found_token(rights, text)
    assert entry is not None
    assert entry.expires is not None
    assert (entry.role, entry.values, (entry.expires - entry.created).days) == ("read", False, 90)
    assert text not in made.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secret = text.split("_", 2)[2]
    for form in ("table", "json", "yaml"):
        listed = run("token", "list", "-o", form)
        assert entry.id in listed.stdout
        assert secret not in listed.output
        assert entry.hash not in listed.output
    assert secret.encode() not in path.read_bytes()


def test_documents(run: Run) -> None:
    new = NewTokenDocument.model_validate_json(
        run("token", "create", "a", "--role", "admin", "--values", "-o", "json").stdout
    )
    assert (new.made.role, new.made.values, new.made.expires_at_ms) == ("admin", True, None)
    listed = TokenList.model_validate_json(run("token", "list", "-o", "json").stdout)
    assert listed.items == [new.made]
    assert abs(new.made.created_at_ms / 1000 - datetime.now(UTC).timestamp()) < 60


def test_two_of_one_name_and_one_is_revoked_by_its_id(run: Run) -> None:
    ids = [
        NewTokenDocument.model_validate_json(run("token", "create", "a", "--role", "read", "-o", "json").stdout).made.id
        for _ in range(2)
    ]
    third = run("token", "create", "a", "--role", "read")
    assert third.exit_code == 5
    assert all(each in third.stderr for each in ids)
    assert run("token", "revoke", "a", "--id", ids[0]).exit_code == 0
    left = TokenList.model_validate_json(run("token", "list", "-o", "json").stdout)
    assert [each.id for each in left.items] == ids[1:]
    assert run("token", "revoke", "a").exit_code == 0
    assert run("token", "revoke", "a").exit_code == 1


def test_a_client_certificate_by_its_subject(run: Run) -> None:
    added = run("client", "add", "backup", "--subject", "CN=b\\61ckup,O=acme", "--role", "operate", "-o", "json")
    (entry,) = ClientCertificateList.model_validate_json(added.stdout).items
    assert (entry.subject, entry.role, entry.expired) == ("CN=backup,O=acme", "operate", False)
    assert "CN=backup,O=acme" in run("client", "list").stdout
    assert run("client", "add", "other", "--subject", "CN=backup,O=acme", "--role", "read").exit_code == 5
    assert run("client", "remove", "backup").exit_code == 0
    assert "no client certificate" in run("client", "list").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("token", "create", "a b", "--role", "read"),
        ("token", "create", "", "--role", "read"),
        ("token", "create", "a", "--role", "read", "--expires", "soon"),
        ("token", "create", "a", "--role", "read", "--expires", "0s"),
        ("token", "create", "a", "--role", "read", "--expires", "99999999d"),
        ("client", "add", "a", "--role", "read", "--subject", "somebody"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint_and_changes_nothing(
    arguments: tuple[str, ...], run: Run, path: Path
) -> None:
    refused = run(*arguments)
    assert refused.exit_code == 5
    assert "hint: " in refused.stderr
    assert not path.exists()


def test_without_a_file_in_the_configuration_it_is_said_how_to_name_one(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps({**json.loads(file.read_text()), "api": {}}))
    refused = run("token", "list")
    assert (refused.exit_code, "'tokens'" in refused.stderr) == (5, True)


def test_a_file_that_strangers_may_read_is_refused(run: Run, path: Path) -> None:
    run("token", "create", "a", "--role", "read")
    path.chmod(0o644)
    refused = run("token", "list")
    assert (refused.exit_code, "0644" in refused.stderr) == (6, True)


@pytest.mark.parametrize(
    ("table", "status", "said"),
    [
        ({"listen": "0.0.0.0:1"}, 0, "api-probes-only"),
        ({"listen": "0.0.0.0:1", "tokens": "t"}, 78, 'api.without = ["tls"]'),
        ({"listen": "0.0.0.0:1", "tokens": "t", "without": ["tls"]}, 0, "api-unprotected"),
        ({"listen": "0.0.0.0:1", "tokens": "t", "enabled": False}, 0, ""),
        ({"tls": {"certificate": "c", "key": "k", "client_ca": "a"}}, 78, "'tls.client_ca' needs 'tokens'"),
        ({"hosts": ["http://a"]}, 78, "no name of a host"),
        ({"probes": "8951"}, 78, "write it as host:port"),
        ({"listen": ""}, 78, "write it as host:port"),
        ({"without": ["everything"]}, 78, "none of the choices"),
    ],
)
def test_the_check_of_the_configuration_says_what_is_wanting(
    table: dict[str, object], status: int, said: str, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps({**json.loads(file.read_text()), "api": table}))
    checked = CliRunner().invoke(app, ["config", "check", "--config", str(file)])
    assert checked.exit_code == status, checked.output
    assert said in checked.output
