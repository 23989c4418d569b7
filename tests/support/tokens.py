"""Tokens (JWT, HMAC-SHA256) as Pulsar's brokers take them, and the broker settings that ask for them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SUPERUSER: Final = "lab-admin"
_PLUGIN: Final = "org.apache.pulsar.client.impl.auth.AuthenticationToken"
_PROVIDER: Final = "org.apache.pulsar.broker.authentication.AuthenticationProviderToken"


class Tokens:
    """A signing key in a file, and what is made with it."""

    def __init__(self, file: Path) -> None:
        self._secret = hashlib.sha256(str(file).encode()).digest()
        file.write_bytes(self._secret)
        self._file = file

    def token(self, role: str) -> str:
        """A token of this role."""
        signed = f"{_part({'alg': 'HS256'})}.{_part({'sub': role})}"
        return f"{signed}.{_text(hmac.digest(self._secret, signed.encode(), 'sha256'))}"

    @property
    def broker_settings(self) -> Mapping[str, str]:
        """Settings of brokers that answer nobody without a token, and speak to each other with one."""
        return {
            "authenticationEnabled": "true",
            "authorizationEnabled": "true",
            "authenticationProviders": _PROVIDER,
            "superUserRoles": SUPERUSER,
            "tokenSecretKey": self._file.as_uri(),
            "brokerClientAuthenticationPlugin": _PLUGIN,
            "brokerClientAuthenticationParameters": f"token:{self.token(SUPERUSER)}",
        }


def _part(document: Mapping[str, str]) -> str:
    return _text(json.dumps(document).encode())


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
