"""Authentication to a Pulsar cluster, by client protocol and by REST. Secrets stay in files."""

from __future__ import annotations

import functools
import ssl
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from syncer.errors import ConfigError
from syncer.local_files import secret_text


class TokenAuth(BaseModel):
    """A token (JWT) in a file; read again for every connection, so that it may be rotated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["token"] = "token"
    file: Path

    def read(self) -> str:
        """Read the token.

        Raises:
            ConfigError: The file cannot be read or is empty.
        """
        try:
            token = secret_text(self.file).strip()
        except OSError as exc:
            raise ConfigError(f"the token file {self.file} cannot be read: {exc.strerror}") from exc
        if not token:
            raise ConfigError(f"the token file {self.file} is empty")
        return token


class CertificateAuth(BaseModel):
    """A client certificate."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["tls"] = "tls"
    certificate: Path
    key: Path


class OAuth2Auth(BaseModel):
    """Client credentials of OAuth 2; the file is the JSON document with ``client_id`` and ``client_secret``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["oauth2"] = "oauth2"
    issuer_url: str
    credentials_file: Path
    audience: str | None = None
    scope: str | None = None


Auth = Annotated[TokenAuth | CertificateAuth | OAuth2Auth, Field(discriminator="kind")]


class Trust(BaseModel):
    """Whom to trust on TLS. Both checks are on unless switched off here; the system's authorities are the default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    certificates: Path | None = None
    verify: bool = True
    verify_hostname: bool = True

    def context(self, auth: TokenAuth | CertificateAuth | OAuth2Auth | None) -> ssl.SSLContext:
        """Make the TLS context of a REST client.

        Raises:
            ConfigError: A certificate or key cannot be loaded.
        """
        try:
            context = ssl.create_default_context(cafile=self.certificates)
            if isinstance(auth, CertificateAuth):
                context.load_cert_chain(auth.certificate, auth.key)
        except OSError as exc:  # ssl.SSLError is one
            raise ConfigError(f"TLS certificates cannot be loaded ({self.certificates or 'system'}): {exc}") from exc
        if not self.verify_hostname or not self.verify:
            context.check_hostname = False
        if not self.verify:
            context.verify_mode = ssl.CERT_NONE
        return context


@functools.cache
def system_authorities() -> ssl.SSLContext:
    """The system's certificate authorities, read once: reading takes 50 ms.

    A client of plain HTTP needs them only when a broker redirects it to a broker with TLS.
    """
    return ssl.create_default_context()
