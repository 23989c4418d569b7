"""Trouble of runs of moves: why one is not carried on, since when, and when it is taken up again."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0018"
down_revision: Final = "0017"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Add the column, which is empty for runs of before."""
    op.add_column("move_runs", sa.Column("trouble", sa.Text(), nullable=False, server_default="{}"))
