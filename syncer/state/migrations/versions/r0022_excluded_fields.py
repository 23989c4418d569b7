"""Fields that a region has for itself, kept beside those that brokers drop.

Versions before cannot read what is kept of them, and would publish what differs as changes of this region.
"""

from __future__ import annotations

from typing import Final

revision: Final = "0022"
down_revision: Final = "0021"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Change nothing but the revision: it is what versions before refuse the database by."""
