"""JSON documents of the configuration's check, of keys, and of rights over HTTP; a new token alone shows a secret."""

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


class ProgramDocument(Document):
    """What runs."""

    region: str
    version: str


class TokenDocument(Document):
    """One token."""

    name: str
    id: str = Field(description="The part of the token that is no secret; tells two of one name apart.")
    role: str = Field(description="read, operate or admin; each may what those before it may.")
    values: bool = Field(description="Whether stored values and payloads are shown to it.")
    created_at_ms: int
    expires_at_ms: int | None = Field(description="null: when it is revoked.")
    expired: bool


class NewTokenDocument(Document):
    """``syncer api token create``."""

    token: str = Field(description="What a program sends as 'Authorization: Bearer'. It is shown this once.")
    made: TokenDocument


class TokenList(Document):
    """``syncer api token list``, and those that ``syncer api token revoke`` has taken away."""

    items: list[TokenDocument]


class ClientCertificateDocument(Document):
    """One client certificate, by its subject."""

    name: str
    subject: str = Field(description="As RFC 4514 writes it.")
    role: str
    values: bool
    created_at_ms: int
    expires_at_ms: int | None = Field(description="Of its rights; that of the certificate is its own.")
    expired: bool


class ClientCertificateList(Document):
    """``syncer api client list``, and the one that ``add`` has added or ``remove`` has removed."""

    items: list[ClientCertificateDocument]
