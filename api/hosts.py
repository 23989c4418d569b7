"""Names of the server: a request for another host is refused, so that no web page reaches it by a name of its own.

A page on ``evil.example`` may have its name lead to 127.0.0.1 once it is loaded (DNS rebinding); the browser then takes
the daemon for that page's own server. Its requests still say ``Host: evil.example``, and go no further than here.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.problems import of_error
from syncer.access.exposure import loopback
from syncer.errors import HostUnknown

_HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s\[\]:/@]+))(?::[0-9]{0,5})?")
_WHOLE: Final = re.compile(rb"https?://([^/?#]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedHosts:
    """For which hosts requests are taken.

    Args:
        listens: Where the server listens. On loopback its own addresses and ``localhost`` are taken; elsewhere every
            address, since a page's name is never one, and, where no names are given, every name.
        names: Further names, in lower case and without a final dot.
    """

    listens: str
    names: Collection[str] = ()

    def takes(self, header: str) -> bool:
        """Whether a request with this header ``Host`` is taken."""
        found = _HOST.fullmatch(header)
        if found is None:
            return False
        host = (found[1] or found[2]).lower()
        host = host.removesuffix(".")
        if not host:
            return False
        if host in self.names or host in {"localhost", self.listens.lower()}:
            return True
        if not loopback(self.listens):
            return _is_address(host) or not self.names
        return _is_address(host) and loopback(host)


class HostCheck:
    """Refuses requests for other hosts.

    Args:
        app: What is asked for the others.
        hosts: Those that are taken.
    """

    def __init__(self, app: ASGIApp, hosts: AcceptedHosts) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and not all(map(self._hosts.takes, _asked(scope))):
            refusal = HostUnknown("this request is for a host that the daemon is not")
            await of_error(Request(scope), refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _asked(scope: Scope) -> Iterator[str]:
    """Every host that a request names: by its headers, and by its target where that is a whole URL.

    A request of HTTP/1.0 may name none; no browser sends one.
    """
    if whole := _WHOLE.match(scope.get("raw_path") or b""):
        yield whole[1].decode("latin-1")
    for name, value in scope["headers"]:
        if name == b"host":
            yield value.decode("latin-1")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
