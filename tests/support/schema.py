"""Make the schema of many empty databases: the revisions run once in a process, their statements for each further one.

A revision costs some milliseconds of its own code, and there are two dozen; a run makes thousands of databases. A
database that has a schema already is brought up to date by the revisions, as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, event, inspect

from syncer.state.sql import opening

Upgrade = Callable[[Connection], None]
Statement = tuple[str, Any]
"""Its text, and its parameters as the driver takes them."""

_CHANGING: Final = ("CREATE", "ALTER", "DROP", "INSERT", "UPDATE", "DELETE")


class RepeatedUpgrade:
    """Upgrades a database as ``upgrade`` does.

    Attributes:
        upgrade: Brings the schema of a database to the newest revision, inside the open transaction.
    """

    def __init__(self, upgrade: Upgrade) -> None:
        self.upgrade = upgrade
        self._statements: dict[str, list[Statement]] = {}

    def __call__(self, connection: Connection) -> None:
        """Upgrade; an empty database by the statements that made an empty one before."""
        if inspect(connection).get_table_names():
            self.upgrade(connection)
            return
        kind = connection.dialect.name
        if kind not in self._statements:
            with _noted(connection) as statements:
                self.upgrade(connection)
            self._statements[kind] = statements
            return
        for text, parameters in self._statements[kind]:
            connection.exec_driver_sql(text, parameters or None)


@contextmanager
def _noted(connection: Connection) -> Iterator[list[Statement]]:
    """Note what changes the database."""
    statements: list[Statement] = []

    def executed(
        _connection: object, _cursor: object, text: str, parameters: Any, _context: object, _many: bool
    ) -> None:
        if text.lstrip().upper().startswith(_CHANGING):
            statements.append((text, parameters))

    event.listen(connection, "before_cursor_execute", executed)
    try:
        yield statements
    finally:
        event.remove(connection, "before_cursor_execute", executed)


def repeat_upgrades() -> None:
    """Have this program make the schema of empty databases that way."""
    if not isinstance(opening._upgrade, RepeatedUpgrade):
        opening._upgrade = RepeatedUpgrade(opening._upgrade)
