"""Hosts as a configuration names them: what is wrong with one, in words, and lists of them."""

from __future__ import annotations

import ipaddress
from typing import Final

MAX_PORT: Final = 65_535
_EXAMPLE: Final = "'[fd00::1]:2181'"
_FORBIDDEN: Final = frozenset("/?#\\\"'<>|")
_MAX_HOST: Final = 253


def host_fault(text: str, *, needs_port: bool = False) -> str:
    """Say what keeps a text from being one host, with a port or without.

    Args:
        text: As ``host``, ``host:port``, or the same with an IPv6 address in brackets.
        needs_port: Whether the port may not be left out.

    Returns:
        A clause about the text, which it repeats unless credentials are in it; empty where nothing is wrong.
    """
    if not text.strip():
        return "a host is empty"
    if "@" in text:
        return "credentials stand before a host; files hold them, never an address"
    shown = repr(text)
    if any(sign.isspace() or not sign.isprintable() for sign in text):
        return f"{shown} has a blank in it; a comma stands between two hosts"
    if "," in text or ";" in text:
        return f"{shown} names several hosts"
    if _FORBIDDEN & set(text):
        return f"{shown} is more than a host and a port"
    if _is_ipv6(text):
        return f"{shown} is an IPv6 address without brackets: write it as in {_EXAMPLE}"
    host, port = _divided(text)
    if host is None:
        return f"{shown} is no IPv6 address in brackets: write it as in {_EXAMPLE}"
    if ":" in host and not _is_ipv6(host):
        return f"{shown} has more than one port; an IPv6 address stands in brackets, as in {_EXAMPLE}"
    if not host or len(host) > _MAX_HOST or ("%" in host and ":" not in host):
        return f"{shown} names no host"
    if port is None:
        return f"{shown} has no port: write it as 'HOST:PORT'" if needs_port else ""
    if not (port.isascii() and port.isdigit()) or not 0 < int(port[:6]) <= MAX_PORT:
        return f"{port!r} in {shown} is no port: a number from 1 to {MAX_PORT}"
    return ""


def separated(text: str) -> list[str]:
    """Divide a list of hosts at its commas; blanks beside a comma do not count."""
    return [host.strip() for host in text.split(",")]


def _divided(text: str) -> tuple[str | None, str | None]:
    """Host without brackets, and port; a host of ``None`` where brackets stand wrongly."""
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or not _is_ipv6(host) or (rest and not rest.startswith(":")):
            return None, None
        return host, rest[1:] if rest else None
    if "[" in text or "]" in text:
        return None, None
    host, colon, port = text.rpartition(":")
    return (host, port) if colon else (port, None)


def _is_ipv6(text: str) -> bool:
    """Whether it is an IPv6 address without brackets."""
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
