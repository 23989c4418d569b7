"""Addresses of brokers, as a configuration names them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from syncer.connecting.hosts import host_fault


def _one_broker(url: str) -> str:
    """Check that a URL is scheme, host and port: a client would pass over the rest without a word."""
    scheme, separator, host = url.partition("://")
    host = host.removesuffix("/")
    if "@" in url:
        raise ValueError(f"it is no address of a broker: {host_fault(url)}")
    if not separator or scheme not in {"http", "https"}:
        raise ValueError(f"{url!r} is no address of a broker: write it as 'http://HOST:PORT' or 'https://HOST:PORT'")
    if "," in host or ";" in host:
        raise ValueError(f"{url!r} names several brokers: name one of them, or a load balancer before them")
    if fault := host_fault(host):
        raise ValueError(f"it is no address of a broker: {fault}; write it as '{scheme}://HOST:PORT'")
    return url


BrokerUrl = Annotated[
    str, AfterValidator(_one_broker), WithJsonSchema({"type": "string", "pattern": r"^https?://[^/\s@]+/?$"})
]
"""Base URL of a broker's admin REST API."""
