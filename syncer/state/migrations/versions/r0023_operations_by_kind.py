"""Pending operations by their kind: each part of a daemon reads its own kinds.

The oldest of one kind are found without reading past the arguments of others: those hold whole plans.
"""

from __future__ import annotations

from typing import Final

from alembic import op

revision: Final = "0023"
down_revision: Final = "0022"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Add the index."""
    op.create_index("operations_kind", "operations", ["state", "kind", "id"], unique=False)
