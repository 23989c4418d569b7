"""Repairs in the sidecar database: brought in by the command line in portions, told by the daemon, then dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any, Final

import orjson
from sqlalchemy import Connection, Select, delete, insert, select, tuple_, update

from syncer.errors import InvariantBroken
from syncer.model import Millis
from syncer.state import encoding
from syncer.state.contract.repairs import RefusedTelling, Repair, RepairState, Telling
from syncer.state.sql import tables

_AT_ONCE: Final = 500
_NEVER_BEGUN: Final = tables.repairs.c.state.in_([RepairState.LOADING.value, RepairState.READY.value])
_APART: Final = frozenset({"id", "state", "made_at_ms", "finished_at_ms"})


def repair_of(row: Sequence[Any]) -> Repair:
    """A repair from its columns in the table's order."""
    number, state, document, made_at, finished_at = row
    kept = orjson.loads(document)
    kept["regions"], kept["rules"] = tuple(kept["regions"]), tuple(kept["rules"])
    return Repair(id=number, state=RepairState(state), made_at_ms=made_at, finished_at_ms=finished_at, **kept)


def repair_row(repair: Repair) -> dict[str, Any]:
    """The columns of a repair, without its number."""
    document = {each.name: getattr(repair, each.name) for each in fields(repair) if each.name not in _APART}
    return {
        "state": repair.state.value,
        "document": encoding.dumps(document),
        "made_at": repair.made_at_ms,
        "finished_at": repair.finished_at_ms,
    }


def running(number: int | None) -> Select[Any]:
    """The query of a repair by its number; without one, of the oldest that is running."""
    table = tables.repairs
    if number is not None:
        return select(table).where(table.c.id == number)
    return select(table).where(table.c.state == RepairState.RUNNING.value).order_by(table.c.id).limit(1)


def prune(connection: Connection, before: Millis, limit: int) -> int:
    """Drop what will not be told any more, and repairs that were over, or never begun, before that.

    At most ``limit`` of each; how many went.
    """
    table, c = tables.repairs, tables.tellings.c
    ended = table.c.state.in_([state.value for state in RepairState if state.over])
    left = select(c.repair, c.number).where(c.repair.in_(select(table.c.id).where(ended)), c.refused.is_(None))
    old = (ended & (table.c.finished_at < before)) | (_NEVER_BEGUN & (table.c.made_at < before))
    gone = list(connection.execute(select(table.c.id).where(old).order_by(table.c.id).limit(1)).scalars())
    theirs = select(c.repair, c.number).where(c.repair.in_(gone))
    dropped = 0
    for query in (left, theirs):
        some = list(connection.execute(query.limit(limit)))
        for portion in (some[start : start + _AT_ONCE] for start in range(0, len(some), _AT_ONCE)):
            these = tuple_(c.repair, c.number).in_([tuple(row) for row in portion])
            dropped += connection.execute(delete(tables.tellings).where(these)).rowcount
    if gone and connection.execute(theirs.limit(1)).first() is None:
        dropped += connection.execute(delete(table).where(table.c.id.in_(gone))).rowcount
    return dropped


