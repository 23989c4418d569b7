"""One side of the bench ``migration``, in a process of its own: a whole migration of many topics between two simulated
clusters, carried by the product's controller, its journal in a database.

What the simulator itself costs is told apart by the clock around every call that it answers and every moment that it
lets pass. Where it is asked for, calls make room for each other, so that it can be seen how many are under way at once.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import anyio
import anyio.lowlevel

from syncer.migration.migration_plan import MigrationPlan, MigrationWish
from syncer.migration.phases import MigrationPhase
from syncer.migration.reading import plan_file
from syncer.migration.reading.pair import MigrationSide
from syncer.migration.reading.preflight import make_plan
from syncer.migration.running.control.controller import Controller
from syncer.migration.running.in_state import JournalInState, RecordInState
from syncer.migration.scope import MigrationBounds, Overrides, all_in_waves
from syncer.model import Region
from syncer.state.contract.migrations import Migration
from syncer.state.sql.database import SqlState
from tests.migration.calls import SimulatedCalls
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.ledger import Cursor, Ledger
from tests.migration.clusters.process import Library
from tests.migration.clusters.producer import SimTraffic
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.controllers import nobody_dead, says_go, urls_of
from tests.migration.plays import NamespacePlay
from tests.migration.rest import AdminApi
from tests.migration.rest_calls import Answer
from tests.migration.rest_faults import FaultyApi

QUIET: Final = "quiet"
USED: Final = "used"
OTHERS: Final = "others"
USED_NAME: Final = "/topic-0050"
"""In the middle: while nothing is to be seen yet, a wave's first topic is asked for all."""
TOPICS_OF_A_NAMESPACE: Final = 100
IDLE: Final = ("audit", "billing")
"""Subscriptions that every topic has, and nobody uses."""
RARE: Final = SimTraffic(every_ms=5_000)
"""What is published on the one topic of each namespace that has clients."""
WAVE: Final = 10
"""Namespaces, as ``--all-namespaces`` makes waves."""
BOUNDS: Final = MigrationBounds(subscriptions_per_s=200, drain_s=600, soak_s=20)
_TAKES_MS: Final = (0, 1)
"""Of a call: an eighth of what one takes, since eight are under way at once."""

P = ParamSpec("P")
T = TypeVar("T")


class BenchMeter:
    """What is measured.

    Attributes:
        step: Of the migration, that is being taken.
        requests: Step, and whom it asks about: a quiet topic, one that has clients, or anything else → how many.
        simulating_s: CPU time that the simulator has taken.
        most_at_once: Calls that were under way together.
    """

    def __init__(self, *, side_by_side: bool) -> None:
        self.side_by_side = side_by_side
        self.step = "plan"
        self.requests: Counter[tuple[str, str]] = Counter()
        self.simulating_s = 0.0
        self.most_at_once = 0
        self._under_way = 0

    @contextmanager
    def simulating(self) -> Iterator[None]:
        """Count CPU time as the simulator's."""
        begun = time.process_time()
        try:
            yield
        finally:
            self.simulating_s += time.process_time() - begun

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count a call that is under way."""
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            yield
        finally:
            self._under_way -= 1


class MeteredCalls(SimulatedCalls):
    """Calls of a simulated cluster that are counted."""

    def __init__(self, cluster: Cluster, meter: BenchMeter) -> None:
        super().__init__(AdminApi(cluster))
        self._meter = meter

    async def get(self, path: str) -> Any:
        """Read."""
        with self._meter.call():
            if self._meter.side_by_side:
                await anyio.lowlevel.checkpoint()
            return await super().get(path)

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write."""
        with self._meter.call():
            if self._meter.side_by_side:
                await anyio.lowlevel.checkpoint()
            await super().send(method, path, body)

    def _ask(self, method: str, path: str, body: object) -> Any:
        with self._meter.simulating():
            self._meter.requests[self._meter.step, _about(path)] += 1
            return super()._ask(method, path, body)

    def _answer(self, api: AdminApi | FaultyApi, method: str, path: str, body: object) -> Answer:
        timeline = self.simulated.timeline
        timeline.run(timeline.between(*_TAKES_MS))
        return api.answer(method, path, body)


class BenchClock(SimulatedClock):
    """Virtual time, and an operator who lets everything go that waits."""

    def __init__(self, play: NamespacePlay, meter: BenchMeter) -> None:
        super().__init__(play.timeline)
        self._meter = meter
        self.controller: Controller | None = None

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        with self._meter.simulating():
            await super().sleep(seconds)
        controller, self.controller = self.controller, None
        if controller is not None:
            await says_go(controller, controller.status())
            self.controller = controller


