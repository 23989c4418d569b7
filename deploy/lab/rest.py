"""The few calls of Pulsar's admin REST API that set a lab up, apart from the product's own client, which it tests."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any, Final

from deploy.lab.process import ServerFailed
from syncer.waiting import wait_until

TIMEOUT_S: Final = 120.0
NO_ANSWER: Final = (OSError, http.client.HTTPException, json.JSONDecodeError)
"""Errors of a call that got no answer, or one that is cut off: a server may be killed in the middle of it."""
_NOT_FOUND: Final = 404
_TROUBLE: Final = 500
"""From here on the trouble is the server's."""
_CONFLICT: Final = 409
_ELSEWHERE: Final = 307
_MOST_REDIRECTS: Final = 5


class CallRefused(ServerFailed):
    """A server answered with an error.

    Args:
        status: Of HTTP.
        text: The call and the answer.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def answers(url: str, token: str = "") -> bool:
    """Whether a GET succeeds, with this token where one is given."""
    request = urllib.request.Request(url)  # noqa: S310 - our own http URL
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - our own http URL
            return bool(answer.status < 300)
    except NO_ANSWER:
        return False


def send(method: str, url: str, body: object = None, *, exists_is_fine: bool = False) -> bool:
    """Make one call, at the broker that it belongs to; false when the thing existed already and that is fine.

    Raises:
        ServerFailed: The server answered with an error; the message has its text.
    """
    for _ in range(_MOST_REDIRECTS):
        elsewhere = _send(method, url, body, exists_is_fine=exists_is_fine)
        if isinstance(elsewhere, bool):
            return elsewhere
        url = elsewhere
    raise ServerFailed(f"{method} {url}: the brokers send it on and on")


def _send(method: str, url: str, body: object, *, exists_is_fine: bool) -> bool | str:
    """Make one call; the URL at which to make it instead, where the server names one."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method)  # noqa: S310 - our own http URL
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):  # noqa: S310 - our own http URL
            return True
    except urllib.error.HTTPError as exc:
        with exc:
            if exc.code == _ELSEWHERE and exc.headers["Location"]:
                return str(exc.headers["Location"])
            if exc.code == _CONFLICT and exists_is_fine:
                return False
            raise CallRefused(exc.code, f"{method} {url}: {exc.code} {_said(exc)}") from exc
    except NO_ANSWER as exc:
        raise ServerFailed(f"{method} {url}: {exc}") from exc


def send_until_done(method: str, url: str) -> None:
    """Make one call, and again while the broker has a trouble of its own: a busy one may not come to it in time.

    Raises:
        CallRefused: It cannot be done.
        WaitFailed: The trouble stayed.
    """
    said = ""

    def done() -> bool:
        nonlocal said
        try:
            return send(method, url) or True
        except CallRefused as exc:
            if exc.status == _NOT_FOUND and method == "DELETE" and said:
                return True  # the call that failed has done it
            if exc.status < _TROUBLE:
                raise
            said = str(exc)
            return False

    wait_until(done, f"{method} {url} is done", shown=lambda: said)


def get(url: str) -> Any:  # noqa: ANN401 - JSON of the broker
    """Read a document; ``None`` when there is none: an error that says so, or an answer without anything in it.

    Raises:
        ServerFailed: The server answered with another error, or not at all.
    """
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:  # noqa: S310 - our own http URL
            said = answer.read()
            return json.loads(said) if said else None
    except urllib.error.HTTPError as exc:
        with exc:
            if exc.code == _NOT_FOUND:
                return None
            raise ServerFailed(f"GET {url}: {exc.code} {_said(exc)}") from exc
    except NO_ANSWER as exc:
        raise ServerFailed(f"GET {url}: {type(exc).__name__}: {exc}") from exc


def _said(error: urllib.error.HTTPError) -> str:
    """Return what stands in an error's answer, as far as it came."""
    try:
        return error.read().decode(errors="replace")[:300]
    except NO_ANSWER as exc:
        return f"({type(exc).__name__})"


def put_or_update(url: str, body: object) -> None:
    """Create something, or bring it to ``body`` when it exists."""
    if not send("PUT", url, body, exists_is_fine=True):
        send("POST", url, body)


def share_namespace(admin_urls: Sequence[str], clusters: Sequence[str], namespace: str) -> None:
    """Have ``tenant/namespace`` in every cluster, replicated between all of them."""
    tenant = namespace.split("/", maxsplit=1)[0]
    for admin_url in admin_urls:
        put_or_update(f"{admin_url}/admin/v2/tenants/{tenant}", {"adminRoles": [], "allowedClusters": list(clusters)})
        place = f"{admin_url}/admin/v2/namespaces/{namespace}"
        if not send("PUT", place, {"replication_clusters": list(clusters)}, exists_is_fine=True):
            send("POST", f"{place}/replication", list(clusters))
