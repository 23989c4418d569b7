"""Sums of the digest tree. They are filled by the daemon at its next start, a slice at a time."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0003"
down_revision: Final = "0002"
branch_labels: Final = None
depends_on: Final = None

NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables, empty: no label means that nothing was summed yet."""
    op.create_table(
        "tree",
        sa.CheckConstraint("one = 1", name="tree_is_one_row"),
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("one"),
    )
    op.create_table(
        "tree_pages",
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sums", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("page"),
    )
    op.create_table(
        "tree_log",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("changes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
