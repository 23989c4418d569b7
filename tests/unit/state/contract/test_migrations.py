"""Migrations are kept alike by every state: one is open at a time, over once all was put back; one daemon writes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

from syncer.conflict.register import HoldReason
from syncer.errors import Fenced, NotFound, PreconditionFailed
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.migrations import Migration, MigrationEvent
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.state.sql.database import SqlState
from tests.unit.state import test_contract
from tests.unit.state.test_contract import EAST, Subject

subject = test_contract.subject
PLAN = '{"canary": ["acme/orders"], "ü": null}\n'
PLANNED = Migration(
    claim="6f1c",
    fingerprint="ab" * 32,
    phase="planned",
    asked_by="ann",
    reason="new hardware \N{ROCKET}",
    made_at_ms=Millis(10),
    changed_at_ms=Millis(10),
)


def begun(state: State, **changes: Any) -> Migration:
    with state.transaction() as tx:
        number = tx.begin_migration(replace(PLANNED, **changes), PLAN)
    return replace(PLANNED, id=number, **changes)


def over(migration: Migration, phase: str = "closed", at: int = 100) -> Migration:
    return replace(migration, phase=phase, finished_at_ms=Millis(at))


def remember(state: State, migration: Migration, **values: object) -> None:
    with state.transaction() as tx:
        for key, value in values.items():
            tx.remember_value(migration.id, key, value)


def undone(state: State, *acts: Callable[[Transaction], object]) -> None:
    """Do something in a transaction that fails in the end."""

    def fail(tx: Transaction) -> NoReturn:
        for act in acts:
            act(tx)
        raise ArithmeticError

    with pytest.raises(ArithmeticError), state.transaction() as tx:
        fail(tx)


def test_a_migration_is_read_back_as_it_was_kept_by_whoever_writes_next(subject: Subject) -> None:
    first = begun(subject.state, reverses=None)
    moved = replace(
        first,
        phase="paused",
        run={"standing": {"wave": 3, "stopped_in": None}, "closing_s": 4.5, "asked": ["a\N{ROCKET}", True]},
        changed_at_ms=Millis(2**45),
    )
    with subject.state.transaction() as tx:
        assert tx.migration() == tx.migration(first.id) == first
        assert tx.migration_plan(first.id) == PLAN
        assert not first.over
        tx.save_migration(moved)
        assert tx.migration() == moved
    subject.state.activate()
    with subject.state.transaction() as tx:
        assert tx.migration() == moved
        assert tx.migration_plan(first.id) == PLAN


def test_one_is_open_at_a_time(subject: Subject) -> None:
    first = begun(subject.state)
    with pytest.raises(PreconditionFailed, match=f"^migration {first.id} is not over: it is planned$"):
        begun(subject.state)
    with subject.state.transaction() as tx:
        tx.save_migration(over(first, "rolled-back"))
        assert tx.migration() is None
    second = begun(subject.state, reverses=first.id)
    assert second.id > first.id
    with subject.state.transaction() as tx:
        assert tx.migration() == second
        assert tx.migration(first.id) == over(first, "rolled-back")
        tx.save_migration(over(second))
    third = begun(subject.state)
    with subject.state.transaction() as tx:
        assert [tx.migration(each.id) for each in (first, second, third)] == [
            over(first, "rolled-back"),
            over(second),
            third,
        ]


def test_nothing_is_kept_of_a_migration_that_there_is_not(subject: Subject) -> None:
    with subject.state.transaction() as tx:
        assert (tx.migration(), tx.migration(7)) == (None, None)
        assert tx.migration_values(7) == {}
        for act in (
            lambda: tx.migration_plan(7),
            lambda: tx.save_migration(replace(PLANNED, id=7)),
            lambda: tx.remember_value(7, "a", 1),
            lambda: tx.add_migration_event(7, "begun", {}, Millis(1)),
        ):
            with pytest.raises(NotFound, match=r"^there is no migration 7$"):
                act()
        tx.forget_value(7, "a")


def test_values_are_kept_by_key_until_they_are_forgotten(subject: Subject) -> None:
    migration = begun(subject.state)
    plain = {"rate": {"publishThrottlingRateInByte": 2**53, "on": None}, "list": [1, "ü", False], "": -1.5}
    remember(subject.state, migration, b=plain, a=None, Z="first")
    remember(subject.state, migration, Z="second")
    subject.state.activate()
    with subject.state.transaction() as tx:
        kept = tx.migration_values(migration.id)
        assert kept == {"Z": "second", "a": None, "b": plain}
        assert list(kept) == ["Z", "a", "b"]
        tx.forget_value(migration.id, "a")
        tx.forget_value(migration.id, "a")
        assert list(tx.migration_values(migration.id)) == ["Z", "b"]


def test_values_are_found_by_how_their_keys_begin_exactly(subject: Subject) -> None:
    migration = begun(subject.state)
    keys = ("held/a_", "held/a_/1", "held/ab", "Held/a_", "held/ü%", "held")
    remember(subject.state, migration, **{key: len(key) for key in keys})
    with subject.state.transaction() as tx:
        for start in ("held/a_", "held/ü%", "held/", "h", "H", "held/%", "no", ""):
            found = list(tx.migration_values(migration.id, start))
            assert found == sorted(key for key in keys if key.startswith(start))


def test_any_text_of_a_broker_can_be_kept(subject: Subject) -> None:
    migration = begun(subject.state)
    odd = "a\0b\ud800c"
    with subject.state.transaction() as tx:
        tx.remember_value(migration.id, odd, {"told": [odd, (odd,)]})
        event = tx.add_migration_event(migration.id, odd, {odd: odd}, Millis(1))
        (value,) = tx.migration_values(migration.id).values()
        assert value == {"told": ["a\ufffdb\ufffdc", ["a\ufffdb\ufffdc"]]}
        assert event.kind == "a\ufffdb\ufffdc"
        tx.forget_value(migration.id, odd)
        assert tx.migration_values(migration.id) == {}


def test_members_of_enumerations_are_kept_as_their_values_as_names_too(subject: Subject) -> None:
    migration, kind, odd = begun(subject.state), HoldReason.MASS_DELETE, "\ud800"
    with subject.state.transaction() as tx:
        documents: list[dict[str, object]] = [{kind: {kind: [kind]}}, {kind: {kind: [kind]}, odd: 1}]
        for document in documents:
            event = tx.add_migration_event(migration.id, "kept", document, Millis(1))
            assert event.document[kind.value] == {kind.value: [kind.value]}
        tx.remember_value(migration.id, kind, {kind: kind})
        assert tx.migration_values(migration.id) == {kind.value: {kind.value: kind.value}}


def test_a_migration_is_over_only_when_everything_was_put_back(subject: Subject) -> None:
    migration = begun(subject.state)
    remember(subject.state, migration, **{f"rate-{number}": number for number in range(5)})
    with (
        pytest.raises(PreconditionFailed, match="rate-0, rate-1, rate-2 and 2 more"),
        subject.state.transaction() as tx,
    ):
        tx.save_migration(over(migration))
    with subject.state.transaction() as tx:
        assert tx.migration() == migration
        tx.save_migration(replace(migration, phase="failed"))
        for number in range(5):
            tx.forget_value(migration.id, f"rate-{number}")
        tx.save_migration(over(migration))


def test_what_is_over_stays_so(subject: Subject) -> None:
    migration = begun(subject.state)
    with subject.state.transaction() as tx:
        tx.save_migration(over(migration))
    for changed in (migration, over(migration, "rolled-back", 101)):
        with pytest.raises(PreconditionFailed, match=r"is over: it is closed$"), subject.state.transaction() as tx:
            tx.save_migration(changed)
    with pytest.raises(PreconditionFailed, match=r"is over: it is closed$"):
        remember(subject.state, migration, a=1)
    with subject.state.transaction() as tx:
        assert tx.migration(migration.id) == over(migration)
        assert tx.add_migration_event(migration.id, "report", {}, Millis(200)).number == 1


def test_events_are_numbered_for_each_migration(subject: Subject) -> None:
    first = begun(subject.state)
    with subject.state.transaction() as tx:
        asked = tx.add_migration_event(first.id, "go", {"who": "ann", "wave": 2}, Millis(5))
        assert asked == MigrationEvent(number=1, at_ms=Millis(5), kind="go", document={"who": "ann", "wave": 2})
        assert tx.add_migration_event(first.id, "go", {}, Millis(4)).number == 2
        tx.save_migration(over(first))
    undone(subject.state, lambda tx: tx.add_migration_event(first.id, "lost", {}, Millis(6)))
    second = begun(subject.state)
    with subject.state.transaction() as tx:
        assert tx.add_migration_event(first.id, "late", {}, Millis(7)).number == 3
        assert tx.add_migration_event(second.id, "go", {}, Millis(8)).number == 1


def test_what_was_not_committed_is_undone(subject: Subject) -> None:
    migration = begun(subject.state)
    remember(subject.state, migration, a=1, b=2)
    undone(
        subject.state,
        lambda tx: tx.remember_value(migration.id, "a", 9),
        lambda tx: tx.forget_value(migration.id, "b"),
        lambda tx: tx.save_migration(replace(migration, phase="wave")),
    )
    with subject.state.transaction() as tx:
        assert tx.migration() == migration
        assert tx.migration_values(migration.id) == {"a": 1, "b": 2}
        tx.forget_value(migration.id, "a")
        tx.forget_value(migration.id, "b")
        tx.save_migration(over(migration))
    undone(subject.state, lambda tx: tx.begin_migration(PLANNED, PLAN))
    with subject.state.transaction() as tx:
        assert tx.migration() is None


def test_migrations_that_are_over_go_with_the_journal_of_their_time(subject: Subject) -> None:
    old = begun(subject.state)
    with subject.state.transaction() as tx:
        for _ in range(5):
            tx.add_migration_event(old.id, "step", {}, Millis(50))
        tx.save_migration(over(old, at=100))
    young = begun(subject.state)
    with subject.state.transaction() as tx:
        tx.add_migration_event(young.id, "step", {}, Millis(60))
        tx.save_migration(over(young, at=200))
    current = begun(subject.state)
    with subject.state.transaction() as tx:
        tx.add_migration_event(current.id, "step", {}, Millis(1))
        assert tx.prune(Millis(100), 10) == 0
        gone = 0
        while some := tx.prune(Millis(101), 2):
            gone += some
        assert gone == 6
        assert tx.migration(old.id) is None
        assert (tx.migration(young.id), tx.migration()) == (over(young, at=200), current)
        for kept in (young, current):
            assert tx.add_migration_event(kept.id, "next", {}, Millis(300)).number == 2


def test_a_database_that_begins_anew_keeps_its_migrations(subject: Subject) -> None:
    migration = begun(subject.state)
    remember(subject.state, migration, a=1)
    with subject.state.transaction() as tx:
        tx.add_migration_event(migration.id, "go", {}, Millis(1))
    subject.state.renew(10**11, "other-store", "{}")
    with subject.state.transaction() as tx:
        assert tx.migration() == migration
        assert tx.migration_values(migration.id) == {"a": 1}
        assert tx.add_migration_event(migration.id, "go", {}, Millis(2)).number == 2


def test_only_the_active_daemon_writes_what_a_migration_remembers(tmp_path: Path) -> None:
    url, memory = f"sqlite:///{tmp_path / 'shared.db'}", MemoryDatabase(EAST, "f" * 32)
    with closing(SqlState.open(url, EAST)) as one, closing(SqlState.open(url, EAST)) as other:
        pairs: list[tuple[State, State]] = [(one, other), (MemoryState(memory), MemoryState(memory))]
        for former, latter in pairs:
            former.activate()
            migration = begun(former)
            remember(former, migration, rate=5)
            latter.activate()
            with pytest.raises(Fenced):
                remember(former, migration, rate=6)
            with pytest.raises(Fenced), former.transaction() as tx:
                tx.add_migration_event(migration.id, "late", {}, Millis(1))
            with latter.transaction() as tx:
                assert tx.migration() == migration
                assert tx.migration_values(migration.id) == {"rate": 5}
                assert tx.add_migration_event(migration.id, "first", {}, Millis(1)).number == 1
