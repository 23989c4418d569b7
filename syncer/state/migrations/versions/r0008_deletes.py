"""An index of the deletes in the journal: a daemon that becomes active counts those that have passed of late."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0008"
down_revision: Final = "0007"
branch_labels: Final = None
depends_on: Final = None

DELETES: Final = sa.text("decision = 'published' AND digest IS NULL")


def upgrade() -> None:
    """Make it; what is in the journal is in it."""
    op.create_index("journal_deletes", "journal", ["at"], sqlite_where=DELETES, postgresql_where=DELETES)
