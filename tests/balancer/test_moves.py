"""Plans of moves on real brokers: a daemon carries them out, is killed in the middle, and settings end as they were."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner, Result

from deploy.lab import rest
from deploy.lab.brokers.broker import Broker
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.brokers.settings import LoadManager
from deploy.lab.ports import free_ports
from deploy.lab.traffic.loads import uneven
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.access.roles import AccessRole
from syncer.admin.balancing_claim import CLAIM_NAMESPACE, claim_key
from syncer.admin.stillness import STILL
from syncer.balancer.moving.bounds import RunBounds
from syncer.balancer.moving.move_plan import MovePlan, MovePrediction, PlannedMove
from syncer.balancer.moving.split import PlannedSplit
from syncer.balancer.ranges import range_of_bundle, topic_hash
from syncer.balancer.running import plan_file
from syncer.cli.main import app
from syncer.documents.balancing.moves import MoveRunDocument
from syncer.errors import StateUnavailable
from syncer.model import Millis, Region
from syncer.operations.contract import OperationKind
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.work.move_runs import KeptMoveRun
from syncer.state.views.region import Views
from syncer.waiting import wait_until
from tests.balancer.conftest import Namespace
from tests.support import api_tokens
from tests.support.logs import logging_restored

pytestmark = pytest.mark.real("pulsar", "zookeeper")

HERE: Final = Region("here")
MOVES: Final = 5
SHEDDING: Final = "loadBalancerSheddingEnabled"


@dataclass
class MovingDaemon:
    """A daemon of a quiet region, which may move bundles of one cluster."""

    cluster: BrokersCluster
    folder: Path
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    port: int = field(default_factory=lambda: free_ports(1)[0], init=False)
    token: str = field(default="", init=False)

    def start(self) -> None:
        """Start it."""
        folder, cluster = self.folder, self.cluster
        config = folder / "syncer.toml"
        self.token = self.token or api_tokens.made(folder / "tokens.json", "ann", role=AccessRole.OPERATE)
        config.write_text(
            f'region = "{HERE}"\n[store]\nkind = "sqlite"\npath = "{folder}/store.db"\n'
            f'[bus]\nkind = "embedded"\npath = "{folder}/bus.db"\n[state]\npath = "{folder}/state.db"\n'
            f'[api]\nlisten = "127.0.0.1:{self.port}"\ntokens = "{folder}/tokens.json"\n'
            f'[cluster.lab]\nservice_url = "{cluster.admin_url}"\n'
            f'broker_service_url = "{cluster.brokers[0].service_url}"\n'
            f'[cluster.lab.admin]\nurl = "{cluster.admin_url}"\n'
            f'[cluster.lab.store]\nkind = "zookeeper"\nhosts = "{cluster.store.endpoint}"\n',
            encoding="utf-8",
        )
        program = "from syncer.cli.main import main; main()"
        with (folder / "daemon.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, "--config", str(config), "run"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def command(self, *words: str) -> Result:
        """Give a command on its host."""
        with logging_restored():
            return CliRunner().invoke(app, ["--config", str(self.folder / "syncer.toml"), *words])

    def from_elsewhere(self, *words: str) -> Result:
        """Give a command on another host."""
        server = f"http://127.0.0.1:{self.port}"
        with logging_restored():
            return CliRunner().invoke(app, ["--server", server, *words], env={"SYNCER_TOKEN": self.token})

    def kill(self) -> None:
        """Kill it as a power loss would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    @property
    def log(self) -> str:
        """The end of what it has told."""
        return (self.folder / "daemon.log").read_text(encoding="utf-8")[-6000:]

    @contextmanager
    def views(self) -> Iterator[Views]:
        """Look at its database."""
        with closing(Views.open(f"sqlite:///{self.folder / 'state.db'}", HERE)) as views:
            yield views

    def is_there(self) -> bool:
        """Whether it has made its database."""
        try:
            with self.views():
                return True
        except StateUnavailable:
            return False

    def ask(self, kind: OperationKind, **arguments: str) -> Operation:
        """Ask it for something; its answer."""
        with self.views() as views:
            number = views.ask(kind, arguments, "ann", "uneven")

            def answered() -> bool:
                found = views.operation(number)
                return found is not None and found.state is not OperationState.PENDING

            self.until(answered, "it answers")
            answer = views.operation(number)
        assert answer is not None
        return answer

    def moves(self) -> list[dict[str, Any]]:
        """The moves of its first run."""
        with self.views() as views:
            return views.move_run_moves(1)

    def run(self) -> KeptMoveRun:
        """Its first run."""
        with self.views() as views:
            found = views.move_run(1)
        assert found is not None, self.log
        return found

    def until(self, so: Callable[[], bool], what: str) -> None:
        """Wait for a state that the daemon brings about."""
        wait_until(so, what, shown=lambda: self.log)


