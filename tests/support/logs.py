"""The log is global to a process: a test that sets it up puts it back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from stamina.instrumentation import get_on_retry_hooks, set_on_retry_hooks


@contextmanager
def logging_restored() -> Iterator[None]:
    """Put handlers, level and structlog's settings back at the end."""
    root = logging.getLogger()
    handlers, level, hooks = list(root.handlers), root.level, get_on_retry_hooks()
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.captureWarnings(False)
        set_on_retry_hooks(hooks)
        structlog.reset_defaults()
