"""The daemon's service of migrations on simulated clusters: what operators ask, failures, and another daemon's turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from syncer.admin.calls import AdminRefused
from syncer.cli.render.migration_status import show_status
from syncer.cli.render.output import Format
from syncer.documents.migration import MigrationBrokerDocument
from syncer.errors import Fenced, NotFound
from syncer.inspection.migrations import migration_list, migration_status
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.reading import plan_file
from syncer.migration.reading.pair import MigrationSide
from syncer.migration.running.control.controller import Controller
from syncer.migration.running.service.service import MigrationService
from syncer.model import Region
from syncer.operations.contract import OperationKind
from syncer.state.contract.operations import MAX_PENDING, Operation, OperationState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.timeline import Timeline
from tests.migration.controllers import Control, nobody_dead, urls_of
from tests.migration.flips import left_behind
from tests.migration.plays import NAMESPACE, NamespacePlay
from tests.migration.test_in_state import SameThread

pytestmark = pytest.mark.anyio
EAST = Region("east")


class SharedClock(SimulatedClock):
    """Virtual time of several tasks: it passes when all of them wait, until the first of them is awake."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self._wakes: list[int] = []
        self._still = 0

    async def sleep(self, seconds: float) -> None:
        """Return when so many seconds have passed, for everybody alike."""
        wakes_ms = self.now_ms() + round(seconds * 1000)
        self._wakes.append(wakes_ms)
        self._still = 0
        try:
            while self.now_ms() < wakes_ms:
                await anyio.lowlevel.checkpoint()
                self._still += 1
                if self._still > 5 * len(self._wakes) and wakes_ms == min(self._wakes):
                    await super().sleep((wakes_ms - self.now_ms()) / 1000)
        finally:
            self._wakes.remove(wakes_ms)
            self._still = 0


class SimulatedPair:
    """The two clusters of a play as a configuration that names them."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self.known = {"b", "g"}

    @asynccontextmanager
    async def sides(self, blue: str, green: str) -> AsyncIterator[tuple[MigrationSide, MigrationSide]]:
        """Both clusters."""
        if missing := {blue, green} - self.known:
            raise NotFound(f"the configuration has no table [cluster.{missing.pop()}]")
        control, play = self._control, self._control.play
        yield (
            MigrationSide(table=blue, calls=control.blue, urls=urls_of(play.blue)),
            MigrationSide(table=green, calls=control.green, urls=urls_of(play.green)),
        )

    def own_topics(self) -> frozenset[str]:
        """None."""
        return frozenset()


class Scene:
    """A play, and the database of the daemons that carry its migration."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.url = f"sqlite:///{folder / 'state.db'}"
        self.control = Control(NamespacePlay(seed))
        self.clusters = SimulatedPair(self.control)
        self.clock = SharedClock(self.control.play.timeline)
        with closing(SqlState.open(self.url, EAST)) as state:
            state.activate()
        self.views = Views.open(self.url, EAST)

    @asynccontextmanager
    async def active(self, *, observing: bool = False) -> AsyncIterator[MigrationService]:
        """A daemon is active meanwhile."""
        with closing(SqlState.open(self.url, EAST)) as state:
            state.activate()
            service = MigrationService(
                state, SameThread(), self.clusters, self.clock, observing=observing, probe=nobody_dead
            )
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(service.migrations)
                yield service
                tasks.cancel_scope.cancel()

    async def ask(self, kind: OperationKind, **arguments: str) -> Operation:
        """Ask the daemon, and wait for its answer."""
        number = self.views.ask(kind.value, arguments, "ann@ops", "new hardware")
        answered: Operation = await self.until(lambda: _answered(self.views.operation(number)))
        return answered

    async def start(self, plan: MigrationPlan, **arguments: str) -> Operation:
        """Ask that a plan is begun."""
        return await self.ask(OperationKind.MIGRATION_START, plan=plan_file.to_text(plan), **arguments)

    async def command(self, command: str, **arguments: str) -> Operation:
        """Ask something of the migration that is open."""
        return await self.ask(OperationKind.MIGRATION_COMMAND, migration="1", command=command, **arguments)

    async def phase(self, phase: str) -> None:
        """Wait until the migration is in a phase, and waits there or is over."""

        def there() -> bool:
            found = migration_status(self.views, 1)
            return found.phase == phase and bool(found.waits_for or found.finished_at_ms)

        await self.until(there)

    async def until(self, holds: Callable[[], Any], turns: int = 1_500) -> Any:
        """Let the daemon do something until it holds."""
        for _ in range(turns):
            if found := holds():
                return found
            await self.clock.sleep(1)
        raise AssertionError("it has not come to that")


