"""Redirects between brokers that are followed: a call about a topic is answered by the broker that owns it.

The client that follows sends its credentials along, so an address counts only by what others say of it than the one
who redirects: the cluster's list of its brokers, as the configured address tells it, or, where the role may not read
that list, the configuration. Nothing that began under TLS goes on without it.

Source: ``PulsarWebResource.validateTopicOwnership`` of Pulsar 4.0.8 (307, ``authoritative``), ``BrokersBase``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import httpx2

from syncer.errors import AdminRedirectRefused

FOLLOWED: Final = frozenset({307, 308})
"""These keep method and body; brokers send the first."""
MOST: Final = 5
"""How often one call is sent on; between two brokers that both know the owner it is once or twice."""

_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of an address."""

    scheme: str
    host: str
    port: int

    @staticmethod
    def of(url: str) -> Origin | None:
        """The origin of an address, read as the client reads it; ``None``: it is none of HTTP, or names a user."""
        try:
            parts = httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError):
            return None
        if parts.scheme not in _PORTS or not parts.host or parts.userinfo:
            return None
        return Origin(parts.scheme, parts.host, parts.port or _PORTS[parts.scheme])

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def target_of(url: str, location: str) -> str:
    """The absolute address that a redirect of ``url`` names.

    Raises:
        AdminRedirectRefused: It names none, or goes on without TLS.
    """
    try:
        target = str(httpx2.URL(url).join(location)) if location else ""
    except (httpx2.InvalidURL, ValueError):
        target = ""
    here, there = Origin.of(url), Origin.of(target)
    if here is None or there is None:
        raise AdminRedirectRefused(f"{url} redirects to no address that can be asked: {location[:200]!r}")
    if here.scheme == "https" and there.scheme != "https":
        raise AdminRedirectRefused(
            f"{here} redirects to {there}: without TLS",
            hint="Give every broker a TLS address ('webServicePortTls'), or speak to all of them without TLS.",
        )
    return target


def listed(there: Origin, brokers: Collection[str], configured: Origin) -> bool:
    """Whether a cluster's list of its brokers holds an address.

    The list names each broker by host and one port, the plain one where there are two. So a TLS address is also taken
    at the port of the configured one: brokers of a cluster are set up alike.

    Args:
        there: The address.
        brokers: ``host:port`` of each broker, as ``GET /admin/v2/brokers`` answers.
        configured: The address that the client was given.
    """
    for broker in brokers:
        known = Origin.of(f"{there.scheme}://{broker}")
        if known is None or known.host != there.host:
            continue
        if there.port == known.port or (there.scheme == configured.scheme == "https" and there.port == configured.port):
            return True
    return False


def broker_url(broker: str, configured: str) -> str:
    """Base address of a broker that a cluster lists, with the scheme of the configured one.

    Args:
        broker: ``host:port``, the plain port, as everywhere in the list.
        configured: Address that the client was given; with TLS its port is taken for that of every broker: they are set
            up alike.
    """
    origin, known = Origin.of(configured), Origin.of(f"https://{broker}")
    if origin is None or origin.scheme != "https" or known is None:
        return f"http://{broker}"
    return str(Origin("https", known.host, origin.port))
