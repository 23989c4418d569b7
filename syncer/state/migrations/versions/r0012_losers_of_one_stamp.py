"""A lie may give one stamp to several losers of conflicts: each is kept, so the stamp is not unique among them."""

from __future__ import annotations

from typing import Final

from alembic import op

revision: Final = "0012"
down_revision: Final = "0011"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Make the index anew."""
    op.drop_index("conflicts_loser", "conflicts")
    op.create_index("conflicts_loser", "conflicts", ["path", "loser_time", "loser_region"])
