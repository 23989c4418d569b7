"""A history is written within its bounds, by whoever opens it next, and read meanwhile."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from syncer.balancer.history.changes import OwnerChange
from syncer.balancer.history.outcomes import MoveOutcome
from syncer.balancer.history.thinning import HistoryBounds
from syncer.balancer.recording.reading import HistoryReader
from syncer.balancer.recording.writing import MOST_OUTCOMES, HistoryWriter
from syncer.errors import HistoryUnavailable
from tests.support.load_samples import MINUTE_MS, sample

BUNDLE = "t/n/0x00000000_0x10000000"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "load-history-east.sqlite"


def outcome(number: int) -> MoveOutcome:
    return MoveOutcome(
        bundle=f"{BUNDLE}{number}", asked_ms=number, predicted_s=0.1, usual_s=None, earliest_s=0.2, latest_s=0.4
    )


def test_what_was_recorded_is_read_while_the_writer_goes_on(path: Path) -> None:
    with closing(HistoryWriter(path, "east", HistoryBounds())) as writer, HistoryReader(path, "east") as reader:
        assert writer.record(sample(1000, {BUNDLE: "a:8080"})) == []
        assert writer.record(sample(2000, {BUNDLE: None})) == []
        change = OwnerChange(BUNDLE, "a:8080", "b:8080", 1000, 3000)
        assert writer.record(sample(3000, {BUNDLE: "b:8080"})) == [change]
        assert [each.taken_ms for each in reader.samples()] == [1000, 2000, 3000]
        assert list(reader.samples(newest=1)) == [sample(3000, {BUNDLE: "b:8080"})]
        assert [each.taken_ms for each in reader.samples(since_ms=2000)] == [2000, 3000]
        assert reader.changes() == [change]
        assert reader.changes(since_ms=3001) == []
        extent = reader.extent()
        assert (extent.samples, extent.first_ms, extent.last_ms, extent.changes) == (3, 1000, 3000, 1)
    assert path.stat().st_mode & 0o077 == 0


def test_the_next_writer_sees_what_changed_while_nobody_looked(path: Path) -> None:
    with closing(HistoryWriter(path, "east", HistoryBounds())) as writer:
        writer.record(sample(1000, {BUNDLE: "a:8080"}))
    with closing(HistoryWriter(path, "east", HistoryBounds())) as writer:
        assert writer.record(sample(9000, {BUNDLE: "b:8080"})) == [OwnerChange(BUNDLE, "a:8080", "b:8080", 1000, 9000)]


def test_a_sample_of_a_clock_that_was_set_back_is_not_kept(path: Path) -> None:
    with closing(HistoryWriter(path, "east", HistoryBounds())) as writer, HistoryReader(path, "east") as reader:
        writer.record(sample(2000, {BUNDLE: "a:8080"}))
        assert writer.record(sample(1000, {BUNDLE: "b:8080"})) == []
        assert [each.taken_ms for each in reader.samples()] == [2000]


def test_the_files_never_take_more_than_the_bound(path: Path, tmp_path: Path) -> None:
    bounds = HistoryBounds(most_bytes=200_000, keep_ms=MINUTE_MS * 1000, full_ms=MINUTE_MS * 20, thin_ms=MINUTE_MS * 5)
    with closing(HistoryWriter(path, "east", bounds)) as writer, HistoryReader(path, "east") as reader:
        for number in range(1, 61):
            owner = "a:8080" if number % 2 else "b:8080"
            writer.record(sample(number * MINUTE_MS, {BUNDLE: owner}, more=400))
            there = sum(each.stat().st_size for each in tmp_path.iterdir() if not each.name.endswith("-shm"))
            assert there <= bounds.most_bytes
            assert writer.size_bytes == there
        extent = reader.extent()
        assert extent.last_ms == 60 * MINUTE_MS
        assert 2 <= extent.samples < 60


def test_what_is_thinned_leaves_its_changes(path: Path) -> None:
    bounds = HistoryBounds(full_ms=MINUTE_MS * 5, thin_ms=MINUTE_MS * 10)
    with closing(HistoryWriter(path, "east", bounds)) as writer, HistoryReader(path, "east") as reader:
        for number in range(1, 31):
            writer.record(sample(number * MINUTE_MS, {BUNDLE: "a:8080" if number % 2 else "b:8080"}))
        assert len(list(reader.samples())) < 10
        assert [each.by_ms for each in reader.changes()] == [number * MINUTE_MS for number in range(2, 31)]


def test_a_sample_without_room_is_refused_and_the_last_stays(path: Path) -> None:
    bounds = HistoryBounds(most_bytes=5000)
    with closing(HistoryWriter(path, "east", bounds)) as writer, HistoryReader(path, "east") as reader:
        writer.record(sample(1000, {BUNDLE: "a:8080"}))
        with pytest.raises(HistoryUnavailable, match="and the history may have 5000"):
            writer.record(sample(2000, more=1000))
        assert [each.taken_ms for each in reader.samples()] == [1000]


def test_outcomes_of_a_run_are_kept_once_and_the_last_thousand(path: Path) -> None:
    with closing(HistoryWriter(path, "east", HistoryBounds())) as writer, HistoryReader(path, "east") as reader:
        assert writer.last_run() == 0
        writer.keep_run(3, [outcome(1), outcome(2)])
        writer.keep_run(3, [outcome(1), outcome(2)])
        assert (writer.last_run(), reader.outcomes()) == (3, [outcome(1), outcome(2)])
        writer.keep_run(4, [outcome(number) for number in range(3, MOST_OUTCOMES + 3)])
        assert writer.outcomes() == [outcome(number) for number in range(3, MOST_OUTCOMES + 3)]
        writer.keep_run(5, [])
        assert writer.last_run() == 5


def test_the_sample_before_a_time_is_found(path: Path) -> None:
    with closing(HistoryWriter(path, "east", HistoryBounds())) as writer:
        for taken_ms in (1000, 2000):
            writer.record(sample(taken_ms))
        assert writer.sample_before(999) is None
        assert writer.sample_before(1999) == sample(1000)
        assert writer.sample_before(2000) == sample(2000)
