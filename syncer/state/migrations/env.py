"""Runs revisions on the connection that the program hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from syncer.state.sql.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
