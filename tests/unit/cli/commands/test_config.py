"""Commands around the configuration, and what holds for every command: options anywhere, exit codes, lazy imports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from syncer.cli.commands.topic import regions_of
from syncer.cli.main import app, hoisted
from syncer.config import load
from syncer.config.adapters import BUSES, STORES, installed
from syncer.documents.configuration import CheckDocument
from syncer.waiting import WAIT_S
from tests.support.admin_server import Asked, serving
from tests.support.environment import without_settings
from tests.support.logs import logging_restored

SECRET = "hunter22"

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    without_settings(monkeypatch)


@pytest.fixture(autouse=True)
def _log_put_back() -> Iterator[None]:
    with logging_restored():
        yield


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


@pytest.fixture
def run(file: Path) -> Run:
    def call(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--config", str(file)])

    return call


def minimal(directory: Path, extra: str = "") -> str:
    return (
        f'region = "east"\n[store]\nkind = "sqlite"\npath = "{directory}/s.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{directory}/b.db"\n[state]\npath = "{directory}/state.db"\n{extra}'
    )


def checked(result: Result) -> CheckDocument:
    return CheckDocument.model_validate_json(result.stdout)


# -- init


@pytest.mark.parametrize("bus", sorted(installed(BUSES)))
@pytest.mark.parametrize("store", sorted(installed(STORES)))
def test_init_writes_what_check_finds_good(store: str, bus: str, run: Run, file: Path) -> None:
    result = run("init", "--store", store, "--bus", bus, "--region", "north")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert "config check" in result.stderr
    assert checked(run("config", "check", "-o", "json")).ok
    assert load(file).region == "north"


def test_init_never_overwrites(run: Run, file: Path) -> None:
    file.write_text("mine", encoding="utf-8")
    result = run("init")
    assert result.exit_code == 5
    assert "is left as it is" in result.stderr
    assert file.read_text(encoding="utf-8") == "mine"


def test_init_can_print_instead(run: Run, file: Path) -> None:
    result = run("init", "--store", "etcd", "--stdout")
    assert 'kind = "etcd"' in result.stdout
    assert not file.exists()


def test_init_says_which_stores_there_are(run: Run, file: Path) -> None:
    result = run("init", "--store", "consul")
    assert result.exit_code == 78
    assert "etcd" in result.stderr
    assert not file.exists()


def test_init_into_a_directory_that_is_not_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["init", "-c", str(tmp_path / "absent" / "config.toml")])
    assert result.exit_code == 5
    assert "cannot be written" in result.stderr


# -- config


def test_check_names_line_field_reason_and_suggestion(run: Run, file: Path, tmp_path: Path) -> None:
    file.write_text(minimal(tmp_path, "[limits]\nmax_delets = 3\n"), encoding="utf-8")
    result = run("config", "check", "-o", "json")
    assert result.exit_code == 78
    found = checked(result)
    assert not found.ok
    (problem,) = found.problems
    assert problem.model_dump() == {
        "source": str(file),
        "line": 11,
        "field": "limits.max_delets",
        "what": "is no setting.",
        "suggestion": "Did you mean 'max_deletes'?",
    }
    text = run("config", "check")
    assert text.exit_code == 78
    assert f"{file}:11: limits.max_delets: is no setting. Did you mean 'max_deletes'?" in text.stdout


def test_check_warns_of_variables_that_name_nothing(
    run: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(minimal(tmp_path), encoding="utf-8")
    monkeypatch.setenv("SYNCER_LOGS__LEVEL", "x")
    result = run("config", "check")
    assert result.exit_code == 0
    assert "SYNCER_LOGS__LEVEL" in result.stderr


def test_check_connect_dials_everything(run: Run, file: Path, tmp_path: Path) -> None:
    file.write_text(minimal(tmp_path), encoding="utf-8")
    result = run("config", "check", "--connect", "-o", "json")
    assert result.exit_code == 0, (result.stdout, result.stderr)
    assert [(each.name, each.ok) for each in checked(result).dependencies] == [
        ("store sqlite", True),
        ("bus embedded", True),
        ("database", True),
    ]
    assert not (tmp_path / "state.db").exists(), "the daemon makes it, not a check"


def test_check_connect_says_what_cannot_be_reached(run: Run, file: Path, tmp_path: Path) -> None:
    gone = tmp_path / "absent"
    text = minimal(tmp_path).replace(f"{tmp_path}/state.db", f"{gone}/state.db").replace(f"{tmp_path}/b", f"{gone}/b")
    file.write_text(text, encoding="utf-8")
    result = run("config", "check", "--connect", "--timeout", "5", "-o", "json")
    assert result.exit_code == 4
    found = {each.name: each for each in checked(result).dependencies}
    assert found["store sqlite"].ok
    assert not found["bus embedded"].ok
    assert not found["database"].ok
    assert str(gone) in found["database"].cause
    assert all(each.hint for each in found.values() if not each.ok)


def test_check_connect_asks_the_admin_api_of_each_cluster(run: Run, file: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(SECRET, encoding="utf-8")

    def answer(asked: Asked) -> tuple[int, str]:
        return (200, '["pulsar"]') if asked.authorization == f"Bearer {SECRET}" else (401, '{"reason": "who is it?"}')

    with serving(answer) as blue, serving(answer) as green:
        clusters = "".join(
            f'[cluster.{name}]\nservice_url = "{url}"\nbroker_service_url = "pulsar://{name}:6650"\n'
            f'[cluster.{name}.admin]\nurl = "{url}"\n{extra}'
            for name, url, extra in (("blue", blue, f'token_file = "{token}"\n'), ("green", green, ""))
        )
        file.write_text(minimal(tmp_path, clusters), encoding="utf-8")
        result = run("config", "check", "--connect", "-o", "json")
    assert result.exit_code == 4
    found = {each.name: each for each in checked(result).dependencies}
    assert found["cluster blue"].ok
    assert "who is it?" in found["cluster green"].cause
    assert "credentials" in found["cluster green"].hint
    assert SECRET not in result.output


def test_show_hides_secrets_and_fills_defaults_in(run: Run, file: Path, tmp_path: Path) -> None:
    text = minimal(tmp_path).replace(f'path = "{tmp_path}/state.db"', f'url = "postgresql://me:{SECRET}@db/x"')
    file.write_text(text, encoding="utf-8")
    as_yaml, as_json = run("config", "show"), run("config", "show", "-o", "json")
    assert as_yaml.exit_code == as_json.exit_code == 0
    document = json.loads(as_json.stdout)
    assert yaml.safe_load(as_yaml.stdout) == document
    assert document["limits"]["tombstone_grace"] == "7d"
    assert document["state"]["url"] == "postgresql://me:********@db/x"
    assert SECRET not in as_yaml.output + as_json.output


def test_schema_is_a_json_schema(run: Run) -> None:
    result = run("config", "schema")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["$schema"].startswith("https://json-schema.org/")
    assert document["required"] == ["region", "store", "bus"]


# -- every command


@pytest.mark.parametrize(
    ("args", "front", "rest"),
    [
        (["status", "-o", "json"], ["--output", "json"], ["status"]),
        (["--config=x", "a", "--output=yaml"], ["--config", "x", "--output", "yaml"], ["a"]),
        (["a", "-c", "x", "--", "-o", "b"], ["--config", "x"], ["a", "--", "-o", "b"]),
        (["a", "-o"], [], ["a", "-o"]),
        (["status", "--server=u", "--context", "c"], ["--server", "u", "--context", "c"], ["status"]),
        (
            ["context", "add", "n", "--server", "u", "-o", "json"],
            ["--output", "json"],
            ["context", "add", "n", "--server", "u"],
        ),
        ([], [], []),
    ],
)
def test_options_of_every_command_may_stand_anywhere(args: list[str], front: list[str], rest: list[str]) -> None:
    assert hoisted(args) == (front, rest)


def test_errors_go_to_stderr_with_a_hint_and_their_exit_code(run: Run, file: Path) -> None:
    result = run("status")
    assert result.exit_code == 78
    assert result.stdout == ""
    assert result.stderr.splitlines()[0] == f"error: no configuration file {file}"
    assert result.stderr.splitlines()[1].startswith("hint: ")


@pytest.mark.parametrize("arguments", [["no-such-command"], ["status", "--no-such-option"], ["status", "-o", "xml"]])
def test_misuse_is_exit_code_2(arguments: list[str], run: Run) -> None:
    assert run(*arguments).exit_code == 2


def test_the_configuration_is_named_by_the_environment(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(minimal(tmp_path), encoding="utf-8")
    monkeypatch.setenv("SYNCER_CONFIG", str(file))
    assert CliRunner().invoke(app, ["config", "check"]).exit_code == 0


def commands(command: Any, name: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", {})
    return (
        [each for key, child in inner.items() for each in commands(child, (*name, key))] if inner else [(name, command)]
    )


EVERY = commands(typer.main.get_command(app))


def test_the_commands_are_these() -> None:
    assert {" ".join(name) for name, _ in EVERY} == {
        "context add", "context use", "context list", "context remove",
        "init", "run", "demo", "status", "explain", "pause", "resume",
        "config check", "config show", "config schema", "topic init", "keys create", "keys show", "notify test",
        "scope test",
        "api token create", "api token list", "api token revoke",
        "api client add", "api client list", "api client remove",
        "regions list", "regions join",
        "regions leave", "regions forget", "regions admit", "events tail",
        "conflicts list", "conflicts show", "conflicts restore", "conflicts discard",
        "holds list", "holds confirm", "holds reject",
        "jobs list", "jobs show", "jobs take", "jobs diff", "jobs cancel",
        "quarantine list", "quarantine retry", "quarantine discard", "parked list",
        "operations list", "operations show", "operations export",
        "diff", "plan show", "plan apply", "plan reverse", "migration plan", "migration preflight",
        "migration start", "migration go", "migration pause", "migration resume", "migration abort",
        "migration rollback", "migration close", "migration status", "migration list", "migration events",
        "migration report", "migration rehearse", "migration prepare", "migration reverse",
        "backup create", "backup verify", "backup diff", "backup restore",
        "snapshot take", "snapshot list", "snapshot show", "snapshot diff", "snapshot prune", "snapshot remove",
        "snapshot restore", "snapshot reverse", "snapshot sync", "snapshot repairs", "snapshot progress",
        "snapshot cancel",
        "balancer load", "balancer advise", "balancer drain",
        "balancer compare", "balancer doctor", "balancer apply", "balancer stop", "balancer runs",
        "balancer history show", "balancer history export",
        "ledgers audit", "ledgers explain", "ledgers what-if", "ledgers decommission", "ledgers under-replicated",
        "ledgers orphans", "ledgers history list", "ledgers history show", "ledgers history changes",
        "state check", "state compact", "state rebuild",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "command"), EVERY, ids=[" ".join(name) for name, _ in EVERY])
def test_every_command_says_what_it_does(name: tuple[str, ...], command: Any, run: Run) -> None:
    assert command.help
    assert "\n" not in command.help.split("\n\n")[0].strip() or len(command.help) < 300
    result = run(*name, "--help")
    assert result.exit_code == 0
    assert not re.search(r"\bargs\b|\bReturns:", result.stdout)


def test_version_and_completion(run: Run) -> None:
    assert re.fullmatch(r"pulsar-syncer \d+\.\d+\.\d+\S*\n", run("--version").stdout)
    shown = subprocess.run(
        [sys.executable, "-c", "from syncer.cli.main import main; main()", "--show-completion", "bash"],
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    assert "complete -o default" in shown.stdout
    assert "syncer" in shown.stdout


def test_looking_loads_no_client_library(file: Path, tmp_path: Path) -> None:
    file.write_text(minimal(tmp_path), encoding="utf-8")
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from syncer.cli.main import app\n"
        f"result = CliRunner().invoke(app, ['status', '-c', {str(file)!r}])\n"
        "heavy = ('fastapi', 'uvicorn', 'pulsar', 'kazoo', 'grpc', 'etcd3', 'httpx2', 'fastavro')\n"
        "print([name for name in heavy if name in sys.modules], result.exit_code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT_S, check=True)
    assert done.stdout.strip() == "[] 4", "no database is there, and nothing heavy was loaded to find that out"


# -- topic init


def test_a_bus_without_a_topic_needs_none(run: Run, file: Path, tmp_path: Path) -> None:
    file.write_text(minimal(tmp_path), encoding="utf-8")
    result = run("topic", "init", "--cluster", "a=http://127.0.0.1:1")
    assert result.exit_code == 5
    assert "needs no topic" in result.stderr


def test_clusters_are_regions_of_their_own_unless_said(file: Path, tmp_path: Path) -> None:
    file.write_text('clusters = ["c1"]\n' + minimal(tmp_path), encoding="utf-8")
    config = load(file)
    urls = {"c1": "http://h1", "c2": "http://h2", "c3": "http://h3"}
    assert regions_of(config, urls, {"c3": "blue,green"}) == {"c1": ("east",), "c2": ("c2",), "c3": ("blue", "green")}
    with pytest.raises(typer.BadParameter, match="no --cluster names"):
        regions_of(config, urls, {"c4": "x"})


@pytest.mark.parametrize("arguments", [["--cluster", "a"], ["--cluster", "a=u", "--cluster", "a=v"], []])
def test_clusters_are_given_as_pairs(arguments: list[str], run: Run) -> None:
    run("init", "--store", "sqlite", "--bus", "pulsar")
    assert run("topic", "init", *arguments).exit_code == 2


def test_clusters_that_do_not_answer_are_said_once_each(run: Run, file: Path, unused_port: int) -> None:
    run("init", "--store", "sqlite", "--bus", "pulsar")
    with file.open("a", encoding="utf-8") as more:
        more.write(f'[admin]\nurl = "http://127.0.0.1:{unused_port}"\ntimeout = "1s"\n')
    urls = {"a": f"http://127.0.0.1:{unused_port}", "b": f"http://localhost:{unused_port}"}
    clusters = [word for name, url in urls.items() for word in ("--cluster", f"{name}={url}")]
    result = run("topic", "init", *clusters, "--timeout", "2", "--yes", "-o", "json")
    assert result.exit_code == 4
    assert result.stdout == ""
    *retries, error, hint = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert sorted(retries) == [
        f"{name}: GET {url}/admin/v2/tenants/pulsar: connection refused; trying again for 2 s"
        for name, url in urls.items()
    ]


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port
