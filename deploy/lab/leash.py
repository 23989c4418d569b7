"""Become another program that dies together with the process that started it (Linux).

Run as a file: ``python leash.py PARENT_PID USER PROGRAM ARGUMENT ...``. The process keeps its id, so the starter can
signal it as usual; when the starter ends in any way, ``kill -9`` included, the kernel kills the program. With a
``USER`` other than ``-`` the program runs as that user; a change of user takes a leash off, so it comes first.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import sys
from typing import Final, NoReturn

PR_SET_PDEATHSIG: Final = 1
SAME_USER: Final = "-"


def main(arguments: list[str]) -> NoReturn:
    """Put on the leash and run the program."""
    parent, user, *command = arguments
    if user != SAME_USER:
        account = pwd.getpwnam(user)
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(parent):  # it ended before the leash was on
        sys.exit("the starter ended first")
    os.execvp(command[0], command)  # noqa: S606 - becoming the given program is the purpose


if __name__ == "__main__":
    main(sys.argv[1:])
