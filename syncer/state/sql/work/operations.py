"""Operations in the database: what is asked, answered, refused, repeated by its key, and kept as the audit trail."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from syncer.errors import InvariantBroken, RequestKeyReused
from syncer.model import Millis
from syncer.state import encoding
from syncer.state.contract.operations import (
    KEY_KEPT_MS,
    MAX_REFUSED,
    Askable,
    Asked,
    Operation,
    OperationState,
    check_room,
)
from syncer.state.sql import numbers, rows, tables

_OVER: Final = (OperationState.DONE.value, OperationState.FAILED.value, OperationState.REFUSED.value)


class _One(NamedTuple):
    kind: str
    arguments: Mapping[str, str]


class OperationViews:
    """What those ask and see who have no part in the daemon: the command line and the REST API."""

    _clock: Callable[[], Millis]
    _reading: Callable[[], AbstractContextManager[Connection]]
    _writing: Callable[[], AbstractContextManager[Connection]]

    def ask(self, kind: str, arguments: Mapping[str, str], asked_by: str, reason: str) -> int:
        """Ask the daemon to do one thing; its number. The daemon answers in :meth:`operation`.

        Raises:
            OperationsFull: As many of this kind wait as may; nothing was asked.
            StateUnavailable: The database cannot be written now; nothing was asked.
        """
        return self.ask_all([_One(kind, arguments)], Asked(by=asked_by, reason=reason))[0]

    def ask_all(self, requests: Sequence[Askable], asked: Asked) -> list[int]:
        """Ask the daemon for all of that or, where it fails, for nothing; the numbers, in order.

        Where this request was made with its key within a day, these are the numbers of then.

        Raises:
            OperationsFull: As many of a kind wait as may; nothing was asked.
            RequestKeyReused: The key was used for another request.
            StateUnavailable: The database cannot be written now; nothing was asked.
        """
        try:
            return self._ask_all(requests, asked)
        except InvariantBroken as exc:  # the same key was used at the very moment
            if asked.key is None or not isinstance(exc.__cause__, IntegrityError):
                raise
            return self._ask_all(requests, asked)

    def _ask_all(self, requests: Sequence[Askable], asked: Asked) -> list[int]:
        now = self._clock()
        with self._writing() as connection:
            if asked.key is not None:
                if before := _asked_before(connection, asked, now):
                    return before
                _free(connection, asked, now)
            check_room(requests, _pending(connection, {each.kind for each in requests}))
            return [_insert(connection, request, asked, now, part) for part, request in enumerate(requests)]

    def asked_before(self, asked: Asked) -> list[int]:
        """The operations that a request has led to which is repeated with its key; none: it is not repeated.

        Raises:
            RequestKeyReused: The key was used for another request.
        """
        if asked.key is None:
            return []
        with self._reading() as connection:
            return _asked_before(connection, asked, self._clock())

    def note_refused(self, kind: str, arguments: Mapping[str, str], asked: Asked, *, code: str, answer: str) -> None:
        """Keep in the trail that something was tried, and refused; of such rows the latest are kept, so many at most.

        Args:
            kind: Of the operation, or the request where none was understood.
            arguments: What of it is known.
            asked: Who tried it, as far as that is known.
            code: Of the refusal.
            answer: The same in words.
        """
        table, now = tables.operations, self._clock()
        ended = {"state": OperationState.REFUSED.value, "code": code, "answer": answer, "finished_at": now}
        refused = table.c.state == OperationState.REFUSED.value
        kept = select(table.c.id).where(refused).order_by(table.c.id.desc()).offset(MAX_REFUSED).limit(MAX_REFUSED)
        with self._writing() as connection:
            number = _insert(connection, _One(kind, arguments), replace(asked, key=None), now, 0)
            connection.execute(update(table).where(table.c.id == number).values(ended))
            connection.execute(delete(table).where(table.c.id.in_(kept.scalar_subquery())))

    def operation(self, number: int) -> Operation | None:
        """An operation by its number; finished ones are dropped when the time of the audit trail is over."""
        table = tables.operations
        with self._reading() as connection:
            row = connection.execute(select(table).where(table.c.id == number)).mappings().first()
            return rows.operation_of(row) if row is not None else None

    def operations(self, limit: int, after: int = 0, *, state: OperationState | None = None) -> list[Operation]:
        """Operations by number, above ``after``, of that state if one is given."""
        table = tables.operations
        query = select(table).where(table.c.id > after).order_by(table.c.id).limit(limit)
        if state is not None:
            query = query.where(table.c.state == state.value)
        with self._reading() as connection:
            return [rows.operation_of(row) for row in connection.execute(query).mappings()]

    def operations_at(self, given: Sequence[int]) -> list[Operation]:
        """Operations of these numbers, in order; those that are not there any more are left out."""
        table = tables.operations
        query = select(table).where(table.c.id.in_(given)).order_by(table.c.id)
        with self._reading() as connection:
            return [rows.operation_of(row) for row in connection.execute(query).mappings()]

    def pending_numbers(self) -> list[int]:
        """Numbers of the operations that wait for the daemon, in order."""
        table = tables.operations
        query = select(table.c.id).where(table.c.state == OperationState.PENDING.value).order_by(table.c.id)
        with self._reading() as connection:
            return list(connection.execute(query).scalars())

    def latest_operation(self) -> int:
        """Number of the operation that was asked last, be it dropped since; 0: none ever was."""
        with self._reading() as connection:
            return numbers.last(connection, tables.operations)


class OperationRows:
    """The part of a transaction that is about operations."""

    _connection: Connection

    def pending_operations(
        self, limit: int, *, only: Collection[str] | None = None, without: Collection[str] = ()
    ) -> list[Operation]:
        """Operations that wait for the daemon, oldest first."""
        table = tables.operations
        query = select(table).where(table.c.state == OperationState.PENDING.value)
        if only is not None:
            query = query.where(table.c.kind.in_(sorted(only)))
        if without:
            query = query.where(table.c.kind.not_in(sorted(without)))
        found = self._connection.execute(query.order_by(table.c.id).limit(limit))
        return [rows.operation_of(row) for row in found.mappings()]

    def finish_operation(self, number: int, state: OperationState, answer: str, code: str, now: Millis) -> None:
        """Answer an operation."""
        table = tables.operations
        values = {"state": state.value, "answer": encoding.storable(answer), "code": code, "finished_at": now}
        self._connection.execute(update(table).where(table.c.id == number).values(values))


def prune(connection: Connection, before: Millis, limit: int) -> int:
    """Drop the ``limit`` oldest operations at most that were over before that; how many went."""
    table = tables.operations
    over = select(table.c.id).where(table.c.state.in_(_OVER), table.c.finished_at < before)
    return connection.execute(delete(table).where(table.c.id.in_(over.order_by(table.c.id).limit(limit)))).rowcount


def _pending(connection: Connection, kinds: Collection[str]) -> dict[str, int]:
    """Count what waits of these kinds; on a server, without what others ask at this very moment."""
    table = tables.operations
    query = select(table.c.kind, func.count()).where(
        table.c.state == OperationState.PENDING.value, table.c.kind.in_(sorted(kinds))
    )
    return {str(row[0]): int(row[1]) for row in connection.execute(query.group_by(table.c.kind))}


def _insert(connection: Connection, request: Askable, asked: Asked, now: Millis, part: int) -> int:
    row: dict[str, Any] = {
        "kind": request.kind,
        "arguments": encoding.dumps(dict(request.arguments)),
        "asked_by": encoding.storable(asked.by),
        "reason": encoding.storable(asked.reason),
        "asked_at": now,
        "state": OperationState.PENDING.value,
        "answer": "",
        "code": "",
        "origin": encoding.storable(asked.origin),
        "credential": encoding.storable(asked.credential),
        "request_key": asked.key,
        "fingerprint": asked.fingerprint,
        "part": part,
    }
    key = connection.execute(insert(tables.operations).values(row)).inserted_primary_key
    if key is None:
        raise InvariantBroken("the database gave no number to an operation")
    return int(key[0])


def _of_request(asked: Asked) -> Iterator[Any]:
    table = tables.operations
    yield table.c.credential == encoding.storable(asked.credential)
    yield table.c.request_key == asked.key


def _asked_before(connection: Connection, asked: Asked, now: Millis) -> list[int]:
    table = tables.operations
    query = select(table.c.id, table.c.fingerprint).where(*_of_request(asked), table.c.asked_at > now - KEY_KEPT_MS)
    found = connection.execute(query.order_by(table.c.part)).all()
    if any(fingerprint != asked.fingerprint for _, fingerprint in found):
        raise RequestKeyReused(
            "this Idempotency-Key was used for another request within the last 24 h",
            hint="Make a new key for each request; repeat one with its own key, unchanged.",
        )
    return [number for number, _ in found]


def _free(connection: Connection, asked: Asked, now: Millis) -> None:
    """Let go of a key whose day is over; not of one that was used at this very moment, and is seen only now."""
    table = tables.operations
    over = table.c.asked_at <= now - KEY_KEPT_MS
    connection.execute(update(table).where(*_of_request(asked), over).values(request_key=None))
