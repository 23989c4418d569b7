"""Configuration of the SQLite store."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SqliteConfig(BaseModel):
    """Where the file is and how it is opened."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["sqlite"] = "sqlite"
    path: Path = Field(description="The database file; it is made when it does not exist.")
    synchronous: Literal["full", "normal"] = Field(
        default="full", description="'normal' may lose the last writes when the machine loses power; never by a crash."
    )
    timeout: timedelta = Field(
        default=timedelta(seconds=5),
        ge=timedelta(seconds=1),
        description="Deadline of one call, waiting for other writers included.",
    )
    poll_interval: timedelta = Field(
        default=timedelta(milliseconds=25),
        gt=timedelta(0),
        le=timedelta(milliseconds=200),
        description="How often a watch looks.",
    )
    retained_changes: int = Field(
        default=100_000, ge=64, description="Changes kept for watches that are behind; set when the file is made."
    )
