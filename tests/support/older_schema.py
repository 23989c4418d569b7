"""Schemas of older versions, made from this version's: what each revision has added is taken away again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

_ADDED: Final[dict[str, Sequence[str]]] = {
    "0024": ("DROP TABLE scope_periods",),
    "0023": ("DROP INDEX operations_kind",),
    "0021": ("ALTER TABLE identity DROP COLUMN projections",),
    "0020": (
        "DROP INDEX registers_incomplete",
        *(f"ALTER TABLE registers DROP COLUMN {column}" for column in ("incomplete", "kept", "intent_kept")),
    ),
    "0019": ("DROP TABLE ledger_audits",),
    "0018": ("ALTER TABLE move_runs DROP COLUMN trouble",),
    "0017": ("DROP TABLE move_runs", "DROP TABLE move_outcomes"),
    "0016": ("DROP TABLE jobs",),
    "0015": ("DROP TABLE notices",),
    "0014": (
        "DROP INDEX operations_request",
        *(
            f"ALTER TABLE operations DROP COLUMN {column}"
            for column in ("origin", "credential", "fingerprint", "request_key", "part")
        ),
    ),
    "0013": tuple(f"DROP TABLE {table}" for table in ("migrations", "migration_values", "migration_events")),
    "0002": (
        *(
            f"DROP TABLE {table}"
            for table in ("daemons", "tree", "tree_pages", "tree_log", "membership", "repairs", "tellings", "carried")
        ),
        *(
            f"DROP INDEX {index}"
            for index in ("registers_dead", "registers_unseated", "journal_deletes", "future_events_until")
        ),
        "ALTER TABLE future_events DROP COLUMN until",
        *(
            f"ALTER TABLE identity DROP COLUMN {column}"
            for column in ("rebuild", "landed", "mark", "marked", "heard_until")
        ),
    ),
}
"""By the first of the revisions that are taken back, the latest first."""


def take_back(database: sqlite3.Connection, revision: str) -> None:
    """Make a database one of the revision before that one."""
    for number, statements in _ADDED.items():
        if number >= revision:
            for statement in statements:
                database.execute(statement)
    database.execute("UPDATE alembic_version SET version_num = ?", (f"{int(revision) - 1:04}",))
