"""The thread on which a daemon's transactions take turns, and what ends a daemon there.

The event loop waits for none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

from syncer.errors import Fenced

P = ParamSpec("P")
T = TypeVar("T")


class StateThread(Protocol):
    """Runs calls one at a time."""

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call there and return what it returns, even when who waits is cancelled meanwhile."""


def is_fenced(error: BaseException) -> bool:
    """Whether another daemon is active on the database."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(Fenced) is not None
    return isinstance(error, Fenced)
