"""What only a real database has: files, locks, schema revisions, other processes, errors, read-only views."""

from __future__ import annotations

import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from syncer.conflict.acts import Decision, Journal, RecordConflict
from syncer.conflict.register import Register
from syncer.errors import ConfigError, StateForeign, StateUnavailable
from syncer.model import Digest, MetaPath, Millis, Region
from syncer.state.contract.operations import OperationState
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.contract.transaction import Transaction
from syncer.state.sql import opening, tables
from syncer.state.sql.cache import MAX_OPEN, MAX_REGISTERS, MAX_VALUE_BYTES, RegisterCache
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.support.schema import RepeatedUpgrade, Upgrade
from tests.unit.state.test_contract import EAST, FULL, event, living, stamp, version


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'state.db'}"


@pytest.fixture
def state(url: str) -> Iterator[SqlState]:
    with closing(SqlState.open(url, EAST, busy_timeout_s=0.2)) as opened:
        opened.activate()
        yield opened


def test_file_is_private_and_keeps_its_identity(url: str, tmp_path: Path) -> None:
    with closing(SqlState.open(url, EAST)) as state:
        first = state.activate()
        with state.transaction() as work:
            work.save([living("/a")])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
    with closing(SqlState.open(url, EAST)) as state:
        second = state.activate()
    assert (first.database_id, first.epoch, second.epoch) == (second.database_id, 1, 2)


def test_schema_is_what_the_tables_say(state: SqlState) -> None:
    with state.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []


def test_the_files_tell_the_revisions_that_alembic_finds() -> None:
    config = Config()
    config.set_main_option("script_location", "syncer.state:migrations")
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    assert opening._known() == {script.revision for script in scripts.walk_revisions()}
    assert opening.head() == scripts.get_current_head()


def test_a_schema_that_is_repeated_is_the_one_that_the_revisions_make(tmp_path: Path) -> None:
    assert isinstance(opening._upgrade, RepeatedUpgrade)
    revisions = opening._upgrade.upgrade
    repeated = RepeatedUpgrade(revisions)
    ways: list[Upgrade] = [revisions, repeated, repeated]
    dumps = []
    for number, upgrade in enumerate(ways):
        (tmp_path / f"{number}.db").touch()
        engine = opening.connect(opening.parse_url(f"sqlite:///{tmp_path}/{number}.db"), "writer")
        with engine.begin() as connection:
            upgrade(connection)
        engine.dispose()
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as database:
            dumps.append(list(database.iterdump()))
    assert len(dumps[0]) > 50
    assert dumps[1:] == [dumps[0]] * 2


@pytest.mark.parametrize(("bad", "error"), [("nonsense", ConfigError), ("mysql://h/d", ConfigError)])
def test_unknown_urls_are_refused(bad: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        SqlState.open(bad, EAST)


def test_missing_directory_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StateUnavailable) as caught:
        SqlState.open(f"sqlite:///{tmp_path}/none/state.db", EAST)
    assert "none" in caught.value.message
    assert "Create it" in caught.value.hint


def test_foreign_databases_are_refused(url: str, tmp_path: Path) -> None:
    SqlState.open(url, EAST).close()
    for opened in (SqlState.open, Views.open):
        with pytest.raises(StateForeign, match="us-east"):
            opened(url, Region("other"))
    with closing(sqlite3.connect(tmp_path / "state.db")) as raw, raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    for opened in (SqlState.open, Views.open):
        with pytest.raises(StateForeign, match="9999"):
            opened(url, EAST)


def test_versions_that_know_no_excluded_fields_refuse_the_database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    SqlState.open(url, EAST).close()
    before = frozenset(f"{number:04}" for number in range(1, 22))
    monkeypatch.setattr(opening, "_known", lambda: before)
    with pytest.raises(StateForeign, match=opening.head()):
        SqlState.open(url, EAST)


def test_what_is_no_database_is_unavailable(url: str, tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StateUnavailable):
        SqlState.open(url, EAST)


def test_locked_then_free(state: SqlState, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateUnavailable, match="locked"), state.transaction():
            pass
        other.execute("ROLLBACK")
    with state.transaction() as work:
        work.save([living("/a")])
    with state.transaction() as work:
        assert work.count_alive() == 1


