"""The latest scopes of the region, each with its beginning: they tell since when a path is carried.

An older database has kept none, and cannot tell: its time is a period without rules, and the first one with rules
begins when a daemon of this version becomes active.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0024"
down_revision: Final = "0023"
branch_labels: Final = None
depends_on: Final = None

NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "scope_periods",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.execute("INSERT INTO scope_periods (number, began_at, rules) SELECT 1, 0, '' FROM identity")
