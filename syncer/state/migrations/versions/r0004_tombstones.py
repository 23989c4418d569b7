"""What deletes may be forgotten, and this region's place in the group."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0004"
down_revision: Final = "0003"
branch_labels: Final = None
depends_on: Final = None

DEAD: Final = sa.text("unsettled = 0 AND k_digest IS NULL AND k_time IS NOT NULL")
UNSEATED: Final = sa.text("due = 1 AND k_digest IS NULL AND k_time IS NOT NULL")


def upgrade() -> None:
    """Make the indexes by which tombstones are found, and the table."""
    op.create_index(
        "registers_dead", "registers", ["k_time", "path"], unique=False, sqlite_where=DEAD, postgresql_where=DEAD
    )
    op.create_index(
        "registers_unseated", "registers", ["k_time"], unique=False, sqlite_where=UNSEATED, postgresql_where=UNSEATED
    )
    op.create_table(
        "membership",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("floor", sa.BigInteger(), nullable=False),
        sa.Column("left_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("one = 1", name="membership_is_one_row"),
        sa.PrimaryKeyConstraint("one"),
    )
