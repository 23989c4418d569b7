"""Runs of moves in the sidecar database: carried out by the daemon that may write, looked at by everybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import orjson
from sqlalchemy import Column, Connection, delete, insert, select, update

from syncer.errors import InvariantBroken
from syncer.model import Millis
from syncer.state import encoding
from syncer.state.contract.migrations import Migration
from syncer.state.contract.work.move_runs import (
    KeptMoveRun,
    require_balancing_free,
    require_known_run,
    require_open_run,
    require_settings_back,
    standing_trouble,
)
from syncer.state.sql import tables
from syncer.state.sql.statements import upserting
from syncer.state.sql.work.migrations import MigrationRows

_C: Final = tables.move_runs.c
_SHORT: Final[tuple[Column[Any], ...]] = tuple(each for each in _C if each.name not in {"open", "plan"})
"""All columns but the plan, which may be long and never changes."""


def move_run_of(row: Sequence[Any]) -> KeptMoveRun:
    """A run from its short columns in the table's order."""
    number, phase, made_at, finished_at, fingerprint, asked_by, reason, stop, document, trouble = row
    return KeptMoveRun(
        id=number,
        phase=phase,
        made_at_ms=made_at,
        finished_at_ms=finished_at,
        fingerprint=fingerprint,
        asked_by=asked_by,
        reason=reason,
        stop=orjson.loads(stop),
        run=orjson.loads(document),
        trouble=orjson.loads(trouble),
    )


def prune(connection: Connection, before: Millis, limit: int) -> int:
    """Drop the oldest run that was over before that, with its moves; at most ``limit`` of these at once.

    How many rows went.
    """
    oldest = select(_C.id).where(_C.finished_at < before).order_by(_C.id).limit(1)
    number = connection.execute(oldest).scalar()
    if number is None:
        return 0
    moves = tables.move_outcomes
    theirs = select(moves.c.number).where(moves.c.run == number).order_by(moves.c.number).limit(limit)
    gone = connection.execute(delete(moves).where(moves.c.run == number, moves.c.number.in_(theirs))).rowcount
    if connection.execute(theirs.limit(1)).first() is None:
        gone += connection.execute(delete(tables.move_runs).where(_C.id == number)).rowcount
    return gone


def found(connection: Connection, number: int | None) -> KeptMoveRun | None:
    """A run by its number; without one, the one that is open."""
    row = connection.execute(select(*_SHORT).where(_C.open == 1 if number is None else _C.id == number)).first()
    return move_run_of(row) if row is not None else None


def _plan(connection: Connection, number: int) -> str:
    require_known_run(found(connection, number), number)
    return str(connection.execute(select(_C.plan).where(_C.id == number)).scalar())


def moves_of(connection: Connection, number: int) -> list[dict[str, Any]]:
    """The moves of a run, in the order of its plan."""
    c = tables.move_outcomes.c
    query = select(c.document).where(c.run == number).order_by(c.number)
    return [orjson.loads(document) for (document,) in connection.execute(query)]


def _row(run: KeptMoveRun) -> dict[str, Any]:
    """The columns of a run that change."""
    return {
        "open": None if run.over else 1,
        "phase": run.phase,
        "finished_at": run.finished_at_ms,
        "document": encoding.dumps_plain(run.run),
    }


class MoveRunRows(MigrationRows):
    """Implements :class:`~syncer.state.contract.work.move_runs.MoveRunTransaction`, beside migrations."""

    def begin_migration(self, migration: Migration, plan: str) -> int:
        """Keep a new migration and its plan, where no run of moves is open; its number."""
        require_balancing_free(self.move_run(), None)
        return super().begin_migration(migration, plan)

    def begin_move_run(self, run: KeptMoveRun, plan: str, moves: Sequence[Mapping[str, Any]]) -> int:
        """Keep a new run, its plan, and its moves in the order of the plan; its number."""
        require_balancing_free(self.move_run(), self.migration())
        first = {
            "made_at": run.made_at_ms,
            "fingerprint": run.fingerprint,
            "asked_by": encoding.storable(run.asked_by),
            "reason": encoding.storable(run.reason),
            "stop": encoding.dumps_plain(run.stop),
            "plan": plan,
            "trouble": encoding.dumps_plain(run.trouble),
        }
        key = self._connection.execute(insert(tables.move_runs).values({**_row(run), **first})).inserted_primary_key
        if key is None:
            raise InvariantBroken("the database gave no number to a run of moves")
        self._keep_moves(key[0], dict(enumerate(moves)))
        return int(key[0])

    def move_run(self, number: int | None = None) -> KeptMoveRun | None:
        """A run by its number; without one, the one that is open."""
        return found(self._connection, number)

    def move_run_plan(self, number: int) -> str:
        """The plan of a run, as it was given."""
        return _plan(self._connection, number)

    def move_run_moves(self, number: int) -> list[dict[str, Any]]:
        """The moves of a run, in the order of its plan."""
        return moves_of(self._connection, number)

    def save_move_run(self, run: KeptMoveRun, moves: Mapping[int, Mapping[str, Any]]) -> None:
        """Keep how far an open run is, or that it is over; what was asked and told of it stays."""
        require_open_run(self.move_run(run.id), run.id)
        require_settings_back(run)
        self._connection.execute(update(tables.move_runs).where(_C.id == run.id).values(_row(run)))
        self._keep_moves(run.id, moves)

    def tell_move_trouble(self, number: int, trouble: Mapping[str, Any]) -> None:
        """Keep why an open run is not carried on; empty: it is."""
        former = require_open_run(self.move_run(number), number).trouble
        kept = encoding.dumps_plain(standing_trouble(former, trouble))
        self._connection.execute(update(tables.move_runs).where(_C.id == number).values(trouble=kept))

    def ask_to_stop(self, number: int, stop: Mapping[str, str]) -> None:
        """Keep that an open run is to stop; the first who asks is kept."""
        if not require_open_run(self.move_run(number), number).stop:
            kept = encoding.dumps_plain(stop)
            self._connection.execute(update(tables.move_runs).where(_C.id == number).values(stop=kept))

    def _keep_moves(self, number: int, moves: Mapping[int, Mapping[str, Any]]) -> None:
        if moves:
            rows = [
                {"run": number, "number": place, "document": encoding.dumps_plain(each)}
                for place, each in moves.items()
            ]
            self._connection.execute(upserting(self._connection.dialect, tables.move_outcomes), rows)


class MoveRunViews:
    """What the command line and REST see of runs of moves."""

    _reading: Callable[[], AbstractContextManager[Connection]]

    def move_run(self, number: int | None = None) -> KeptMoveRun | None:
        """A run by its number; without one, the one that is open. Those that are over go with the journal."""
        with self._reading() as connection:
            return found(connection, number)

    def move_runs(self, limit: int) -> list[KeptMoveRun]:
        """The latest runs, the last one first."""
        with self._reading() as connection:
            return [move_run_of(row) for row in connection.execute(select(*_SHORT).order_by(_C.id.desc()).limit(limit))]

    def move_run_plan(self, number: int) -> str:
        """The plan of a run, as it was given.

        Raises:
            NotFound: There is no such run.
        """
        with self._reading() as connection:
            return _plan(connection, number)

    def move_run_moves(self, number: int) -> list[dict[str, Any]]:
        """The moves of a run, in the order of its plan."""
        with self._reading() as connection:
            return moves_of(connection, number)