def _answered(operation: Operation | None) -> Operation | None:
    return operation if operation is not None and operation.state is not OperationState.PENDING else None


@pytest.fixture(autouse=True)
def _somebody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(_: object) -> Mapping[str, str]:
        return {}

    monkeypatch.setattr("syncer.migration.reading.preflight.dead_addresses", nobody)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.views.close()


def codes(service: MigrationService) -> list[str]:
    report: Any = service.report()
    return [] if report is None else [code for code, _ in report["conditions"]]


async def test_a_migration_is_carried_from_start_to_close_by_daemons_that_take_turns(scene: Scene) -> None:
    plan = await scene.control.plan()
    async with scene.active() as service:
        assert service.report() is None
        begun = await scene.start(plan)
        assert (begun.state, begun.answer.partition(";")[0]) == (OperationState.DONE, "migration 1 has begun")
        again = await scene.start(plan)
        assert (again.state, again.code) == (OperationState.FAILED, "precondition-failed")
        await scene.phase("guarded")
        assert codes(service) == ["migration-waits"]
        assert migration_status(scene.views).waits_for[:2] == ["go", "auto"]
    async with scene.active():
        await scene.until(lambda: scene.views.open_migration() is not None)
        other = await scene.command("go", shown="canary, wave 0, 0 moved")
        assert (other.code, "has gone on" in other.answer) == ("precondition-failed", True)
        shown = "guarded, wave 0, 0 moved"
        assert (await scene.command("go", shown=shown)).state is OperationState.DONE
        await scene.until(lambda: migration_status(scene.views).phase == "canary")
    async with scene.active() as service:
        await scene.until(lambda: migration_status(scene.views).phase == "soaking")
        report: Any = service.report()
        assert sum(report["topics"].values()) > 0
        await scene.phase("soaking")
        assert (await scene.command("close")).state is OperationState.DONE
        await scene.phase("closed")
        assert await scene.until(lambda: service.report() is None)
    assert scene.control.play.end().harmless
    assert left_behind(scene.control.play) == {}
    found = migration_status(scene.views, 1)
    assert [(each.outcome, each.missing) for each in found.waves] == [("migrated", [])]
    assert [(each.phase, each.asked_by) for each in migration_list(scene.views, 9).items] == [("closed", "ann@ops")]


async def test_a_rollback_says_first_what_it_takes_back_and_an_abort_is_for_before(scene: Scene) -> None:
    plan = await scene.control.plan()
    async with scene.active():
        await scene.start(plan)
        await scene.phase("guarded")
        found = await scene.ask(OperationKind.MIGRATION_UNDOABLE, migration="1")
        assert found.answer == f"{NAMESPACE}: yes"
        elsewhere = await scene.ask(OperationKind.MIGRATION_UNDOABLE, migration="7")
        assert elsewhere.code == NotFound.code
        assert (await scene.command("dance")).code == NotFound.code
        assert (await scene.command("abort")).state is OperationState.DONE
        await scene.phase("rolled-back")
    assert left_behind(scene.control.play) == {}
    assert scene.control.play.end().harmless


