"""The journal of a migration in the daemon's database: what it keeps outlives the process, and one daemon writes it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from syncer.errors import Fenced, NotFound, PreconditionFailed
from syncer.migration.course import MigrationAsk, MigrationCommand, MigrationRun, MigrationStop
from syncer.migration.phases import MigrationPhase, MigrationStanding
from syncer.migration.running.control.record import MigrationRecord
from syncer.migration.running.in_state import JournalInState, RecordInState
from syncer.migration.running.journal import MigrationJournal
from syncer.model import Millis
from syncer.replication.runtime.engine_thread import DriverThread
from syncer.state.contract.migrations import Migration
from syncer.state.contract.state import State
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.unit.state import test_contract
from tests.unit.state.contract.test_migrations import begun, over
from tests.unit.state.test_contract import EAST, Subject

pytestmark = pytest.mark.anyio
subject = test_contract.subject


class StandingClock:
    """A clock that stands."""

    def now_ms(self) -> Millis:
        """The same at any time."""
        return Millis(77)

    async def sleep(self, seconds: float) -> None:
        """Nobody waits."""
        raise NotImplementedError


@pytest.fixture
def thread() -> Iterator[DriverThread]:
    with closing(DriverThread()) as running:
        yield running


RUN = MigrationRun(
    standing=MigrationStanding(phase=MigrationPhase.PAUSED, wave=2, stopped_in=MigrationPhase.WAVE),
    since_ms=Millis(5),
    asked=(MigrationAsk(command=MigrationCommand.GO, who="ann", why="wéll", at_ms=Millis(6)),),
    moved=2,
    marked=True,
    accepted=("gap-too-long",),
    stop=MigrationStop(code="asked", words="an operator has asked", hint="go on"),
    closing_s=1.25,
)
"""A run with something of everything."""


def record_of(state: State, thread: DriverThread, migration: Migration) -> MigrationRecord:
    return RecordInState(state, thread, StandingClock(), migration)


def ended(phase: MigrationPhase) -> MigrationRun:
    return MigrationRun(standing=MigrationStanding(phase=phase, wave=2), since_ms=Millis(9))


def journal_of(state: State, thread: DriverThread, migration: Migration) -> MigrationJournal:
    return JournalInState(state, thread, StandingClock(), migration)


async def test_who_takes_over_recalls_what_was_remembered_and_not_forgotten(
    subject: Subject, thread: DriverThread
) -> None:
    migration = begun(subject.state)
    journal = journal_of(subject.state, thread, migration)
    assert await journal.recall("") == {}
    await journal.remember("former/publish-rate/persistent://acme/orders/ü", None)
    await journal.remember("former/backlog-quota/t", {"limitSize": 5})
    await journal.remember("former/backlog-quota/t", {"limitSize": 6, "parts": [1, 2.5, True]})
    await journal.remember("unmarked/acme/orders", ["a"])
    await journal.forget("unmarked/acme/orders")
    await journal.forget("unmarked/acme/orders")
    await thread.call(subject.state.activate)
    assert await journal_of(subject.state, thread, migration).recall("") == {
        "former/backlog-quota/t": {"limitSize": 6, "parts": [1, 2.5, True]},
        "former/publish-rate/persistent://acme/orders/ü": None,
    }
    assert list(await journal.recall("former/publish")) == ["former/publish-rate/persistent://acme/orders/ü"]
    assert await journal.recall("Former/") == {}


async def test_what_has_happened_is_numbered_with_its_time_and_kind(thread: DriverThread, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with closing(SqlState.open(url, EAST)) as state, closing(Views.open(url, EAST)) as views:
        state.activate()
        migration = begun(state)
        journal = journal_of(state, thread, migration)
        await journal.note({"event": "marked", "namespace": "acme/orders", "answer": "204"})
        await journal.note({"event": "unmarked", "topics": ["a", "b"], "at_ms": 5})
        assert [
            (each.number, each.at_ms, each.kind, each.document) for each in views.migration_events(migration.id, 9)
        ] == [
            (1, 77, "marked", {"namespace": "acme/orders", "answer": "204"}),
            (2, 77, "unmarked", {"topics": ["a", "b"], "at_ms": 5}),
        ]


async def test_what_a_call_has_kept_is_in_the_file_when_it_returns(thread: DriverThread, tmp_path: Path) -> None:
    with closing(SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", EAST)) as state:
        state.activate()
        migration = begun(state)
        journal = journal_of(state, thread, migration)
        for number in range(3):
            await journal.remember(f"value-{number}", number)
            left = tmp_path / f"killed-{number}"
            left.mkdir()
            for file in tmp_path.glob("state.db*"):
                shutil.copy(file, left / file.name)
            with closing(SqlState.open(f"sqlite:///{left / 'state.db'}", EAST)) as later:
                later.activate()
                found = await journal_of(later, thread, migration).recall("")
            assert found == {f"value-{each}": each for each in range(number + 1)}


async def test_an_entry_is_kept_whole_though_who_waits_is_cancelled(subject: Subject, thread: DriverThread) -> None:
    journal = journal_of(subject.state, thread, begun(subject.state))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await journal.remember("a", 1)
    assert scope.cancelled_caught
    assert await journal.recall("") == {"a": 1}


async def test_a_daemon_that_is_not_active_any_more_writes_nothing(thread: DriverThread, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with closing(SqlState.open(url, EAST)) as former, closing(SqlState.open(url, EAST)) as latter:
        former.activate()
        migration = begun(former)
        journal = journal_of(former, thread, migration)
        await journal.remember("a", 1)
        latter.activate()
        for act in (journal.remember("a", 2), journal.forget("a"), journal.note({"event": "late"}), journal.recall("")):
            with pytest.raises(Fenced):
                await act
        assert await journal_of(latter, thread, migration).recall("") == {"a": 1}


async def test_nothing_is_remembered_of_a_migration_that_is_over(subject: Subject, thread: DriverThread) -> None:
    migration = begun(subject.state)
    journal = journal_of(subject.state, thread, migration)
    with subject.state.transaction() as tx:
        tx.save_migration(over(migration))
    with pytest.raises(PreconditionFailed, match="is over"):
        await journal.remember("a", 1)


async def test_a_run_is_loaded_as_it_was_saved_last(subject: Subject, thread: DriverThread) -> None:
    migration = begun(subject.state)
    record = record_of(subject.state, thread, migration)
    assert record.migration == migration.claim
    assert await record.load() is None
    await record.save(MigrationRun(since_ms=Millis(1)))
    await record.save(RUN)
    await thread.call(subject.state.activate)
    assert await record_of(subject.state, thread, migration).load() == RUN
    with subject.state.transaction() as tx:
        kept = tx.migration()
        assert kept is not None
        assert (kept.phase, kept.made_at_ms, kept.changed_at_ms, kept.over) == ("paused", 10, 77, False)


@pytest.mark.parametrize("phase", [MigrationPhase.CLOSED, MigrationPhase.ROLLED_BACK])
async def test_a_migration_is_over_with_its_last_phase_when_all_was_put_back(
    subject: Subject, thread: DriverThread, phase: MigrationPhase
) -> None:
    migration = begun(subject.state)
    journal, record = journal_of(subject.state, thread, migration), record_of(subject.state, thread, migration)
    await journal.remember("former/publish-rate/t", None)
    with pytest.raises(PreconditionFailed, match="were not put back: former/publish-rate/t"):
        await record.save(ended(phase))
    await record.save(ended(MigrationPhase.FAILED))
    await journal.forget("former/publish-rate/t")
    await record.save(ended(phase))
    with pytest.raises(PreconditionFailed, match="is over"):
        await record.save(RUN)
    assert await record.load() == ended(phase)
    with subject.state.transaction() as tx:
        kept = tx.migration(migration.id)
        assert (tx.migration(), kept is not None and kept.finished_at_ms) == (None, 77)
        tx.prune(Millis(78), 9)
    with pytest.raises(NotFound):
        await record.load()
