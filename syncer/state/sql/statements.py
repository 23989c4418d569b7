"""Statements that run per batch, compiled once per database, to be run on plain tuples.

SQLAlchemy's own handling of parameters costs more per row than the database itself; so the hot statements are written
in SQLAlchemy, compiled for the dialect, and executed as text with tuples in the order of :attr:`Statement.names`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import (
    ClauseElement,
    Column,
    ColumnElement,
    Dialect,
    Integer,
    LargeBinary,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    literal_column,
    null,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import Insert

from syncer.errors import InvariantBroken
from syncer.state.sql.rows import Row, columns_of
from syncer.state.sql.tables import consumed, held_publications, identity, journal, met, outbox, registers, tree_log

CHUNKS: Final = (1, 16, 128, 500)
"""How many paths one SELECT asks for; a shorter list repeats its last one."""

RANGES: Final = 64
"""How many ranges of paths one SELECT asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """SQL of the driver's own style, and the names of its parameters in order."""

    sql: str
    names: tuple[str, ...]


def compiled(clause: ClauseElement, dialect: Dialect, keys: Sequence[str] | None = None) -> Statement:
    """Compile for a dialect with positional parameters.

    Raises:
        InvariantBroken: The dialect names its parameters.
    """
    result: Any = clause.compile(dialect=dialect, column_keys=keys)
    if result.params and result.positiontup is None:
        raise InvariantBroken(f"dialect {dialect.name} was not opened with positional parameters")
    return Statement(sql=str(result), names=tuple(result.positiontup or ()))


