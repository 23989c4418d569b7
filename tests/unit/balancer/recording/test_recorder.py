"""The recorder: looks at a cluster of a real store and real brokers' answers, whatever happens to it or to the file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from syncer.balancer.history.changes import OwnerChange
from syncer.balancer.history.thinning import HistoryBounds
from syncer.balancer.moving.move_plan import MovePrediction
from syncer.balancer.moving.run import MoveProgress, MoveStanding
from syncer.balancer.reading.cluster import LoadSources
from syncer.balancer.recording.moves import EndedRun
from syncer.balancer.recording.reading import HistoryReader
from syncer.balancer.recording.recorder import LoadRecorder, Recording
from syncer.balancer.recording.service import SET_ASIDE, TROUBLED, conditions
from syncer.balancer.running.runner import WATCH_S
from syncer.errors import HistoryForeign, LoadDataInvalid, StoreError, StoreUnavailable, SyncerError
from syncer.model import Millis
from tests.support.load_documents import FIRST, NOW_MS, owner, small_cluster
from tests.support.load_sources import RUNTIME, Answer, brokers_with, client, store_with
from tests.unit.balancer.moving.test_move_plan import MOVE

if TYPE_CHECKING:
    from syncer.balancer.reading.listener import LoadListener

pytestmark = pytest.mark.anyio

CONFIGURED: dict[str, Answer] = {RUNTIME: (200, {"clusterName": "east"})}


class Enough(Exception):
    """The test has seen what it wants."""


@dataclass
class Cluster:
    """A cluster whose documents change, and a clock that runs as fast as it is waited for."""

    folder: Path
    url: str
    documents: dict[str, object] = field(default_factory=small_cluster)
    trouble: StoreError | None = None
    now: int = NOW_MS
    looks: int = 0
    runs: list[EndedRun] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    @asynccontextmanager
    async def sources(self, table: str) -> AsyncIterator[LoadSources]:
        self.looks += 1
        folder = self.folder / f"look-{self.looks}"
        folder.mkdir()
        async with AsyncExitStack() as stack:
            calls = await stack.enter_async_context(client(self.url))
            store = await stack.enter_async_context(store_with(folder, self.documents))
            if self.trouble is not None:
                yield LoadSources(table=table, calls=calls, trouble=self.trouble)
            else:
                yield LoadSources(table=table, calls=calls, store=store)

    def listener(self, table: str) -> LoadListener:
        raise AssertionError(table)

    def after(self, number: int) -> list[EndedRun]:
        return [each for each in self.runs if each.number > number]

    def now_ms(self) -> Millis:
        return Millis(self.now)

    @property
    def path(self) -> Path:
        return self.folder / "history.sqlite"

    def reader(self) -> HistoryReader:
        return HistoryReader(self.path, "green")

    async def record(self, *between: Callable[[], None]) -> LoadRecorder:
        """Record, and between two looks do something; until all is done."""
        left = list(between)

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)
            self.now += 60_000
            if not left:
                raise Enough
            left.pop(0)()
            await anyio.lowlevel.checkpoint()

        sleeping: Callable[[float], Awaitable[None]] = sleep
        recording = Recording(table="green", path=self.path, every_s=60.0, bounds=HistoryBounds())
        recorder = LoadRecorder(recording, self, self, self.now_ms, sleep=sleeping)
        with pytest.raises(Enough):
            await recorder.run()
        return recorder


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with brokers_with(CONFIGURED) as url:
        yield Cluster(tmp_path, url)


def troubles(recorder: LoadRecorder) -> Sequence[str]:
    return [code for code, words in conditions({"green": recorder.standing}).items() if words]


async def test_an_owner_that_changed_between_two_looks_is_an_observed_unload(cluster: Cluster) -> None:
    def move() -> None:
        cluster.documents[f"/namespace/{FIRST}"] = owner("b2:8080")

    recorder = await cluster.record(move)
    with cluster.reader() as reader:
        first, second = reader.samples()
        assert (first.taken_ms, second.taken_ms) == (NOW_MS, NOW_MS + 60_000)
        assert first.bundles[FIRST].stats is not None
        assert reader.changes() == [OwnerChange(FIRST, "b1:8080", "b2:8080", NOW_MS, NOW_MS + 60_000)]
    assert recorder.standing.last_ms == NOW_MS + 60_000
    assert recorder.standing.size_bytes > 0
    assert troubles(recorder) == []
    assert all(0 < each <= 60 for each in cluster.waits)


async def test_a_cluster_that_is_away_is_a_condition_until_it_is_back(cluster: Cluster) -> None:
    seen: list[Sequence[str]] = []

    def away() -> None:
        cluster.trouble = StoreUnavailable("the server has gone")

    def back() -> None:
        cluster.trouble = None

    recorder = await cluster.record(away, lambda: None)
    seen.append(troubles(recorder))
    assert isinstance(recorder.standing.trouble, SyncerError)
    assert "the load of green is not recorded: " in conditions({"green": recorder.standing})[TROUBLED]
    recorder = await cluster.record(back)
    assert [*seen, troubles(recorder)] == [[TROUBLED], []]


async def test_a_cluster_without_brokers_is_not_sampled(cluster: Cluster) -> None:
    recorder = await cluster.record(cluster.documents.clear)
    assert isinstance(recorder.standing.trouble, LoadDataInvalid)
    with cluster.reader() as reader:
        assert reader.extent().samples == 1


async def test_a_foreign_file_stops_recording_and_nothing_else(cluster: Cluster) -> None:
    cluster.path.write_text("notes")
    recorder = await cluster.record()
    assert isinstance(recorder.standing.trouble, HistoryForeign)
    assert cluster.path.read_text() == "notes"
    recorder = await cluster.record(cluster.path.unlink)
    assert troubles(recorder) == []


async def test_a_damaged_file_is_set_aside_while_it_is_written(cluster: Cluster) -> None:
    def tear() -> None:
        whole = cluster.path.read_bytes()
        cluster.path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
        for side in ("-wal", "-shm"):
            cluster.path.with_name(cluster.path.name + side).unlink(missing_ok=True)

    recorder = await cluster.record(tear, lambda: None)
    assert troubles(recorder) == [SET_ASIDE]
    assert recorder.standing.set_aside == cluster.path.with_name("history.sqlite.damaged")
    with cluster.reader() as reader:
        assert reader.extent().samples >= 1


async def test_a_bug_is_shown_and_the_next_look_comes(cluster: Cluster) -> None:
    good = dict(cluster.documents)

    def broken() -> None:
        cluster.documents = {"not a path": {}}

    recorder = await cluster.record(broken)
    assert recorder.standing.trouble is not None
    cluster.documents = good
    assert (await cluster.record()).standing.trouble is None


async def test_our_own_moves_are_kept_beside_their_prediction(cluster: Cluster) -> None:
    asked = NOW_MS + 1000
    move = replace(MOVE, bundle=FIRST, prediction=MovePrediction(ready_s=0.5))
    done = MoveProgress(
        standing=MoveStanding.DONE,
        asked_ms=(Millis(asked),),
        answered_ms=Millis(asked + 900),
        ended_ms=Millis(asked + 1200),
    )
    never = replace(done, ended_ms=None)

    def end() -> None:
        cluster.runs = [
            EndedRun(number=4, table="green", moves=((move, done), (replace(move, bundle="t/n/0x00_0x01"), never))),
            EndedRun(number=5, table="blue", moves=((move, done),)),
        ]

    recorder = await cluster.record(end)
    with cluster.reader() as reader:
        (found,) = reader.outcomes()
    assert (found.bundle, found.asked_ms, found.predicted_s) == (FIRST, asked, 0.5)
    assert [found.earliest_s, found.latest_s] == pytest.approx([1.2 - WATCH_S, 1.2])
    assert found.usual_s is not None
    assert recorder.standing.outcomes == 1
    assert recorder.standing.ratio == pytest.approx((1.2 - WATCH_S) / 0.5)
