"""Asking whether somebody takes connections at the addresses that clients will be sent to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import anyio

from syncer.connecting.causes import why_not
from syncer.migration.evidence import ClusterUrls
from syncer.migration.reading.at_once import all_of

CONNECT_S: Final = 5.0
_PORTS: Final = {"http": 80, "https": 443, "pulsar": 6650, "pulsar+ssl": 6651}
"""Ports that a client takes where an address names none. Source: ``ServiceURI``, Pulsar 4.0.8."""


async def dead_addresses(urls: ClusterUrls, *, within_s: float = CONNECT_S) -> Mapping[str, str]:
    """Addresses at which nobody takes a connection, each host for itself → why.

    Whether the way is open from where the clients are, and whether they accept a certificate, this cannot tell.
    """
    hosts = [
        f"{url.partition('://')[0]}://{host}"
        for url in urls.named.values()
        if url
        for host in url.partition("://")[2].split(",")
    ]
    causes = await all_of(partial(_cause, within_s=within_s), hosts)
    return {host: cause for host, cause in zip(hosts, causes, strict=True) if cause}


async def _cause(url: str, *, within_s: float) -> str:
    """Why nobody answers; empty: somebody does."""
    parts = urlsplit(url)
    try:
        with anyio.fail_after(within_s):
            stream = await anyio.connect_tcp(parts.hostname or "", parts.port or _PORTS[parts.scheme])
            await stream.aclose()
    except (OSError, UnicodeError) as exc:  # a deadline that has passed is an OSError too
        return why_not(exc) or str(exc)
    return ""
