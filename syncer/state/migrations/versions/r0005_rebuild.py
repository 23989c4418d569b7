"""How a database takes the place of a lost one, and the latest batch of writes that is known to have landed."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0005"
down_revision: Final = "0004"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Add both facts; databases of before take nobody's place."""
    op.add_column("identity", sa.Column("rebuild", sa.Text(), nullable=True))
    op.add_column("identity", sa.Column("landed", sa.Text(), nullable=True))
