"""The commands of a migration against two clusters over HTTP: plans, preflights, and every bad input."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.migration import MigrationPlanDocument, PreflightDocument
from tests.migration.clusters.answers import ClusterUrl
from tests.migration.clusters.cluster import ClusterMark
from tests.migration.clusters.process import Library
from tests.migration.plays import NAMESPACE, NamespacePlay
from tests.migration.served import served
from tests.support.logs import logging_restored

TOKEN = "hunter22"
CANARY = ("--from", "blue", "--to", "green", "--canary", NAMESPACE)

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _log_put_back() -> Iterator[None]:
    with logging_restored():
        yield


@pytest.fixture(scope="module")
def first() -> NamespacePlay:
    """A play that no test changes, and of which nobody was told where its clients will go."""
    play = NamespacePlay(0)
    play.blue.marks.clear()
    return play


def table(name: str, url: str, extra: str = "") -> str:
    """A cluster's table: its clients' addresses are those of a server that takes connections, at least."""
    host = url.removeprefix("http://")
    return (
        f'[cluster.{name}]\nservice_url = "http://{host}"\nservice_url_tls = "https://{host}"\n'
        f'broker_service_url = "pulsar://{host}"\nbroker_service_url_tls = "pulsar+ssl://{host}"\n'
        f'[cluster.{name}.admin]\nurl = "{url}"\n{extra}'
    )


def written(directory: Path, *tables: str) -> Path:
    file = directory / "config.toml"
    head = f'region = "east"\n[store]\nkind = "sqlite"\npath = "{directory}/s.db"\n'
    bus = f'[bus]\nkind = "embedded"\npath = "{directory}/b.db"\n'
    file.write_text(head + bus + "".join(tables), encoding="utf-8")
    return file


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Serve both clusters of a play, and call commands with a configuration that names them."""
    with ExitStack() as stack:

        def given(play: NamespacePlay, **faults: Any) -> Run:
            token = tmp_path / "token"
            token.write_text(TOKEN, encoding="utf-8")
            play.blue.marks.clear()
            blue = stack.enter_context(served(play.blue, token=TOKEN))
            green = stack.enter_context(served(play.green, **faults))
            credentials = f'token_file = "{token}"\n'
            file = written(tmp_path, table("blue", blue, credentials), table("green", green))
            return lambda *words: CliRunner().invoke(app, ["migration", *words, "--config", str(file)])

        yield given


Opened = Callable[..., Run]


def good(result: Result) -> str:
    assert result.exit_code == 0, (result.stdout, result.stderr)
    return str(result.stdout)


def refused(result: Result, status: int) -> str:
    assert result.exit_code == status, (result.stdout, result.stderr)
    assert result.stdout == ""
    error, hint = result.stderr.strip().splitlines()[-2:]
    assert hint.startswith("hint: ")
    assert TOKEN not in result.output
    return f"{error.removeprefix('error: ')}\n{hint}"


def found(result: Result) -> PreflightDocument:
    return PreflightDocument.model_validate_json(result.stdout)


# -- plan


def test_a_plan_is_written_shown_and_checked(opened: Opened, first: NamespacePlay, tmp_path: Path) -> None:
    run, file = opened(first), tmp_path / "plan.json"
    result = run("plan", *CANARY, "--override", "client-gate=all are stopped", "--save", str(file), "-o", "json")
    plan = MigrationPlanDocument.model_validate_json(good(result))
    (step,) = plan.namespaces
    assert (step.namespace, step.wave, step.topics, step.subscriptions) == (NAMESPACE, 0, 2, 6)
    assert (plan.blue.table, plan.green.table, plan.green.name) == ("blue", "green", "green")
    assert plan.green.broker_service_url.startswith("pulsar://127.0.0.1:")
    assert plan.overrides == {"client-gate": "all are stopped"}
    assert json.loads(file.read_text(encoding="utf-8"))["sha256"] == plan.sha256
    assert f"syncer migration preflight {file}" in result.stderr
    checked = found(run("preflight", str(file), "-o", "json"))
    assert checked.plan == plan.sha256
    assert checked.may_begin
    assert (checked.namespaces, checked.topics) == (1, 2)
    assert "left as it is" in refused(run("plan", *CANARY, "--save", str(file)), 5)


