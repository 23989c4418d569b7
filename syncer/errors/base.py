"""The base of all errors that are raised on purpose."""

from __future__ import annotations

from typing import ClassVar


class SyncerError(Exception):
    """Base of all errors that are raised on purpose.

    Args:
        message: What is wrong, naming the thing and the place.
        hint: What the operator does next; the class's own hint when not given.
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False
    default_hint: ClassVar[str] = "See the log of the daemon for the cause."

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
