"""Delivery against a server that hangs, refuses and lies: bounded, and only the status is believed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import ssl
import time
from typing import Any

import anyio
import pytest

from syncer.notices.delivery import (
    MAX_ANSWER_BYTES,
    SHOWN_CHARS,
    AttemptResult,
    post,
    retry_after_s,
)
from syncer.notices.endpoint import WebhookEndpoint
from syncer.notices.lookups import HostLookups
from syncer.notices.pace import AttemptOutcome
from syncer.waiting import WAIT_S, starvation
from tests.support.webhook_server import Behaviour, answering, endless, hanging, receiving, saying

TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
BODY = b'{"a":1}'
SECRETS = (b"n" * 32, b"o" * 24)


def endpoint(url: str, **changes: Any) -> WebhookEndpoint:
    return WebhookEndpoint(**{"url": url, "place": "there", "trust": TRUST, "timeout_s": 2.0, **changes})


async def sent(*behaviours: Behaviour, **changes: Any) -> AttemptResult:
    with receiving(*behaviours) as server:
        result = await post(endpoint(server.url, **changes), "msg_1", BODY, 1_700_000_000, HostLookups())
        assert len(server.posted) == 1, "one attempt is one call"
        return result


async def test_what_is_sent_is_signed_as_the_standard_says_by_each_secret() -> None:
    with receiving() as server:
        result = await post(endpoint(server.url, secrets=SECRETS), "msg_1", BODY, 1_700_000_000, HostLookups())
    (posted,) = server.posted
    assert result.outcome is AttemptOutcome.DELIVERED
    assert posted.line == "POST /hook HTTP/1.1"
    assert posted.body == BODY
    assert posted.headers["content-type"] == "application/json"
    assert (posted.headers["webhook-id"], posted.headers["webhook-timestamp"]) == ("msg_1", "1700000000")
    signatures = posted.headers["webhook-signature"].split(" ")
    assert len(signatures) == 2
    for secret, signature in zip(SECRETS, signatures, strict=True):
        mac = hmac.new(secret, digestmod=hashlib.sha256)
        for part in (posted.headers["webhook-id"], ".", posted.headers["webhook-timestamp"], "."):
            mac.update(part.encode())
        mac.update(posted.body)
        version, _, encoded = signature.partition(",")
        assert version == "v1"
        assert hmac.compare_digest(base64.b64decode(encoded), mac.digest())


@pytest.mark.parametrize(
    ("behaviour", "outcome", "status"),
    [
        (answering(200, b'{"ok": false, "error": "nothing was delivered"}'), AttemptOutcome.DELIVERED, 200),
        (answering(204), AttemptOutcome.DELIVERED, 204),
        (saying(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nhalf"), AttemptOutcome.DELIVERED, 200),
        (answering(500, b"oh"), AttemptOutcome.FAILED, 500),
        (answering(503), AttemptOutcome.FAILED, 503),
        (answering(429), AttemptOutcome.FAILED, 429),
        (answering(408), AttemptOutcome.FAILED, 408),
        (answering(400), AttemptOutcome.REFUSED, 400),
        (answering(404), AttemptOutcome.REFUSED, 404),
        (answering(410), AttemptOutcome.GONE, 410),
        (saying(b"HTTP/1.1 500 No\r\nContent-Length: 999\r\n\r\nhalf"), AttemptOutcome.FAILED, 500),
        (saying(b"\x00\xff nonsense\r\n\r\n"), AttemptOutcome.FAILED, None),
        (saying(b"HTTP/1.1 2000 OK\r\n\r\n"), AttemptOutcome.FAILED, None),
        (saying(b"HTTP/1.1 200"), AttemptOutcome.FAILED, None),
        (saying(b""), AttemptOutcome.FAILED, None),
        (saying(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 2_000_000), AttemptOutcome.FAILED, None),
    ],
    ids=range(16),
)
async def test_only_the_status_is_believed(behaviour: Behaviour, outcome: AttemptOutcome, status: int | None) -> None:
    result = await sent(behaviour)
    assert (result.outcome, result.status) == (outcome, status)
    assert bool(result.detail) == (outcome is not AttemptOutcome.DELIVERED)


@pytest.mark.parametrize(
    "behaviour",
    [hanging(), hanging(b"HTTP/1.1 200 OK\r\nContent-Le"), endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.01)],
    ids=["at-once", "amid-headers", "in-headers-without-end"],
)
async def test_a_server_that_hangs_costs_no_more_than_the_time_for_the_whole_call(behaviour: Behaviour) -> None:
    began = time.monotonic()
    result = await sent(behaviour, timeout_s=0.5)
    assert result.outcome is AttemptOutcome.FAILED
    assert time.monotonic() - began < 5 * starvation.patience()


@pytest.mark.parametrize("status", [b"500 No", b"200 OK"])
async def test_a_body_without_an_end_is_not_read(status: bytes) -> None:
    head = b"HTTP/1.1 " + status + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    part = b"8000\r\n" + b"z" * 0x8000 + b"\r\n"
    began = time.monotonic()
    result = await sent(endless(head, part), timeout_s=WAIT_S)
    assert result.status == int(status[:3])
    assert len(result.detail) < SHOWN_CHARS + 50 < MAX_ANSWER_BYTES
    assert time.monotonic() - began < 5 * starvation.patience()


async def test_a_body_that_is_a_bomb_is_not_unpacked_and_one_that_acts_is_escaped() -> None:
    result = await sent(answering(500, b"\x1b[2J\xffgone\n\nand", "Content-Encoding: gzip"))
    assert "\x1b" not in result.detail
    assert "\n" not in result.detail
    assert "gone" in result.detail


async def test_redirects_are_not_followed() -> None:
    with receiving() as elsewhere:
        result = await sent(answering(307, b"", f"Location: {elsewhere.url}"))
    assert elsewhere.posted == []
    assert result.outcome is AttemptOutcome.REFUSED
    assert "redirects are not followed" in result.detail


async def test_a_server_that_is_not_there_is_told_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    result = await post(endpoint(f"http://127.0.0.1:{port}/"), "msg_1", BODY, 1, HostLookups())
    assert (result.outcome, result.detail) == (AttemptOutcome.FAILED, "connection refused")


async def test_a_handshake_that_hangs_ends_in_time_and_leaves_no_connection() -> None:
    with receiving() as server:
        there = endpoint(server.url.replace("http:", "https:"), timeout_s=3.0)
        result = await post(there, "msg_1", BODY, 1, HostLookups())
        assert server.posted == []
    assert (result.outcome, result.status) == (AttemptOutcome.FAILED, None)
    assert result.detail != "no answer within 3 s", "by the client's own bound, which closes the connection"
    await anyio.sleep(0.01)  # the loop lets go of it


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert (await sent(answering(200))).outcome is AttemptOutcome.DELIVERED


async def test_a_configured_proxy_is_gone_through() -> None:
    with receiving() as proxy:
        result = await post(
            endpoint("http://nowhere.invalid/hook", proxy=proxy.url[:-5]), "msg_1", BODY, 1, HostLookups()
        )
    assert result.outcome is AttemptOutcome.DELIVERED
    assert proxy.posted[0].line == "POST http://nowhere.invalid/hook HTTP/1.1"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("", None),
        ("-3", None),
        ("9" * 400, None),
        ("soon", None),
        ("Tue, 14 Nov 2023 22:13:30 GMT", 10.0),
        ("Tue, 14 Nov 1999 22:13:30 GMT", 0.0),
        ("\u0663", None),
    ],
)
async def test_when_a_server_wants_to_be_asked_again(value: str, seconds: float | None) -> None:
    assert retry_after_s(value, 1_700_000_000) == seconds


async def test_an_endpoint_shows_no_secret() -> None:
    shown = repr(endpoint("https://hooks.example/secretpath", secrets=(b"hunter2hunter2",)))
    assert "secretpath" not in shown
    assert "hunter" not in shown
    assert json.loads(BODY) == {"a": 1}
