"""The JSON document of a look at a region: its verdict, and the reasons for it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.documents.document import Document


class ReasonDocument(Document):
    """One thing that speaks for a verdict, or is said beside it."""

    code: str
    severity: Literal["alarm", "advice"] = Field(
        description="alarm: an operator is needed. advice: it can wait, and a region is well with it."
    )
    message: str
    next: str = Field(description="What an operator does about it.")
    command: str = Field(description="The command to begin with; empty: there is none.")


class VerdictDocument(Document):
    """``syncer status --check``."""

    region: str
    verdict: Literal["well", "operator-needed", "silent", "no-database", "not-allowed"]
    exit_status: int = Field(
        description="Of the command: 0 well, 1 operator-needed, 4 silent or no-database, 6 not-allowed."
    )
    message: str = Field(description="The verdict in a line.")
    next: str = Field(description="What an operator does next.")
    command: str = Field(description="The command to begin with; empty: there is none.")
    reasons: list[ReasonDocument] = Field(description="Alarms first; then what can wait.")