def test_a_plan_for_people_is_a_table(opened: Opened, first: NamespacePlay, tmp_path: Path) -> None:
    lines = good(opened(first)("plan", *CANARY, "--whole-cluster", "--save", str(tmp_path / "plan.json"))).splitlines()
    assert lines[0].split() == ["WAVE", "NAMESPACE", "TOPICS", "SUBSCRIPTIONS"]
    assert lines[1].split() == ["canary", NAMESPACE, "2", "6"]
    assert any(line.split()[:2] == ["whole", "cluster"] and line.endswith("yes") for line in lines)


def test_all_namespaces_are_put_in_waves(opened: Opened, tmp_path: Path) -> None:
    play = NamespacePlay(1)
    for name in ("acme/b", "acme/a", "pulsar/system", "public/functions"):
        play.add_namespace(name)
    play.add_topic("persistent://acme/a/one", "s")
    run = opened(play)
    words = ("--from", "blue", "--to", "green", "--all-namespaces", "--wave-size", "1", "--save", str(tmp_path / "p"))
    plan = MigrationPlanDocument.model_validate_json(good(run("plan", *words, "-o", "json")))
    assert [(each.wave, each.namespace) for each in plan.namespaces] == [(0, "acme/b"), (1, "acme/a"), (2, NAMESPACE)]


# -- preflight


def test_a_preflight_that_holds_says_so(opened: Opened, first: NamespacePlay) -> None:
    result = opened(first)("preflight", *CANARY)
    lines = good(result).splitlines()
    assert lines[0].split() == ["CHECK", "QUESTION", "ANSWER"]
    assert "the migration may begin" in result.stderr
    assert "What guarding blue will do:" in lines
    assert "Blocks the migration:" not in lines


def test_what_preparing_will_do_does_not_block_before_it(opened: Opened) -> None:
    play = NamespacePlay(2)
    del play.green.ledgers[play.topics[0]].cursors["Shared"]
    run = opened(play)
    before = run("preflight", *CANARY)
    text = good(before)
    assert "What preparing green will do:" in text
    assert f"{play.topics[0]}, subscription Shared" in text
    after = run("preflight", *CANARY, "--stage", "prepared", "-o", "json")
    assert after.exit_code == 1
    assert [each.name for each in found(after).checks if each.blocks] == ["subscriptions"]
    assert "blocked by 1 check: subscriptions" in after.stderr


def test_what_blocks_is_shown_with_remedy_and_can_be_passed_over(opened: Opened) -> None:
    play = NamespacePlay(3, library=Library.CPP_OLD)
    play.call("POST", f"/admin/v2/{play.topics[0].replace('://', '/')}/terminate")
    run = opened(play)
    blocked = run("preflight", *CANARY)
    assert blocked.exit_code == 1
    assert "Blocks the migration:" in blocked.stdout
    assert "delete it once it is read" in blocked.stdout
    passed_over = run("preflight", *CANARY, "--override", "not-terminated=it is read by hand")
    assert "Passed over:" in good(passed_over)
    assert "it is read by hand" in passed_over.stdout


def test_green_that_points_back_is_never_passed_over(opened: Opened) -> None:
    play = NamespacePlay(4)
    run = opened(play)
    back = ClusterUrl(http=f"http://{play.blue.brokers[0].address}", https="", pulsar="pulsar://else", pulsar_ssl="")
    play.green.marks["green"] = ClusterMark(migrated=False, url=back)
    result = run("preflight", *CANARY, "--override", "not-marked-yet=I mean it", "-o", "json")
    assert result.exit_code == 1
    (check,) = [each for each in found(result).checks if each.blocks]
    assert (check.name, check.override) == ("not-marked-yet", "I mean it")
    assert [each.severity for each in check.findings] == ["never"]
    assert "to and fro" in check.findings[0].remedy


def test_a_namespace_with_the_daemons_own_bus_stays_where_it_is(opened: Opened, tmp_path: Path) -> None:
    play = NamespacePlay(6)
    run, file = opened(play), tmp_path / "config.toml"
    bus = f'kind = "pulsar"\nservice_url = "pulsar://{play.blue.brokers[0].address}"\ntopic = "{play.topics[0]}"\n'
    text = file.read_text(encoding="utf-8").replace(f'kind = "embedded"\npath = "{tmp_path}/b.db"\n', bus)
    file.write_text(text, encoding="utf-8")
    result = run("preflight", *CANARY, "-o", "json")
    assert result.exit_code == 1
    assert [each.name for each in found(result).checks if each.blocks] == ["own-bus"]


# -- bad input


