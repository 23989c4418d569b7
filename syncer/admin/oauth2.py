"""Access tokens by the client credentials flow of OAuth 2, kept until shortly before they expire."""

from __future__ import annotations

import json
import time
from typing import Final

import httpx2

from syncer.admin.auth import OAuth2Auth
from syncer.errors import AdminError, ConfigError
from syncer.local_files import secret_text

_RENEW_BEFORE_S: Final = 30.0
_DEFAULT_LIFE_S: Final = 300.0


class OAuth2Tokens:
    """Fetches a token from the issuer, and a new one when the old one is about to expire.

    The issuer is verified by the system's authorities: those of the cluster do not speak for it.
    """

    def __init__(self, auth: OAuth2Auth, *, timeout_s: float) -> None:
        self._auth = auth
        self._http = httpx2.AsyncClient(timeout=timeout_s, follow_redirects=True, trust_env=False)
        self._token = ""
        self._good_until = 0.0

    async def close(self) -> None:
        """Close the connections to the issuer."""
        await self._http.aclose()

    async def current(self) -> str:
        """Answer a token that is good for now.

        Raises:
            ConfigError: The credentials file cannot be read.
            AdminError: The issuer refuses, or its answer has no token.
            httpx2.HTTPError: The issuer cannot be reached.
        """
        if time.monotonic() < self._good_until:
            return self._token
        form = {"grant_type": "client_credentials", **self._credentials()}
        if self._auth.audience:
            form["audience"] = self._auth.audience
        if self._auth.scope:
            form["scope"] = self._auth.scope
        issuer = self._auth.issuer_url.rstrip("/")
        found = await self._http.get(f"{issuer}/.well-known/openid-configuration")
        try:
            endpoint = str(found.raise_for_status().json()["token_endpoint"])
            answer = (await self._http.post(endpoint, data=form)).raise_for_status().json()
            self._token = str(answer["access_token"])
            life_s = float(answer.get("expires_in", _DEFAULT_LIFE_S))
        except httpx2.HTTPStatusError as exc:
            raise AdminError(
                f"the issuer {issuer} answered {exc.response.status_code}",
                hint="Check issuer_url, audience, scope and the client's credentials.",
            ) from exc
        except (ValueError, KeyError, TypeError) as exc:
            raise AdminError(f"the issuer {issuer} answered without a token: {exc!r}") from exc
        self._good_until = time.monotonic() + max(0.0, life_s - _RENEW_BEFORE_S)
        return self._token

    def _credentials(self) -> dict[str, str]:
        try:
            document = json.loads(secret_text(self._auth.credentials_file))
            return {name: str(document[name]) for name in ("client_id", "client_secret")}
        except OSError as exc:
            raise ConfigError(
                f"the OAuth 2 credentials file {self._auth.credentials_file} cannot be read: {exc.strerror}"
            ) from exc
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ConfigError(
                f"the OAuth 2 credentials file {self._auth.credentials_file} is no JSON object with client_id and "
                "client_secret"
            ) from None
