"""The history of load beside three real brokers: an unload made by hand is seen, and what was recorded is played."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.traffic.loads import uneven
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.balancer.history.sample import LoadSample
from syncer.balancer.recording.reading import HistoryReader
from syncer.documents.balancing.comparison import ComparisonDocument
from syncer.documents.balancing.history import LoadHistoryDocument
from syncer.errors import HistoryError
from tests.balancer.conftest import Namespace
from tests.balancer.test_moves import MovingDaemon
from tests.balancer.unloads import others

pytestmark = pytest.mark.real("pulsar", "zookeeper")


@pytest.fixture
def recording(modular: BrokersCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MovingDaemon]:
    """A daemon that records the load of a cluster every second."""
    monkeypatch.setenv("SYNCER_CLUSTER__LAB__HISTORY__EVERY", "1s")
    daemon = MovingDaemon(modular, tmp_path)
    daemon.start()
    try:
        daemon.until(lambda: bool(recorded(daemon)), "it has recorded")
        yield daemon
    finally:
        daemon.kill()


def recorded(daemon: MovingDaemon) -> list[LoadSample]:
    """What it has recorded until now."""
    with suppress(HistoryError), HistoryReader(daemon.folder / "load-history-lab.sqlite", "lab") as reader:
        return list(reader.samples())
    return []


def test_an_unload_by_hand_is_observed_and_recorded_load_is_played(
    modular: BrokersCluster, namespace: Namespace, recording: MovingDaemon, tmp_path: Path
) -> None:
    name, topics = namespace(modular, topics=2, bundles=1)
    idle = f"{name}-idle"
    modular.make_namespace(idle, bundles=2)
    (span,) = modular.bundles(name)
    bundle = f"{name}/{span}"

    def last_owner() -> str | None:
        held = [each.bundles[bundle].held for each in recorded(recording) if bundle in each.bundles]
        return held[-1].broker if held and held[-1] is not None else None

    with ClusterTraffic(modular.service_url, uneven(topics, 20), tmp_path, log=tmp_path / "clients.log"):
        recording.until(lambda: span in modular.owners(name), "the bundle has an owner")
        source = modular.owners(name)[span]
        target = others(modular, source)[0]
        recording.until(lambda: last_owner() == source.id, "the first owner is recorded")
        before_ms = time.time_ns() // 1_000_000
        modular.move(name, span, target)
        after_ms = time.time_ns() // 1_000_000
        recording.until(lambda: last_owner() == target.id, "the new owner is recorded")

    shown = recording.command("balancer", "history", "show", "--cluster", "lab", "-o", "json")
    assert shown.exit_code == 0, shown.output
    found = LoadHistoryDocument.model_validate_json(shown.stdout)
    mine = [each for each in found.latest_changes if each.bundle == bundle]
    assert (mine[-1].source, mine[0].target) == (source.id, target.id)
    assert mine[-1].after_ms <= after_ms
    assert mine[0].by_ms >= before_ms

    played = recording.command("balancer", "compare", "--cluster", "lab", "--recorded", "-o", "json")
    assert played.exit_code == 0, played.output
    compared = ComparisonDocument.model_validate_json(played.stdout)
    assert compared.load.brokers == len(modular.brokers)
    assert compared.load.samples is not None
    assert compared.load.samples > 1
    assert compared.strategies

    assert modular.owners(idle) == {}, "a look loads nothing"
    status = json.loads(recording.command("status", "-o", "json").stdout)
    assert not [each for each in status["conditions"] if each["code"].startswith("load-history")]
