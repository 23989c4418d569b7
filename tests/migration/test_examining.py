"""Brokers that do not answer are asked how they are, by their own addresses, and what they say reaches the operator."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

import pytest

from syncer.admin.client import AdminClient, AdminSettings
from syncer.errors import AdminError, AdminUnreachable
from syncer.migration.broker_health import HealthState
from syncer.migration.course import MigrationCommand, StopCode
from syncer.migration.phases import MigrationPhase
from syncer.migration.running.clock import WallClock
from syncer.migration.running.control import calls as recorded
from syncer.migration.running.control import examining
from syncer.migration.running.control.calls import RecordedCalls
from syncer.migration.running.control.controller import Controller, MigrationState
from syncer.migration.running.control.examining import BrokerExamination
from syncer.migration.running.insisting import insist
from tests.migration.clusters.broker import Broker, BrokerSettings
from tests.migration.controllers import Control, nothing_left, says_go
from tests.migration.plays import NamespacePlay
from tests.support.admin_server import Asked, serving

pytestmark = pytest.mark.anyio
HEALTH: Final = "/admin/v2/brokers/health"
THREADS: Final = "Deadlocked threads detected. pulsar-io-4-2(tid=91), pulsar-io-4-1(tid=90)"
DEADLOCKED: Final = json.dumps(
    {"reason": f"\n --- An unexpected error occurred in the server ---\n\nMessage: {THREADS}\n\nStacktrace:\n\nat x"}
)
"""The body of the answer of a broker of 4.0.8 to a request for its health, whose status is 500."""


class Heard:
    """What is told of brokers."""

    def __init__(self) -> None:
        self.states: list[str] = []

    async def tell(self, event: str, **what: Any) -> None:
        """Note it."""
        assert event == "broker-health"
        self.states.append(what["state"])


def asking(url: str, timeout_s: float = 5.0) -> AdminClient:
    return AdminClient(AdminSettings(url=url, timeout=timedelta(seconds=timeout_s), retry_for=timedelta(0)))


async def test_a_deadlocked_broker_says_so_at_its_own_address_and_then_nobody_insists_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = ["deadlocked"]

    def broker(asked: Asked) -> tuple[int, str]:
        if asked.path != HEALTH:
            return 404, "{}"
        return (500, DEADLOCKED) if state[0] == "deadlocked" else (200, "ok")

    def cluster(asked: Asked) -> tuple[int, str]:
        told = {"/admin/v2/brokers/here": json.dumps([there.removeprefix("http://")])}
        return (200, told[asked.path]) if asked.path in told else (404, "{}")

    with serving(broker) as there, serving(cluster) as url:
        async with asking(url) as calls:
            heard, clock = Heard(), WallClock()
            examination = BrokerExamination("blue", "here", calls, clock, heard.tell)
            (found,) = await examination.look()
            assert (found.broker, found.said) == (there.removeprefix("http://"), THREADS)
            gone = RecordedCalls(asking("http://127.0.0.1:9"), clock, examination.waited_in_vain)
            with pytest.raises(AdminUnreachable):  # nobody was waited for, so nobody is asked
                await gone.version()
            monkeypatch.setattr(recorded, "LONG_MS", 0)
            with pytest.raises(AdminError) as raised:
                await insist(clock, gone.version)
            assert not isinstance(raised.value, AdminUnreachable)
            assert THREADS in raised.value.message
            assert "Restart" in (raised.value.hint or "")
            with pytest.raises(AdminError):
                await gone.send("PUT", "/admin/v2/tenants/acme")
            state[0] = "well"
            assert await examination.look() == ()
            with pytest.raises(AdminUnreachable):
                await gone.version()
    assert heard.states == ["deadlocked", "well"]


async def test_a_broker_that_does_not_answer_is_waited_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody lists brokers, the one that answers for the cluster is asked."""
    monkeypatch.setattr(examining, "ASK_S", 0.2)
    examination = BrokerExamination("green", "there", asking("http://127.0.0.1:9"), WallClock(), Heard().tell)
    (found,) = await examination.look()
    assert (found.broker, found.state) == ("there", HealthState.SILENT)
    assert await examination.waited_in_vain() is None


@pytest.mark.parametrize("behind", ["still", "marked"])
async def test_a_deadlock_in_a_wave_stops_it_at_once_by_its_name_and_its_restart_lets_it_go_on(behind: str) -> None:
    play = NamespacePlay(3, settings=BrokerSettings(deadlocks=0.0))
    control = Control(play)
    broker = play.blue.brokers[0]
    began: list[int] = []
    took_ms: list[int] = []
    stops: list[tuple[str, str]] = []

    async def operator(controller: Controller, state: MigrationState) -> None:
        run = state.run
        if control.journal.noted(behind) and not began:
            began.append(play.timeline.now)
            broker.deadlocked = True
        elif run.stop is not None and not run.asked:
            stops.append((run.stop.code, run.stop.words))
            took_ms.append(play.timeline.now - began[0])
            assert [(each.broker, each.state) for each in state.ill] == [(broker.address, HealthState.DEADLOCKED)]
            broker.restart(500)
            play.timeline.run(1_000)
            await controller.ask(MigrationCommand.RESUME, "bob", "it was restarted")
        else:
            await says_go(controller, state)

    control.operator = operator
    await control.begin(await control.plan()).run()
    assert [code for code, _ in stops] == [StopCode.DEADLOCKED]
    assert broker.address in stops[0][1]
    assert took_ms[0] < 240_000, "no further try helps"
    closed(control, broker)


async def test_a_deadlock_that_is_seen_while_it_drains_is_shown_and_its_restart_alone_lets_it_go_on() -> None:
    play = NamespacePlay(3, settings=BrokerSettings(deadlocks=0.0))
    control = Control(play)
    broker = play.blue.brokers[0]
    began: list[int] = []

    async def operator(controller: Controller, state: MigrationState) -> None:
        assert state.run.stop is None
        if control.journal.noted("let-go") and not began:
            began.append(play.timeline.now)
            broker.deadlocked = True
        elif state.ill and broker.deadlocked:
            assert [(each.broker, each.state) for each in state.ill] == [(broker.address, HealthState.DEADLOCKED)]
            broker.restart(500)
        else:
            await says_go(controller, state)

    control.operator = operator
    await control.begin(await control.plan()).run()
    closed(control, broker)


def closed(control: Control, broker: Broker) -> None:
    """Nobody is lost, nothing stays set, and what was told of the broker is that it is well again."""
    state = control.status()
    assert (state.run.standing.phase, state.ill) == (MigrationPhase.CLOSED, ())
    told = [each["state"] for each in control.journal.noted("broker-health") if each["broker"] == broker.address]
    assert (told[0], told[-1]) == ("deadlocked", "well")
    verdict = control.play.end()
    assert (verdict.lost, verdict.dead, verdict.stuck) == (0, (), ())
    assert nothing_left(control)
