"""Connections to a PostgreSQL server that never wait for ever: each wait has a deadline here and one in the server.

The server's own deadlines end what it still knows of; they are of no help when it is frozen or cut off. So each call
has one on this side too, slightly later, after which the connection is closed.

A transaction of a daemon that was frozen holds the row that makes a writer the only one. The server ends such a
transaction (``idle_in_transaction_session_timeout``) before a standby that wants to become the writer gives up waiting
for the row (``lock_timeout``).
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Final, Self, TypeVar

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool

from syncer.connecting.causes import why_not

Answer = TypeVar("Answer")

POLL_S: Final = 0.1
MIGRATION_S: Final = 3600.0
"""A schema may be changed for so long: an index over a large table takes its time."""

_DURABLE: Final = """\
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"""
"""An acknowledged commit must outlive a crash of the server, whatever its default; stronger settings stay."""

_ABANDONED: Final = """\
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
  AND wait_event = 'ClientRead' AND query_start < clock_timestamp() - make_interval(secs => %s)
  AND pid IN (SELECT pid FROM pg_locks WHERE granted AND relation = 'identity'::regclass
              AND mode IN ('RowShareLock', 'RowExclusiveLock'))"""
"""Readers hold other locks; a change of the schema does not wait for its client."""

LOST: Final = "no answer of the server in time; the connection was given up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long one connection waits.

    Args:
        connect_s: For the server to take the connection, each address on its own.
        lock_s: For a row or a table that another transaction holds.
        statement_s: For one statement, in the server.
        idle_s: For the next statement of an open transaction, in the server.
        answer_s: For the server to answer, on this side.
    """

    connect_s: float = 5.0
    lock_s: float = 10.0
    statement_s: float = 15.0
    idle_s: float = 5.0
    answer_s: float = 17.0

    @classmethod
    def scaled(cls, factor: float) -> Self:
        """Shorter ones; never longer."""
        usual, factor = cls(), min(1.0, factor)
        return cls(**{each.name: getattr(usual, each.name) * factor for each in fields(cls)})


class Patience(psycopg.Connection[Any]):
    """A connection that is closed when the server leaves a call without an answer for ``answer_s`` seconds."""

    answer_s: float = Deadlines().answer_s

    @classmethod
    def within(cls, deadlines: Deadlines, /, *args: Any, **kwargs: Any) -> Self:  # noqa: ANN401 - as libpq takes them
        """Connect.

        Raises:
            psycopg.OperationalError: No connection; also where the host's name is none that could be looked up.
        """
        try:
            connection = cls.connect(*args, **kwargs)
        except UnicodeError as exc:
            raise psycopg.OperationalError(why_not(exc) or str(exc)) from exc
        connection.answer_s = deadlines.answer_s
        return connection

    def wait(self, gen: Generator[Any, Any, Answer], interval: float = POLL_S, timeout: float | None = None) -> Answer:
        """Run a call of the connection; every call of psycopg comes through here.

        Raises:
            psycopg.OperationalError: No answer in time; what became of the call is not known.
        """
        seconds = self.answer_s if timeout is None else min(timeout, self.answer_s)
        try:
            return super().wait(_until(gen, time.monotonic() + seconds), min(interval, POLL_S))
        except TimeoutError:
            self.close()
            raise psycopg.OperationalError(LOST) from None


def _until(gen: Generator[Any, Any, Answer], deadline: float) -> Generator[Any, Any, Answer]:
    """The same generator, ended when the deadline passes while nothing comes; waits send 0 then, again and again."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                gen.close()
                raise TimeoutError
            wanted = gen.send(ready)
    except StopIteration as done:
        answer: Answer = done.value
        return answer


def make_engine(url: URL, *, reading: bool, deadlines: Deadlines) -> Engine:
    """Make an engine; nothing is dialled yet.

    Args:
        url: Its parameters are libpq's; those that are given here are kept.
        reading: Read only, and each transaction at one moment.
        deadlines: How long its connections wait.
    """
    given = url.query
    settings = {
        "lock_timeout": _ms(deadlines.lock_s),
        "statement_timeout": _ms(deadlines.statement_s),
        "idle_in_transaction_session_timeout": _ms(deadlines.idle_s),
        "default_transaction_read_only": "on" if reading else "off",
    }
    words = [str(given["options"])] if "options" in given else []
    words += [f"-c {name}={value}" for name, value in settings.items()]
    defaults: dict[str, Any] = {
        "connect_timeout": max(2, round(deadlines.connect_s)),  # libpq knows no less
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": _ms(deadlines.answer_s),
        "application_name": "pulsar-syncer",
        "target_session_attrs": "any" if reading else "read-write",
    }
    engine = create_engine(
        url,
        poolclass=NullPool,
        paramstyle="format",
        isolation_level="REPEATABLE READ" if reading else "READ COMMITTED",
        connect_args={
            **{name: value for name, value in defaults.items() if name not in given},
            "options": " ".join(words),
        },
    )

    def dial(_dialect: object, _record: object, args: list[Any], kwargs: dict[str, Any]) -> Patience:
        connection = Patience.within(deadlines, *args, **kwargs)
        if not reading:
            try:
                connection.execute(_DURABLE)
                connection.commit()
            except BaseException:
                connection.close()
                raise
        return connection

    event.listen(engine, "do_connect", dial)
    return engine


def end_abandoned(connection: Connection) -> int:
    """End the writers' sessions that have waited for their client for too long inside a transaction; their number.

    ``idle_in_transaction_session_timeout`` does not count while a client is in the middle of a pipeline, as it is when
    it was frozen while it sent many rows. Only who is about to become the writer may call this.
    """
    found = connection.exec_driver_sql(_ABANDONED, (Deadlines().idle_s,)).all()
    return len(found)


@contextmanager
def long_enough(connection: Connection) -> Iterator[None]:
    """Let the statements of the open transaction take as long as a change of the schema may."""
    raw: Any = connection.connection.driver_connection
    usual, raw.answer_s = raw.answer_s, MIGRATION_S
    try:
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {_ms(MIGRATION_S)}")
        yield
        connection.exec_driver_sql("SET LOCAL statement_timeout TO DEFAULT")
    finally:
        raw.answer_s = usual


def without_haste(connection: Connection) -> None:
    """Let every statement of this connection take as long as a change of the schema may; locks have their deadline."""
    raw: Any = connection.connection.driver_connection
    raw.answer_s = MIGRATION_S
    with connection.begin():
        connection.exec_driver_sql(f"SET statement_timeout = {_ms(MIGRATION_S)}")


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
