"""Signatures of webhooks: HMAC-SHA256 over id, time and body, by the Standard Webhooks specification 1.0.0.

    webhook-id: msg_…      webhook-timestamp: seconds      webhook-signature: v1,<base64> [v1,<base64>]

A secret is written ``whsec_`` and then base64, of 24 to 64 random bytes. While it is rotated, two sign: the receiver
takes whichever it knows.

Source: https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Signature scheme".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from syncer.errors import ConfigError

PREFIX: Final = "whsec_"
MIN_SECRET_BYTES: Final = 24
MAX_SECRET_BYTES: Final = 64
MAX_SECRETS: Final = 2
_MAKE: Final = "Make one by: (umask 077; echo whsec_$(openssl rand -base64 32) > webhook.secret)"


def secrets_of(text: str) -> tuple[bytes, ...]:
    """Read the secrets of a file: one, or while it is rotated two, each on a line of its own.

    Raises:
        ConfigError: They are none; the message shows nothing of them.
    """
    lines = text.split()
    if not 1 <= len(lines) <= MAX_SECRETS:
        raise ConfigError(f"holds {len(lines)} secrets: give one, or two while it is rotated", hint=_MAKE)
    return tuple(map(_secret, lines))


def _secret(line: str) -> bytes:
    if not line.startswith(PREFIX):
        raise ConfigError(f"holds a secret that does not begin with {PREFIX}", hint=_MAKE)
    try:
        secret = base64.b64decode(line.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"holds a secret that is no base64 text after {PREFIX}", hint=_MAKE) from None
    if not MIN_SECRET_BYTES <= len(secret) <= MAX_SECRET_BYTES:
        raise ConfigError(
            f"holds a secret of {len(secret)} bytes: give {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES}", hint=_MAKE
        )
    return secret


def headers_of(notice_id: str, at_s: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """The headers of one attempt; without a secret there is no signature among them.

    Args:
        notice_id: The same over retries; it holds no full stop.
        at_s: Time of the attempt, seconds since the epoch.
        body: As it is sent.
        secrets: All of them sign.
    """
    signed = f"{notice_id}.{at_s}.".encode() + body
    signatures = [
        "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode() for secret in secrets
    ]
    headers = {"webhook-id": notice_id, "webhook-timestamp": str(at_s)}
    return {**headers, "webhook-signature": " ".join(signatures)} if signatures else headers
