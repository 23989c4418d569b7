"""A client of Pulsar's admin REST API by HTTP.

Reads are repeated with back-off when the broker cannot be reached or is not ready; writes never are, the caller knows
whether a repeat is safe. Every error is an ``AdminError`` with the status and the broker's own words.

A broker that does not own a topic sends the call on to the one that does; it is followed with method, body and
credentials, only to brokers of the cluster (:mod:`syncer.admin.redirects`).
"""

from __future__ import annotations

import copy
import json
import math
import time
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Self

import httpx2
import stamina
from pydantic import BaseModel, ConfigDict, Field

from syncer.admin.addresses import BrokerUrl
from syncer.admin.auth import Auth, OAuth2Auth, TokenAuth, Trust, system_authorities
from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.admin.oauth2 import OAuth2Tokens
from syncer.admin.redirects import FOLLOWED, MOST, Origin, broker_url, listed, target_of
from syncer.connecting.causes import why_not
from syncer.errors import AdminRedirectRefused, AdminUnreachable

NOT_READY: Final = frozenset({502, 503, 504})
_REASON_CHARS: Final = 500
_LIST_COUNTS_S: Final = 60.0
"""How long a broker that the cluster has listed is taken for one: its address may be somebody else's later."""


class AdminSettings(BaseModel):
    """Where a cluster's admin REST API is, and how to speak to it.

    ``brokers`` are addresses that calls may be sent on to, beside those that the cluster lists.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(pattern=r"^https?://")
    brokers: tuple[BrokerUrl, ...] = ()
    auth: Auth | None = None
    trust: Trust = Trust()
    timeout: timedelta = Field(default=timedelta(seconds=10), gt=timedelta(0))
    retry_for: timedelta = Field(default=timedelta(seconds=20), ge=timedelta(0))


class AdminClient(AdminCalls):
    """One cluster's admin REST API, by HTTP. Used as an async context manager, or closed by ``close``."""

    def __init__(self, config: AdminSettings) -> None:
        self._config = config
        self._url = config.url.rstrip("/")
        secure = config.url.startswith("https://")
        self._http = httpx2.AsyncClient(
            timeout=config.timeout.total_seconds(),
            verify=config.trust.context(config.auth) if secure else system_authorities(),
            follow_redirects=False,  # it would follow to anywhere, and leave the credentials behind
            trust_env=False,
        )
        auth = config.auth
        self._tokens = (
            OAuth2Tokens(auth, timeout_s=config.timeout.total_seconds()) if isinstance(auth, OAuth2Auth) else None
        )
        self._named = {origin for url in (config.url, *config.brokers) if (origin := Origin.of(url)) is not None}
        self._listed: dict[Origin, float] = {}

    @property
    def url(self) -> str:
        """Address that is asked."""
        return self._url

    def at(self, broker: str) -> Self:
        """The same API asked of one broker; what is sent on is still judged by the configured address."""
        there = copy.copy(self)
        there._url = broker_url(broker, self._config.url)
        return there

    async def __aenter__(self) -> Self:
        """Nothing is connected before the first call."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        await self.close()

    async def close(self) -> None:
        """Close all connections; a call that is under way ends with ``AdminUnreachable`` at once."""
        await self._http.aclose()
        if self._tokens is not None:
            await self._tokens.close()

    async def get(self, path: str) -> Any:  # noqa: ANN401 - JSON of the broker
        """Read; repeated with back-off while the broker cannot be reached or is not ready.

        Raises:
            AdminRefused: The broker answered with an error.
            AdminUnreachable: It did not answer, or the client was closed.
        """
        budget_s = self._config.retry_for.total_seconds()
        attempts = 6 if budget_s else 1
        async for attempt in stamina.retry_context(
            on=may_pass, attempts=attempts, timeout=budget_s or None, wait_max=3.0
        ):
            with attempt:
                return await self._request("GET", path, None)
        raise AssertionError("unreachable: the last attempt raises")  # pragma: no cover

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write, once.

        Raises:
            AdminRefused: The broker answered with an error.
            AdminUnreachable: It did not answer; the outcome is unknown.
        """
        await self._request(method, path, body)

    async def _request(self, method: str, path: str, body: object) -> Any:  # noqa: ANN401 - JSON of the broker
        """Make one call, wherever it is sent on to; what the broker that answers says."""
        url = f"{self.url}{path}"
        answer = await self._call(method, url, body)
        for _ in range(MOST):
            if answer.status_code not in FOLLOWED:
                break
            url = await self._next(url, answer.headers.get("Location", ""))
            answer = await self._call(method, url, body)
        else:
            if answer.status_code in FOLLOWED:
                raise AdminUnreachable(
                    f"{method} {self.url}{path}: sent on more than {MOST} times: its brokers do not agree on the owner"
                )
        if answer.is_success:
            return _json(answer) if answer.content else None
        reason = _reason(answer)
        raise AdminRefused(
            f"{method} {url} answered {answer.status_code}: {reason}",
            status=answer.status_code,
            reason=reason,
            hint=_hint(answer.status_code),
        )

    async def _call(self, method: str, url: str, body: object) -> httpx2.Response:
        headers = {"Accept": "application/json, text/plain;q=0.5"}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body)
        try:
            if isinstance(self._config.auth, TokenAuth):
                headers["Authorization"] = f"Bearer {self._config.auth.read()}"
            elif self._tokens is not None:
                headers["Authorization"] = f"Bearer {await self._tokens.current()}"
            return await self._http.request(method, url, content=content, headers=headers)
        except (httpx2.HTTPError, RuntimeError) as exc:
            if self._http.is_closed:  # by this side, before the call or under it
                raise _Closed(f"{method} {url}: the client was closed before an answer came") from exc
            if isinstance(exc, RuntimeError):
                raise
            why = why_not(exc) or f"no answer: {str(exc) or type(exc).__name__}"
            raise AdminUnreachable(f"{method} {url}: {why}") from exc

    async def _next(self, url: str, location: str) -> str:
        """The address that a call is sent on to, if it may be followed.

        Raises:
            AdminRedirectRefused: It may not.
            AdminUnreachable: The cluster's list of brokers could not be read.
        """
        target = target_of(url, location)
        there, configured = Origin.of(target), Origin.of(self._config.url)
        if there is None or configured is None or there in self._named:
            return target
        if time.monotonic() - self._listed.get(there, -math.inf) < _LIST_COUNTS_S:
            return target
        answer = await self._call("GET", f"{configured}/admin/v2/brokers", None)
        if answer.status_code in NOT_READY:
            raise AdminUnreachable(f"{configured} cannot list the brokers yet: {answer.status_code}")
        if not answer.is_success:
            raise AdminRedirectRefused(
                f"{Origin.of(url)} redirects to {there}, and this role may not list the cluster's brokers "
                f"({answer.status_code})"
            )
        found = _json(answer)
        brokers = [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
        if not listed(there, brokers, configured):
            raise _Unlisted(f"{Origin.of(url)} redirects to {there}, which is none of the cluster's brokers")
        self._listed[there] = time.monotonic()
        return target


class _Closed(AdminUnreachable):
    """Whoever made the client has closed it: nothing is asked again."""

    code = AdminUnreachable.code


class _Unlisted(AdminRedirectRefused):
    """The list of brokers may be behind: a broker that is new to one is a moment later known to the other."""

    code = AdminRedirectRefused.code


def may_pass(error: Exception) -> bool:
    """Whether the same call may be answered later: nobody answered, or the broker is not ready, or too new."""
    if isinstance(error, AdminRefused):
        return error.status in NOT_READY
    return isinstance(error, AdminUnreachable | _Unlisted) and not isinstance(error, _Closed)


def _json(answer: httpx2.Response) -> Any:  # noqa: ANN401 - JSON of the broker
    try:
        return answer.json()
    except ValueError:
        return answer.text


def _reason(answer: httpx2.Response) -> str:
    """Take the broker's own words: JSON with a reason, or a page."""
    try:
        said = answer.json()
    except ValueError:
        said = answer.text
    text = said.get("reason", said) if isinstance(said, dict) else said
    return str(text).strip()[:_REASON_CHARS] or answer.reason_phrase


def _hint(status: int) -> str | None:
    if status == 401:
        return (
            "The broker does not accept the credentials: check the token or certificate and its expiry. Of its own "
            "settings it says the same to a role that is no superuser."
        )
    if status == 403:
        return (
            "The role may not do this: give it superuser or tenant-admin rights, or have an operator run the command."
        )
    if status in NOT_READY:
        return "The broker is not ready; the same call works when it is up."
    return None
