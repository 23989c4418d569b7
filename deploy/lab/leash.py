"""Become another program that dies together with the process that started it (Linux).

Run as a file: ``python leash.py PARENT_PID PROGRAM ARGUMENT ...``. The process keeps its id, so the starter can signal
it as usual; when the starter ends in any way, ``kill -9`` included, the kernel kills the program.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final, NoReturn

PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> NoReturn:
    """Put on the leash and run the program."""
    parent, *command = arguments
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(parent):  # it ended before the leash was on
        sys.exit("the starter ended first")
    os.execvp(command[0], command)  # noqa: S606 - becoming the given program is the purpose


if __name__ == "__main__":
    main(sys.argv[1:])
