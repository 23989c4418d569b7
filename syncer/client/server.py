"""A daemon's REST API as it is reached: its address, whom to trust there, and by what to be known there."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from syncer import local_files
from syncer.access.exposure import loopback
from syncer.errors import ConfigError

MAX_ADDRESS: Final = 1_000
MAX_TOKEN: Final = 4_096


def address_of(text: str) -> str:
    """The address of a daemon, as it is asked.

    Raises:
        ConfigError: It is none; what it holds of a secret is not repeated.
    """
    hint = "Give it as 'https://HOST:PORT', or 'http://127.0.0.1:PORT' on the daemon's own host."
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise ConfigError(f"the address of the server cannot be read: {exc}", hint=hint) from None
    if parts.scheme not in {"http", "https"} or not host or len(text) > MAX_ADDRESS or not text.isprintable():
        raise ConfigError("the address of the server is none of HTTP", hint=hint)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment or " " in text:
        raise ConfigError(
            "the address of the server holds more than scheme, host, port and a path",
            hint="Give a token by a file (SYNCER_TOKEN_FILE), never in the address.",
        )
    return text.rstrip("/")


def token_from(file: Path) -> str:
    """The token in a file.

    Raises:
        ConfigError: It cannot be read, or holds none.
    """
    try:
        text = local_files.secret_text(file).strip()
    except OSError as exc:
        raise ConfigError(
            f"the token file {file} cannot be read: {exc.strerror or exc}", hint="Name a file that this user may read."
        ) from exc
    return checked_token(text, str(file))


def checked_token(text: str, where: str) -> str:
    """A token, if it can be one.

    Raises:
        ConfigError: It cannot; it is not repeated.
    """
    if not text or len(text) > MAX_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigError(
            f"{where} holds no token", hint="Put there what 'syncer api token create' has printed, alone."
        )
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A daemon's REST API.

    Args:
        address: Where it is.
        token: By which we are known there; empty: by none.
        trust: Of TLS; ``None``: the system's authorities, and no certificate of ours.
    """

    address: str
    token: str = field(default="", repr=False)
    trust: ssl.SSLContext | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        address: str,
        *,
        token: str = "",
        ca: Path | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        without_tls: bool = False,
    ) -> Self:
        """Make it of what is configured.

        Args:
            address: Where it is.
            token: By which we are known there; empty: by none.
            ca: Certificates to trust instead of the system's.
            certificate: Our own, and the authorities between.
            key: Of our own certificate.
            without_tls: The token may travel in clear beyond this host.

        Raises:
            ConfigError: A file cannot be used, or a token would travel in clear.
        """
        place = address_of(address)
        parts = urlsplit(place)
        if parts.scheme == "http" and not loopback(parts.hostname or "") and token and not without_tls:
            raise ConfigError(
                f"the token would travel in clear to {place}",
                hint="Give an address of https, or allow it by name: 'syncer context add … --without-tls'.",
            )
        trust = _trust(ca, certificate, key) if parts.scheme == "https" else None
        return cls(address=place, token=token, trust=trust)

    def believed(self) -> ssl.SSLContext | bool:
        """Who is believed, as ``verify`` of ``httpx2``: nobody where there is no TLS, since to load takes its time."""
        if self.address.startswith("http://"):
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return self.trust if self.trust is not None else True


def _trust(ca: Path | None, certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    what = f"the authorities in {ca}"
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            what = f"the certificate {certificate}"
            context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        why = getattr(exc, "reason", None) or getattr(exc, "strerror", None) or exc
        raise ConfigError(
            f"{what} cannot be used: {why}",
            hint="Give files in PEM that this user may read: a certificate, and its own key without a password.",
        ) from exc
    return context


def _no_password() -> str:
    raise ValueError("its key is protected by a password")
