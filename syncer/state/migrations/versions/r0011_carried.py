"""What stood in the outbox of a database that was given up on the word of others alone: it is published afterwards."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: Final = "0011"
down_revision: Final = "0010"
branch_labels: Final = None
depends_on: Final = None

NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "carried",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("path", KEY, nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
