"""Notices: what each receiver was told last."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: Final = "0015"
down_revision: Final = "0014"
branch_labels: Final = None
depends_on: Final = None

KEY: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "notices",
        sa.Column("receiver", KEY, nullable=False),
        sa.Column("kind", KEY, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("open", sa.SmallInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("receiver", "kind"),
    )
