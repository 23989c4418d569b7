"""Fields of values that not every version of Pulsar knows, as they were last: brokers drop them from the store."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0020"
down_revision: Final = "0019"
branch_labels: Final = None
depends_on: Final = None

INCOMPLETE: Final = sa.text("incomplete = 1")


def upgrade() -> None:
    """Add the columns; what stands in the store is kept from the first scan on."""
    op.add_column("registers", sa.Column("incomplete", sa.SmallInteger(), nullable=True))
    op.add_column("registers", sa.Column("kept", sa.LargeBinary(), nullable=True))
    op.add_column("registers", sa.Column("intent_kept", sa.LargeBinary(), nullable=True))
    op.create_index("registers_incomplete", "registers", ["path"], sqlite_where=INCOMPLETE, postgresql_where=INCOMPLETE)