@pytest.fixture(params=[LoadManager.MODULAR, pytest.param(LoadManager.EXTENSIBLE, marks=pytest.mark.slow)])
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
        for key in (*STILL, SHEDDING):
            if key in cluster.dynamic():
                cluster.unset_dynamic(key)
        claim = f"{CLAIM_NAMESPACE}/property/{claim_key(cluster.settings.name)}"
        rest.send("DELETE", f"{cluster.admin_url}/admin/v2/namespaces/{claim}")


def plan_of(cluster: BrokersCluster, owners: Mapping[str, Broker], namespace: str, count: int) -> MovePlan:
    """A plan that gives each of some bundles to the next broker."""
    brokers = cluster.brokers
    moves = tuple(
        PlannedMove(
            bundle=f"{namespace}/{span}",
            source=owner.id,
            target=brokers[(brokers.index(owner) + 1) % len(brokers)].id,
            throughput=None,
            prediction=MovePrediction(ready_s=0.5),
        )
        for span, owner in sorted(owners.items())[:count]
    )
    return MovePlan(table="lab", cluster=cluster.settings.name, taken_ms=Millis(1), moves=moves)


def owned(cluster: BrokersCluster, namespace: str, topics: list[str]) -> dict[str, Broker]:
    """Who owns the bundles of some topics, once all of these are served."""
    hashes = [topic_hash(topic) for topic in topics]
    spans = {
        span for span in cluster.bundles(namespace) if any(each in range(*range_of_bundle(span)) for each in hashes)
    }
    wait_until(lambda: set(cluster.owners(namespace)) >= spans, "each bundle has an owner")
    return cluster.owners(namespace)


def ids(cluster: BrokersCluster, namespace: str) -> dict[str, str]:
    return {span: owner.id for span, owner in cluster.owners(namespace).items()}


def test_a_plan_is_carried_out_by_a_daemon_that_is_killed_in_the_middle(
    cluster: BrokersCluster, namespace: Namespace, daemon: MovingDaemon, tmp_path: Path
) -> None:
    name, topics = namespace(cluster, topics=24, bundles=8)
    with ClusterTraffic(cluster.service_url, uneven(topics, 80), tmp_path, log=tmp_path / "clients.log") as traffic:
        owners = owned(cluster, name, topics)
        plan = plan_of(cluster, owners, name, MOVES)
        dry = daemon.ask(OperationKind.MOVES_APPLY, plan=plan_file.to_text(plan))
        assert dry.answer == f"dry run: {MOVES} of {MOVES} moves would be asked for now"
        cluster.set_dynamic(SHEDDING, "true")
        before = cluster.dynamic()
        answer = daemon.ask(OperationKind.MOVES_APPLY, plan=plan_file.to_text(plan), dry="false")
        assert answer.state is OperationState.DONE, answer.answer
        with daemon.views() as views:
            daemon.until(lambda: views.move_run_moves(1)[0]["standing"] == "done", "the first one is done")
            daemon.kill()
        assert {key: cluster.dynamic().get(key) for key in STILL} == STILL, "nothing else moves bundles meanwhile"
        first = daemon.moves()
        assert not daemon.run().over
        daemon.start()
        daemon.until(lambda: daemon.run().over, "the run is over")
        account = traffic.settle(30)
    moves = daemon.moves()
    assert [each["standing"] for each in moves] == ["done"] * MOVES, daemon.log
    assert moves[0] == first[0], "it was not moved again"
    targets = {each.bundle.rpartition("/")[2]: each.target for each in plan.moves}
    assert ids(cluster, name) == {span: owner.id for span, owner in owners.items()} | targets
    assert cluster.dynamic() == before
    assert daemon.run().run["stop"] is None
    assert (account.dead, account.lost) == ((), {})


def test_a_bundle_is_split_and_a_half_moves_though_the_daemon_is_killed_between(
    cluster: BrokersCluster, namespace: Namespace, daemon: MovingDaemon, tmp_path: Path
) -> None:
    name, topics = namespace(cluster, topics=12, bundles=1)
    before = cluster.dynamic()
    with ClusterTraffic(cluster.service_url, uneven(topics, 60), tmp_path, log=tmp_path / "clients.log") as traffic:
        ((span, owner),) = owned(cluster, name, topics).items()
        hashes = sorted(map(topic_hash, topics))
        split = PlannedSplit(bundle=f"{name}/{span}", source=owner.id, position=hashes[6], throughput=None)
        lower, upper = (half.rpartition("/")[2] for half in split.halves)
        (move,) = plan_of(cluster, {lower: owner}, name, 1).moves
        plan = replace(plan_of(cluster, {lower: owner}, name, 1), splits=(split,))
        answer = daemon.ask(OperationKind.MOVES_APPLY, plan=plan_file.to_text(plan), dry="false")
        assert answer.answer == "the run of moves 1 has begun: 1 moves after 1 splits"
        daemon.until(lambda: daemon.run().run["splits"][0]["standing"] == "done", "the first one is done")
        daemon.kill()
        first, cut_off = daemon.run().run["splits"], traffic.outages()
        wait_until(lambda: set(cluster.owners(name)) == {lower, upper}, "both halves have an owner")
        assert cluster.owners(name)[upper] is owner, "it stays where it is"
        daemon.start()
        daemon.until(lambda: daemon.run().over, "the run is over")
        account = traffic.settle(30)
    run = daemon.run()
    assert (run.run["splits"], daemon.moves()[0]["standing"]) == (first, "done"), daemon.log
    moved = {topic for topic in topics if topic_hash(topic) < split.position}
    assert {each.topic for each in cut_off} <= moved, "a split cuts nobody off"
    assert {each.topic for each in traffic.outages()} == moved
    assert ids(cluster, name) == {lower: move.target, upper: owner.id}
    assert cluster.dynamic() == before
    assert (account.dead, account.lost) == ((), {})


