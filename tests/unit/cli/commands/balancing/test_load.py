"""``syncer balancer load`` against a store and brokers over HTTP: every figure, unknown ones, and each bad input."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.balancing.load import LoadDocument
from tests.support.load_documents import FIRST, SECOND, local_broker, lookup_data, small_cluster
from tests.support.load_sources import RUNTIME, Answer, brokers_with, store_with
from tests.support.logs import logging_restored

CONFIGURED: dict[str, Answer] = {
    RUNTIME: (200, {"clusterName": "east", "loadBalancerSheddingExcludedNamespaces": "[]"}),
}


@pytest.fixture(autouse=True)
def _log_put_back() -> Iterator[None]:
    with logging_restored():
        yield


def fresh() -> dict[str, Any]:
    """The small cluster, with reports of four seconds ago."""
    written_ms = time.time_ns() // 1_000_000 - 4000
    return {
        **small_cluster(),
        "/loadbalance/brokers/b1:8080": local_broker("b1:8080", FIRST, lastUpdate=written_ms),
        "/loadbalance/brokers/b2:8080": local_broker("b2:8080", SECOND, lastUpdate=written_ms, cpu=None),
    }


def run(directory: Path, url: str, *args: str, documents: dict[str, Any] | None = None, extra: str = "") -> Result:
    async def fill() -> None:
        async with store_with(directory, documents or {}):
            pass

    if documents is not None:
        anyio.run(fill)
    file = directory / "config.toml"
    file.write_text(
        f'region = "east"\n[store]\nkind = "sqlite"\npath = "{directory}/store.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{directory}/bus.db"\n'
        '[cluster.green]\nservice_url = "http://green:8080"\nbroker_service_url = "pulsar://green:6650"\n'
        f'[cluster.green.admin]\nurl = "{url}"\n{extra}',
        encoding="utf-8",
    )
    return CliRunner().invoke(app, ["balancer", "load", "-c", str(file), *args], catch_exceptions=False)


def test_the_document_holds_every_figure_with_source_and_age(tmp_path: Path) -> None:
    with brokers_with(CONFIGURED) as url:
        result = run(tmp_path, url, "--cluster", "green", "-o", "json", documents=fresh())
    assert result.exit_code == 0, result.output
    found = LoadDocument.model_validate_json(result.stdout)
    assert (found.cluster, found.manager, found.leader) == ("east", "modular", "b1:8080")
    assert (found.isolation_policies, found.failure_domains) == (1, 1)
    first, second = found.brokers
    assert first.usage == pytest.approx(120.5 / 800)
    assert first.figures is not None
    assert first.figures.where == "/loadbalance/brokers/b1:8080"
    assert 4000 <= (first.figures.age_ms or 0) < 60_000
    assert (second.cpu, second.usage) == (None, None)
    assert second.traffic is not None
    assert (found.unknown_brokers, found.unknown_bundles) == (["b2:8080"], [SECOND])
    assert [each.owner for each in found.bundles] == ["b1:8080", "b2:8080"]
    assert [(each.kind, each.where) for each in found.findings] == [("missing", "/loadbalance/brokers/b2:8080")]


def test_a_table_shows_brokers_and_says_what_is_unknown(tmp_path: Path) -> None:
    with brokers_with(CONFIGURED) as url:
        result = run(tmp_path, url, "--cluster", "green", documents=fresh())
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["BROKER", "USAGE"]
    assert lines[1].split()[:3] == ["b1:8080", "15.1%", "15.1%"]
    assert lines[2].split()[:3] == ["b2:8080", "-", "-"]
    assert "8 of ?" in lines[1]
    assert "of 1 broker and 1 bundle the load is not known" in result.stderr
    assert "missing: /loadbalance/brokers/b2:8080: cpu is not there" in result.stderr


def test_bundles_are_a_table_of_their_own(tmp_path: Path) -> None:
    with brokers_with(CONFIGURED) as url:
        result = run(tmp_path, url, "--cluster", "green", "--bundles", documents=fresh())
    rows = [line.split()[:4] for line in result.stdout.splitlines()[1:]]
    assert rows == [[FIRST, "b1:8080", "owned", "30"], [SECOND, "b2:8080", "owned", "30"]]


def test_a_broker_of_the_extensible_manager_that_was_not_heard_and_does_not_answer_is_unknown(tmp_path: Path) -> None:
    documents = {"/loadbalance/brokers/127.0.0.1:1": lookup_data("127.0.0.1:1"), "/admin/clusters/east": {}}
    with brokers_with(CONFIGURED) as url:
        result = run(tmp_path, url, "--cluster", "green", "--listen", "0", "-o", "json", documents=documents)
    assert result.exit_code == 0, result.output
    found = LoadDocument.model_validate_json(result.stdout)
    assert found.manager == "extensible"
    assert [(each.figures, each.cpu, each.traffic) for each in found.brokers] == [(None, None, None)]
    assert found.unknown_brokers == ["127.0.0.1:1"]
    assert [each.kind for each in found.findings] == ["unreadable", "missing", "unreadable", "unreadable", "missing"]
    assert "broker-stats/metrics" in found.findings[0].where
    assert "not read to its end" in found.findings[1].what


def test_many_findings_are_counted(tmp_path: Path) -> None:
    documents = {f"/loadbalance/brokers/b{number}:8080": b"{" for number in range(25)}
    with brokers_with(CONFIGURED) as url:
        result = run(tmp_path, url, "--cluster", "green", documents=documents)
    assert result.exit_code == 0, result.output
    assert "6 more findings: see '-o json'" in result.stderr
    assert "no brokers" in result.stderr


def test_an_empty_cluster_is_an_answer(tmp_path: Path) -> None:
    with brokers_with(CONFIGURED) as url:
        result = run(tmp_path, url, "--cluster", "green", "--bundles", documents={})
    assert result.exit_code == 0, result.output
    assert "no bundles" in result.stderr
    assert "no manager that is known, 0 brokers, 0 bundles" in result.stderr


def test_a_cluster_that_is_not_configured_is_not_found(tmp_path: Path) -> None:
    result = run(tmp_path, "http://127.0.0.1:1", "--cluster", "blue", documents={})
    assert result.exit_code == 1
    assert "no table [cluster.blue]" in result.stderr


def test_a_store_that_does_not_answer_is_stood_in_for_or_the_trouble_is_told(tmp_path: Path) -> None:
    own = '[cluster.green.store]\nkind = "zookeeper"\nhosts = "127.0.0.1:1"\nconnect_timeout = "1s"\n'
    with brokers_with({**CONFIGURED, "/brokers/east": (200, ["127.0.0.1:1"])}) as url:
        result = run(tmp_path, url, "--cluster", "green", "-o", "json", documents={}, extra=own)
        assert result.exit_code == 0, result.output
        found = LoadDocument.model_validate_json(result.stdout)
        assert [each.broker for each in found.brokers] == ["127.0.0.1:1"]
        assert "the cluster's store" in [each.where for each in found.findings]
    with brokers_with({}) as url:
        result = run(tmp_path, url, "--cluster", "green", extra=own)
    assert result.exit_code == 4
    assert "hint: " in result.stderr
