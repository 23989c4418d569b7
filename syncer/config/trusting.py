"""Checks of TLS that the configuration gives up: warned of, since nobody sees that a check was not made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel

from syncer.config.model import Config

LAX: Final = "tls-not-verified"
_CHECKS: Final = {"verify": "certificates are not verified", "verify_hostname": "names of hosts are not verified"}
_VERIFYING: Final = frozenset({"verify-ca", "verify-full"})
_HERE: Final = frozenset({"", "localhost", "127.0.0.1", "::1"})


def lax(config: Config) -> list[str]:
    """Every field that gives up a check, and what is not checked; in the order of the file."""
    found = [
        f"{field}: {what}"
        for name, model in (("store", config.store_settings), ("bus", config.bus_settings))
        for field, what in _given_up(model, name)
    ]
    url = urlsplit(config.state.url.get_secret_value()) if config.state.url is not None else None
    if url is not None and not _HERE & {url.hostname or ""}:
        modes = parse_qs(url.query).get("sslmode", ["prefer"])
        if modes[-1] not in _VERIFYING:
            found.append(f"state.url: the database's certificate is not verified (sslmode is {modes[-1]!r})")
    return found


def _given_up(model: BaseModel, at: str) -> Iterator[tuple[str, str]]:
    for name in type(model).model_fields:
        value, field = getattr(model, name), f"{at}.{name}"
        if name in _CHECKS and value is False:
            yield field, _CHECKS[name]
        elif isinstance(value, BaseModel):
            yield from _given_up(value, field)
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                if isinstance(inner, BaseModel):
                    yield from _given_up(inner, f"{field}.{key}")