async def test_what_waits_for_others_keeps_no_migration_waiting(scene: Scene) -> None:
    for _ in range(MAX_PENDING):
        scene.views.ask(OperationKind.PAUSE.value, {}, "a script", "")
    async with scene.active():
        answered = await scene.ask(OperationKind.MIGRATION_COMMAND, migration="7", command="abort")
    assert (answered.state, answered.code) == (OperationState.FAILED, NotFound.code)


def slowly(scene: Scene, monkeypatch: pytest.MonkeyPatch, seconds: float = 10) -> None:
    """Let each call that reads blue take so long."""
    get = scene.control.blue.get

    async def slow(path: str) -> Any:
        await scene.clock.sleep(seconds)
        return await get(path)

    monkeypatch.setattr(scene.control.blue, "get", slow)


async def test_a_pause_waits_for_no_question_that_reads_a_slow_cluster(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = await scene.control.plan()
    async with scene.active():
        await scene.start(plan)
        await scene.phase("guarded")
        slowly(scene, monkeypatch)
        for _ in range(10):
            scene.views.ask(OperationKind.MIGRATION_UNDOABLE, {"migration": "1"}, "a script", "")
        scene.views.ask(OperationKind.MIGRATION_START, {"plan": plan_file.to_text(plan)}, "a script", "")
        await scene.clock.sleep(3)
        began_ms = scene.clock.now_ms()
        assert (await scene.command("pause")).state is OperationState.DONE
        assert (await scene.command("resume")).state is OperationState.DONE
        assert (await scene.command("abort")).state is OperationState.DONE
        assert scene.clock.now_ms() - began_ms < 10_000
        answered = await scene.until(lambda: _answered(scene.views.operation(2)))
        assert answered.answer == f"{NAMESPACE}: yes"


async def test_a_command_waits_for_the_start_that_begins_what_it_names(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = await scene.control.plan()
    slowly(scene, monkeypatch, 1)
    async with scene.active():
        elsewhere = await scene.command("abort")
        assert elsewhere.code == NotFound.code
        start = scene.views.ask(OperationKind.MIGRATION_START, {"plan": plan_file.to_text(plan)}, "ann", "")
        await scene.clock.sleep(3)
        stop = await scene.command("abort")
        assert _answered(scene.views.operation(start)) is not None
        assert stop.code != NotFound.code


async def test_commands_are_answered_while_as_many_starts_wait_as_are_looked_at_in_one_turn(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = await scene.control.plan()
    async with scene.active():
        await scene.start(plan)
        await scene.phase("guarded")
        slowly(scene, monkeypatch)
        for _ in range(MAX_PENDING):
            scene.views.ask(OperationKind.MIGRATION_UNDOABLE, {"migration": "1"}, "a script", "")
        assert (await scene.command("abort")).state is OperationState.DONE


async def test_a_plan_that_does_not_hold_is_refused_and_nothing_begins(scene: Scene) -> None:
    plan = await scene.control.plan()
    async with scene.active():
        edited = plan_file.to_text(plan).replace('"acme/orders"', '"acme/other"')
        assert (await scene.ask(OperationKind.MIGRATION_START, plan=edited)).code == "plan-invalid"
        assert (await scene.ask(OperationKind.MIGRATION_START)).code == "plan-invalid"
        scene.clusters.known.discard("g")
        assert (await scene.start(plan)).code == NotFound.code
        scene.clusters.known.add("g")
        await scene.control.blue.create_topic(f"persistent://{NAMESPACE}/late")
        assert (await scene.start(plan)).code == "plan-stale"
    assert scene.views.migrations(9) == []


async def test_a_table_that_is_gone_pauses_it_with_a_code_until_it_is_back(scene: Scene) -> None:
    plan = await scene.control.plan()
    async with scene.active():
        await scene.start(plan)
        await scene.phase("guarded")
    scene.clusters.known.discard("b")
    async with scene.active() as service:
        await scene.phase("paused")
        stop = migration_status(scene.views).stop
        assert stop is not None
        assert stop.code == NotFound.code
        assert codes(service) == ["migration-troubled", "migration-paused"]
        assert (await scene.command("resume")).code == "precondition-failed"
        scene.clusters.known.add("b")
        await scene.until(lambda: codes(service) == ["migration-paused"])
        assert (await scene.command("resume")).state is OperationState.DONE
        await scene.phase("guarded")


async def test_an_error_of_the_controller_ends_nothing_else_and_is_shown(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = await scene.control.plan()
    broken = [True]
    real = Controller.run

    async def run(controller: Any) -> None:
        if broken[0]:
            raise ZeroDivisionError("a bug")
        await real(controller)

    monkeypatch.setattr(Controller, "run", run)
    async with scene.active() as service:
        await scene.start(plan)
        await scene.until(lambda: codes(service) == ["migration-troubled"])
        assert (await scene.ask(OperationKind.MIGRATION_UNDOABLE, migration="9")).code == NotFound.code
        broken[0] = False
        await scene.phase("guarded")


async def test_a_daemon_that_is_not_active_any_more_writes_nothing_and_ends(scene: Scene) -> None:
    plan = await scene.control.plan()
    made = 0

    async def outlived() -> None:
        nonlocal made
        async with scene.active():
            await scene.start(plan)
            await scene.phase("guarded")
            with closing(SqlState.open(scene.url, EAST)) as other:
                other.activate()
            made = len(scene.control.blue.made)
            await scene.until(lambda: False, turns=30)

    with pytest.raises(BaseExceptionGroup) as caught:
        await outlived()
    assert caught.value.split(Fenced)[1] is None
    written = [each for each in scene.control.blue.made[made:] if each[0] != "GET"]
    assert written == []


async def test_credentials_that_expire_pause_it_with_their_code(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = await scene.control.plan()
    async with scene.active():
        await scene.start(plan)
        await scene.phase("guarded")

        async def refused(*_: object) -> None:
            raise AdminRefused("answered 401", status=401, reason="the token has expired")

        monkeypatch.setattr(scene.control.blue, "send", refused)
        monkeypatch.setattr(scene.control.blue, "get", refused)
        await scene.command("go")
        await scene.until(lambda: migration_status(scene.views).stop)
        stop = migration_status(scene.views).stop
        assert stop is not None
        assert stop.code == "admin-access-denied"


async def test_a_deadlocked_broker_is_shown_with_its_words_until_it_was_restarted(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = await scene.control.plan()
    broker = scene.control.play.blue.brokers[0]
    async with scene.active() as service:
        await scene.start(plan)
        await scene.phase("guarded")
        assert (await scene.command("go")).state is OperationState.DONE
        await scene.phase("soaking")
        broker.deadlocked = True
        (told,) = await scene.until(lambda: _ill(service))
        assert (told["broker"], told["state"]) == (broker.address, "deadlocked")
        assert codes(service) == ["migration-broker-deadlocked"]
        ill = [MigrationBrokerDocument.model_validate(told)]
        show_status(migration_status(scene.views).model_copy(update={"ill": ill}), Format.TABLE)
        shown = f"! broker {broker.address} of blue is deadlocked: restart it (Deadlocked threads detected.)"
        assert shown in capsys.readouterr().out
        broker.restart(500)
        await scene.until(lambda: not _ill(service))
        assert codes(service) == ["migration-waits"]


def _ill(service: MigrationService) -> list[dict[str, str]]:
    report: Any = service.report()
    found: list[dict[str, str]] = report["ill"]
    return found


async def test_a_daemon_that_observes_moves_nobody(scene: Scene) -> None:
    plan = await scene.control.plan()
    async with scene.active(observing=True):
        refused = await scene.start(plan)
    assert (refused.code, "only observes" in refused.answer) == ("precondition-failed", True)
    assert scene.views.migrations(1) == []
