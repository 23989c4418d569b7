"""A certificate authority for tests, made with the ``openssl`` program: real files for the loopback address."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from syncer.waiting import WAIT_S


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key (PEM)."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates; its own is ``ca``.

    Args:
        directory: Where the files go.
        name: Common name of the authority, and prefix of its files.
    """

    def __init__(self, directory: Path, name: str = "ca") -> None:
        self._directory = directory
        self.ca = directory / f"{name}.pem"
        self._key = directory / f"{name}.key"
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-keyout", self._key, "-out", self.ca),
        )

    def issue(self, name: str, *, addresses: str = "IP:127.0.0.1,DNS:localhost") -> Certificate:
        """Make a certificate for a server or a client; ``addresses`` are its alternative names."""
        made = Certificate(self._directory / f"{name}.pem", self._directory / f"{name}.key")
        request = self._directory / f"{name}.csr"
        extensions = self._directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={addresses}\n")
        _openssl(
            *("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-subj", f"/CN={name}", "-keyout", made.key, "-out", request),
        )
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._key, "-CAcreateserial", "-days", "2"),
            *("-extfile", extensions, "-out", made.cert),
        )
        return made


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=WAIT_S)
