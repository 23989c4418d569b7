"""JSON documents of the configuration's check, and of keys."""

from __future__ import annotations

from pydantic import Field

from syncer.documents.document import Document


class ProblemDocument(Document):
    """One mistake in the configuration."""

    source: str
    line: int | None
    field: str
    what: str
    suggestion: str


class DependencyDocument(Document):
    """Whether something that the daemon needs answers."""

    name: str
    ok: bool
    cause: str
    hint: str


class CheckDocument(Document):
    """``syncer config check``."""

    ok: bool
    file: str
    problems: list[ProblemDocument]
    warnings: list[str]
    dependencies: list[DependencyDocument] = Field(description="Empty without --connect.")


class KeyDocument(Document):
    """``syncer keys create`` and ``syncer keys show``."""

    file: str = Field(description="Where the private half stands.")
    id: str = Field(description="By what messages, logs and the status name the pair.")
    public: str = Field(description="The public half, as it stands in 'peers.keys'.")
    region: str | None = Field(description="Whose it is; null: neither --region nor a configuration says so.")
