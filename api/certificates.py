"""Certificates of the server: a TLS context made of files, and another one as soon as they are others.

Each change makes a context of its own, which serves the connections from then on: one that is changed in place would
stand half changed while a certificate is new and its key still the former one. Files that do not fit together leave the
former context in use; what they would change is whom clients trust, not who may do what.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from syncer import local_files
from syncer.errors import ConfigError

LOOK_S: Final = 1.0
_State = tuple[tuple[int, int, int], ...]

log = structlog.get_logger()


class Certificates:
    """The context of the files as they are now.

    Args:
        certificate: Of the server, and those above it (PEM).
        key: Its private key (PEM).
        client_ca: Authorities whose client certificates are taken, where a client shows one (PEM).
        clock_s: Seconds of a clock that never goes back.

    Raises:
        ConfigError: The files cannot be used.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        client_ca: Path | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self._clock_s = clock_s
        self._looked_s, self._state = clock_s(), self._now()
        self._context = self._load()
        self.trouble = ""
        """Why the files cannot be used as they are now; empty: they can."""

    def context(self) -> ssl.SSLContext:
        """The context for the next connection. The files are looked at once a second at most."""
        now_s = self._clock_s()
        if now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            state = self._now()
            if state != self._state or self.trouble:
                self._renew(state)
        return self._context

    def _renew(self, state: _State) -> None:
        try:
            self._context = self._load()
        except ConfigError as exc:
            if self.trouble != exc.message:
                log.warning("api_certificate_unusable", cause=exc.message)
            self.trouble = exc.message
        else:
            log.info("api_certificate_read", file=str(self._certificate))
            self.trouble = ""
        self._state = state

    def _now(self) -> _State:
        return tuple(_state(each) for each in self._files)

    @property
    def _files(self) -> list[Path]:
        return [each for each in (self._certificate, self._key, self._client_ca) if each is not None]

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
        context.num_tickets = 0  # a session that is resumed would keep a client certificate beyond a change
        context.set_alpn_protocols(["http/1.1"])
        what = self._certificate
        try:
            for what in self._files:
                local_files.opened(what).close()  # OpenSSL would wait for what comes out of a pipe
            what = self._certificate
            context.load_cert_chain(self._certificate, self._key, password=lambda: "")
            if self._client_ca is not None:
                what = self._client_ca
                context.load_verify_locations(self._client_ca)
                context.verify_mode = ssl.CERT_OPTIONAL
        except (OSError, ValueError) as exc:
            why = getattr(exc, "reason", None) or getattr(exc, "strerror", None) or exc
            raise ConfigError(
                f"api.tls: {what} cannot be used: {why}",
                hint="Give files in PEM that this user may read: a certificate, and its own key without a password.",
            ) from exc
        return context


def _state(file: Path) -> tuple[int, int, int]:
    try:
        found = file.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
