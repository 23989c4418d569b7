"""Exposure of the HTTP server: what it shows to whom, decided at the start from what is configured, before it listens.

    listens on            TLS   rights   shows
    loopback              any   no       probes and status to everybody, nothing else
    loopback              any   yes      probes to everybody, the rest to who may
    elsewhere             no    no       probes alone (an installation of before), unless told otherwise by name
    elsewhere             yes   yes      /livez to everybody, the rest to who may
    elsewhere             one of them    nothing: the daemon does not start, unless told otherwise by name

Told by name means ``api.without``: what is listed there may be wanting.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncer.errors import ConfigError

PROBES_ONLY: Final = "api-probes-only"
UNPROTECTED: Final = "api-unprotected"


class Protection(StrEnum):
    """What protects an HTTP server."""

    TLS = "tls"
    RIGHTS = "rights"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What is shown to whom.

    Args:
        probes_only: The listener has the probes, and nothing else.
        probes_open: Everybody may ask the probes; else ``/livez`` alone.
        status_open: Everybody may read the status.
        warning: Code and message of the condition that says so; ``None``: nothing is to be said.
    """

    probes_only: bool = False
    probes_open: bool = False
    status_open: bool = False
    warning: tuple[str, str] | None = None


def loopback(host: str) -> bool:
    """Whether nobody but this machine reaches an address; a name other than ``localhost`` may lead anywhere."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def decide(*, host: str, tls: bool, rights: bool, without: frozenset[Protection]) -> Exposure:
    """Decide what a listener shows.

    Args:
        host: Where it listens.
        tls: It has a certificate.
        rights: It has a file of tokens and certificate subjects.
        without: What the operator says may be wanting.

    Raises:
        ConfigError: It has one of the two only, and would give the other one up without having been told so.
    """
    if loopback(host):
        return Exposure(probes_open=True, status_open=not rights)
    has = {kind for kind, there in ((Protection.TLS, tls), (Protection.RIGHTS, rights)) if there}
    wanting = set(Protection) - has
    if not has and not wanting <= without:
        return Exposure(probes_only=True, probes_open=True, warning=_probes_alone(host))
    if unsaid := sorted(wanting - without):
        field = {Protection.TLS: "'api.tls'", Protection.RIGHTS: "'api.tokens'"}[unsaid[0]]
        raise ConfigError(
            f"api.listen: {host} is reached from elsewhere, and has no {field}",
            hint=f"Give {field}, listen on 127.0.0.1, or say by name that it shall do without: "
            f'api.without = ["{unsaid[0]}"].',
        )
    open_to_all = Protection.RIGHTS in wanting
    warning = _unprotected(host, sorted(wanting)) if wanting else None
    return Exposure(probes_open=open_to_all, status_open=open_to_all, warning=warning)


def _probes_alone(host: str) -> tuple[str, str]:
    return PROBES_ONLY, (
        f"'api.listen' ({host}) is reached from elsewhere and has neither TLS nor rights, so only /livez, /readyz and "
        "/metrics are there: give it 'api.tls' and 'api.tokens', or make this address 'api.probes' and listen on "
        "127.0.0.1"
    )


def _unprotected(host: str, wanting: Sequence[Protection]) -> tuple[str, str]:
    lost = {
        Protection.TLS: "tokens and answers are read by whoever sits on the way",
        Protection.RIGHTS: "everybody who reaches it may read the status",
    }
    words = "; ".join(lost[kind] for kind in wanting)
    return UNPROTECTED, f"'api.listen' ({host}) does without {' and '.join(wanting)}: {words}"