def inserting(dialect: Dialect, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that knows ``ON CONFLICT``."""
    return postgresql.insert(table) if dialect.name == "postgresql" else sqlite.insert(table)


def octets(dialect: Dialect, column: Column[Any]) -> ColumnElement[int]:
    """How many bytes stand in a column; of a text, ``length`` counts the characters."""
    if dialect.name == "postgresql":
        return func.octet_length(column)
    return func.length(cast(column, LargeBinary))


def upserting(dialect: Dialect, table: Table, given: Collection[str] | None = None) -> Insert:
    """Insert a row, or replace the one with the same primary key; columns that are not given become NULL."""
    new = inserting(dialect, table)
    keys = [column.name for column in table.primary_key]
    others = [column.name for column in table.columns if column.name not in keys]
    changes = {name: new.excluded[name] if given is None or name in given else null() for name in others}
    return new.on_conflict_do_update(index_elements=keys, set_=changes)


@dataclass(frozen=True, slots=True)
class Saving:
    """How rows of one shape are saved: the statement, and the rows' values in the order of its parameters."""

    sql: str
    arranged: Callable[[Row], Row]


_made: Final[dict[tuple[str, str], Statements]] = {}


def statements_of(dialect: Dialect) -> Statements:
    """The hot statements of a kind of database, which are compiled once in a process."""
    kind = (dialect.name, dialect.paramstyle)
    found = _made.get(kind)
    if found is None:
        found = _made[kind] = Statements(dialect)
    return found


class Statements:
    """The hot statements of a kind of database. Threads may share them: what is compiled twice is the same."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._chunked: dict[tuple[str, int], str] = {}
        self._saving: dict[int, Saving] = {}
        columns = [column.name for column in journal.columns if column.name != "id"]
        facts = [column.name for column in identity.columns if column.name not in {"one", "region", "database_id"}]
        self.epoch: Final = self._sql(select(identity.c.epoch).with_for_update(), ())
        self.save_consumed: Final = self._upsert(consumed)
        self.hold_publication: Final = self._upsert(held_publications)
        self.enqueue: Final = self._sql(insert(outbox), tuple(outbox.columns.keys()))
        self.journal: Final = self._sql(insert(journal), columns)
        self.acknowledge: Final = self._sql(
            delete(outbox).where(outbox.c.sequence == bindparam("sequence")), ("sequence",)
        )
        self.met: Final = self._sql(inserting(dialect, met).on_conflict_do_nothing(), ("path",))
        self.log_tree: Final = self._sql(insert(tree_log), ("number", "changes"))
        living = select(registers.c.path, registers.c.k_digest).where(
            registers.c.k_digest.is_not(None), registers.c.path > bindparam("after")
        )
        page = living.order_by(registers.c.path).limit(bindparam("most", type_=Integer)).offset(literal_column("0"))
        self.known_alive: Final = self._sql(page, ("after", "most"))
        between = select(registers.c.path).where(
            registers.c.alive == literal_column("1"),
            registers.c.path >= bindparam("first"),
            registers.c.path < bindparam("beyond"),
        )
        some = between.order_by(registers.c.path).limit(bindparam("most", type_=Integer)).offset(literal_column("0"))
        self.living_between: Final = self._sql(some, ("first", "beyond", "most"))
        self.set_facts: Final = self._sql(
            update(identity)
            .where(identity.c.epoch == bindparam("mine"))
            .values({name: bindparam(f"new_{name}") for name in facts}),
            (*(f"new_{name}" for name in facts), "mine"),
        )
        self._selects: Final[dict[str, Callable[[Sequence[Any]], ClauseElement]]] = {
            "registers": lambda paths: select(registers).where(registers.c.path.in_(paths)),
            "open": lambda paths: union_all(
                select(outbox.c.path).where(outbox.c.path.in_(paths)),
                select(held_publications.c.path).where(held_publications.c.path.in_(paths)),
            ),
        }
        self.living: Final = self._living()

    def save_register(self, shape: int) -> Saving:
        """Insert or replace registers whose rows have a shape of :func:`syncer.state.sql.rows.register_row`."""
        saving = self._saving.get(shape)
        if saving is None:
            given = columns_of(shape)
            statement = compiled(upserting(self._dialect, registers, given), self._dialect, list(given))
            saving = Saving(statement.sql, itemgetter(*(given.index(name) for name in statement.names)))
            self._saving[shape] = saving
        return saving

    def registers(self, paths: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Selects of whole registers by path."""
        return self._by_paths("registers", paths)

    def open_paths(self, paths: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Selects of the paths with an event in the outbox or held back; a path may come twice."""
        return self._by_paths("open", paths)

    def living_in(self, ranges: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Selects of the labels of those ranges ``(label, first, beyond)`` that hold a living path."""
        for start in range(0, len(ranges), RANGES):
            part = list(ranges[start : start + RANGES])
            part += [("", "", "")] * (RANGES - len(part))
            yield self.living, tuple(field for entry in part for field in entry)

    def _by_paths(self, kind: str, paths: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        for start in range(0, len(paths), CHUNKS[-1]):
            part = tuple(paths[start : start + CHUNKS[-1]])
            size = next(chunk for chunk in CHUNKS if chunk >= len(part))
            part += (part[-1],) * (size - len(part))
            sql = self._chunked.get((kind, size))
            if sql is None:
                binds: list[Any] = [bindparam(f"p{index}") for index in range(size)]
                sql = self._chunked[kind, size] = compiled(self._selects[kind](binds), self._dialect).sql
            yield sql, part if kind == "registers" else part + part

    def _living(self) -> str:
        def one(index: int) -> Select[str]:
            path: Column[Any] = registers.c.path
            inside = (path >= bindparam(f"first{index}", type_=Text)) & (path < bindparam(f"beyond{index}", type_=Text))
            return select(cast(bindparam(f"label{index}", type_=Text), Text)).where(
                exists(select(registers.c.path).where(registers.c.alive == literal_column("1"), inside))
            )

        return compiled(union_all(*(one(index) for index in range(RANGES))), self._dialect).sql

    def _upsert(self, table: Table) -> str:
        return self._sql(upserting(self._dialect, table), tuple(table.columns.keys()))

    def _sql(self, clause: ClauseElement, names: Sequence[str]) -> str:
        inserts = isinstance(clause, Insert)
        statement = compiled(clause, self._dialect, list(names) if inserts else None)
        if statement.names != tuple(names):
            raise InvariantBroken(f"parameters come in another order than given: {statement.names}")
        return statement.sql
