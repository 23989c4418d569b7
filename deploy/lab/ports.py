"""Free ports of the loopback interface, below the range that the kernel gives to outgoing connections.

A port from that range may be taken by any client while its server is restarted; one from below stays free.
"""

from __future__ import annotations

import random
import socket
from typing import Final

HOST: Final = "127.0.0.1"
_FIRST: Final = 12_000
_LAST: Final = 31_999


def free_ports(count: int) -> tuple[int, ...]:
    """Choose ports that nobody listens on now; all of one call differ."""
    source = random.SystemRandom()
    found: set[int] = set()
    while len(found) < count:
        port = source.randint(_FIRST, _LAST)
        if port not in found and _is_free(port):
            found.add(port)
    return tuple(found)


def listening(port: int) -> bool:
    """Whether something accepts connections on the port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
