"""Views of what stands and waits for an operator, summed up for notices: counts and a few paths, never a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, func, select, text

from syncer.notices.rules import MAX_PATHS, MAX_REASONS, Outstanding
from syncer.state.sql import tables

FROM_THE_FUTURE: Final = "from-the-future"
"""Reason of an event that is held until its time comes, beside those of holds."""
_ALL: Final = text("1 = 1")


class StandingViews:
    """What waits for an operator, by kind; each answer is of one moment."""

    _reading: Callable[[], AbstractContextManager[Connection]]

    def standing_holds(self) -> Outstanding:
        """Changes that are held, and events from the future. ``newest``: when the last one came, in milliseconds."""
        held, future = tables.registers, tables.future_events
        with self._reading() as connection:
            found = _summed(connection, held, held.c.hold_since, held.c.hold_reason, held.c.hold_since, tables.HELD)
            later = connection.execute(
                select(func.count(), func.max(future.c.held_at), func.min(future.c.held_at))
            ).one()
            ahead = _paths(connection, future, _ALL)
        times = [at for at in (found.since_ms, later[2]) if at is not None]
        return Outstanding(
            count=found.count + later[0],
            newest=max(found.newest, later[1] or 0),
            since_ms=min(times, default=None),
            reasons=_frequent([*found.reasons, *([(FROM_THE_FUTURE, later[0])] if later[0] else [])]),
            paths=tuple(sorted({*found.paths, *ahead})[:MAX_PATHS]),
        )

    def standing_conflicts(self) -> Outstanding:
        """Conflicts whose loser nobody has restored. ``newest``: the greatest number."""
        table = tables.conflicts
        with self._reading() as connection:
            open_ = table.c.restored_at.is_(None)
            return _summed(connection, table, table.c.id, table.c.reason, table.c.recorded_at, open_)

    def standing_quarantine(self) -> Outstanding:
        """What is in quarantine. ``newest``: the greatest number."""
        table = tables.quarantine
        with self._reading() as connection:
            return _summed(connection, table, table.c.id, table.c.code, table.c.recorded_at, _ALL)


def _summed(
    connection: Connection,
    table: Table,
    newest: ColumnElement[Any],
    reason: ColumnElement[Any],
    since: ColumnElement[Any],
    where: Any,  # noqa: ANN401 - any clause
) -> Outstanding:
    query = select(reason, func.count(), func.max(newest), func.min(since)).select_from(table).where(where)
    groups = [tuple(row) for row in connection.execute(query.group_by(reason))]
    return Outstanding(
        count=sum(group[1] for group in groups),
        newest=max((group[2] for group in groups), default=0),
        since_ms=min((group[3] for group in groups if group[3] is not None), default=None),
        reasons=_frequent((str(group[0]), group[1]) for group in groups),
        paths=_paths(connection, table, where),
    )


def _paths(connection: Connection, table: Table, where: Any) -> tuple[str, ...]:  # noqa: ANN401 - any clause
    path = table.c.path
    query = select(path).distinct().where(where, path.is_not(None)).order_by(path).limit(MAX_PATHS)
    return tuple(connection.execute(query).scalars())


def _frequent(reasons: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(reasons, key=lambda each: (-each[1], each[0]))[:MAX_REASONS])
