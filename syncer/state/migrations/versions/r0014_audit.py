"""Operations as the audit trail: from where, with which credential; and the key of a request that may be repeated."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0014"
down_revision: Final = "0013"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Add the columns, which are empty for all that was asked before."""
    for name in ("origin", "credential", "fingerprint"):
        op.add_column("operations", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    op.add_column("operations", sa.Column("request_key", sa.Text(), nullable=True))
    op.add_column("operations", sa.Column("part", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_index("operations_request", "operations", ["credential", "request_key", "part"], unique=True)
