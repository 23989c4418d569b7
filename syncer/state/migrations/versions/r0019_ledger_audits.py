"""Audits of ledgers: when each was taken of which cluster, and its document."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: Final = "0019"
down_revision: Final = "0018"
branch_labels: Final = None
depends_on: Final = None

NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "ledger_audits",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("cluster", KEY, nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ledger_audits_cluster", "ledger_audits", ["cluster", "id"])
