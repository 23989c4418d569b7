"""Fixtures of the whole suite: real servers started once per run, when the first test asks; async tests run on asyncio.

With ``-n N --dist loadgroup`` the tests of the servers run on one worker, so each server starts once. A server that
cannot be had here skips its tests with the reason; where ``CI=true`` that is a failure.
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from hypothesis import settings
from typer import testing as typer_testing
from xdist.remote import Producer
from xdist.scheduler import Scheduling

from deploy.lab.etcd import EtcdNode
from deploy.lab.postgres import PostgresServer, account
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, bring_up
from deploy.lab.software import SoftwareMissing, etcd_binary, java, postgres_programs, pulsar_home
from deploy.lab.zookeeper import ZooKeeperServer
from syncer.model import MetaPath
from syncer.waiting import DESCRIBING, LIVING, WaitTimedOut
from tests.servers import PAIR, SESSION_MS, SharedServers
from tests.suites import STARVED_WAIT
from tests.support.conditions import compared
from tests.support.examples import load_profile
from tests.support.scheduling import ServersTogether
from tests.support.schema import repeat_upgrades

load_profile()
repeat_upgrades()
DESCRIBING.describe = compared
# A call of the command line in a test builds all its commands anew otherwise: two thirds of its time.
typer_testing._get_command = functools.cache(typer.main.get_command)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class PulsarPair:
    """Two clusters that share nothing and know each other: ``us-east`` on ZooKeeper, ``us-west`` on etcd."""

    clusters: Mapping[str, PulsarCluster]


_prefix_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as the daemon does."""
    return "asyncio"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Keep all tests that use real servers on one worker."""
    return ServersTogether(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Take the order of tests and all random data from ``TEST_SEED``, where it is set."""
    seed = os.environ.get("TEST_SEED")
    if seed:
        config.option.randomly_seed = int(seed)
        config.option.hypothesis_seed = seed


def pytest_unconfigure() -> None:
    """Let the interpreter take everything apart at its end, as it does without us."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected, and never look through them afterwards.

    Modules, syntax trees and thousands of items only grow meanwhile, and the items live to the end of the run. Each
    full collection of a test's own garbage would pass over all of them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()  # what died meanwhile is not kept
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note how many examples each law tries, and measure no coverage in tests of random examples.

    Lines that random examples meet are no proof. Tracing them costs more than all other tests of the core.
    """
    for item in items:
        law = getattr(item, "obj", None)
        if getattr(law, "is_hypothesis_test", False):
            drawn = getattr(law, "_hypothesis_internal_use_settings", None) or settings()
            item.user_properties.append(("proof-examples", drawn.max_examples))
            item.add_marker("no_cover")


@pytest.fixture(autouse=True)
def _own_processes() -> Iterator[None]:
    """No wait of a test ends for a process that another test has left."""
    with LIVING.kept_apart():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note in a test's report that its wait ran out while the machine was starved: ``tests.run`` plays it again."""
    report = yield
    if call.excinfo is not None and _only_starved_waits(call.excinfo.value):
        waited = (STARVED_WAIT, item.nodeid)
        item.user_properties.append(waited)  # the file of results has those of the last phase
        report.user_properties.append(waited)
    return report


def _only_starved_waits(exc: BaseException) -> bool:
    if isinstance(exc, BaseExceptionGroup):
        return all(map(_only_starved_waits, exc.exceptions))
    return isinstance(exc, WaitTimedOut) and exc.starvation.starved


def missing(reason: str) -> NoReturn:
    """Skip the test, or fail it where skips are not allowed."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must have it: {reason}")
    pytest.skip(reason)


def require(*programs: Callable[[], object]) -> None:
    """Look for the software of a server before it is started."""
    for program in programs:
        try:
            program()
        except SoftwareMissing as exc:
            missing(str(exc))


@pytest.fixture(scope="session")
def zookeeper_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """One ZooKeeper for the whole run. A test that stops it starts it again."""
    require(java, pulsar_home)
    server = ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"), leashed=True)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def etcd_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdNode]:
    """One etcd for the whole run. A test that stops it starts it again."""
    require(etcd_binary)
    server = EtcdNode(tmp_path_factory.mktemp("etcd"), leashed=True)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole run. A test that stops it starts it again."""
    require(postgres_programs, account)
    server = PostgresServer(tmp_path_factory.mktemp("postgres"), leashed=True)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """An empty database of the test's own."""
    name = f"test_{os.getpid()}_{next(_prefix_numbers)}"
    postgres_server.start()
    yield postgres_server.create(name)
    postgres_server.resume()
    postgres_server.start()
    postgres_server.drop(name)


@pytest.fixture(scope="session")
def pulsar_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PulsarPair]:
    """Two Pulsar clusters: the run's own, or such of these tests alone. A test that stops a part starts it again."""
    require(java, pulsar_home, etcd_binary)
    if shared := os.environ.get("TEST_SERVERS"):
        clusters = SharedServers(Path(shared)).clusters()
        try:
            bring_up(clusters)  # what the step before has left stopped, and nothing else
            yield PulsarPair({cluster.name: cluster for cluster in clusters})
        finally:
            for cluster in clusters:
                cluster.stop_own()
        return
    directory = tmp_path_factory.mktemp("pulsar")
    clusters = [
        PulsarCluster(directory / name, ClusterSettings(name=name, store=store, session_ms=SESSION_MS), leashed=True)
        for name, store in PAIR
    ]
    try:
        bring_up(clusters)
        yield PulsarPair({cluster.name: cluster for cluster in clusters})
    finally:
        for cluster in clusters:
            cluster.stop()


@pytest.fixture
def fresh_prefix() -> MetaPath:
    """A path that no other test of the run uses, also usable as a chroot."""
    return MetaPath(f"/test-{os.getpid()}-{next(_prefix_numbers)}")
