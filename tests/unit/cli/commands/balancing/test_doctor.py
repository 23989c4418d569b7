"""``syncer balancer doctor`` against a store and a broker over HTTP: findings, and what is not known."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.balancing.doctor import DoctorDocument
from tests.support.load_documents import FIRST, local_broker
from tests.support.load_sources import RUNTIME, Answer, brokers_with, store_with
from tests.support.logs import logging_restored

CONFIGURED: dict[str, Answer] = {
    RUNTIME: (
        200,
        {
            "clusterName": "east",
            "loadBalancerSheddingExcludedNamespaces": "[]",
            "topicFencingTimeoutSeconds": "0",
            "loadBalancerReportUpdateMaxIntervalMinutes": "15",
        },
    ),
}


@pytest.fixture(autouse=True)
def _log_put_back() -> Iterator[None]:
    with logging_restored():
        yield


def run(directory: Path, url: str, *args: str) -> Result:
    broker = url.rpartition("://")[2].rstrip("/")
    written_ms = time.time_ns() // 1_000_000 - 20 * 60_000

    async def fill() -> None:
        report = {**local_broker(broker, FIRST), "lastUpdate": written_ms}
        topic = "/managed-ledgers/acme/orders/persistent/topic-616bbq"
        async with store_with(directory, {f"/loadbalance/brokers/{broker}": report, topic: b""}):
            pass

    anyio.run(fill)
    file = directory / "config.toml"
    file.write_text(
        f'region = "east"\n[store]\nkind = "sqlite"\npath = "{directory}/store.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{directory}/bus.db"\n'
        '[cluster.green]\nservice_url = "http://green:8080"\nbroker_service_url = "pulsar://green:6650"\n'
        f'[cluster.green.admin]\nurl = "{url}"\n',
        encoding="utf-8",
    )
    return CliRunner().invoke(
        app, ["balancer", "doctor", "-c", str(file), "--cluster", "green", *args], catch_exceptions=False
    )


def test_the_document_holds_findings_with_evidence_and_what_is_not_judged(tmp_path: Path) -> None:
    with brokers_with(CONFIGURED) as url:
        result = run(tmp_path, url, "-o", "json")
    assert result.exit_code == 0, result.output
    found = DoctorDocument.model_validate_json(result.stdout)
    codes = [each.code.value for each in found.found]
    assert {"fencing-timeout-off", "nic-limit-unknown", "report-stale", "shed-by-usage-placed-by-rate"} <= set(codes)
    stale = found.found[codes.index("report-stale")].evidence[0]
    assert (stale.source, stale.where is not None) == ("store", True)
    assert 20 * 60_000 <= (stale.age_ms or 0) < 22 * 60_000
    assert found.found[codes.index("topic-unservable")].where == "persistent://acme/orders/topic-616bbq"
    assert "settings-differ" not in {code.value for each in found.unjudged for code in each.codes}


def test_names_of_topics_are_not_known_while_the_configuration_store_is_away(tmp_path: Path) -> None:
    with brokers_with(CONFIGURED) as url:
        run(tmp_path, url)
        file = tmp_path / "config.toml"
        text = file.read_text(encoding="utf-8").replace(
            f'path = "{tmp_path}/store.db"', f'path = "{tmp_path}/no/store.db"'
        )
        own = f'[cluster.green.store]\nkind = "sqlite"\npath = "{tmp_path}/store.db"\n'
        file.write_text(text.replace("[cluster.green.admin]", f"{own}[cluster.green.admin]"), encoding="utf-8")
        words = ["balancer", "doctor", "-c", str(file), "--cluster", "green", "-o", "json"]
        result = CliRunner().invoke(app, words, catch_exceptions=False)
    found = DoctorDocument.model_validate_json(result.stdout)
    assert "topic-unservable" not in {each.code.value for each in found.found}
    assert "topic-unservable" in {code.value for each in found.unjudged for code in each.codes}


def test_a_table_shows_findings_with_evidence_and_remedy(tmp_path: Path) -> None:
    with brokers_with(CONFIGURED) as url:
        result = run(tmp_path, url)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0].split() == ["SEVERITY", "CODE", "WHERE", "WHAT"]
    assert "fencing-timeout-off: east (PR 8561; issues 5284, 14941, 15451, 6872, 2967)" in result.stderr
    assert "topicFencingTimeoutSeconds: 0 (" in result.stderr
    assert "hint: Set topicFencingTimeoutSeconds above 0, to 60 for example." in result.stderr
    assert "cannot be judged: bundle-ping-pong: east: " in result.stderr