def test_full_disk_stores_nothing_and_is_forgotten(state: SqlState) -> None:
    with state.transaction() as work:
        work.save([living("/a")])
    connection = state._connection
    assert connection is not None
    raw = connection.connection.driver_connection
    assert raw is not None
    raw.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size: any growth is "disk is full"
    big = [Register(path=MetaPath(f"/b/{n}"), known=version(value=b"x" * 3000)) for n in range(500)]

    def write(work: Transaction) -> None:
        work.enqueue([event("/a")])
        work.save(big)

    with pytest.raises(StateUnavailable, match="full"), state.transaction() as work:
        write(work)
    with state.transaction() as work:
        assert work.registers([big[0].path, MetaPath("/a")]) == {MetaPath("/a"): living("/a")}
        assert work.identity().last_sequence == 0
        assert work.open_paths([MetaPath("/a")]) == set()


def test_removed_file_is_noticed_and_not_made_again(state: SqlState, tmp_path: Path) -> None:
    (tmp_path / "state.db").rename(tmp_path / "away.db")
    with pytest.raises(StateUnavailable, match="removed or replaced"), state.transaction():
        pass
    assert not (tmp_path / "state.db").exists()


def test_cache_is_bounded() -> None:
    cache = RegisterCache(size=3)
    for n in range(9):
        cache.put(MetaPath(f"/{n}"), living(f"/{n}"))
    cache.put(MetaPath("/big"), Register(path=MetaPath("/big"), known=version(value=b"x" * 5000)))
    assert len(cache) == 3
    assert MAX_REGISTERS <= 50_000


def test_long_outbox_is_asked_of_the_database(state: SqlState) -> None:
    with state.transaction() as work:
        work.enqueue([event(f"/e/{n}") for n in range(MAX_OPEN + 1)])
        assert work.open_paths([MetaPath("/e/7"), MetaPath("/none")]) == {"/e/7"}
        work.acknowledged(range(2, MAX_OPEN + 2))
        assert work.open_paths([MetaPath("/e/0"), MetaPath("/e/7")]) == {"/e/0"}
        work.acknowledged([1])
        work.enqueue([event("/e/5")])
        assert work.open_paths([MetaPath("/e/0"), MetaPath("/e/5")]) == {"/e/5"}


@pytest.mark.parametrize("where", ["unsettled = 1 AND due = 1", "hold_reason IS NOT NULL", "parked_reason IS NOT NULL"])
def test_partial_indexes_are_used(state: SqlState, where: str) -> None:
    with state.engine.connect() as connection:
        query = f"EXPLAIN QUERY PLAN SELECT path FROM registers WHERE {where} AND path > 'a' ORDER BY path"
        plan = " ".join(str(row) for row in connection.exec_driver_sql(query))
    assert "USING COVERING INDEX registers_" in plan or "USING INDEX registers_" in plan


def test_deletes_are_counted_without_a_look_at_the_rest_of_the_journal(state: SqlState) -> None:
    with state.engine.connect() as connection:
        query = f"EXPLAIN QUERY PLAN SELECT at FROM journal WHERE {tables.DELETES} AND at > 5 ORDER BY at DESC LIMIT 9"
        plan = " ".join(str(row) for row in connection.exec_driver_sql(query))
    assert re.search(r"USING (COVERING )?INDEX journal_deletes", plan)


