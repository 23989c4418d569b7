"""When this region was last heard on the bus, by itself: its own evidence against hearsay."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0009"
down_revision: Final = "0008"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Add the time; a region that watched its store was there, so it counts as heard until then."""
    op.add_column("identity", sa.Column("heard_until", sa.BigInteger(), nullable=False, server_default="0"))
    op.execute("UPDATE identity SET heard_until = alive_until")
