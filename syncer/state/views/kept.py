"""Views of kept fields that a region's store lacks: what completes the values that are read of that store."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any, Final

from sqlalchemy import Connection, Select, select

from syncer.conflict.fields.kept import KeptFields
from syncer.model import MetaPath
from syncer.state.sql import rows, tables

PATHS_OF_ONE_QUERY: Final = 500


class KeptViews:
    """Kept fields of the registers whose store lacks some; those of any other register complete nothing."""

    _reading: Callable[[], AbstractContextManager[Connection]]

    def kept_fields(self, limit: int, after: MetaPath | None = None) -> dict[MetaPath, KeptFields]:
        """Kept fields in path order, beyond ``after``."""
        c = tables.registers.c
        query = select(c.path, c.kept).where(tables.INCOMPLETE, c.path > (after or "")).order_by(c.path).limit(limit)
        with self._reading() as connection:
            return _by_path(connection, query)

    def kept_at(self, paths: Collection[MetaPath]) -> dict[MetaPath, KeptFields]:
        """Kept fields of some paths, as far as the store lacks any there."""
        c = tables.registers.c
        ordered, found = sorted(paths), dict[MetaPath, KeptFields]()
        with self._reading() as connection:
            if connection.execute(select(c.path).where(tables.INCOMPLETE).limit(1)).first() is None:
                return found
            for start in range(0, len(ordered), PATHS_OF_ONE_QUERY):
                some = ordered[start : start + PATHS_OF_ONE_QUERY]
                found |= _by_path(connection, select(c.path, c.kept).where(tables.INCOMPLETE, c.path.in_(some)))
        return found


def _by_path(connection: Connection, query: Select[Any]) -> dict[MetaPath, KeptFields]:
    found = {MetaPath(row.path): rows.kept_in(row.kept) for row in connection.execute(query)}
    return {path: kept for path, kept in found.items() if kept is not None}
