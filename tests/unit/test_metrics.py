"""Metrics: declared once, documented, with labels that cannot grow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.openmetrics import exposition as openmetrics

from syncer import metrics
from syncer.metrics import FAMILIES, MAX_PEERS, Metrics, Stage
from syncer.metrics.family import OTHER, Kind
from syncer.model import Region
from syncer.replication.group.peers import HEARTBEATS_FULL
from syncer.replication.inbound.quarantine import FULL
from syncer.replication.inbound.receive import TOO_MANY_SENDERS
from syncer.replication.quotas import CONFLICTS_FULL, VALUES_FULL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "metrics.md"


LABELS = {
    *("", "result", "reason", "decision", "code", "stage", "peer", "version", "what", "name"),
    *("phase", "state"),
}
PROCESS = (
    "process_cpu_seconds",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
)


@pytest.fixture
def collected() -> Metrics:
    return Metrics(version="1.2.3", started_s=1_700_000_000)


def value(collected: Metrics, name: str, **labels: str) -> float | None:
    return collected.registry.get_sample_value(name, labels)


def test_names_follow_the_conventions() -> None:
    names = [family.name for family in FAMILIES]
    assert len(names) == len(set(names))
    for family in FAMILIES:
        assert re.fullmatch(r"syncer(_[a-z]+)+", family.name)
        assert not family.name.endswith("_total"), "the client adds it"
        assert not re.search(r"_(ms|milliseconds|minutes|kb|mb)$", family.name), "base units only"
        assert family.help.endswith(".")
        assert (family.kind is Kind.HISTOGRAM) == bool(family.buckets)
        assert family.kind is not Kind.HISTOGRAM or family.name.endswith("_seconds")


def test_every_declared_metric_is_exported_and_nothing_else(collected: Metrics) -> None:
    exported = {each.name for each in collected.registry.collect()}
    ours = {name for name in exported if name.startswith("syncer_")}
    assert ours == {family.name for family in FAMILIES}
    assert exported - ours == set(PROCESS)
    page = metrics.reference()
    assert all(f"`{name}" in page for name in PROCESS)


def test_every_metric_stands_on_the_page_of_the_documentation() -> None:
    assert PAGE.read_text(encoding="utf-8") == metrics.reference(), (
        "write what syncer.metrics.reference() returns to docs/reference/metrics.md"
    )


def test_no_label_can_grow(collected: Metrics) -> None:
    for family in FAMILIES:
        assert family.label in LABELS
        assert bool(family.label) == (family.values != ())
    collected.absorb({("decisions", f"/admin/policies/t{n}"): 1 for n in range(1000)})
    for number in range(MAX_PEERS * 3):
        collected.lag(Region(f"r{number}"), 0.1)
        collected.set(metrics.SKEW, 0.1, f"r{number}")
    for exported in collected.registry.collect():
        labels = {tuple(sorted(sample.labels.items())) for sample in exported.samples}
        assert len(labels) <= (MAX_PEERS + 1) * (len(metrics.LAG_BUCKETS_S) + 2), exported.name
    assert value(collected, "syncer_folds_total", decision=OTHER) == 1000
    assert value(collected, "syncer_lag_seconds_count", peer=OTHER) == MAX_PEERS * 2


def test_counts_of_the_driver_are_taken_over_once_and_survive_its_restart(collected: Metrics) -> None:
    collected.absorb({("writes", "landed"): 5, ("watch", "gap"): 2, ("unheard-of", "x"): 9})
    collected.absorb({("writes", "landed"): 7, ("watch", "gap"): 2})
    assert value(collected, "syncer_writes_total", result="landed") == 7
    assert value(collected, "syncer_watch_gaps_total") == 2
    collected.absorb({("writes", "landed"): 3})
    assert value(collected, "syncer_writes_total", result="landed") == 10


def test_closed_labels_are_there_from_the_start(collected: Metrics) -> None:
    assert value(collected, "syncer_folds_total", decision="conflict-lost") == 0
    assert value(collected, "syncer_build_info", version="1.2.3") == 1
    assert value(collected, "syncer_started_timestamp_seconds") == 1_700_000_000


@pytest.mark.parametrize("reason", [FULL, CONFLICTS_FULL, VALUES_FULL, HEARTBEATS_FULL, TOO_MANY_SENDERS])
def test_every_room_that_is_full_is_counted_by_its_name(collected: Metrics, reason: str) -> None:
    assert value(collected, "syncer_messages_refused_total", reason=reason) == 0
    collected.absorb({("refused", reason): 2})
    assert value(collected, "syncer_messages_refused_total", reason=reason) == 2


def test_a_stage_is_measured(collected: Metrics) -> None:
    collected.stage(Stage.APPLY, 0.25)
    assert value(collected, "syncer_batch_duration_seconds_count", stage="apply") == 1
    assert value(collected, "syncer_batch_duration_seconds_sum", stage="apply") == 0.25


def test_a_peer_that_left_leaves_no_last_value(collected: Metrics) -> None:
    collected.set(metrics.SKEW, 3.0, "west")
    collected.set(metrics.PEER_HEARD, 3.0, "west")
    collected.peer_gone([Region("west"), Region("never-there")])
    assert value(collected, "syncer_clock_skew_seconds", peer="west") is None


def test_two_daemons_in_one_process_do_not_share(collected: Metrics) -> None:
    other = Metrics(version="1", started_s=0)
    collected.add(metrics.WATCH_GAPS)
    assert value(other, "syncer_watch_gaps_total") == 0


def test_a_metric_is_used_as_what_it_is(collected: Metrics) -> None:
    with pytest.raises(TypeError):
        collected.add(metrics.ACTIVE)
    with pytest.raises(TypeError):
        collected.set(metrics.WATCH_GAPS, 1)


def test_they_can_be_written_as_openmetrics(collected: Metrics) -> None:
    text = openmetrics.generate_latest(collected.registry)  # type: ignore[no-untyped-call]  # its stubs lack it
    assert b"syncer_watch_gaps_total 0.0" in text
    assert text.endswith(b"# EOF\n")
    assert b"_created" not in text


def test_a_dependency_that_is_not_used_now_is_not_down(collected: Metrics) -> None:
    def up() -> dict[str, float | None]:
        name = metrics.DEPENDENCY_UP.name
        return {each: collected.registry.get_sample_value(name, {"name": each}) for each in ("store", "bus", "state")}

    assert up() == {"store": 0, "bus": 0, "state": 0}
    collected.dependencies({"store": True, "bus": False})
    assert up() == {"store": 1, "bus": 0, "state": None}
    collected.dependencies({"bus": True, "state": True})
    assert up() == {"store": None, "bus": 1, "state": 1}
