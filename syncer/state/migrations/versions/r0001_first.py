"""The first schema."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0001"
down_revision: Final = None
branch_labels: Final = None
depends_on: Final = None

NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY: Final = sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "conflicts",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("path", KEY, nullable=False),
        sa.Column("loser_time", sa.BigInteger(), nullable=False),
        sa.Column("loser_region", sa.Text(), nullable=False),
        sa.Column("loser_seen", sa.Text(), nullable=False),
        sa.Column("loser_digest", sa.LargeBinary(), nullable=True),
        sa.Column("winner_time", sa.BigInteger(), nullable=False),
        sa.Column("winner_region", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("restored_at", sa.BigInteger(), nullable=True),
        sa.Column("value", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("conflicts_loser", "conflicts", ["path", "loser_time", "loser_region"], unique=True)
    op.create_table(
        "consumed",
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("through", sa.BigInteger(), nullable=False),
        sa.Column("ahead", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sender"),
    )
    op.create_table(
        "future_events",
        sa.Column("path", KEY, nullable=False),
        sa.Column("time", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("region", KEY, nullable=False),
        sa.Column("held_at", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("path", "time", "region"),
    )
    op.create_index("future_events_time", "future_events", ["time", "region", "path"], unique=False)
    op.create_table(
        "held_publications",
        sa.Column("path", KEY, nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("path"),
    )
    op.create_table(
        "identity",
        sa.CheckConstraint("one = 1", name="identity_is_one_row"),
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("region", sa.Text(), nullable=False),
        sa.Column("database_id", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("genesis", sa.Boolean(), nullable=False),
        sa.Column("store_id", sa.Text(), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("last_sequence", sa.BigInteger(), nullable=False),
        sa.Column("alive_until", sa.BigInteger(), nullable=False),
        sa.Column("paused", sa.Text(), nullable=True),
        sa.Column("alive_count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("one"),
    )
    op.create_table(
        "journal",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("path", KEY, nullable=False),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("stamp", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=True),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("against", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("journal_path", "journal", ["path", "id"], unique=False)
    op.create_table(
        "met", sa.Column("path", KEY, nullable=False), sa.PrimaryKeyConstraint("path"), sqlite_with_rowid=False
    )
    op.create_table(
        "operations",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("operations_state", "operations", ["state", "id"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("sequence", NUMBER, autoincrement=False, nullable=False),
        sa.Column("path", KEY, nullable=False),
        sa.Column("enqueued_at", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("sequence"),
    )
    op.create_index("outbox_path", "outbox", ["path"], unique=False)
    op.create_table(
        "peers",
        sa.Column("region", KEY, nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("heard_at", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("region"),
    )
    op.create_table(
        "quarantine",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("position", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("path", KEY, nullable=True),
        sa.Column("properties", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("quarantine_position", "quarantine", ["origin", "position"], unique=True)
    op.create_table(
        "registers",
        sa.Column("path", KEY, nullable=False),
        sa.Column("alive", sa.SmallInteger(), nullable=False),
        sa.Column("due", sa.SmallInteger(), nullable=False),
        sa.Column("unsettled", sa.SmallInteger(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("own", sa.BigInteger(), nullable=False),
        sa.Column("k_time", sa.BigInteger(), nullable=True),
        sa.Column("k_region", sa.Text(), nullable=True),
        sa.Column("k_by", sa.Text(), nullable=True),
        sa.Column("k_seen", sa.Text(), nullable=True),
        sa.Column("k_digest", sa.LargeBinary(), nullable=True),
        sa.Column("s_time", sa.BigInteger(), nullable=True),
        sa.Column("s_region", sa.Text(), nullable=True),
        sa.Column("s_by", sa.Text(), nullable=True),
        sa.Column("s_seen", sa.Text(), nullable=True),
        sa.Column("s_digest", sa.LargeBinary(), nullable=True),
        sa.Column("s_revision", sa.Text(), nullable=True),
        sa.Column("hold_reason", sa.Text(), nullable=True),
        sa.Column("hold_time", sa.BigInteger(), nullable=True),
        sa.Column("hold_region", sa.Text(), nullable=True),
        sa.Column("hold_since", sa.BigInteger(), nullable=True),
        sa.Column("hold_detail", sa.Text(), nullable=True),
        sa.Column("hold_local", sa.SmallInteger(), nullable=True),
        sa.Column("allowed_time", sa.BigInteger(), nullable=True),
        sa.Column("allowed_region", sa.Text(), nullable=True),
        sa.Column("parked_reason", sa.Text(), nullable=True),
        sa.Column("parked_since", sa.BigInteger(), nullable=True),
        sa.Column("parked_detail", sa.Text(), nullable=True),
        sa.Column("intent_batch", sa.Text(), nullable=True),
        sa.Column("intent_expected", sa.Text(), nullable=True),
        sa.Column("intent_time", sa.BigInteger(), nullable=True),
        sa.Column("intent_region", sa.Text(), nullable=True),
        sa.Column("intent_by", sa.Text(), nullable=True),
        sa.Column("intent_seen", sa.Text(), nullable=True),
        sa.Column("intent_digest", sa.LargeBinary(), nullable=True),
        sa.Column("wish", sa.Text(), nullable=True),
        sa.Column("left_digest", sa.LargeBinary(), nullable=True),
        sa.Column("flips", sa.Text(), nullable=True),
        sa.Column("k_value", sa.LargeBinary(), nullable=True),
        sa.Column("intent_value", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("path"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "registers_held",
        "registers",
        ["path"],
        unique=False,
        sqlite_where=sa.text("hold_reason IS NOT NULL"),
        postgresql_where=sa.text("hold_reason IS NOT NULL"),
    )
    op.create_index(
        "registers_parked",
        "registers",
        ["path"],
        unique=False,
        sqlite_where=sa.text("parked_reason IS NOT NULL"),
        postgresql_where=sa.text("parked_reason IS NOT NULL"),
    )
    op.create_index(
        "registers_unsettled",
        "registers",
        ["path"],
        unique=False,
        sqlite_where=sa.text("unsettled = 1"),
        postgresql_where=sa.text("unsettled = 1"),
    )
    op.create_table(
        "status",
        sa.CheckConstraint("one = 1", name="status_is_one_row"),
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("reported_at", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("one"),
    )
