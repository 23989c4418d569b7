"""By which projections the digests were made: a group goes over to newer ones once all of its members know them."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0021"
down_revision: Final = "0020"
branch_labels: Final = None
depends_on: Final = None

BEFORE: Final = '{"namespace": "namespace/1", "topic-policy": "topic-policy/1"}'


def upgrade() -> None:
    """Add the column; what a version before has kept was made by the projections of that."""
    op.add_column("identity", sa.Column("projections", sa.Text(), nullable=True))
    op.execute(sa.text("UPDATE identity SET projections = :before").bindparams(before=BEFORE))
