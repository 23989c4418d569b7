"""Delivery of a notice: one POST, bounded in time and bytes, of whose answer only the status is believed.

    2xx            delivered, whatever its body says
    410            gone: nothing more is sent
    408, 429, 5xx  failed: sent again, at the earliest when Retry-After says
    3xx, other 4xx refused: redirects are never followed, the address in the configuration is the one that is meant
    no answer, or none in time, or one that is no HTTP: failed

The proxies of the environment are not used. The body of a failure is read up to a few hundred bytes, undecoded, and
only shown escaped and cut: it belongs to whoever answers.

Units: seconds, bytes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

import anyio
import httpx2

from syncer.connecting.causes import why_not
from syncer.notices.endpoint import WebhookEndpoint
from syncer.notices.lookups import HostLookups
from syncer.notices.pace import AttemptOutcome
from syncer.notices.signing import headers_of
from syncer.terminal import visible
from syncer.version import version

MAX_ANSWER_BYTES: Final = 512
"""Of the body of a failure that are read at all."""
SHOWN_CHARS: Final = 120
CONNECT_SHARE: Final = 0.45
"""Of the time for a call, for the connection, and again for TLS: a handshake that is cancelled from outside would leave
its socket open, one that is too slow for the client itself does not."""
_PORTS: Final = {"http": 80, "https": 443}
_AGAIN: Final = frozenset({408, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """What an attempt came to.

    Args:
        outcome: Whether, and how, it is tried again.
        detail: In words, fit to be shown; empty when it was delivered.
        status: HTTP status; ``None``: there was no answer.
        retry_after_s: What the server asks for, not yet bounded; ``None``: nothing.
        took_s: How long the call took.
    """

    outcome: AttemptOutcome
    detail: str = ""
    status: int | None = None
    retry_after_s: float | None = None
    took_s: float = 0.0


async def post(
    endpoint: WebhookEndpoint, notice_id: str, body: bytes, at_s: int, lookups: HostLookups
) -> AttemptResult:
    """Send a notice once. It raises nothing of the network's; cancelled, it lets go at once.

    Args:
        endpoint: The webhook.
        notice_id: The same over retries.
        body: What is sent.
        at_s: Time of this attempt, seconds since the epoch.
        lookups: Finds the host, or that of the proxy.
    """
    began = time.monotonic()
    headers = {
        "Content-Type": endpoint.content_type,
        "Accept-Encoding": "identity",
        "User-Agent": f"pulsar-syncer/{version()}",
        **headers_of(notice_id, at_s, body, endpoint.secrets),
    }
    found = AttemptResult(outcome=AttemptOutcome.FAILED, detail=f"no answer within {endpoint.timeout_s:g} s")
    try:
        with anyio.move_on_after(endpoint.timeout_s):
            there = httpx2.URL(endpoint.proxy or endpoint.url)
            await lookups.find(there.host, there.port or _PORTS[there.scheme])
            found = await _call(endpoint, headers, body)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as exc:
        why = why_not(exc) or f"no answer that can be understood ({type(exc).__name__})"
        found = AttemptResult(outcome=AttemptOutcome.FAILED, detail=why)
    return AttemptResult(
        outcome=found.outcome,
        detail=found.detail,
        status=found.status,
        retry_after_s=found.retry_after_s,
        took_s=time.monotonic() - began,
    )


async def _call(endpoint: WebhookEndpoint, headers: Mapping[str, str], body: bytes) -> AttemptResult:
    async with (
        httpx2.AsyncClient(
            timeout=httpx2.Timeout(endpoint.timeout_s, connect=endpoint.timeout_s * CONNECT_SHARE),
            verify=endpoint.trust,
            follow_redirects=False,
            trust_env=False,
            proxy=endpoint.proxy or None,
        ) as client,
        client.stream("POST", endpoint.url, content=body, headers=dict(headers)) as answer,
    ):
        outcome = outcome_of(answer.status_code)
        said = "" if outcome is AttemptOutcome.DELIVERED else await _begin(answer)
        return AttemptResult(
            outcome=outcome,
            detail=_words(answer.status_code, said) if outcome is not AttemptOutcome.DELIVERED else "",
            status=answer.status_code,
            retry_after_s=retry_after_s(answer.headers.get("Retry-After", ""), time.time()),
        )


async def _begin(answer: httpx2.Response) -> str:
    """The beginning of a body, undecoded; empty where it does not come soon: the status is what counts."""
    found = b""
    with anyio.move_on_after(1.0):
        try:
            async for part in answer.aiter_raw(MAX_ANSWER_BYTES):
                found += part
                if len(found) >= MAX_ANSWER_BYTES:
                    break
        except httpx2.HTTPError:
            return ""
    return visible(found[:MAX_ANSWER_BYTES].decode("utf-8", "backslashreplace").strip())[:SHOWN_CHARS]


def outcome_of(status: int) -> AttemptOutcome:
    """What a status means for a notice."""
    if 200 <= status < 300:
        return AttemptOutcome.DELIVERED
    if status == 410:
        return AttemptOutcome.GONE
    return AttemptOutcome.FAILED if status in _AGAIN or status >= 500 else AttemptOutcome.REFUSED


def _words(status: int, said: str) -> str:
    told = f"it answered {status}"
    if 300 <= status < 400:
        return f"{told}: redirects are not followed"
    return f"{told}: {said}" if said else told


def retry_after_s(value: str, now_s: float) -> float | None:
    """The seconds that a header ``Retry-After`` asks for, by number or by date; ``None`` where it is neither."""
    if value.isascii() and value.isdigit() and len(value) < 10:
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now_s) if value else None
    except (ValueError, TypeError, OverflowError):
        return None
