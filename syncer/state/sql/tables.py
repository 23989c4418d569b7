"""Tables of the sidecar database. Short columns stand before values, so that scans never read a value's pages."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine

Number: Final[TypeEngine[int]] = BigInteger().with_variant(Integer(), "sqlite")
"""A running number; SQLite numbers rows by themselves only in a column that says INTEGER."""

Key: Final[TypeEngine[str]] = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
"""A path: ordered by code points everywhere, as Python orders strings."""

metadata: Final = MetaData()


def _at(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, BigInteger, nullable=nullable)


def _text(name: str, *, nullable: bool = True, server_default: str | None = None) -> Column[Any]:
    return Column(name, Text, nullable=nullable, server_default=server_default)


identity: Final = Table(
    "identity",
    metadata,
    Column(
        "one", Integer, CheckConstraint("one = 1", name="identity_is_one_row"), primary_key=True, autoincrement=False
    ),
    _text("region", nullable=False),
    _text("database_id", nullable=False),
    Column("generation", Number, nullable=False),
    Column("genesis", Boolean, nullable=False),
    _text("store_id"),
    Column("epoch", BigInteger, nullable=False),
    Column("last_sequence", BigInteger, nullable=False),
    _at("alive_until"),
    _text("paused"),
    _text("rebuild"),
    _text("landed"),
    Column("mark", BigInteger, nullable=False, server_default="0"),
    Column("marked", BigInteger, nullable=False, server_default="0"),
    Column("heard_until", BigInteger, nullable=False, server_default="0"),
    _text("projections"),
    Column("alive_count", BigInteger, nullable=False),
)

registers: Final = Table(
    "registers",
    metadata,
    Column("path", Key, primary_key=True),
    Column("alive", SmallInteger, nullable=False),
    Column("due", SmallInteger, nullable=False),
    Column("unsettled", SmallInteger, nullable=False),
    _text("tenant", nullable=False),
    _at("own"),
    _at("k_time", nullable=True),
    _text("k_region"),
    _text("k_by"),
    _text("k_seen"),
    Column("k_digest", LargeBinary),
    _at("s_time", nullable=True),
    _text("s_region"),
    _text("s_by"),
    _text("s_seen"),
    Column("s_digest", LargeBinary),
    _text("s_revision"),
    _text("hold_reason"),
    _at("hold_time", nullable=True),
    _text("hold_region"),
    _at("hold_since", nullable=True),
    _text("hold_detail"),
    Column("hold_local", SmallInteger),
    _at("allowed_time", nullable=True),
    _text("allowed_region"),
    _text("parked_reason"),
    _at("parked_since", nullable=True),
    _text("parked_detail"),
    _text("intent_batch"),
    _text("intent_expected"),
    _at("intent_time", nullable=True),
    _text("intent_region"),
    _text("intent_by"),
    _text("intent_seen"),
    Column("intent_digest", LargeBinary),
    _text("wish"),
    Column("left_digest", LargeBinary),
    _text("flips"),
    Column("k_value", LargeBinary),
    Column("intent_value", LargeBinary),
    Column("incomplete", SmallInteger),
    Column("kept", LargeBinary),
    Column("intent_kept", LargeBinary),
    sqlite_with_rowid=False,
)
UNSETTLED: Final = text("unsettled = 1")
HELD: Final = text("hold_reason IS NOT NULL")
PARKED: Final = text("parked_reason IS NOT NULL")
INCOMPLETE: Final = text("incomplete = 1")
"""Conditions of the partial indexes; a query must use the same words, or SQLite does not use the index."""

for _name, _where in (
    ("registers_unsettled", UNSETTLED),
    ("registers_held", HELD),
    ("registers_parked", PARKED),
    ("registers_incomplete", INCOMPLETE),
):
    Index(_name, registers.c.path, sqlite_where=_where, postgresql_where=_where)

DEAD: Final = text("unsettled = 0 AND k_digest IS NULL AND k_time IS NOT NULL")
UNSEATED: Final = text("due = 1 AND k_digest IS NULL AND k_time IS NOT NULL")
Index("registers_dead", registers.c.k_time, registers.c.path, sqlite_where=DEAD, postgresql_where=DEAD)
Index("registers_unseated", registers.c.k_time, sqlite_where=UNSEATED, postgresql_where=UNSEATED)

membership: Final = Table(
    "membership",
    metadata,
    Column(
        "one", Integer, CheckConstraint("one = 1", name="membership_is_one_row"), primary_key=True, autoincrement=False
    ),
    _at("floor"),
    _at("left_at", nullable=True),
)

scope_periods: Final = Table(
    "scope_periods",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    _at("began_at"),
    _text("rules", nullable=False),
)

outbox: Final = Table(
    "outbox",
    metadata,
    Column("sequence", Number, primary_key=True, autoincrement=False),
    Column("path", Key, nullable=False),
    _at("enqueued_at"),
    _text("head", nullable=False),
    Column("value", LargeBinary),
    Index("outbox_path", "path"),
)

carried: Final = Table(
    "carried",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("path", Key, nullable=False),
    _text("head", nullable=False),
    Column("value", LargeBinary),
    sqlite_autoincrement=True,
)
"""What stood in the outbox of a database that this one has taken the place of, on the word of others alone."""

held_publications: Final = Table(
    "held_publications",
    metadata,
    Column("path", Key, primary_key=True),
    _text("head", nullable=False),
    Column("value", LargeBinary),
)

future_events: Final = Table(
    "future_events",
    metadata,
    Column("path", Key, primary_key=True),
    Column("time", BigInteger, primary_key=True, autoincrement=False),
    Column("region", Key, primary_key=True),
    _at("held_at"),
    _text("head", nullable=False),
    Column("value", LargeBinary),
    _at("until"),
    Index("future_events_time", "time", "region", "path"),
    Index("future_events_until", "until"),
)

consumed: Final = Table(
    "consumed",
    metadata,
    Column("sender", Text, primary_key=True),
    Column("through", BigInteger, nullable=False),
    _text("ahead", nullable=False),
)

journal: Final = Table(
    "journal",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    _at("at"),
    Column("path", Key, nullable=False),
    _text("decision", nullable=False),
    _text("stamp", nullable=False),
    Column("digest", LargeBinary),
    _text("seen", nullable=False),
    _text("against", nullable=False),
    _text("detail", nullable=False),
    Index("journal_path", "path", "id"),
    sqlite_autoincrement=True,
)
DELETES: Final = text("decision = 'published' AND digest IS NULL")
"""Local deletes; likewise."""
Index("journal_deletes", journal.c.at, sqlite_where=DELETES, postgresql_where=DELETES)

conflicts: Final = Table(
    "conflicts",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("path", Key, nullable=False),
    _at("loser_time"),
    _text("loser_region", nullable=False),
    _text("loser_seen", nullable=False),
    Column("loser_digest", LargeBinary),
    _at("winner_time"),
    _text("winner_region", nullable=False),
    _text("reason", nullable=False),
    _at("recorded_at"),
    _at("restored_at", nullable=True),
    Column("value", LargeBinary),
    Index("conflicts_loser", "path", "loser_time", "loser_region"),
    sqlite_autoincrement=True,
)

quarantine: Final = Table(
    "quarantine",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    _text("origin", nullable=False),
    _text("position", nullable=False),
    _text("code", nullable=False),
    _text("detail", nullable=False),
    Column("path", Key),
    _text("properties", nullable=False),
    _at("recorded_at"),
    Column("payload", LargeBinary, nullable=False),
    Index("quarantine_position", "origin", "position", unique=True),
    sqlite_autoincrement=True,
)

met: Final = Table("met", metadata, Column("path", Key, primary_key=True), sqlite_with_rowid=False)

peers: Final = Table(
    "peers",
    metadata,
    Column("region", Key, primary_key=True),
    _text("sender", nullable=False),
    _at("heard_at"),
    _at("sent_at"),
    _text("document", nullable=False),
)

status: Final = Table(
    "status",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1", name="status_is_one_row"), primary_key=True, autoincrement=False),
    _at("reported_at"),
    _text("document", nullable=False),
)

daemons: Final = Table(
    "daemons",
    metadata,
    Column("id", Text, primary_key=True),
    _text("host", nullable=False),
    Column("pid", BigInteger, nullable=False),
    _text("version", nullable=False),
    _text("role", nullable=False),
    Column("epoch", BigInteger),
    _at("started_at"),
    _at("since"),
    _at("seen_at"),
    _text("trouble"),
)

notices: Final = Table(
    "notices",
    metadata,
    Column("receiver", Key, primary_key=True),
    Column("kind", Key, primary_key=True),
    Column("number", BigInteger, nullable=False),
    _at("at"),
    Column("open", SmallInteger, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("newest", BigInteger, nullable=False),
)

operations: Final = Table(
    "operations",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    _text("kind", nullable=False),
    _text("arguments", nullable=False),
    _text("asked_by", nullable=False),
    _text("reason", nullable=False),
    _at("asked_at"),
    _text("state", nullable=False),
    _text("answer", nullable=False),
    _text("code", nullable=False),
    _at("finished_at", nullable=True),
    _text("origin", nullable=False, server_default=""),
    _text("credential", nullable=False, server_default=""),
    _text("fingerprint", nullable=False, server_default=""),
    _text("request_key"),
    Column("part", BigInteger, nullable=False, server_default="0"),
    Index("operations_state", "state", "id"),
    Index("operations_kind", "state", "kind", "id"),
    Index("operations_request", "credential", "request_key", "part", unique=True),
    sqlite_autoincrement=True,
)

repairs: Final = Table(
    "repairs",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    _text("state", nullable=False),
    _text("document", nullable=False),
    _at("made_at"),
    _at("finished_at", nullable=True),
    Index("repairs_state", "state", "id"),
    sqlite_autoincrement=True,
)

tellings: Final = Table(
    "tellings",
    metadata,
    Column("repair", Number, primary_key=True, autoincrement=False),
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("path", Key, nullable=False),
    _text("found_in", nullable=False),
    _text("refused"),
    _text("head"),
    Column("value", LargeBinary),
)

migrations: Final = Table(
    "migrations",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("open", SmallInteger),
    _text("phase", nullable=False),
    _at("made_at"),
    _at("finished_at", nullable=True),
    _text("fingerprint", nullable=False),
    _text("document", nullable=False),
    _text("plan", nullable=False),
    Index("migrations_open", "open", unique=True),
    sqlite_autoincrement=True,
)
"""``open`` is 1 of one that is not over, else NULL: of those there may be several."""

migration_values: Final = Table(
    "migration_values",
    metadata,
    Column("migration", Number, primary_key=True, autoincrement=False),
    Column("key", Key, primary_key=True),
    _text("value", nullable=False),
)

migration_events: Final = Table(
    "migration_events",
    metadata,
    Column("migration", Number, primary_key=True, autoincrement=False),
    Column("number", Number, primary_key=True, autoincrement=False),
    _at("at"),
    _text("kind", nullable=False),
    _text("document", nullable=False),
)

move_runs: Final = Table(
    "move_runs",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("open", SmallInteger, nullable=True),
    _text("phase", nullable=False),
    _at("made_at"),
    _at("finished_at", nullable=True),
    _text("fingerprint", nullable=False),
    _text("asked_by", nullable=False),
    _text("reason", nullable=False),
    _text("stop", nullable=False),
    _text("document", nullable=False),
    _text("plan", nullable=False),
    _text("trouble", nullable=False, server_default="{}"),
    Index("move_runs_open", "open", unique=True),
    sqlite_autoincrement=True,
)
"""``open`` is as that of migrations."""

move_outcomes: Final = Table(
    "move_outcomes",
    metadata,
    Column("run", Number, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    _text("document", nullable=False),
)

jobs: Final = Table(
    "jobs",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    _text("kind", nullable=False),
    _text("arguments", nullable=False),
    _text("asked_by", nullable=False),
    _text("reason", nullable=False),
    _at("asked_at"),
    _text("state", nullable=False),
    _text("host", nullable=False),
    _text("run", nullable=False),
    Column("attempts", Integer, nullable=False),
    _at("began_at", nullable=True),
    _at("ended_at", nullable=True),
    _text("detail", nullable=False),
    _text("output", nullable=False),
    _text("cancel_asked_by", nullable=False),
    Index("jobs_state", "state", "id"),
    sqlite_autoincrement=True,
)

ledger_audits: Final = Table(
    "ledger_audits",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("cluster", Key, nullable=False),
    _at("taken_at"),
    Column("whole", Boolean, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Index("ledger_audits_cluster", "cluster", "id"),
    sqlite_autoincrement=True,
)

tree: Final = Table(
    "tree",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1", name="tree_is_one_row"), primary_key=True, autoincrement=False),
    _text("label", nullable=False),
    Column("number", BigInteger, nullable=False),
)

tree_pages: Final = Table(
    "tree_pages",
    metadata,
    Column("page", Integer, primary_key=True, autoincrement=False),
    Column("sums", LargeBinary, nullable=False),
)

tree_log: Final = Table(
    "tree_log",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("changes", LargeBinary, nullable=False),
)
"""What was added to the sums since the pages were written, one short row per transaction: pages lie scattered, and
writing each touched one at once would double what a transaction writes."""
OF_THE_GROUP: Final = (
    registers, outbox, held_publications, future_events, consumed, met, tree, tree_pages, tree_log,
)  # fmt: skip
"""What a database knows of the group; the other tables are for people, or about the database itself."""
