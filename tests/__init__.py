"""The tests. A process of a run writes its stacks when the run asks for them by SIGUSR1: see :mod:`tests.run`."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal

gc.set_threshold(20_000, 20, 20)  # young objects are many and short-lived here: it saves a tenth of all time

if _folder := os.environ.get("TEST_STACKS", ""):
    try:
        _file = os.open(f"{_folder}/{os.getpid()}.txt", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        pass  # the run is over, and this process was started by what it has left
    else:
        faulthandler.register(signal.SIGUSR1, file=_file, all_threads=True)
