"""A webhook as it is called, without what calls it: its address, what signs for it, and its bounds."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEndpoint:
    """A webhook as it is called.

    Args:
        url: Where to; it may be a secret itself.
        place: What may be shown of it: scheme, host and port.
        secrets: All of them sign; none: nothing is signed.
        content_type: Of the body.
        timeout_s: For the whole call.
        trust: Certificates that are believed; of an address without TLS nothing is asked.
        proxy: Through which the call goes; empty: none.
    """

    url: str = field(repr=False)
    place: str
    trust: ssl.SSLContext
    secrets: tuple[bytes, ...] = field(default=(), repr=False)
    content_type: str = "application/json"
    timeout_s: float = 20.0
    proxy: str = field(default="", repr=False)
