"""Events from the future are held until a moment of their own, not by their stamp alone."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0010"
down_revision: Final = "0009"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Hold those that are held until their stamp's time, which was never later."""
    op.add_column("future_events", sa.Column("until", sa.BigInteger(), nullable=False, server_default="0"))
    op.execute("UPDATE future_events SET until = time")
    op.create_index("future_events_until", "future_events", ["until"], unique=False)
