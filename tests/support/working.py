"""A step that is done again and again beside a test, as a daemon's loop does it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

PAUSE_S: Final = 0.01
END_S: Final = 20.0


@contextmanager
def repeating(step: Callable[[], object]) -> Iterator[None]:
    """Do a step again and again, in a thread of its own, until left."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(PAUSE_S):
            step()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(END_S)
    assert not thread.is_alive()
