"""Promises of plans on three real brokers with live clients: outages, spread, each bundle moved once for a restart.

The daemon is killed in the middle of the first run, and what it has not moved it moves when it is back.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import pytest

from deploy.lab.brokers.broker import Broker
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.brokers.settings import LoadManager
from deploy.lab.traffic.loads import uneven
from deploy.lab.traffic.outages import ClientOutage
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.admin.stillness import STILL
from syncer.balancer.moving.run import MoveStanding
from syncer.balancer.ranges import bundle_range, topic_hash
from syncer.balancer.running import plan_file
from syncer.documents.balancing.moves import MoveRunDocument
from syncer.waiting import WaitTimedOut, starvation, wait_until
from tests.balancer.conftest import Namespace
from tests.balancer.test_moves import MovingDaemon, owned
from tests.balancer.unloads import others, within_a_step

pytestmark = [pytest.mark.real("pulsar", "zookeeper"), pytest.mark.slow, pytest.mark.timeout(3600)]

MOVES: Final = 30
WARMING_RUNS: Final = 2
"""By then each broker has been given bundles; the first ones take longer, and do not count."""
WEIGHT: Final = "loadBalancerCPUResourceWeight"
MOSTLY: Final = 0.9
SETTLED_S: Final = 20.0
"""By then clients are back, and have said so."""
UNEVEN: Final = 0.12
"""A spread to begin with; brokers look at their CPU once a minute."""
AT_ONCE_MS: Final = 100
"""A connection that is given up cuts off all that are on it at once."""
REACHED: Final = 0.03
"""How far a measured spread may be from the promised one: CPU figures are those of one minute, on a busy machine."""


@dataclass(slots=True)
class Promises:
    """What runs have promised and what was seen of them."""

    outages: list[tuple[float, ClientOutage]] = field(default_factory=list)
    bystanders: list[ClientOutage] = field(default_factory=list)
    ready: list[tuple[float, float]] = field(default_factory=list)

    @property
    def near(self) -> float:
        """The part of the outages that lies within one back-off step of its prediction."""
        return sum(within_a_step(outage.lasted_ms, 1000 * said) for said, outage in self.outages) / len(self.outages)

    def told(self) -> str:
        """Figures, for people."""
        lasted = sorted(outage.lasted_ms for _, outage in self.outages)
        said = sorted({round(1000 * each) for each, _ in self.outages})
        ready = sorted(round(seen, 2) for _, seen in self.ready)
        return (
            f"{len(self.ready)} moves, {len(lasted)} outages, said {said[0]} to {said[-1]} ms, were {lasted[0]} least, "
            f"{median(lasted):.0f} median, {lasted[9 * len(lasted) // 10]} at 90 %, {lasted[-1]} most; within a step: "
            f"{self.near:.1%}; {len(self.bystanders)} outages of bystanders; "
            f"ready was said {min(s for s, _ in self.ready):.2f} to "
            f"{max(s for s, _ in self.ready):.2f} s, was {ready[0]} least, {median(ready)} median, {ready[-1]} most"
        )


def _span(bundle: str) -> str:
    return bundle.rpartition("/")[2]


@dataclass(slots=True)
class Operator:
    """Who gives the commands of the page, and keeps what they promise."""

    cluster: BrokersCluster
    daemon: MovingDaemon
    traffic: ClusterTraffic
    namespace: str
    topics: Sequence[str]
    runs: int = 0
    missed: int = 0
    promises: Promises = field(default_factory=Promises)

    def plan(self, *words: str, of: Collection[str] = ()) -> Path:
        """Have a plan made, as soon as there are figures of all the ranges that it is to move; its file."""
        file = self.daemon.folder / f"plan-{self.runs + 1}.json"
        told: list[str] = []

        def planned() -> bool:
            file.unlink(missing_ok=True)
            found = self.daemon.command("balancer", *words, "--cluster", "lab", "--listen", "1", "--save", str(file))
            told[:] = [found.output]
            return file.exists() and set(of) <= {_span(each.bundle) for each in plan_file.read(file).moves}

        wait_until(planned, "a plan of all that is to move", shown=lambda: told)
        return file

    def apply(self, file: Path, *, killed: bool = False) -> None:
        """Have a plan carried out to its end, by a daemon that is killed in the middle if that is wished."""
        plan = plan_file.read(file)
        before, seen = self.cluster.dynamic(), len(self.traffic.outages())
        begun = self.daemon.command("balancer", "apply", str(file), "--go", "--yes", "--reason", "promised")
        assert begun.exit_code == 0, begun.output
        self.runs += 1
        if killed:
            self.daemon.until(
                lambda: self._outcome().standings.get(MoveStanding.DONE, 0) >= len(plan.moves) // 2,
                "half of the moves are done",
            )
            self.daemon.kill()
            assert {key: self.cluster.dynamic().get(key) for key in STILL} == STILL
            self.daemon.start()
        self.daemon.until(lambda: self._outcome().finished_at_ms is not None, "the run is over")
        found = self._outcome()
        missed = found.standings.pop(MoveStanding.MISSED, 0)
        assert missed == 0 or self.cluster.settings.manager is LoadManager.MODULAR, "it forgets targets, issue 24884"
        assert set(found.standings) == {MoveStanding.DONE}, self.daemon.log
        self.missed += missed
        assert self.cluster.dynamic() == before
        clients = {each.bundle: self._clients(each.bundle) for each in plan.moves}
        due = seen + sum(clients[each.bundle] * len(each.asked_ms) for each in found.moves)
        with suppress(WaitTimedOut):  # a target that was forgotten is an outage less
            wait_until(
                lambda: len(self.traffic.outages()) >= due,
                f"{due} outages have ended",
                within_s=SETTLED_S * starvation.patience(),
            )
        said = {each.bundle: each.prediction.client_seconds or 0.0 for each in plan.moves}
        for outage in self.traffic.outages()[seen:]:
            bundle = self._bundle(outage.topic)
            if bundle in said:
                self.promises.outages.append((said[bundle] / clients[bundle], outage))
                continue
            broken = self.traffic.connections_broken()
            assert any(0 <= outage.cut_ms - at_ms <= AT_ONCE_MS for at_ms in broken), f"nothing explains {outage}"
            self.promises.bystanders.append(outage)
        self.promises.ready += [
            (each.predicted_ready_s, each.observed_ready_s)
            for each in found.moves
            if each.predicted_ready_s is not None and each.observed_ready_s is not None
        ]

    def spread(self) -> float:
        """The spread that the brokers report now."""
        found = self.daemon.command("balancer", "load", "--cluster", "lab", "--listen", "0", "-o", "json")
        usages = [each["usage"] for each in json.loads(found.stdout)["brokers"]]
        return float(max(usages) - sum(usages) / len(usages))

    def owned_by(self, broker: Broker) -> set[str]:
        """The ranges that a broker owns."""
        return {span for span, owner in self.cluster.owners(self.namespace).items() if owner is broker}

    def _outcome(self) -> MoveRunDocument:
        told = self.daemon.command("-o", "json", "balancer", "runs", str(self.runs))
        return MoveRunDocument.model_validate_json(told.stdout)

    def _bundle(self, topic: str) -> str:
        bounds = sorted({int(each, 16) for span in self.cluster.bundles(self.namespace) for each in span.split("_")})
        return f"{self.namespace}/{bundle_range(tuple(bounds), topic_hash(topic))}"

    def _clients(self, bundle: str) -> int:
        return 2 * sum(self._bundle(topic) == bundle for topic in self.topics)


@pytest.fixture(params=list(LoadManager))
def cluster(request: pytest.FixtureRequest) -> BrokersCluster:
    """A cluster of either load manager."""
    found: BrokersCluster = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def daemon(cluster: BrokersCluster, tmp_path: Path) -> Iterator[MovingDaemon]:
    made = MovingDaemon(cluster, tmp_path)
    made.start()
    try:
        made.until(made.is_there, "it is there")
        yield made
    finally:
        made.kill()
        for key in (*STILL, WEIGHT):
            if key in cluster.dynamic():
                cluster.unset_dynamic(key)


def test_what_plans_promise_is_kept(
    cluster: BrokersCluster, namespace: Namespace, daemon: MovingDaemon, tmp_path: Path
) -> None:
    name, topics = namespace(cluster, topics=36, bundles=12)
    cluster.set_dynamic(WEIGHT, "1.5")
    with ClusterTraffic(cluster.service_url, uneven(topics, 400), tmp_path, log=tmp_path / "clients.log") as traffic:
        owned(cluster, name, topics)
        operator = Operator(cluster, daemon, traffic, name, topics)
        while len(operator.promises.ready) < MOVES:
            full = max(cluster.brokers, key=lambda each: len(operator.owned_by(each)))
            held, since = operator.owned_by(full), len(traffic.outages())
            operator.apply(operator.plan("drain", full.id, of=held), killed=operator.runs == 0)
            assert not operator.owned_by(full)
            if operator.runs == WARMING_RUNS:
                operator.promises = Promises()
        warm, operator.promises = operator.promises, Promises()
        sys.stderr.write(f"\n{cluster.settings.manager}, {operator.missed} missed: {warm.told()}\n")
        full.stop()
        cluster.start()
        of_each = Counter(outage.client for outage in traffic.outages()[since:])
        assert held
        assert set(of_each.values()) == {1} or operator.missed, "a drain with restart moves each bundle once"
        rest = others(cluster, full)
        held = {span for each in rest for span in operator.owned_by(each)}
        operator.apply(operator.plan("drain", *(each.id for each in rest), of=held))
        wait_until(lambda: operator.spread() >= UNEVEN, "the spread of all load on one broker", shown=operator.spread)
        file = operator.plan("advise", "--act-above", "0.05", "--reach", "0.04", "--where-pulsar-rests")
        before = operator.spread()
        operator.apply(file)
        promised = plan_file.read(file).moves[-1].prediction.spread
        assert promised is not None
        assert before > promised + 2 * REACHED, "there is something to be reached"
        wait_until(
            lambda: operator.spread() <= promised + REACHED, "the promised spread is reached", shown=operator.spread
        )
        sys.stderr.write(f"\nspread {before:.3f}, promised {promised:.3f}, now {operator.spread():.3f}\n")
        account = traffic.settle(30)
    sys.stderr.write(f"\nto a broker that was just started, and back: {operator.promises.told()}\n")
    assert warm.near >= MOSTLY, warm.told()
    assert (account.dead, account.lost) == ((), {})