def test_views_show_what_the_daemon_wrote(state: SqlState, url: str) -> None:
    parked = Register(path=MetaPath("/b"), known=FULL.known, parked=FULL.parked)
    with closing(Views.open(url, EAST)) as views, closing(Views.open(url)) as other:
        assert (views.journal_end(), views.status().document) == (0, None)
        with state.transaction() as work:
            work.save([FULL, living("/a"), living("/a/c"), parked])
            work.enqueue([event("/a"), event("/b")])
            work.hold_publication(event("/h"))
            work.hold_event(event("/f"), Millis(9), Millis(3))
            work.journal(
                [Journal(path=MetaPath("/a"), decision=Decision.MET, stamp=stamp(), detail="d")] * 3, Millis(4)
            )
            work.journal([Journal(path=MetaPath("/b"), decision=Decision.HELD, seen={}, against=stamp())], Millis(5))
            work.quarantine(DeadLetter(origin="bus", code="c", detail="d", position="p", payload=b"123"), Millis(6))
            record = RecordConflict(
                path=MetaPath("/a"),
                loser=stamp(),
                loser_seen={},
                loser_digest=Digest(b"d"),
                value=b"12345",
                winner=stamp(),
            )
            work.conflict(record, Millis(7))
            work.save_status({"x": 1}, Millis(8))
        number = views.ask("pause", {"a": "b"}, "ann", "why")
        status = other.status()
        counts = status.counts
        assert (counts.alive, counts.due, counts.holds, counts.held_publications) == (2, 2, 1, 1)
        assert (counts.future_events, counts.parked, counts.conflicts, counts.quarantine) == (1, 2, 1, 1)
        assert (counts.operations, status.outbox.depth, status.document, status.reported_at_ms) == (1, 2, {"x": 1}, 8)
        assert status.outbox.oldest_at_ms is not None
        assert views.register(FULL.path) == FULL
        assert [one.path for one in views.registers(9, prefix="/a")] == ["/a", "/a/c", FULL.path]
        assert [one.path for one in views.registers(1, MetaPath("/a"), "/a")] == ["/a/c"]
        assert [(one.id, one.at_ms) for one in views.journal(MetaPath("/a"), 2)] == [(3, 4), (2, 4)]
        assert [one.entry.decision for one in views.journal_after(3, 9)] == [Decision.HELD]
        assert views.journal_after(3, 9)[0].entry == Journal(
            path=MetaPath("/b"), decision=Decision.HELD, seen={}, against=stamp()
        )
        assert [(one.path, one.hold) for one in views.holds(9)] == [(FULL.path, FULL.hold)]
        assert [one.path for one in views.parked(9)] == [FULL.path, "/b"]
        assert [one.value_bytes for one in views.conflicts(9)] == [5]
        assert [one.payload_bytes for one in views.quarantine(9)] == [3]
        assert [(one.path, one.held_at_ms) for one in views.held_publications(9) + views.future_events(9)] == [
            ("/h", None),
            ("/f", 3),
        ]
        with state.transaction() as work:
            assert [one.id for one in work.pending_operations(9)] == [number]
            work.finish_operation(number, OperationState.FAILED, "no", "not-found", Millis(9))
            work.mark_restored(1, Millis(9))
        answered = other.operation(number)
        assert answered is not None
        assert (answered.state, answered.answer, answered.code) == (OperationState.FAILED, "no", "not-found")
        assert other.operation(number + 1) is None
        assert views.conflicts(9, restored=False) == []
    state.close()
    with closing(Views.open(url, EAST)) as views:  # the daemon is gone, its files are closed
        assert views.register(FULL.path) == FULL
        assert views.ask("resume", {}, "ann", "") == number + 1


def test_views_of_nothing_make_nothing(tmp_path: Path) -> None:
    with pytest.raises(StateUnavailable):
        Views.open(f"sqlite:///{tmp_path / 'none.db'}", EAST)
    assert list(tmp_path.iterdir()) == []


def test_events_are_published_as_the_database_has_them_whether_read_back_or_not(state: SqlState) -> None:
    large = replace(event("/c"), value=b"x" * (MAX_VALUE_BYTES + 1))
    with state.transaction() as work:
        work.enqueue([event("/a"), event("/b")])
    with state.transaction() as work:
        work.enqueue([event("/d")])
        kept, limited, later = work.outbox(10), work.outbox(2), work.outbox(10, after=1)
        state._cache.open = None  # as after a restart
        assert (work.outbox(10), work.outbox(2), work.outbox(10, after=1)) == (kept, limited, later)
        work.enqueue([large])
        work.acknowledged([1])
        assert [(row.sequence, row.event.path) for row in work.outbox(10)] == [(2, "/b"), (3, "/d"), (4, "/c")]
        work.acknowledged([2, 3])
        assert work.outbox(10)[0].event.value == large.value
        work.acknowledged([4])
        assert work.outbox(10) == []


def test_events_of_a_transaction_that_was_undone_are_not_published(state: SqlState) -> None:
    def undone() -> None:
        with state.transaction() as work:
            work.enqueue([event("/a")])
            raise RuntimeError("undo")

    with pytest.raises(RuntimeError, match="undo"):
        undone()
    with state.transaction() as work:
        assert work.outbox(10) == []


def test_a_host_whose_name_has_too_long_a_part_is_unknown() -> None:
    with pytest.raises(StateUnavailable, match="the host is unknown: no part of its name"):
        Views.open(f"postgresql://syncer:secret@{'a' * 64}.example/syncer")
