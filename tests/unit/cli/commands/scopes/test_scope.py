"""``syncer scope test`` as an operator types it, on the store of an embedded region."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.scopes import ScopeDocument, ScopeMatchesDocument, ScopeShiftsDocument
from syncer.errors import AccessDenied, StoreUnavailable
from syncer.stores.sqlite import OutsideWriter, SqliteStore
from tests.support.environment import without_settings
from tests.support.logs import logging_restored

Run = Callable[..., Result]

PATHS = (
    "/admin/clusters/east",
    "/admin/partitioned-topics/acme/orders/persistent/__change_events",
    "/admin/partitioned-topics/acme/orders/persistent/paid",
    "/admin/policies/acme",
    "/admin/policies/acme/orders",
    "/admin/policies/pulsar",
    "/admin/policies/pulsar/system",
)
TRIED = """[scope]
clusters = true
rules = [
    { pattern = "/admin/policies/acme/**", direction = "ignore" },
    { pattern = "/admin/policies/**", direction = "publish" },
]
"""


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    without_settings(monkeypatch)
    monkeypatch.chdir(tmp_path)
    with logging_restored():
        yield


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[OutsideWriter]:
    text = (
        'region = "east"\n[store]\nkind = "sqlite"\npath = "east.db"\n[bus]\nkind = "embedded"\npath = "bus.db"\n'
        '[state]\npath = "state.db"\n'
    )
    (tmp_path / "east.toml").write_text(text, encoding="utf-8")
    (tmp_path / "tried.toml").write_text(text + TRIED, encoding="utf-8")
    with contextlib.closing(OutsideWriter(tmp_path / "east.db")) as opened:
        yield opened


@pytest.fixture
def run(writer: OutsideWriter) -> Run:
    for path in PATHS:
        writer.put(path, b"{}")

    def call(*arguments: str, file: str = "east.toml") -> Result:
        return CliRunner().invoke(app, ["scope", "test", *arguments, "--config", file])

    return call


def cells(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.stderr
    return [line.split() for line in result.stdout.splitlines()]


# -- all rules


def test_every_rule_is_shown_with_what_it_decides_about(run: Run, writer: OutsideWriter) -> None:
    before = writer.items()
    result = run()
    assert cells(result) == [
        ["RULE", "PATTERN", "DIRECTION", "GIVEN", "BY", "DECIDES", "ABOUT", "DECIDED", "BEFORE"],
        ["1", "/admin/policies/pulsar/**", "ignore", "default", "namespace", "1", "0"],
        ["2", "/admin/policies/pulsar", "ignore", "default", "tenant", "1", "0"],
        ["3", "/admin/policies/sla-monitor/**", "ignore", "default", "-", "0"],
        ["4", "/admin/policies/sla-monitor", "ignore", "default", "-", "0"],
        ["5", "/admin/policies/**", "both", "default", "tenant", "1,", "namespace", "1", "2"],
        ["6", "/admin/partitioned-topics/pulsar/**", "ignore", "default", "-", "0"],
        ["7", "/admin/partitioned-topics/*/*/*/__*", "ignore", "default", "partitioned-topic", "1", "0"],
        ["8", "/admin/partitioned-topics/**", "both", "default", "partitioned-topic", "1", "1"],
        ["9", "/admin/resourcegroups/**", "both", "default", "-", "0"],
        ["-", "no", "rule", "matches", "ignore", "-", "cluster", "1", "-"],
    ]
    assert result.stderr.splitlines() == [
        "both: tenant 1, namespace 1, partitioned-topic 1",
        "ignore: tenant 1, namespace 1, partitioned-topic 1, cluster 1",
    ]
    assert writer.items() == before


def test_the_counts_as_a_document(run: Run) -> None:
    found = ScopeDocument.model_validate_json(run("-o", "json", file="tried.toml").stdout)
    assert [(each.number, each.direction, each.given_by, each.kinds, each.decided_before) for each in found.rules] == [
        (1, "ignore", "scope", {"namespace": 1}, 0),
        (2, "publish", "scope", {"tenant": 2, "namespace": 1}, 1),
        (3, "both", "scope", {"cluster": 1}, 0),
    ]
    assert (found.region, found.unmatched, found.unfit, found.closed) == ("east", {"partitioned-topic": 2}, 0, [])
    assert sum(sum(kinds.values()) for kinds in found.directions.values()) == len(PATHS)


def test_rules_that_the_bus_gives_are_told_as_such(run: Run, tmp_path: Path) -> None:
    text = (tmp_path / "east.toml").read_text(encoding="utf-8")
    bus = '[bus]\nkind = "pulsar"\nservice_url = "pulsar://127.0.0.1:1"\ntopic = "persistent://syncer/meta/changes"\n'
    text = text.replace('[bus]\nkind = "embedded"\npath = "bus.db"\n', bus)
    (tmp_path / "pulsar.toml").write_text(text, encoding="utf-8")
    found = ScopeDocument.model_validate_json(run("-o", "json", file="pulsar.toml").stdout)
    assert [each.given_by for each in found.rules] == ["bus"] * 2 + ["default"] * 9
    (tmp_path / "pulsar.toml").write_text(f"{text}[scope]\nclusters = true\n", encoding="utf-8")
    found = ScopeDocument.model_validate_json(run("-o", "json", file="pulsar.toml").stdout)
    assert [each.given_by for each in found.rules] == ["bus"] * 2 + ["default"] * 9 + ["scope"]


def test_an_empty_store_and_what_cannot_be_carried_are_said(run: Run, writer: OutsideWriter) -> None:
    for path in PATHS:
        writer.delete(path)
    assert "no resource stands in the store of region east" in run().stderr
    writer.put("/admin/policies/" + "x" * 40_000, b"{}")
    assert "1 path set aside, which cannot be carried" in run().stderr


def test_what_may_not_be_read_is_said_where_the_scope_leaves_it_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = SqliteStore.scan

    def scan(self: SqliteStore, prefix: str) -> object:
        if prefix == "/admin/clusters":
            raise AccessDenied(f"{prefix} may not be read")
        return plain(self, prefix)  # type: ignore[arg-type]

    monkeypatch.setattr(SqliteStore, "scan", scan)
    result = run()
    assert result.exit_code == 0
    assert "nothing below /admin/clusters is counted: the store does not let it be read" in result.stderr
    assert run("/admin/clusters/*").exit_code == 6


# -- a pattern, a path


def test_a_pattern_lists_what_it_matches_with_the_rule_that_decides(run: Run) -> None:
    assert cells(run("/admin/policies/**")) == [
        ["KIND", "NAME", "DIRECTION", "RULE", "PATTERN"],
        ["tenant", "acme", "both", "5", "/admin/policies/**"],
        ["namespace", "acme/orders", "both", "5", "/admin/policies/**"],
        ["tenant", "pulsar", "ignore", "2", "/admin/policies/pulsar"],
        ["namespace", "pulsar/system", "ignore", "1", "/admin/policies/pulsar/**"],
    ]


def test_a_long_list_is_bounded_and_says_so(run: Run) -> None:
    result = run("/**", "--limit", "2")
    assert [row[0] for row in cells(result)] == ["KIND", "cluster", "partitioned-topic"]
    assert "and 5 more" in result.stderr
    found = ScopeMatchesDocument.model_validate_json(run("/**", "--limit", "2", "-o", "json").stdout)
    assert (found.total, found.more, [each.path for each in found.items]) == (7, 5, list(PATHS[:2]))


def test_a_pattern_that_matches_nothing_says_why(run: Run) -> None:
    assert (
        "nothing in the store of region east matches /admin/policies/zeta/**" in run("/admin/policies/zeta/**").stderr
    )
    assert "/ledgers/** can match no resource: it is state that a cluster keeps" in run("/ledgers/**").stderr


def test_one_path_that_stands(run: Run) -> None:
    result = run("/admin/policies/pulsar")
    assert "rule       2: /admin/policies/pulsar\n" in result.stdout
    assert "stands     yes" in result.stdout
    found = ScopeMatchesDocument.model_validate_json(run("/admin/policies/pulsar", "-o", "json").stdout)
    (each,) = found.items
    assert (each.kind, each.name, each.direction, each.rule, each.stands) == ("tenant", "pulsar", "ignore", 2, True)
    assert (found.total, found.more, found.no_resource) == (1, 0, None)


def test_one_path_that_stands_nowhere_is_told_by_the_rule_alone(run: Run) -> None:
    said = run("/admin/policies/zeta").stdout
    assert "Nothing stands there; it would be: both, by rule 5, /admin/policies/**.\n" in said
    assert "it would be: ignore, for no rule matches." in run("/admin/clusters/zeta").stdout


def test_a_path_that_is_no_resource_says_why(run: Run) -> None:
    result = run("/managed-ledgers/a/b/persistent/t")
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "/managed-ledgers/a/b/persistent/t is no resource: it is state that a cluster keeps"
    )
    found = ScopeMatchesDocument.model_validate_json(run("/admin/policies", "-o", "json").stdout)
    assert (found.items, found.total) == ([], 0)
    assert "only TENANT and TENANT/NAMESPACE are resources" in (found.no_resource or "")


# -- other rules


def test_other_rules_show_what_would_flow_another_way(run: Run, writer: OutsideWriter) -> None:
    before = writer.items()
    result = run("--rules", "tried.toml")
    assert cells(result) == [
        ["KIND", "NAME", "NOW", "THEN", "RULE", "NOW", "RULE", "THEN"],
        ["cluster", "east", "ignore", "both", "-", "3"],
        ["partitioned-topic", "persistent://acme/orders/paid", "both", "ignore", "8", "-"],
        ["tenant", "acme", "both", "publish", "5", "2"],
        ["namespace", "acme/orders", "both", "ignore", "5", "1"],
        ["tenant", "pulsar", "ignore", "publish", "2", "2"],
        ["namespace", "pulsar/system", "ignore", "publish", "1", "2"],
    ]
    assert result.stderr.splitlines() == [
        "both -> ignore: namespace 1, partitioned-topic 1",
        "both -> publish: tenant 1",
        "ignore -> both: cluster 1",
        "ignore -> publish: tenant 1, namespace 1",
        "1 resource stays as now",
        "nothing was changed; what leaves a scope is not deleted, and what comes in is carried from then on",
    ]
    assert writer.items() == before


def test_other_rules_for_a_pattern_as_a_document(run: Run) -> None:
    result = run("/admin/policies/*", "--rules", "tried.toml", "--limit", "1", "-o", "json")
    found = ScopeShiftsDocument.model_validate_json(result.stdout)
    assert [(each.now, each.then, each.kinds) for each in found.shifts] == [
        ("both", "publish", {"tenant": 1}),
        ("ignore", "publish", {"tenant": 1}),
    ]
    assert (found.file, found.pattern, found.same_rules) == ("tried.toml", "/admin/policies/*", False)
    assert ([each.path for each in found.items], found.more) == (["/admin/policies/acme"], 1)
    assert "and 1 more" in run("/admin/policies/*", "--rules", "tried.toml", "--limit", "1").stderr


def test_the_same_rules_change_nothing(run: Run) -> None:
    result = run("--rules", "east.toml")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "the rules of east.toml are those in effect" in result.stderr


# -- what cannot be


@pytest.mark.parametrize("pattern", ["acme", "/admin/policies/", "/admin//policies"])
def test_what_is_no_pattern_is_refused_as_the_configuration_refuses_it(run: Run, pattern: str) -> None:
    result = run(pattern)
    assert result.exit_code == 78
    assert f"error: scope pattern '{pattern}' is no path pattern\nhint: Write it like" in result.stderr


def test_a_store_that_does_not_answer_is_the_usual_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: SqliteStore) -> None:
        raise StoreUnavailable("the store does not answer", hint="Start it.")

    monkeypatch.setattr(SqliteStore, "open", fail)
    for arguments in ((), ("/admin/policies/**",), ("/admin/policies/acme",), ("--rules", "tried.toml")):
        result = run(*arguments)
        assert (result.exit_code, result.stderr) == (4, "error: the store does not answer\nhint: Start it.\n")


def test_a_configuration_with_a_wrong_rule_is_named(run: Run, tmp_path: Path) -> None:
    wrong = (tmp_path / "tried.toml").read_text(encoding="utf-8").replace('"/admin/policies/**"', '"policies"')
    (tmp_path / "wrong.toml").write_text(wrong, encoding="utf-8")
    result = run("--rules", "wrong.toml")
    assert result.exit_code == 78
    assert "scope pattern 'policies' is no path pattern" in result.stderr
    assert "syncer config check --config wrong.toml" in result.stderr


def test_fields_that_are_this_regions_own_are_named(run: Run, tmp_path: Path) -> None:
    rules = '{ pattern = "/admin/policies/acme/*", fields = ["retention_policies", "backlog_quota_map"] }'
    config = tmp_path / "east.toml"
    config.write_text(f"{config.read_text('utf-8')}[scope]\nexclude = [{rules}]\n", encoding="utf-8")
    found = ScopeMatchesDocument.model_validate_json(run("/admin/policies/acme/**", "-o", "json").stdout)
    assert {each.path: each.excluded for each in found.items} == {
        "/admin/policies/acme/orders": ["backlog_quota_map", "retention_policies"]
    }
    assert "backlog_quota_map, retention_policies" in run("/admin/policies/acme/orders").stdout
