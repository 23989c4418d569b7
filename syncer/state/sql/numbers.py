"""Numbers that the database gives to rows: the first and the last of a table, whatever was dropped of it."""

from __future__ import annotations

from sqlalchemy import Connection, Table, func, select, text

_GIVEN = {
    "sqlite": "SELECT seq FROM sqlite_sequence WHERE name = :name",
    "postgresql": "SELECT last_value FROM pg_sequences WHERE schemaname = current_schema() AND sequencename = :name"
    " || '_id_seq'",
}


def first(connection: Connection, table: Table) -> int:
    """The least number that is there; one beyond the last where none is."""
    found = connection.execute(select(func.min(table.c.id))).scalar()
    return int(found) if found is not None else last(connection, table) + 1


def last(connection: Connection, table: Table) -> int:
    """The greatest number that is there; where none is, the last that was given, 0 before the first."""
    found = connection.execute(select(func.max(table.c.id))).scalar()
    if found is None:
        found = connection.execute(text(_GIVEN[connection.dialect.name]), {"name": table.name}).scalar()
    return int(found or 0)
