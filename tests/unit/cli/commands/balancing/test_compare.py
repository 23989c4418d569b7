"""``syncer balancer compare``: the same table and JSON for the same seed, and only what was asked for."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from syncer.cli.main import app
from syncer.documents.balancing.comparison import ComparisonDocument
from tests.support.load_documents import FIRST, local_broker, small_cluster
from tests.support.load_sources import RUNTIME, brokers_with, store_with
from tests.support.logs import logging_restored
from tests.support.region_database import Run, good

SMALL = ("balancer", "compare", "--synthetic", "5", "--brokers", "6", "--bundles", "60")


def compared(run: Run, *more: str) -> ComparisonDocument:
    return ComparisonDocument.model_validate_json(good(run(*SMALL, "-o", "json", *more)))


def test_every_strategy_is_compared_with_our_plan_beside_it(run: Run) -> None:
    found = compared(run)
    assert {each.strategy for each in found.strategies} == {
        "ThresholdShedder", "OverloadShedder", "UniformLoadShedder", "AvgShedder", "TransferShedder",
    }  # fmt: skip
    acting = [each for each in found.strategies if each.pulsar.unloads]
    assert acting
    for each in found.strategies:
        assert (each.ours is None) == (each.pulsar.unloads == 0)
        assert sum(played.unloads for played in each.pulsar.rounds) == each.pulsar.unloads
        if each.ours is not None:
            assert each.ours.spread <= each.pulsar.spread + 1e-9
    assert (found.load.seed, found.load.brokers, found.settings) == (5, 6, {})
    assert found == compared(run)


def test_settings_hold_for_all_and_only_the_named_strategies_are_played(run: Run) -> None:
    off = compared(run, "--set", "loadBalancerSheddingEnabled=false", "--strategy", "AvgShedder")
    assert {each.strategy for each in off.strategies} == {"AvgShedder"}
    assert [each.pulsar.unloads for each in off.strategies] == [0] * len(off.strategies)
    assert off.settings == {"loadBalancerSheddingEnabled": "false"}


def test_the_table_has_a_row_for_each_and_says_what_was_drawn(run: Run) -> None:
    found = compared(run, "--strategy", "AvgShedder")
    shown = run(*SMALL, "--strategy", "AvgShedder")
    lines = good(shown).splitlines()
    first, ours = found.strategies[0].pulsar, found.strategies[0].ours
    assert ours is not None
    assert len(lines) == 1 + len(found.strategies)
    cells = lines[1].split()
    assert cells[:4] == ["AvgShedder", "AvgShedder", str(first.unloads), f"{first.client_seconds:.1f}"]
    assert (str(ours.unloads) in cells, f"{ours.client_seconds:.1f}" in cells) == (True, True)
    assert cells[-1] == "loadBalancerDistributeBundlesEvenlyEnabled=false"
    assert "load drawn by seed 5 (hot-brokers): 6 brokers, 60 bundles, a spread of" in shown.stderr


def test_one_round_has_not_settled_where_bundles_moved_in_it(run: Run) -> None:
    found = compared(run, "--rounds", "1", "--strategy", "UniformLoadShedder")
    assert any(each.pulsar.unloads for each in found.strategies)
    assert all(each.pulsar.settled_after_rounds is None for each in found.strategies if each.pulsar.unloads)
    assert all(len(each.pulsar.rounds) == 1 for each in found.strategies)


@pytest.mark.parametrize("told", [True, False])
def test_the_load_of_a_cluster_is_read_and_compared_over(tmp_path: Path, told: bool) -> None:
    documents = {**small_cluster(), "/loadbalance/brokers/b1:8080": local_broker("b1:8080", FIRST)}

    async def fill() -> None:
        async with store_with(tmp_path, documents):
            pass

    anyio.run(fill)
    file = tmp_path / "config.toml"
    runtime = {"clusterName": "east", "loadBalancerSheddingGracePeriodMinutes": "7"}
    with brokers_with({RUNTIME: (200, runtime)} if told else {}) as url, logging_restored():
        file.write_text(
            f'region = "east"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/store.db"\n'
            f'[bus]\nkind = "embedded"\npath = "{tmp_path}/bus.db"\n'
            '[cluster.green]\nservice_url = "http://green:8080"\nbroker_service_url = "pulsar://green:6650"\n'
            f'[cluster.green.admin]\nurl = "{url}"\n',
            encoding="utf-8",
        )
        result = CliRunner().invoke(app, ["balancer", "compare", "-c", str(file), "--cluster", "green", "-o", "json"])
    if not told:
        assert result.exit_code == 1
        assert "settings of the brokers of" in result.stderr
        return
    found = ComparisonDocument.model_validate_json(result.stdout)
    load = found.load
    assert (load.cluster, load.seed, load.brokers + load.unknown_brokers) == ("east", None, 2)
    assert load.bundles + load.unknown_bundles == 2
    # The cluster's own settings are the first row.
    assert (found.strategies[0].strategy, found.strategies[0].settings) == ("ThresholdShedder", {})
