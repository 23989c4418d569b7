"""The base of all JSON documents: frozen, and without fields that nobody has described."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """Base of all documents."""

    model_config = ConfigDict(frozen=True, extra="forbid")
