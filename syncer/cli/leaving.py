"""The end of a command's process, where a library's thread may hang.

At its end the interpreter waits for threads of pools, and C++ libraries end theirs in their destructors: either may
never come back from a server that does not answer. What such threads hold is sockets, which the kernel closes.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from typing import NoReturn

_left: list[threading.Thread] = []


def may_be_left(threads: Iterable[threading.Thread]) -> None:
    """Name threads that the process need not wait for when it ends."""
    _left[:] = [*(each for each in _left if each.is_alive()), *threads]


def left() -> bool:
    """Whether a thread that need not be waited for is still at work."""
    return any(each.is_alive() for each in _left)


def at_once(code: int) -> NoReturn:
    """End the process, whatever its threads do; what was written to stdout and stderr is out before."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            continue  # the reader has gone
    os._exit(code)
