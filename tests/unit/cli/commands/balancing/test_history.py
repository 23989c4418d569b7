"""Commands over a recorded history of load: shown, exported, played, and judged by the doctor."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner, Result

from syncer.balancer.cost.calibration import LEAST_COUNT
from syncer.balancer.history.outcomes import MoveOutcome
from syncer.balancer.history.sample import LoadSample, SampledBroker, SampledBundle
from syncer.balancer.history.thinning import HistoryBounds
from syncer.balancer.load import BundleStats, Rates, Usage
from syncer.balancer.picture import LoadManager, Ownership, SeenUsages, Tenure
from syncer.balancer.recording.writing import HistoryWriter
from syncer.cli.main import app
from syncer.documents.balancing.advice import AdviceDocument
from syncer.documents.balancing.comparison import ComparisonDocument
from syncer.documents.balancing.doctor import DoctorDocument
from syncer.documents.balancing.history import LoadHistoryDocument
from tests.support.load_documents import FIRST, SECOND, local_broker, small_cluster
from tests.support.load_sources import RUNTIME, brokers_with, store_with
from tests.support.logs import logging_restored

B1, B2 = "b1:8080", "b2:8080"
QUIET = Usage(10.0, 100.0)


def sample(ago_min: int, owner: str, cpu: float = 50.0) -> LoadSample:
    """The small cluster so long before this call, with its first bundle at a broker."""
    usages = [
        SeenUsages(cpu=Usage(each, 100.0), memory=QUIET, direct_memory=QUIET, bandwidth_in=QUIET, bandwidth_out=QUIET)
        for each in (cpu, 10.0)
    ]
    stats = BundleStats(Rates(100.0, 100.0, 1e6, 1e6), 10, 5, 5)
    return LoadSample(
        cluster="east",
        taken_ms=time.time_ns() // 1_000_000 - ago_min * 60_000,
        manager=LoadManager.MODULAR,
        brokers={name: SampledBroker(usages=each) for name, each in zip((B1, B2), usages, strict=True)},
        bundles={
            FIRST: SampledBundle(Ownership(Tenure.OWNED, owner), stats),
            SECOND: SampledBundle(Ownership(Tenure.OWNED, B2), stats),
        },
    )


def to_and_fro() -> list[LoadSample]:
    """A bundle that goes to the second broker, and comes back."""
    return [sample(40, B1), sample(30, B2), sample(20, B1), sample(10, B1)]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    documents = {**small_cluster(), "/loadbalance/brokers/b1:8080": local_broker(B1, FIRST)}

    async def fill() -> None:
        async with store_with(tmp_path, documents):
            pass

    anyio.run(fill)
    with brokers_with({RUNTIME: (200, {"clusterName": "east"})}) as url, logging_restored():
        (tmp_path / "config.toml").write_text(
            f'region = "east"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/store.db"\n'
            f'[bus]\nkind = "embedded"\npath = "{tmp_path}/bus.db"\n[state]\npath = "{tmp_path}/state.db"\n'
            '[cluster.green]\nservice_url = "http://green:8080"\nbroker_service_url = "pulsar://green:6650"\n'
            f'[cluster.green.admin]\nurl = "{url}"\n',
            encoding="utf-8",
        )
        yield tmp_path


def recorded(home: Path, samples: Sequence[LoadSample], moves: int = 0) -> None:
    bounds = HistoryBounds()
    with closing(HistoryWriter(home / "load-history-green.sqlite", "green", bounds)) as writer:
        for each in samples:
            writer.record(each)
        writer.keep_run(
            1,
            [
                MoveOutcome(
                    bundle=f"b{number}", asked_ms=number, predicted_s=0.1, usual_s=0.1, earliest_s=0.3, latest_s=0.5
                )
                for number in range(moves)
            ],
        )


def run(home: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(home / "config.toml"), *words], catch_exceptions=False)


def test_what_was_recorded_is_shown(home: Path) -> None:
    samples = to_and_fro()
    recorded(home, samples, moves=LEAST_COUNT)
    words = ("balancer", "history", "show", "--cluster", "green")
    found = LoadHistoryDocument.model_validate_json(run(home, *words, "-o", "json").stdout)
    assert (found.samples, found.first_ms, found.last_ms) == (4, samples[0].taken_ms, samples[-1].taken_ms)
    assert [(each.source, each.target) for each in found.latest_changes] == [(B2, B1), (B1, B2)]
    assert found.moves == LEAST_COUNT
    assert found.prediction_ratio == pytest.approx(3.0)
    assert found.calibration is not None
    shown = run(home, *words, "--since", "28min", "--limit", "1").stdout
    assert shown.count(FIRST) == 1
    assert "seconds times 3.00, by 10 moves observed here" in shown


def test_without_a_history_it_is_said(home: Path) -> None:
    for words in (("history", "show"), ("compare", "--recorded")):
        result = run(home, "balancer", *words, "--cluster", "green")
        assert result.exit_code == 1
        assert "there is no history of the load of green" in result.stderr


def test_recorded_load_is_played_a_round_for_each_sample(home: Path) -> None:
    samples = [sample(ago_min, B1, cpu=95.0) for ago_min in (*range(80, 64, -1), 10, 9, 8, 7)]
    recorded(home, samples)
    words = ("balancer", "compare", "--cluster", "green", "--recorded", "--strategy", "OverloadShedder")
    result = run(home, *words, "-o", "json")
    assert result.exit_code == 0, result.stderr
    found = ComparisonDocument.model_validate_json(result.stdout)
    assert (found.load.samples, found.load.brokers, found.load.bundles) == (20, 2, 2)
    assert (found.load.first_ms, found.load.last_ms) == (samples[0].taken_ms, samples[-1].taken_ms)
    assert all(len(each.pulsar.rounds) >= 20 for each in found.strategies)
    shown = run(home, *words, "--since", "40min").stderr
    assert "a round for each of 4 samples" in shown


def test_the_doctor_finds_by_the_history_what_one_look_cannot(home: Path) -> None:
    words = ("balancer", "doctor", "--cluster", "green", "-o", "json")
    before = DoctorDocument.model_validate_json(run(home, *words).stdout)
    assert "bundle-ping-pong" in {code for each in before.unjudged for code in each.codes}
    recorded(home, to_and_fro())
    after = DoctorDocument.model_validate_json(run(home, *words).stdout)
    (found,) = (each for each in after.found if each.code == "bundle-ping-pong")
    assert found.where == FIRST
    assert [each.value.partition(",")[0] for each in found.evidence] == [B1, B2, B1]
    assert "bundle-ping-pong" not in {code for each in after.unjudged for code in each.codes}


def test_a_history_that_cannot_be_used_is_said_and_left(home: Path) -> None:
    (home / "load-history-green.sqlite").write_text("notes")
    result = run(home, "balancer", "doctor", "--cluster", "green")
    assert result.exit_code == 0
    assert "without_history_of_load" in result.stderr
    assert "load-history-foreign" in result.stderr


def test_advice_says_what_its_seconds_were_corrected_by(home: Path) -> None:
    recorded(home, to_and_fro(), moves=LEAST_COUNT)
    result = run(home, "balancer", "advise", "--cluster", "green", "-o", "json")
    assert result.exit_code == 0, result.stderr
    found = AdviceDocument.model_validate_json(result.stdout)
    assert found.calibration is not None
    assert found.calibration.moves == LEAST_COUNT
    assert found.calibration.ratio == pytest.approx(3.0)
    assert "calibrated: seconds times 3.00" in run(home, "balancer", "advise", "--cluster", "green").stderr


def test_it_is_exported_once_where_the_packages_are(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(home, to_and_fro())
    file = home / "load.parquet"
    words = ("balancer", "history", "export", str(file), "--cluster", "green")
    result = run(home, *words)
    assert result.exit_code == 0, result.stderr
    assert "4 samples" in result.stderr
    assert file.read_bytes()[:4] == b"PAR1"
    assert run(home, *words).exit_code == 5
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "spark_snapshot.format.load_history", raising=False)
    result = run(home, "balancer", "history", "export", str(home / "other"), "--cluster", "green")
    assert "pyarrow is not installed here" in result.stderr
    assert not (home / "other").exists()
