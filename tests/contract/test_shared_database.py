"""What only a shared database has: two writers that race, a server that goes away, versions that meet."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.pool import PoolProxiedConnection

from deploy.lab.postgres import PostgresServer, PostgresTls
from deploy.lab.process import freeze
from syncer.conflict.acts import Decision, Journal
from syncer.errors import ConfigError, Fenced, PreconditionFailed, StateForeign, StateUnavailable
from syncer.model import MetaPath, Millis, Stamp
from syncer.state.contract.jobs import JobEnd, JobKind, JobRow, JobState
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.maintenance.compact import compact
from syncer.state.sql import opening, tables
from syncer.state.sql.database import REDIAL_S, SqlState, wall_clock
from syncer.state.sql.opening import BUSY_TIMEOUT_S
from syncer.state.sql.postgres import Deadlines
from syncer.state.sql.presence import DaemonRole, Presence
from syncer.state.sql.work.job_board import JobBoard
from syncer.state.views.region import Views
from syncer.waiting import WAIT_S, starvation, wait_until
from tests.support.certificates import Authority
from tests.support.state_writer import event
from tests.unit.state.test_contract import EAST, living

RACES = 60 if os.environ.get("TEST_FORM") == "long" else 15
SHORT_S = 4.0
USUAL = Deadlines()


@pytest.fixture
def state(postgres_url: str) -> Iterator[SqlState]:
    with closing(SqlState.open(postgres_url, EAST)) as opened:
        opened.activate()
        yield opened


@contextmanager
def writer(url: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.state_writer", url, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def output(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def values(state: SqlState) -> list[tuple[int, str]]:
    """What the outbox holds: number and value."""
    state.activate()
    with state.transaction() as work:
        return [(row.sequence, (row.event.value or b"").decode()) for row in work.outbox(1_000_000)]


def put(state: SqlState, value: str) -> None:
    with state.transaction() as work:
        work.enqueue([event(value)])


def stored_in_the_end(state: SqlState, value: str) -> float:
    """Repeat, as the daemon does, until it is stored; how long that took."""

    def stored() -> bool:
        with suppress(Fenced):
            put(state, value)
            return True
        state.activate()
        return False

    began = time.monotonic()
    wait_until(stored, "it is stored", passing=StateUnavailable)
    return time.monotonic() - began


def test_of_processes_that_race_only_the_latest_writes(postgres_url: str) -> None:
    with closing(SqlState.open(postgres_url, EAST)) as state:
        with (
            writer(postgres_url, "race", str(RACES)) as a,
            writer(postgres_url, "race", str(RACES)) as b,
            writer(postgres_url, "race", str(RACES)) as c,
        ):
            told = [line.strip() for process in (a, b, c) for line in output(process)]
            assert [process.wait(WAIT_S) for process in (a, b, c)] == [0, 0, 0]
        kept = values(state)
    assert len(told) > RACES
    assert sorted(value for _, value in kept) == sorted(told), "what was committed is there, and nothing else"
    assert [number for number, _ in kept] == list(range(1, len(kept) + 1))
    epochs = [int(value.split()[0]) for _, value in kept]
    assert epochs == sorted(epochs), "nobody committed after another one had become the writer"


def test_who_becomes_the_writer_waits_for_the_open_transaction_and_sees_it(state: SqlState, postgres_url: str) -> None:
    with closing(SqlState.open(postgres_url, EAST)) as other:
        taken = threading.Event()

        def take() -> None:
            other.activate()
            taken.set()

        with state.transaction() as work:
            thread = threading.Thread(target=take)
            thread.start()
            until_waiting(state)
            assert not taken.is_set(), "the epoch cannot rise under an open transaction"
            work.enqueue([event("first")])
        thread.join(WAIT_S)
        with pytest.raises(Fenced, match="another daemon"):
            put(state, "second")
        with other.transaction() as work:
            assert [row.event.value for row in work.outbox(9)] == [b"first"]


def until_waiting(state: SqlState) -> None:
    """Wait until some session of this database waits for a lock."""
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )

    def waiting() -> bool:
        with state.engine.connect() as connection:
            return bool(connection.execute(query).scalar_one())

    wait_until(waiting, "a session waits for a lock")


@pytest.mark.parametrize("how", ["hold", "pipeline"])
def test_a_frozen_writer_with_an_open_transaction_does_not_keep_a_standby_out(postgres_url: str, how: str) -> None:
    with closing(SqlState.open(postgres_url, EAST)) as standby, writer(postgres_url, how) as former:
        assert output(former).readline() == "open\n"
        freeze(former.pid)

        def active() -> bool:
            standby.activate()
            return True

        began = time.monotonic()
        wait_until(active, "the standby is the writer", passing=StateUnavailable)
        took = time.monotonic() - began
        put(standby, "of the new one")
        os.kill(former.pid, signal.SIGCONT)
        assert former.stdin is not None
        former.stdin.write("\n")
        former.stdin.flush()
        assert [output(former).readline().strip() for _ in range(2)] == ["state-unavailable", "fenced"]
        assert [value for _, value in values(standby)] == ["of the new one"]
    print(f"a standby became the writer {took:.1f} s after the active one was frozen inside a transaction")
    assert took < (USUAL.idle_s if how == "hold" else USUAL.lock_s + REDIAL_S) + 2 * starvation.patience()


@pytest.mark.parametrize("how", ["stopped", "killed", "frozen"])
def test_a_server_that_is_away_for_a_while_costs_nothing(
    postgres_server: PostgresServer, postgres_url: str, how: str
) -> None:
    with (
        closing(SqlState.open(postgres_url, EAST, busy_timeout_s=SHORT_S)) as state,
        closing(Views.open(postgres_url, EAST, busy_timeout_s=SHORT_S)) as views,
    ):
        state.activate()
        put(state, "before")
        {"stopped": postgres_server.stop, "killed": postgres_server.kill, "frozen": postgres_server.pause}[how]()
        began = time.monotonic()
        with pytest.raises(StateUnavailable) as told:
            put(state, "lost")
        first = time.monotonic() - began
        began = time.monotonic()
        with pytest.raises(StateUnavailable):
            put(state, "lost")
        assert time.monotonic() - began < REDIAL_S * starvation.patience(), (
            "the next call does not wait for the same silence"
        )
        with pytest.raises(StateUnavailable):
            views.status()
        postgres_server.resume()
        postgres_server.start()
        took = stored_in_the_end(state, "after")
        assert views.status().outbox.depth == 2
        assert [value for _, value in values(state)] == ["before", "after"]
    assert first < Deadlines.scaled(SHORT_S / BUSY_TIMEOUT_S).answer_s + starvation.patience()
    assert postgres_server.password not in told.value.message + told.value.hint
    print(f"{how}: refused after {first:.1f} s, stored {took:.1f} s after the server was back")


def test_when_the_answer_to_a_commit_is_lost_the_daemon_finds_out_as_after_a_crash(
    state: SqlState, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(state, "one")

    def cut_off_after_the_commit(connection: PoolProxiedConnection) -> None:
        connection.commit()
        raw = connection.driver_connection
        assert raw is not None
        raw.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patch:
        patch.setattr(state.engine.dialect, "do_commit", cut_off_after_the_commit)
        with pytest.raises(StateUnavailable):
            put(state, "two")
    with pytest.raises(Fenced, match="not known"):
        put(state, "three")
    stored_in_the_end(state, "three")
    assert [value for _, value in values(state)] == ["one", "two", "three"]


def test_a_row_that_somebody_holds_is_waited_for_shortly(postgres_url: str) -> None:
    with (
        closing(SqlState.open(postgres_url, EAST, busy_timeout_s=SHORT_S)) as state,
        psycopg.connect(postgres_url) as other,
    ):
        state.activate()
        other.execute("SELECT * FROM identity FOR UPDATE")
        with pytest.raises(StateUnavailable, match="lock"):
            put(state, "x")
        other.rollback()
        stored_in_the_end(state, "x")


# -- making it small


def test_compacting_takes_the_time_that_it_needs_and_takes_nobodys_place(state: SqlState, postgres_url: str) -> None:
    old = [
        Journal(path=MetaPath("/a"), decision=Decision.PUBLISHED, stamp=Stamp(Millis(5), EAST), detail=token_hex(2000))
        for _ in range(2500)
    ]
    with state.transaction() as work:
        work.journal(old, Millis(5))
    put(state, "kept")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE deadlines (statement text)")
        connection.execute(
            "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " INSERT INTO deadlines VALUES (current_setting('statement_timeout')); RETURN NULL; END $$"
        )
        connection.execute("CREATE TRIGGER noted AFTER DELETE ON journal EXECUTE FUNCTION note()")
    done = compact(postgres_url, EAST, journal_retention_s=60, audit_retention_s=60)
    assert done.rows == len(old)
    assert 0 < done.after < done.before - 2500 * 2000
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT DISTINCT statement FROM deadlines").fetchall() == [("1h",)]
    put(state, "it still is the writer")
    assert [value for _, value in values(state)] == ["kept", "it still is the writer"]
    with psycopg.connect(postgres_url, autocommit=True) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM journal")
        with pytest.raises(StateUnavailable, match=r"cannot be compacted: .*lock"):
            compact(postgres_url, EAST, journal_retention_s=60, audit_retention_s=60, busy_timeout_s=4.0)


def test_a_shared_database_is_not_compacted_while_a_standby_waits(state: SqlState, postgres_url: str) -> None:
    with closing(Presence(postgres_url, host="here", pid=7, version="1", clock=wall_clock)) as standby:
        standby.report(DaemonRole.STANDBY)
        with pytest.raises(PreconditionFailed, match="a daemon works on this database"):
            compact(postgres_url, EAST, journal_retention_s=60, audit_retention_s=60)
        standby.leave()
        compact(postgres_url, EAST, journal_retention_s=60, audit_retention_s=60)


# -- versions


def test_schema_is_what_the_tables_say(state: SqlState) -> None:
    with state.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []


def made_older(url: str) -> None:
    """The schema as the version before made it."""
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE daemons, tree, tree_pages, tree_log, membership, repairs, tellings, carried")
        connection.execute("DROP TABLE ledger_audits, move_runs, move_outcomes, notices, scope_periods")
        connection.execute("DROP TABLE jobs, migrations, migration_values, migration_events")
        connection.execute("DROP INDEX registers_dead, registers_unseated, journal_deletes, future_events_until")
        connection.execute("DROP INDEX operations_kind")
        connection.execute("ALTER TABLE future_events DROP COLUMN until")
        connection.execute("ALTER TABLE registers DROP COLUMN incomplete, DROP COLUMN kept, DROP COLUMN intent_kept")
        asked = ("origin", "credential", "fingerprint", "request_key", "part")
        connection.execute(f"ALTER TABLE operations {', '.join(f'DROP COLUMN {name}' for name in asked)}")
        columns = ", ".join(
            f"DROP COLUMN {name}" for name in ("rebuild", "landed", "mark", "marked", "heard_until", "projections")
        )
        connection.execute("UPDATE identity SET generation = 1")
        connection.execute(f"ALTER TABLE identity {columns}, ALTER COLUMN generation TYPE INTEGER")
        connection.execute("UPDATE alembic_version SET version_num = '0001'")


def revision_of(state: SqlState) -> str | None:
    with state.engine.connect() as connection:
        return opening.revision(connection)


def test_a_standby_of_a_newer_version_changes_the_schema_only_when_it_takes_over(
    state: SqlState, postgres_url: str
) -> None:
    put(state, "of the older version")
    put(state, "and goes on")
    made_older(postgres_url)
    with (
        closing(SqlState.open(postgres_url, EAST)) as standby,
        closing(Presence(postgres_url, host="h", pid=1, version="2", clock=wall_clock)) as presence,
    ):
        presence.report(DaemonRole.STANDBY)  # there is no table to say it in
        assert revision_of(standby) == "0001"
        with psycopg.connect(postgres_url) as older:  # which knows no later columns
            assert older.execute("UPDATE identity SET alive_until = 5 WHERE epoch = 1").rowcount == 1
        standby.activate()
        assert revision_of(standby) == opening.head()
        with pytest.raises(Fenced):
            put(state, "no more")
        assert [value for _, value in values(standby)] == ["of the older version", "and goes on"]
        presence.report(DaemonRole.ACTIVE, 9)
        with closing(Views.open(postgres_url, EAST)) as views:
            assert [each.role for each in views.daemons()] == [DaemonRole.ACTIVE]


def test_a_standby_of_an_older_version_says_that_it_cannot_take_over(state: SqlState, postgres_url: str) -> None:
    with (
        closing(SqlState.open(postgres_url, EAST)) as standby,
        closing(Presence(postgres_url, host="h", pid=1, version="0", clock=wall_clock)) as presence,
        psycopg.connect(postgres_url, autocommit=True) as newer,
    ):
        newer.execute("ALTER TABLE daemons ADD COLUMN more TEXT")
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
        presence.report(DaemonRole.STANDBY)
        told = newer.execute("SELECT trouble FROM daemons").fetchall()
        assert "9999" in told[0][0]
        with pytest.raises(StateForeign, match="9999"):
            standby.activate()
        put(state, "the active one is not disturbed")
        assert newer.execute("SELECT epoch FROM identity").fetchone() == (1,)
        with pytest.raises(StateForeign, match="9999"):
            SqlState.open(postgres_url, EAST)


def test_two_that_open_an_empty_database_at_once_make_one(postgres_url: str) -> None:
    found: list[str] = []

    def make() -> None:
        with closing(SqlState.open(postgres_url, EAST)) as state:
            found.append(state.database_id)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert len(found) == 4
    assert len(set(found)) == 1


# -- who is there


def test_each_daemon_says_what_it_is_and_since_when(state: SqlState, postgres_url: str) -> None:
    clocks = (lambda: Millis(1), lambda: Millis(10**15))  # nobody's own clock counts
    with (
        closing(Presence(postgres_url, host="a", pid=1, version="1", clock=clocks[0])) as a,
        closing(Presence(postgres_url, host="b", pid=2, version="1", clock=clocks[1])) as b,
        closing(Views.open(postgres_url, EAST)) as views,
    ):
        a.report(DaemonRole.ACTIVE, 1)
        b.report(DaemonRole.STANDBY)
        first = {each.host: each for each in views.daemons()}
        b.report(DaemonRole.STANDBY)
        a.report(DaemonRole.STANDBY)
        later = {each.host: each for each in views.daemons()}
        assert (first["a"].role, first["a"].epoch, first["b"].role) == (DaemonRole.ACTIVE, 1, DaemonRole.STANDBY)
        assert later["b"].since_ms == first["b"].since_ms < later["b"].seen_at_ms
        assert later["a"].since_ms > first["a"].since_ms == first["a"].started_at_ms == later["a"].started_at_ms
        assert all(0 <= each.age_ms < WAIT_S * 1000 for each in later.values())
        b.leave()
        assert [each.host for each in views.daemons()] == ["a"]


def told(daemon: Presence) -> bool:
    """It has written its line; on a busy machine its deadline may run out first, and a daemon tries again."""
    daemon.report(DaemonRole.STANDBY)
    return True


def test_lines_of_daemons_that_are_gone_do_not_pile_up(state: SqlState, postgres_url: str) -> None:
    with closing(Views.open(postgres_url, EAST)) as views:
        for number in range(25):
            with closing(Presence(postgres_url, host="h", pid=number, version="1", clock=wall_clock)) as one:
                wait_until(lambda: told(one), "the line is written", passing=StateUnavailable)
        assert [each.pid for each in views.daemons()] == list(range(24, 4, -1))
        with psycopg.connect(postgres_url) as connection:
            connection.execute("UPDATE daemons SET seen_at = seen_at - 86400001 WHERE pid < 24")
        with closing(Presence(postgres_url, host="h", pid=99, version="1", clock=wall_clock)) as one:
            wait_until(lambda: told(one), "the line is written", passing=StateUnavailable)
        assert [each.pid for each in views.daemons()] == [99, 24]


# -- what an operator gets wrong


def test_a_database_that_no_daemon_has_used_yet_is_told_from_an_older_one(postgres_url: str) -> None:
    assert not opening.is_made(opening.parse_url(postgres_url))
    with pytest.raises(StateUnavailable, match="no sidecar database yet"):
        Views.open(postgres_url, EAST)
    SqlState.open(postgres_url, EAST).close()
    assert opening.is_made(opening.parse_url(postgres_url))
    made_older(postgres_url)
    with pytest.raises(StateForeign, match="older"):
        Views.open(postgres_url, EAST)


def test_another_encoding_is_refused(postgres_server: PostgresServer, postgres_url: str) -> None:
    name = postgres_url.rpartition("/")[2] + "_latin"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(ConfigError, match="LATIN1"):
            SqlState.open(postgres_server.url(name), EAST)
    finally:
        postgres_server.drop(name)


def test_a_wrong_password_and_a_user_without_rights_are_told(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    with pytest.raises(StateUnavailable, match="password authentication failed") as told:
        SqlState.open(postgres_url.replace("syncer:", "syncer:wrong-"), EAST)
    assert "wrong-" not in told.value.message
    role = postgres_url.rpartition("/")[2] + "_role"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'hunter22'")
    try:
        poor = postgres_url.replace(postgres_url.split("@", maxsplit=1)[0], f"postgresql://{role}:hunter22", 1)
        with pytest.raises(StateUnavailable, match="permission denied") as refused:
            SqlState.open(poor, EAST)
        assert "owner" in refused.value.hint
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP ROLE {role}")


def test_commits_are_durable_whatever_the_default_of_the_database(postgres_url: str) -> None:
    name = postgres_url.rpartition("/")[2]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    with closing(SqlState.open(postgres_url, EAST)) as state, state.engine.connect() as asked:
        assert asked.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"


def test_parameters_of_the_url_are_kept(postgres_url: str) -> None:
    url = f"{postgres_url}?application_name=mine&options=-c%20work_mem%3D7MB"
    with closing(SqlState.open(url, EAST)) as state, state.engine.connect() as connection:
        shown = [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in ("application_name", "work_mem")]
        assert shown == ["mine", "7MB"]
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar_one() == "10s"


def test_zero_bytes_in_what_cannot_be_understood_stop_nothing(state: SqlState) -> None:
    poison = DeadLetter(
        origin="bus", code="c", detail="a \x00 b", position="1\x00", properties={"k\x00": "\x00"}, payload=b"\x00"
    )
    with state.transaction() as work:
        work.quarantine(poison, Millis(1))
        work.quarantine(poison, Millis(2))
        work.save([living("/a")])
        row = work.dead_letter(1)
        assert row is not None
        assert (row.poison.detail, row.poison.payload, row.poison.properties) == ("a � b", b"\x00", {"k\x00": "\x00"})
        assert work.dead_letter(2) is None
        assert set(work.registers([MetaPath("/a")])) == {"/a"}


def test_tls_is_checked_as_the_url_says(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    own = authority.issue("server")
    server = PostgresServer(
        tmp_path / "server", name="tls", leashed=True, tls=PostgresTls(cert_file=own.cert, key_file=own.key)
    )
    try:
        server.start()
        url = server.create("tls")
        trusting = f"{url}?sslmode=verify-full&sslrootcert={authority.ca}"
        with closing(SqlState.open(trusting, EAST)) as state, state.engine.connect() as connection:
            query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            assert connection.exec_driver_sql(query).scalar_one() is True
        with pytest.raises(StateUnavailable, match="certificate verify failed"):
            SqlState.open(f"{url}?sslmode=verify-full&sslrootcert={other.ca}", EAST)
    finally:
        server.remove()


def test_two_daemons_that_both_take_it_for_lost_renew_it_once(state: SqlState, postgres_url: str) -> None:
    put(state, "of the lost one")
    with closing(SqlState.open(postgres_url, EAST)) as other:
        other.activate()
        with pytest.raises(Fenced):
            state.renew(2, "store", "{}")
        renewed = other.renew(2, "store", "{}")
        with pytest.raises(StateForeign, match="replaced by another one"):
            state.activate()
        with other.transaction() as work:
            assert work.identity() == renewed
            assert work.outbox(10) == []


# -- jobs


def test_a_standby_tells_the_end_of_a_job_while_the_active_daemon_writes(state: SqlState, postgres_url: str) -> None:
    def clock() -> Millis:
        return Millis(7)

    wanted = JobRow(id=0, kind=JobKind.TAKE, arguments={}, asked_by="ann", reason="", asked_at_ms=Millis(5))
    with (
        closing(JobBoard(postgres_url, host="h1", pid=1, clock=clock)) as board,
        closing(Presence(postgres_url, host="h2", pid=1, version="1", clock=clock)) as other,
    ):
        with state.transaction() as tx:
            first, second = tx.ask_job(wanted), tx.ask_job(wanted)
            tx.begin_job(first, "h1", "r1", Millis(6))
        other.report(DaemonRole.STANDBY)
        kept = board.read()
        assert kept is not None
        assert [job.id for job in kept.jobs] == [first, second]
        assert (kept.hosts, kept.last) == (frozenset({"h2"}), None)
        with state.transaction() as tx:
            assert tx.ask_end_of_job(second, "ben") is False
            assert board.requeue(kept.jobs[0])
            assert not board.requeue(kept.jobs[0]), "it runs no more"
            tx.begin_job(first, "h1", "r2", Millis(8))
        again = board.read()
        assert again is not None
        running = again.jobs[0]
        with state.transaction() as tx:
            tx.set_identity(paused="meanwhile")
            assert board.end(running, JobEnd(state=JobState.SUCCEEDED, at_ms=Millis(9), output={"id": "x"}))
            assert not board.end(running, JobEnd(state=JobState.FAILED, at_ms=Millis(9)))
        with state.transaction() as tx:
            ended = tx.job(first)
        assert ended is not None
        assert (ended.state, ended.output, ended.attempts) == (JobState.SUCCEEDED, {"id": "x"}, 2)
