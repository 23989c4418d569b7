"""Free ports of the loopback interface, below the range that the kernel gives to outgoing connections.

A port from that range may be taken by any client while its server is restarted; one from below stays free. Whoever asks
is given the next ones in turn, over all processes of a user: two that ask at once never get the same.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
_FIRST: Final = 12_000
_LAST: Final = 31_999


def free_ports(count: int) -> tuple[int, ...]:
    """Choose ports that nobody listens on now, and that nobody was given of late; all of one call differ."""
    found: dict[int, None] = {}
    while len(found) < count:
        port = _next()
        if _is_free(port):
            found[port] = None
    return tuple(found)


def listening(port: int) -> bool:
    """Whether something accepts connections on the port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def _next() -> int:
    """The port after the one that was given last, by whichever process; the first one is anywhere."""
    file = os.open(_turn(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        last = os.pread(file, 16, 0).strip()
        port = int(last) + 1 if last.isdigit() else random.SystemRandom().randint(_FIRST, _LAST)
        port = port if _FIRST <= port <= _LAST else _FIRST
        os.pwrite(file, f"{port:5}\n".encode(), 0)
    finally:
        os.close(file)
    return port


def _turn() -> Path:
    """Where it stands whose turn it is: one place for all programs of a user, whatever ``TMPDIR`` says."""
    return Path("/tmp") / f"pulsar-syncer-ports-{os.getuid()}"  # noqa: S108 - it holds a number, and is the user's own


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
