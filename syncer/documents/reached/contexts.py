"""JSON documents of contexts, and of the regions that they lead to."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.documents.document import Document
from syncer.documents.status import StatusDocument


class ContextDocument(Document):
    """A daemon by name. Secrets are in the files, and not here."""

    name: str
    server: str = Field(description="Address of its REST API.")
    in_use: bool = Field(description="Whether commands that name nothing else are for it.")
    token_file: str | None
    ca: str | None = Field(description="Certificates to trust; null: the system's.")
    certificate: str | None
    key: str | None
    without_tls: bool = Field(description="Whether the token may travel in clear.")


class ContextList(Document):
    """``syncer context list``."""

    items: list[ContextDocument]


class ReachedRegion(Document):
    """The region of a context, as far as it was reached."""

    context: str
    server: str
    region: str = Field(description="Empty: it was not reached.")
    verdict: Literal["well", "operator-needed", "silent", "no-database", "unreachable", "not-allowed"]
    exit_status: int = Field(description="As of 'syncer status --check'.")
    message: str = Field(description="The verdict in a line, or why there is no answer.")
    next: str = Field(description="What an operator does next.")
    command: str = Field(description="The command to begin with; empty: there is none.")
    status: StatusDocument | None = Field(description="null: not reached, or with --check.")


class ReachedRegionList(Document):
    """``syncer status --all``."""

    exit_status: int = Field(description="Of the command: the greatest of all.")
    items: list[ReachedRegion] = Field(description="By the name of the context.")
