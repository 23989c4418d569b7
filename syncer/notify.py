"""Tells systemd that the daemon is ready, alive or stopping; silent when it was not started by systemd.

Source: sd_notify(3).
"""

from __future__ import annotations

import contextlib
import os
import socket


def ready() -> None:
    """The daemon does its work, as active or as standby."""
    _send("READY=1")


def alive() -> None:
    """The watchdog may wait another round."""
    _send("WATCHDOG=1")


def stopping() -> None:
    """The daemon is on its way down."""
    _send("STOPPING=1")


def _send(state: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.sendto(state.encode(), address)
