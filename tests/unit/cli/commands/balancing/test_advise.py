"""``syncer balancer advise`` and ``drain`` with a store and brokers over HTTP: moves, reasons, and each bad input."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from typer.testing import CliRunner, Result

from syncer.balancer.cost.estimate import Basis
from syncer.balancer.moving.bounds import QuietHours, RunBounds
from syncer.balancer.ranges import default_boundaries, range_of_bundle, range_text, topic_hash
from syncer.balancer.running import plan_file
from syncer.cli.main import app
from syncer.documents.balancing.advice import AdviceDocument, EstimateDocument, SizeDocument
from tests.support.load_documents import boundaries, isolation, local_broker, owner, stats
from tests.support.load_sources import RUNTIME, Answer, brokers_with, store_with
from tests.support.logs import logging_restored

CUTS: Final = default_boundaries(8)
BUNDLES: Final = [f"shop/orders/{range_text(low, high)}" for low, high in itertools.pairwise(CUTS)]
MB: Final = 1_000_000.0
CONFIGURED: Final[dict[str, Answer]] = {
    RUNTIME: (200, {"clusterName": "east", "loadBalancerSheddingExcludedNamespaces": "[]"}),
}


@pytest.fixture(autouse=True)
def _log_put_back() -> Iterator[None]:
    with logging_restored():
        yield


def cluster(cpu: dict[str, float], bundles: dict[str, list[str]], **more: Any) -> dict[str, Any]:
    """Brokers with so much CPU in use, of 400, and bundles of 20 MB/s each."""
    written_ms = time.time_ns() // 1_000_000 - 4000
    found: dict[str, Any] = {
        "/loadbalance/leader": {"brokerId": "b1:8080", "serviceUrl": "http://b1:8080"},
        "/admin/local-policies/shop/orders": boundaries(*(f"0x{cut:08x}" for cut in CUTS)),
        "/admin/policies/shop/orders": {"auth_policies": {}, "bundles": None},
        "/admin/clusters/east/namespaceIsolationPolicies": {},
    }
    for broker, usage in cpu.items():
        own = bundles[broker]
        each = stats(msgThroughputIn=10 * MB, msgThroughputOut=10 * MB, msgRateIn=5000.0, msgRateOut=5000.0)
        found[f"/loadbalance/brokers/{broker}"] = local_broker(
            broker,
            *own,
            lastUpdate=written_ms,
            cpu={"usage": usage, "limit": 400.0},
            lastStats=dict.fromkeys(own, each),
            msgThroughputIn=10 * MB * len(own),
            msgThroughputOut=10 * MB * len(own),
            msgRateIn=5000.0 * len(own),
            msgRateOut=5000.0 * len(own),
            bandwidthIn={"usage": 1.0, "limit": 10_000_000.0},
        )
        for bundle in own:
            found[f"/namespace/{bundle}"] = owner(broker)
    return {**found, **more}


def uneven(**more: Any) -> dict[str, Any]:
    """One broker of three has six of eight bundles."""
    return cluster(
        {"b1:8080": 320.0, "b2:8080": 50.0, "b3:8080": 50.0},
        {"b1:8080": BUNDLES[:6], "b2:8080": BUNDLES[6:7], "b3:8080": BUNDLES[7:]},
        **more,
    )


def run(directory: Path, *args: str, documents: dict[str, Any], answers: dict[str, Answer] | None = None) -> Result:
    async def fill() -> None:
        async with store_with(directory, documents):
            pass

    anyio.run(fill)
    with brokers_with(CONFIGURED if answers is None else answers) as url:
        file = directory / "config.toml"
        file.write_text(
            f'region = "east"\n[store]\nkind = "sqlite"\npath = "{directory}/store.db"\n'
            f'[bus]\nkind = "embedded"\npath = "{directory}/bus.db"\n'
            '[cluster.green]\nservice_url = "http://green:8080"\nbroker_service_url = "pulsar://green:6650"\n'
            f'[cluster.green.admin]\nurl = "{url}"\n',
            encoding="utf-8",
        )
        words = ["balancer", args[0], "-c", str(file), "--cluster", "green", *args[1:]]
        return CliRunner().invoke(app, words, catch_exceptions=False)


def advised(directory: Path, *args: str, documents: dict[str, Any]) -> AdviceDocument:
    result = run(directory, *args, "-o", "json", documents=documents)
    assert result.exit_code == 0, result.output
    return AdviceDocument.model_validate_json(result.stdout)


def test_few_moves_level_a_cluster_and_each_has_its_price(tmp_path: Path) -> None:
    found = advised(tmp_path, "advise", documents=uneven())
    assert (found.answer, found.reason, found.rule) == ("moves", "too-unequal", "cheapest-within")
    assert found.plan is not None
    assert {each.source for each in found.plan.moves} == {"b1:8080"}
    assert {each.target for each in found.plan.moves} == {"b2:8080", "b3:8080"}
    assert found.plan.spread.after < found.plan.spread.before
    assert all((each.client_seconds.value or 0) > 0 for each in found.plan.moves)
    assert sum(each.gain for each in found.plan.moves) == pytest.approx(
        found.plan.spread.before - found.plan.spread.after
    )
    assert [each.moves for each in found.front if each.chosen] == [len(found.plan.moves)]
    assert found.pulsar_alone is not None
    assert found.pulsar_alone.strategy == "ThresholdShedder"
    assert found.pulsar_alone.unloads > 0
    again = advised(tmp_path, "advise", documents={})
    assert again.plan == found.plan, "the same question gets the same answer"


def named_in(bundle: str, count: int) -> list[str]:
    """Find names of topics whose hashes are in a bundle."""
    lower, upper = range_of_bundle(bundle)
    names = (f"persistent://shop/orders/topic-{number}" for number in itertools.count())
    return list(itertools.islice((name for name in names if lower <= topic_hash(name) < upper), count))


def loaded(megabytes: float, producers: int) -> dict[str, Any]:
    """A topic as a broker tells it."""
    return {
        "msgRateIn": megabytes,
        "msgRateOut": 0.0,
        "msgThroughputIn": megabytes * MB,
        "msgThroughputOut": 0.0,
        "publishers": [{}] * producers,
        "subscriptions": {},
    }


def test_with_cuts_busy_topics_move_alone_and_the_table_tells_what_is_split(tmp_path: Path) -> None:
    topics = {}
    for bundle in BUNDLES[:6]:
        first, busy, last = sorted(named_in(bundle, 3), key=topic_hash)
        own = {first: loaded(1, 40), busy: loaded(18, 1), last: loaded(1, 40)}
        topics[bundle.rpartition("/")[2]] = {"persistent": own}
    answers = {**CONFIGURED, "/broker-stats/topics": (200, {"shop/orders": topics})}

    with brokers_with(answers) as url:
        broker = url.partition("//")[2].partition("/")[0]
        documents = cluster(
            {broker: 320.0, "b2:8080": 50.0, "b3:8080": 50.0},
            {broker: BUNDLES[:6], "b2:8080": BUNDLES[6:7], "b3:8080": BUNDLES[7:]},
        )
        for row in documents[f"/loadbalance/brokers/{broker}"]["lastStats"].values():
            row |= {"producerCount": 81, "consumerCount": 0}
        result = run(tmp_path, "advise", "--cuts", "-o", "json", documents=documents, answers=answers)
        assert result.exit_code == 0, result.output
        found = AdviceDocument.model_validate_json(result.stdout)
        table = run(tmp_path, "advise", "--cuts", documents={}, answers=answers).output
        whole = advised(tmp_path, "advise", documents={})
        kept = run(tmp_path, "advise", "--cuts", "--save", str(tmp_path / "moves"), documents={}, answers=answers)
    assert found.plan is not None
    assert whole.plan is not None
    assert not whole.plan.cuts
    assert (found.plan.client_seconds.value or 0) < (whole.plan.client_seconds.value or 0) / 10
    moving = {move.bundle for move in found.plan.moves}
    assert kept.exit_code == 0, kept.output
    plan = plan_file.read(tmp_path / "moves")
    assert {move.bundle for move in plan.moves} == moving
    assert moving <= {half for split in plan.splits for half in split.halves}
    assert len(plan.splits) == sum(len(cut.parts) - 1 for cut in found.plan.cuts)
    for cut in found.plan.cuts:
        assert cut.broker == broker
        (going,) = [part for part in cut.parts if part.goes]
        assert (going.bundle in moving, going.topics) == (True, 1)
        assert going.share == pytest.approx(0.9)
        assert (cut.client_seconds.value or 0) < (cut.whole_client_seconds.value or 0) / 10
        assert [each.bundle for each in cut.rejected] == [cut.bundle]
    assert "first these are split, without an unload" in table
    assert "2 cuts, 1 move" in table or f"{2 * len(found.plan.cuts)} cuts, {len(moving)} moves" in table


def test_topics_that_nobody_tells_leave_bundles_whole(tmp_path: Path) -> None:
    found = advised(tmp_path, "advise", "--cuts", documents=uneven())
    assert found.plan is not None
    assert (found.plan.cuts, len(found.plan.moves) > 0) == ([], True)


def test_a_table_tells_the_plan_and_what_pulsar_would_do(tmp_path: Path) -> None:
    result = run(tmp_path, "advise", documents=uneven())
    assert result.exit_code == 0, result.output
    assert "east: moves: too-unequal" in result.output
    assert "Pulsar alone (ThresholdShedder)" in result.output
    assert "client-seconds" in result.output
    assert "prices-assumed" in result.output


def test_a_move_names_the_bystanders_of_its_bundle_and_their_chance(tmp_path: Path) -> None:
    producers = [{"address": "/10.0.0.1:40001", "clientVersion": "Pulsar-CPP-v4.2.0"}] * 2
    served = {
        bundle.rpartition("/")[2]: {"persistent": {named_in(bundle, 1)[0]: {**loaded(1, 0), "publishers": producers}}}
        for bundle in BUNDLES[:6]
    }
    answers = {**CONFIGURED, "/broker-stats/topics": (200, {"shop/orders": served})}
    with brokers_with(answers) as url:
        broker = url.partition("//")[2].partition("/")[0]
        documents = cluster(
            {broker: 320.0, "b2:8080": 50.0, "b3:8080": 50.0},
            {broker: BUNDLES[:6], "b2:8080": BUNDLES[6:7], "b3:8080": BUNDLES[7:]},
        )
        result = run(tmp_path, "advise", "--cuts", "-o", "json", documents=documents, answers=answers)
        table = run(tmp_path, "advise", "--cuts", documents={}, answers=answers).output
        silent = run(tmp_path, "advise", documents={}, answers=answers).output
    assert result.exit_code == 0, result.output
    found = AdviceDocument.model_validate_json(result.stdout)
    assert found.plan is not None
    told = [(move.bystanders, move.bystanders_chance) for move in found.plan.moves]
    assert told
    for bystanders, chance in told:
        assert bystanders == EstimateDocument(value=10.0, basis=Basis.KNOWN), "two of each of the five other bundles"
        assert chance is not None
        assert chance.value == pytest.approx(1.0)
        assert chance.basis is Basis.ASSUMED
    assert "10 (100%)" in table
    assert "? (100%)" in silent, "topics were not asked for"


def test_a_balanced_cluster_is_left_alone(tmp_path: Path) -> None:
    documents = cluster({"b1:8080": 100.0, "b2:8080": 100.0}, {"b1:8080": BUNDLES[:4], "b2:8080": BUNDLES[4:]})
    found = advised(tmp_path, "advise", documents=documents)
    assert (found.answer, found.reason, found.plan) == ("nothing-to-do", "balanced", None)
    assert found.pulsar_alone is not None
    assert found.pulsar_alone.unloads == 0


def test_policies_that_allow_no_move_are_told(tmp_path: Path) -> None:
    alone = {"shops": isolation(primary=["b1"], secondary=[])}
    found = advised(tmp_path, "advise", documents=uneven(**{"/admin/clusters/east/namespaceIsolationPolicies": alone}))
    assert (found.answer, found.reason, found.subject) == ("no-move-allowed", "hard-goals", "b1:8080")
    assert found.vetoes == {"isolation": 6}


def test_a_drain_leaves_nothing_and_moves_each_bundle_once(tmp_path: Path) -> None:
    found = advised(tmp_path, "drain", "b2:8080", documents=uneven())
    assert found.plan is not None
    assert [(each.bundle, each.source, each.reason) for each in found.plan.moves] == [
        (BUNDLES[6], "b2:8080", "drained")
    ]
    assert found.left == []


def test_a_rolling_restart_empties_each_broker_once(tmp_path: Path) -> None:
    found = advised(tmp_path, "advise", "--rolling-restart", documents=uneven())
    assert sorted(each.broker for each in found.steps) == ["b1:8080", "b2:8080", "b3:8080"]
    result = run(tmp_path, "advise", "--rolling-restart", documents={})
    assert "then restart it" in result.output


def test_how_many_brokers_would_do(tmp_path: Path) -> None:
    result = run(tmp_path, "advise", "--most-usage", "0.9", "-o", "json", documents=uneven())
    assert result.exit_code == 0, result.output
    found = SizeDocument.model_validate_json(result.stdout)
    assert (found.size.brokers, found.size.most_usage) == (3, 0.9)
    assert found.size.would_do is not None


def test_a_broker_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    for words, documents in ((("drain", "b9:8080"), uneven()), (("advise", "--fill", "b9:8080"), {})):
        result = run(tmp_path, *words, documents=documents)
        assert result.exit_code == 2
        assert "b9:8080" in result.output
        assert "b1:8080, b2:8080, b3:8080" in " ".join(result.output.split())


def test_two_questions_at_once_are_refused(tmp_path: Path) -> None:
    result = run(tmp_path, "advise", "--rolling-restart", "--most-usage", "0.5", documents=uneven())
    assert result.exit_code == 2


def test_settings_that_nobody_tells_are_not_guessed(tmp_path: Path) -> None:
    result = run(tmp_path, "advise", documents=uneven(), answers={})
    assert result.exit_code != 0
    assert "settings of the brokers" in result.output


def test_brokers_of_versions_that_differ_are_refused(tmp_path: Path) -> None:
    documents = uneven()
    documents["/loadbalance/brokers/b2:8080"]["brokerVersionString"] = "4.2.4"
    result = run(tmp_path, "advise", documents=documents)
    assert result.exit_code != 0
    assert "several versions (4.0.8, 4.2.4)" in result.output


def test_a_broker_without_figures_gets_nothing(tmp_path: Path) -> None:
    documents = uneven()
    documents["/loadbalance/brokers/b3:8080"]["cpu"] = {"usage": float("nan"), "limit": 400.0}
    found = advised(tmp_path, "advise", documents=documents)
    assert found.unknown_brokers == ["b3:8080"]
    assert found.plan is not None
    assert {each.target for each in found.plan.moves} == {"b2:8080"}


def test_advice_is_kept_as_a_sealed_plan_with_its_bounds(tmp_path: Path) -> None:
    file = tmp_path / "moves.json"
    words = ("--save", str(file), "--per-broker", "2", "--per-namespace", "3", "--per-hour", "9")
    found = advised(tmp_path, "advise", *words, "--quiet", "22:00-05:30", documents=uneven())
    kept = plan_file.read(file)
    assert (kept.table, kept.cluster, kept.taken_ms) == ("green", "east", found.taken_ms)
    assert kept.bounds == RunBounds(per_broker=2, per_namespace=3, per_hour=9, quiet=QuietHours(first=1320, end=330))
    assert found.plan is not None
    assert [(each.bundle, each.source, each.target, each.prediction.client_seconds) for each in kept.moves] == [
        (each.bundle, each.source, each.target, each.client_seconds.value) for each in found.plan.moves
    ]
    assert {each.throughput for each in kept.moves} == {20 * MB}


def test_a_plan_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "moves.json"
    first = run(tmp_path, "drain", "b2:8080", "--save", str(file), documents=uneven())
    assert first.exit_code == 0, first.output
    assert f"syncer balancer apply {file}" in first.output
    before = file.read_bytes()
    again = run(tmp_path, "advise", "--save", str(file), documents={})
    assert again.exit_code == 5
    assert "exists" in again.output
    assert file.read_bytes() == before


def test_where_nothing_moves_no_plan_is_kept(tmp_path: Path) -> None:
    documents = cluster({"b1:8080": 100.0, "b2:8080": 100.0}, {"b1:8080": BUNDLES[:4], "b2:8080": BUNDLES[4:]})
    result = run(tmp_path, "advise", "--save", str(tmp_path / "moves.json"), documents=documents)
    assert result.exit_code == 0, result.output
    assert "was not written: there is no move" in result.output
    assert not (tmp_path / "moves.json").exists()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("--per-hour 3", 2, "give --save FILE, too"),
        ("--save m --quiet 22-5", 2, "is not of the form HH:MM-HH:MM"),
        ("--save m --quiet 24:00-05:00", 2, "is not of the form HH:MM-HH:MM"),
        ("--save m --quiet 05:00-05:00", 1, "are no part of a day"),
        ("--save m --per-broker 0", 2, "greater than or equal to 1"),
        ("--save m --rolling-restart", 2, "no plan of moves"),
        ("--save m --most-usage 0.5", 2, "no plan of moves"),
        ("--cuts --rolling-restart", 2, "moves whole bundles"),
        ("--cuts --most-usage 0.5", 2, "moves whole bundles"),
        ("--cuts --fill b3:8080", 2, "moves whole bundles"),
    ],
)
def test_what_no_plan_can_be_made_of_is_refused(words: str, status: int, said: str, tmp_path: Path) -> None:
    result = run(tmp_path, "advise", *words.split(), documents=uneven())
    assert result.exit_code == status, result.output
    assert said in " ".join(result.output.replace("│", " ").split())
    assert not Path("m").exists()


def test_where_all_but_one_broker_are_unknown_nothing_is_said_to_be_balanced(tmp_path: Path) -> None:
    documents = uneven()
    for broker in ("b2:8080", "b3:8080"):
        documents[f"/loadbalance/brokers/{broker}"]["cpu"] = None
    result = run(tmp_path, "advise", documents=documents)
    assert result.exit_code != 0
    assert "of 3 brokers of east the load of 2 is not known" in result.output
