"""A whole migration on simulated clusters, kept in a daemon's database, which outlives every controller."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from syncer.errors import StateUnavailable
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.phases import MigrationPhase
from syncer.migration.reading import plan_file
from syncer.migration.reading.pair import MigrationSide
from syncer.migration.running.control.controller import Controller
from syncer.migration.running.in_state import JournalInState, RecordInState
from syncer.model import Millis, Region
from syncer.state.contract.migrations import Migration
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.migration.clock import SimulatedClock
from tests.migration.controllers import Control, OperatedClock, nobody_dead, says_go, urls_of
from tests.migration.flips import Killed, left_behind
from tests.migration.plays import LONG, NamespacePlay

P = ParamSpec("P")
T = TypeVar("T")
pytestmark = pytest.mark.anyio


class SameThread:
    """Runs a daemon's transactions where virtual time stands still."""

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call."""
        return function(*args, **kwargs)


class FullDisk(SameThread):
    """Calls fail from a number on: the first transaction is lost, or committed and nobody knows; the rest are lost."""

    def __init__(self, number: int, *, committed: bool) -> None:
        self._left = number
        self._committed = committed

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call, or fail."""
        self._left -= 1
        if self._left == 0 and self._committed:
            function(*args, **kwargs)
        if self._left <= 0:
            raise StateUnavailable("the disk is full")
        return function(*args, **kwargs)


def taken_up(
    control: Control, plan: MigrationPlan, state: SqlState, thread: SameThread, migration: Migration
) -> Controller:
    """A controller of a play whose journal and record are a daemon's database."""
    clock = OperatedClock(control)
    control.record.kept = {}  # the operator waits for no other record
    control.controller = Controller(
        plan,
        MigrationSide(table="b", calls=control.blue, urls=urls_of(control.play.blue)),
        MigrationSide(table="g", calls=control.green, urls=urls_of(control.play.green)),
        clock,
        JournalInState(state, thread, clock, migration),
        RecordInState(state, thread, clock, migration),
        probe=nobody_dead,
    )
    return control.controller


def begun(state: SqlState, plan: MigrationPlan, now: Millis) -> None:
    """A migration is started in a daemon's database."""
    state.activate()
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


async def carry_on(control: Control, state: SqlState, thread: SameThread) -> Migration:
    """A daemon becomes active on a database, and carries on the migration that is open there."""
    state.activate()
    with state.transaction() as tx:
        migration = tx.migration()
        assert migration is not None
        plan = plan_file.from_text(tx.migration_plan(migration.id).encode())
    controller = taken_up(control, plan, state, thread, migration)
    await controller.load()
    await controller.run()
    assert controller.status().run.standing.phase is MigrationPhase.CLOSED
    return migration


@pytest.mark.parametrize("kill_at", [40, 80, 120, 160])
async def test_a_migration_that_was_killed_is_taken_up_by_the_next_daemon(kill_at: int, tmp_path: Path) -> None:
    url, east = f"sqlite:///{tmp_path / 'state.db'}", Region("east")
    control = Control(NamespacePlay(1))
    control.operator = says_go
    plan, now = await control.plan(), SimulatedClock(control.play.timeline).now_ms()
    with closing(SqlState.open(url, east)) as first, closing(SqlState.open(url, east)) as second:
        begun(first, plan, now)
        control.blue.kill_at = len(control.blue.made) + kill_at
        with pytest.raises((Killed, BaseExceptionGroup)):
            await carry_on(control, first, SameThread())
        control.blue.kill_at = None
        migration = await carry_on(control, second, SameThread())
        assert control.play.end().harmless
        assert left_behind(control.play) == {}
        with closing(Views.open(url, east)) as views:
            over = views.migration(migration.id)
            assert over is not None
            assert (over.phase, over.over, views.open_migration()) == ("closed", True, None)
            events = views.migration_events(migration.id, 10_000)
            assert [each.number for each in events] == list(range(1, len(events) + 1))
            assert {"asked", "step-begins", "step-ends", "marked", "calls"} <= {each.kind for each in events}
        with second.transaction() as tx:
            assert tx.migration_values(migration.id) == {}
            assert tx.prune(Millis(2**60), 10_000) == len(events) + 1


@pytest.mark.parametrize("number", range(1, 120) if LONG else range(5, 106, 25))
@pytest.mark.parametrize("committed", [False, True], ids=["lost", "committed"])
async def test_an_entry_that_cannot_be_kept_ends_a_run_that_is_carried_on(number: int, committed: bool) -> None:
    control = Control(NamespacePlay(1))
    control.operator = says_go
    plan, now = await control.plan(), SimulatedClock(control.play.timeline).now_ms()
    with closing(SqlState.open("sqlite://", Region("east"))) as state:
        begun(state, plan, now)
        try:
            await carry_on(control, state, FullDisk(number, committed=committed))
        except* StateUnavailable:
            with state.transaction() as tx:
                over = tx.migration() is None
            if not over:
                await carry_on(control, state, SameThread())
        with state.transaction() as tx:
            assert tx.migration() is None
        assert control.play.end().harmless
        assert left_behind(control.play) == {}
