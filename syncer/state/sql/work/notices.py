"""Memory of what each receiver of notices was told last, by kind: it outlives a restart, and a switch of daemons.

Like a daemon's own line (:mod:`syncer.state.sql.presence`) it is written beside the transactions of the writer, by a
connection of its own, and decides nothing of what is replicated.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import URL, select

from syncer.notices.rules import NoticeKind, Told
from syncer.state.sql import opening, tables
from syncer.state.sql.opening import translated
from syncer.state.sql.statements import upserting

BUSY_S: Final = 2.0


class NoticesTold:
    """Reads and writes what receivers were told. Used by one thread at a time.

    Args:
        url: Of the sidecar database.
    """

    def __init__(self, url: str) -> None:
        self._url: Final[URL] = opening.parse_url(url)
        self._engine: Final = opening.connect(self._url, "asker", synchronous="NORMAL", busy_timeout_s=BUSY_S)

    def read(self) -> dict[tuple[str, NoticeKind], tuple[Told, int]]:
        """Read what each receiver was told of each kind, and when, in milliseconds since the epoch.

        Kinds of later versions are left out.

        Raises:
            StateUnavailable: The database cannot be read now.
        """
        known = {kind.value: kind for kind in NoticeKind}
        with translated(self._url), self._engine.connect() as connection:
            return {
                (row["receiver"], known[row["kind"]]): (
                    Told(number=row["number"], open=bool(row["open"]), count=row["count"], newest=row["newest"]),
                    row["at"],
                )
                for row in connection.execute(select(tables.notices)).mappings()
                if row["kind"] in known
            }

    def write(self, receiver: str, kind: NoticeKind, told: Told, at_ms: int) -> None:
        """Keep what a receiver was told; a daemon that has lost its role takes nothing back of what its heir has told.

        Args:
            receiver: Its name.
            kind: Of the notice.
            told: What it was told.
            at_ms: When, milliseconds since the epoch.

        Raises:
            StateUnavailable: The database cannot be written now.
        """
        table = tables.notices
        row = {
            "receiver": receiver,
            "kind": kind.value,
            "number": told.number,
            "at": at_ms,
            "open": int(told.open),
            "count": told.count,
            "newest": told.newest,
        }
        with translated(self._url), self._engine.begin() as connection:
            known = select(table.c.number).where(table.c.receiver == receiver, table.c.kind == kind.value)
            if (connection.execute(known).scalar() or 0) <= told.number:
                connection.execute(upserting(connection.dialect, table, row), row)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()
