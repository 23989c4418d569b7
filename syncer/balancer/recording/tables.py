"""Tables of a history of load."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, String, Table

APPLICATION: Final = 0x4C6F6164
"""What marks a file of SQLite as a history of load."""
VERSION: Final = 1
CLUSTER: Final = "cluster"
LAST_RUN: Final = "last-run"

metadata: Final = MetaData()
facts: Final = Table(
    "fact", metadata, Column("name", String, primary_key=True), Column("value", String, nullable=False)
)
samples: Final = Table(
    "sample",
    metadata,
    Column("taken_ms", Integer, primary_key=True, autoincrement=False),
    Column("bytes", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
changes: Final = Table(
    "owner_change",
    metadata,
    Column("by_ms", Integer, primary_key=True, autoincrement=False),
    Column("bundle", String, primary_key=True),
    Column("after_ms", Integer, nullable=False),
    Column("source", String, nullable=False),
    Column("target", String, nullable=False),
    Column("bytes", Integer, nullable=False),
)
outcomes: Final = Table(
    "move_outcome",
    metadata,
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("bundle", String, primary_key=True),
    Column("asked_ms", Integer, nullable=False),
    Column("predicted_s", Float),
    Column("usual_s", Float),
    Column("earliest_s", Float, nullable=False),
    Column("latest_s", Float, nullable=False),
)