def test_before_a_long_wait_the_settings_are_back_and_a_stop_ends_the_run(
    cluster: BrokersCluster, namespace: Namespace, daemon: MovingDaemon, tmp_path: Path
) -> None:
    name, topics = namespace(cluster, topics=12, bundles=2)
    before = cluster.dynamic()
    with ClusterTraffic(cluster.service_url, uneven(topics, 20), tmp_path):
        owners = owned(cluster, name, topics)
        plan = replace(plan_of(cluster, owners, name, 2), bounds=RunBounds(per_hour=1))
        answer = daemon.ask(OperationKind.MOVES_APPLY, plan=plan_file.to_text(plan), dry="false")
        assert answer.state is OperationState.DONE, answer.answer
        daemon.until(
            lambda: daemon.run().phase == "waiting" and daemon.moves()[0]["standing"] != "waiting",
            "the run waits, and one move does not",
        )
        assert cluster.dynamic() == before
        assert len(daemon.moves()[0]["asked_ms"]) == 1
        answer = daemon.ask(OperationKind.MOVES_STOP)
        assert "begins nothing more" in answer.answer
        daemon.until(lambda: daemon.run().over, "the run is over")
    assert cluster.dynamic() == before
    assert daemon.moves()[1]["standing"] == "not-begun"
    span = plan.moves[1].bundle.rpartition("/")[2]
    assert cluster.owners(name)[span] is owners[span]
    assert daemon.run().run["stop"] == {"code": "asked", "words": "uneven", "who": "ann"}


@pytest.mark.parametrize("cluster", [LoadManager.MODULAR], indirect=True)
def test_a_broker_is_drained_by_the_commands_of_the_page_here_and_by_rest(
    cluster: BrokersCluster, namespace: Namespace, daemon: MovingDaemon, tmp_path: Path
) -> None:
    name, topics = namespace(cluster, topics=12, bundles=6)
    file = tmp_path / "moves.json"
    before = cluster.dynamic()
    with ClusterTraffic(cluster.service_url, uneven(topics, 60), tmp_path, log=tmp_path / "clients.log") as traffic:
        full = Counter(owned(cluster, name, topics).values()).most_common(1)[0][0]
        mine = {f"{name}/{span}" for span, owner in cluster.owners(name).items() if owner is full}
        told: list[str] = []

        def planned() -> bool:
            file.unlink(missing_ok=True)
            found = daemon.command(
                "balancer", "drain", full.id, "--cluster", "lab", "--save", str(file), "--per-namespace", "2"
            )
            told[:] = [found.output]
            return file.exists() and mine <= {each.bundle for each in plan_file.read(file).moves}

        wait_until(planned, "a plan of all bundles of the broker", shown=lambda: told)
        plan = plan_file.read(file)
        dry = daemon.command("balancer", "apply", str(file))
        assert f"dry run: {len(plan.moves)} of {len(plan.moves)} moves" in dry.stdout, dry.output
        far = tmp_path / "far.json"
        asked = ("balancer", "drain", full.id, "--cluster", "lab", "--save", str(far), "--per-namespace", "2")
        assert daemon.from_elsewhere(*asked).exit_code == 0
        assert {each.bundle for each in plan_file.read(far).moves} == {each.bundle for each in plan.moves}
        begun = daemon.from_elsewhere("balancer", "apply", str(far), "--go", "--yes", "--reason", "it is restarted")
        assert begun.exit_code == 0, begun.output

        def outcome() -> MoveRunDocument:
            return MoveRunDocument.model_validate_json(
                daemon.from_elsewhere("-o", "json", "balancer", "runs", "1").stdout
            )

        daemon.until(lambda: outcome().finished_at_ms is not None, "the run is over")
        account = traffic.settle(30)
    found = outcome()
    assert found.standings == {"done": len(plan.moves)}, daemon.log
    assert full not in cluster.owners(name).values()
    assert all(each.observed_ready_s is not None and each.predicted_ready_s is not None for each in found.moves)
    assert cluster.dynamic() == before
    assert (account.dead, account.lost) == ((), {})