class MeteredJournal(JournalInState):
    """A journal in a database that tells which step is being taken."""

    meter: BenchMeter

    async def note(self, event: Mapping[str, object]) -> None:
        """Add what has happened."""
        if event["event"] == "step-begins":
            self.meter.step = str(event["step"])
        await super().note(event)


class InThisThread:
    """Runs a daemon's transactions where virtual time stands still."""

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call."""
        return function(*args, **kwargs)


def play_of(namespaces: int, topics: int) -> NamespacePlay:
    """Two clusters, and namespaces of blue: quiet topics, and in each namespace one that has a few clients."""
    play = NamespacePlay(0, load=())
    for number in range(namespaces):
        namespace = f"bench/namespace-{number:04d}"
        play.add_namespace(namespace)
        writing, reading = (play.process(Library.CPP_NEW, f"10.{number >> 8}.{number & 255}.{each}") for each in (1, 2))
        for each in range(topics):
            name = f"persistent://{namespace}/topic-{each:04d}"
            ledger = play.blue.ledgers[name] = Ledger(play.blue.next_ledger())
            ledger.cursors.update({subscription: Cursor(mark=0, stored=0) for subscription in IDLE})
        used = f"persistent://{namespace}{USED_NAME}"
        wish = SubscriptionWish(name="work", kind=SubscriptionKind.EXCLUSIVE)
        play.blue.ledgers[used].cursors.clear()
        play.add_consumer(reading, used, "reader", wish)
        play.add_producer(writing, used, "writer", RARE)
    play.timeline.run(2_000)
    return play


async def carry(play: NamespacePlay, meter: BenchMeter, database: Path) -> None:
    """Plan the migration of all namespaces, and carry it from planned to closed."""
    clock = BenchClock(play, meter)
    blue, green = (
        MigrationSide(table=cluster.name, calls=MeteredCalls(cluster, meter), urls=urls_of(cluster))
        for cluster in (play.blue, play.green)
    )
    topics = Counter(name.partition("://")[2].rpartition("/")[0] for name in play.blue.ledgers)
    wish = MigrationWish(
        tables=("blue", "green"),
        scope=all_in_waves(topics, wave=WAVE),
        wave_size=WAVE,
        whole_cluster=False,
        overrides=Overrides(),
        bounds=BOUNDS,
    )
    plan = (await make_plan(wish, blue, green, clock.now_ms())).plan
    with closing(SqlState.open(f"sqlite:///{database}", Region("east"))) as state:
        state.activate()
        migration = _begun(state, plan, clock)
        journal = MeteredJournal(state, InThisThread(), clock, migration)
        journal.meter = meter
        record = RecordInState(state, InThisThread(), clock, migration)
        controller = Controller(plan, blue, green, clock, journal, record, probe=nobody_dead)
        await controller.load()
        clock.controller = controller
        await controller.run()
        standing = controller.status()
    if standing.run.standing.phase is not MigrationPhase.CLOSED:
        raise RuntimeError(f"the migration was not carried to its end: {standing.run.stop}")


def _begun(state: SqlState, plan: MigrationPlan, clock: SimulatedClock) -> Migration:
    now = clock.now_ms()
    planned = Migration(
        claim="6f1c",
        fingerprint=plan.fingerprint,
        phase="planned",
        asked_by="ann",
        reason="new hardware",
        made_at_ms=now,
        changed_at_ms=now,
    )
    with state.transaction() as tx:
        tx.begin_migration(planned, plan_file.to_text(plan))
        migration = tx.migration()
    if migration is None:
        raise RuntimeError("the migration that was begun is not there")
    return migration


def _about(path: str) -> str:
    if "/topic-" not in path:
        return OTHERS
    return USED if USED_NAME in path else QUIET


def resident_bytes() -> int:
    """What this process holds in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def peak_bytes() -> int:
    """The most that this process has held in memory; what ``getrusage`` tells begins with the parent's."""
    (line,) = [each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def main() -> int:
    """Carry a migration of so many topics, and print what it has cost."""
    count, how = int(sys.argv[1]), sys.argv[2]
    topics = TOPICS_OF_A_NAMESPACE
    meter = BenchMeter(side_by_side=how == "side-by-side")
    play = play_of(count // topics, topics)
    before, begun = resident_bytes(), time.process_time()
    with tempfile.TemporaryDirectory(prefix="syncer-bench-") as directory:
        anyio.run(carry, play, meter, Path(directory) / "state.db")
    cpu_s = time.process_time() - begun
    answer = {
        "topics": count,
        "namespaces": count // topics,
        "product_s": cpu_s - meter.simulating_s,
        "simulator_s": meter.simulating_s,
        "peak_bytes": peak_bytes(),
        "before_bytes": before,
        "virtual_s": play.timeline.now / 1000,
        "most_at_once": meter.most_at_once,
        "requests": [[*key, number] for key, number in sorted(meter.requests.items())],
    }
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
