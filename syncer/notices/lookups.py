"""Lookups of hosts in threads of their own: a resolver that hangs keeps neither other lookups nor the end waiting.

The event loop looks hosts up in a pool that all share, and that is waited for when the loop ends. A call of a webhook
begins here instead, and connects only once its host was found a moment ago.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from typing import Final

import anyio

HostLookup = tuple[anyio.Event, list[OSError]]


class HostLookups:
    """Looks up hosts, each by one thread at a time, however often it is asked for. Of one event loop."""

    def __init__(self) -> None:
        self._running: Final[dict[tuple[str, int], HostLookup]] = {}

    async def find(self, host: str, port: int) -> None:
        """Wait until a host is found; whoever asks again while it hangs waits for the same answer.

        Raises:
            OSError: It is not found.
        """
        key = host, port
        if key not in self._running:
            self._running[key] = self._begin(key)
        done, errors = self._running[key]
        await done.wait()
        if errors:
            raise errors[0]

    def _begin(self, key: tuple[str, int]) -> HostLookup:
        done, errors, loop = anyio.Event(), list[OSError](), asyncio.get_running_loop()

        def finish() -> None:
            self._running.pop(key, None)
            done.set()

        def find() -> None:
            try:
                socket.getaddrinfo(*key, type=socket.SOCK_STREAM)
            except OSError as exc:
                errors.append(exc)
            except UnicodeError as exc:
                errors.append(OSError(f"no host can have this name: {exc}"))
            with suppress(RuntimeError):  # the loop has ended, and nobody asks any more
                loop.call_soon_threadsafe(finish)

        threading.Thread(target=find, name="webhook host", daemon=True).start()
        return done, errors
