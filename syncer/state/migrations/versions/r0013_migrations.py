"""Migrations of clusters: their plans, former values that must be put back, and what has happened."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: Final = "0013"
down_revision: Final = "0012"
branch_labels: Final = None
depends_on: Final = None

NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "migrations",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("open", sa.SmallInteger(), nullable=True),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("migrations_open", "migrations", ["open"], unique=True)
    op.create_table(
        "migration_values",
        sa.Column("migration", NUMBER, autoincrement=False, nullable=False),
        sa.Column("key", KEY, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("migration", "key"),
    )
    op.create_table(
        "migration_events",
        sa.Column("migration", NUMBER, autoincrement=False, nullable=False),
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("migration", "number"),
    )
