"""Stores and buses of a test: opened, and closed whatever happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar


class Client(Protocol):
    """What both have in common."""

    async def open(self) -> None:
        """Connect."""
        ...

    async def close(self) -> None:
        """Let go of everything; also of what was opened in part."""
        ...


C = TypeVar("C", bound=Client)


@asynccontextmanager
async def opened(client: C) -> AsyncIterator[C]:
    """The client, open; one that could not be opened is closed too."""
    try:
        await client.open()
        yield client
    finally:
        await client.close()