def test_tables_and_namespaces_that_are_not_there(opened: Opened, first: NamespacePlay) -> None:
    run = opened(first)
    unknown = refused(run("preflight", "--from", "blue", "--to", "grün", "--canary", NAMESPACE), 1)
    assert "no table [cluster.grün]" in unknown
    assert "The configuration has: blue, green" in unknown
    same = refused(run("preflight", "--from", "blue", "--to", "blue", "--canary", NAMESPACE), 1)
    assert "'cluster.blue' is named as blue and as green" in same
    absent = refused(run("preflight", "--from", "blue", "--to", "green", "--canary", f"{NAMESPACE},acme/nope"), 1)
    assert "cluster.blue has no namespace acme/nope" in absent
    assert "pulsar-admin namespaces list acme" in absent
    assert "named twice" in refused(run("preflight", *CANARY, "--wave", NAMESPACE), 1)
    assert "there is no check 'x'" in refused(run("preflight", *CANARY, "--override", "x=y"), 1)
    for bound, why in (("x=1", "no bound 'x'"), ("soak_s=soon", "'soon' is no whole number"), ("soak_s", "no whole")):
        assert why in refused(run("preflight", *CANARY, "--bound", bound), 1)
    assert "without a reason" in refused(run("preflight", *CANARY, "--override", "client-gate"), 1)


def test_options_that_do_not_go_together(opened: Opened, first: NamespacePlay, tmp_path: Path) -> None:
    run, file = opened(first), tmp_path / "plan.json"
    assert run("preflight").exit_code == 2
    assert run("preflight", "--from", "blue", "--to", "green").exit_code == 2
    assert run("preflight", *CANARY, "--all-namespaces").exit_code == 2
    assert run("preflight", "--from", "blue", "--to", "green", "--all-namespaces", "--wave", "a/b").exit_code == 2
    assert run("preflight", str(file), "--override", "client-gate=x").exit_code == 2
    assert run("plan", *CANARY).exit_code == 2


def test_a_plan_that_was_changed_or_is_stale(opened: Opened, tmp_path: Path) -> None:
    play, file = NamespacePlay(5), tmp_path / "plan.json"
    run = opened(play)
    good(run("plan", *CANARY, "--save", str(file)))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"whole_cluster": false', '"whole_cluster": true'), encoding="utf-8")
    assert "was edited: its fingerprint is not its own" in refused(run("preflight", str(file)), 1)
    file.write_text(text, encoding="utf-8")
    play.add_topic(f"{play.topics[0]}-new", "s")
    stale = refused(run("preflight", str(file)), 5)
    assert f"topics or subscriptions of {NAMESPACE} were made or deleted" in stale
    assert "syncer migration plan" in stale


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"refuses": 403}, "The role may not do this"),
        ({"token": "another"}, "check the token or certificate and its expiry"),
    ],
)
def test_missing_rights_and_an_expired_token(
    faults: dict[str, Any], words: str, opened: Opened, first: NamespacePlay
) -> None:
    said = refused(opened(first, **faults)("preflight", *CANARY), 6)
    assert "cluster.green: " in said
    assert words in said


def test_an_admin_api_that_is_dead_and_an_address_that_is_blank(
    first: NamespacePlay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncer.cli.commands.migrations.migration.RETRY_FOR", timedelta(0))
    with served(first.blue) as blue, served(first.green) as green:
        written(tmp_path, table("blue", blue), table("green", green).replace(f'"pulsar://{green[7:]}"', '""'))
        blank = CliRunner().invoke(app, ["migration", "preflight", *CANARY, "-c", str(tmp_path / "config.toml")])
    assert blank.exit_code == 78
    assert "cluster.green.broker_service_url: it is blank" in blank.stderr
    with served(first.blue) as blue:
        file = written(tmp_path, table("blue", blue), table("green", green))
        dead = refused(CliRunner().invoke(app, ["migration", "preflight", *CANARY, "-c", str(file)]), 4)
    assert "cluster.green: " in dead
    assert "onnection refused" in dead


def test_an_address_of_green_where_nobody_answers(first: NamespacePlay, tmp_path: Path) -> None:
    with served(first.green) as gone:
        pass
    with served(first.blue) as blue, served(first.green) as green:
        dead = table("green", green).replace(f'"pulsar://{green[7:]}"', f'"pulsar://{gone[7:]}"')
        file = written(tmp_path, table("blue", blue), dead)
        result = CliRunner().invoke(app, ["migration", "preflight", *CANARY, "-o", "json", "-c", str(file)])
    assert result.exit_code == 1
    blocking = {check.name: [each.subject for each in check.findings] for check in found(result).checks if check.blocks}
    assert blocking == {"addresses-answer": [f"pulsar://{gone[7:]}"]}, result.output