class RepairRows:
    """Implements :class:`~syncer.state.contract.repairs.RepairTransaction`."""

    _connection: Connection

    def repair(self, number: int | None = None) -> Repair | None:
        """A repair by its number; without one, the oldest that is running."""
        row = self._connection.execute(running(number)).first()
        return repair_of(row) if row is not None else None

    def save_repair(self, repair: Repair) -> None:
        """Keep how far a repair is, or that it is over."""
        table = tables.repairs
        self._connection.execute(update(table).where(table.c.id == repair.id).values(repair_row(repair)))

    def tellings(self, repair: int, limit: int, after: int) -> list[Telling]:
        """What is to be told of a repair, with a number above ``after``, in order."""
        c = tables.tellings.c
        query = select(c.number, c.path, c.found_in, c.head, c.value).where(c.repair == repair, c.number > after)
        return [
            Telling(
                number=number,
                path=path,
                found_in=found_in,
                event=encoding.event_of(path, head, value) if head is not None else None,
            )
            for number, path, found_in, head, value in self._connection.execute(query.order_by(c.number).limit(limit))
        ]

    def decided(self, repair: int, through: int, refused: Sequence[RefusedTelling]) -> None:
        """All up to that number were decided; of these only the refused ones are kept, with the reason."""
        table = tables.tellings
        c = table.c
        kept = [each.number for each in refused]
        gone = delete(table).where(c.repair == repair, c.number <= through, c.refused.is_(None), c.number.not_in(kept))
        self._connection.execute(gone)
        for each in refused:
            this = update(table).where(c.repair == repair, c.number == each.number)
            self._connection.execute(this.values(refused=encoding.storable(each.reason), value=None, head=None))


class RepairViews:
    """What the command line and REST do about repairs: bring one in, look how far it is."""

    _clock: Callable[[], Millis]
    _reading: Callable[[], AbstractContextManager[Connection]]
    _writing: Callable[[], AbstractContextManager[Connection]]

    def begin_repair(self, repair: Repair) -> int:
        """Begin to bring a repair in; its number.

        Raises:
            StateUnavailable: The database cannot be written now; nothing was begun.
        """
        row = {**repair_row(repair), "made_at": self._clock(), "state": RepairState.LOADING.value}
        with self._writing() as connection:
            key = connection.execute(insert(tables.repairs).values(row)).inserted_primary_key
            if key is None:
                raise InvariantBroken("the database gave no number to a repair")
            return int(key[0])

    def add_tellings(self, number: int, tellings: Iterable[Telling]) -> None:
        """Bring the next portion in, in one short transaction.

        Raises:
            StateUnavailable: The database cannot be written now; nothing of the portion was kept.
        """
        found = [
            {
                "repair": number,
                "number": each.number,
                "path": each.path,
                "found_in": each.found_in,
                "refused": None,
                "head": encoding.event_head(each.event) if each.event is not None else None,
                "value": each.event.value if each.event is not None else None,
            }
            for each in tellings
        ]
        if found:
            with self._writing() as connection:
                connection.execute(insert(tables.tellings), found)

    def end_loading(self, repair: Repair) -> None:
        """All of a repair was brought in."""
        with self._writing() as connection:
            table = tables.repairs
            connection.execute(update(table).where(table.c.id == repair.id).values(repair_row(repair)))

    def drop_repair(self, number: int) -> None:
        """Forget a repair that was not brought in whole."""
        with self._writing() as connection:
            connection.execute(delete(tables.tellings).where(tables.tellings.c.repair == number))
            connection.execute(delete(tables.repairs).where(tables.repairs.c.id == number))

    def repair(self, number: int) -> Repair | None:
        """A repair by its number; those that are over go with the journal of their time."""
        with self._reading() as connection:
            row = connection.execute(running(number)).first()
            return repair_of(row) if row is not None else None

    def running_repair(self) -> Repair | None:
        """The oldest repair that is running."""
        with self._reading() as connection:
            row = connection.execute(running(None)).first()
            return repair_of(row) if row is not None else None

    def repairs(self, limit: int) -> list[Repair]:
        """The latest repairs, the last one first."""
        table = tables.repairs
        with self._reading() as connection:
            found = connection.execute(select(table).order_by(table.c.id.desc()).limit(limit))
            return [repair_of(row) for row in found]

    def refused_tellings(self, number: int, limit: int, after: int = 0) -> list[RefusedTelling]:
        """Refused paths of a repair, in order, beyond ``after``."""
        c = tables.tellings.c
        query = select(c.number, c.path, c.refused).where(c.repair == number, c.number > after, c.refused.is_not(None))
        with self._reading() as connection:
            found = connection.execute(query.order_by(c.number).limit(limit))
            return [RefusedTelling(number, path, reason) for number, path, reason in found]
