"""Marks, by which a database and its store tell which of them is old; generations that are times."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0006"
down_revision: Final = "0005"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Add both marks, none of which was set; SQLite's integers are wide enough as they are."""
    op.add_column("identity", sa.Column("mark", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("identity", sa.Column("marked", sa.BigInteger(), nullable=False, server_default="0"))
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("identity", "generation", type_=sa.BigInteger())
