"""A resolver that hangs keeps one thread of a host's own, which nobody waits for."""

from __future__ import annotations

import socket
import threading
from typing import Any

import anyio
import pytest

from syncer.notices.lookups import HostLookups
from syncer.waiting import WAIT_S


async def test_a_host_is_found_or_not() -> None:
    lookups = HostLookups()
    await lookups.find("127.0.0.1", 80)
    with pytest.raises(socket.gaierror):
        await lookups.find("nowhere.invalid", 80)
    with pytest.raises(OSError, match="no host can have this name"):
        await lookups.find("a" * 64 + ".example", 80)


async def test_a_lookup_that_hangs_is_let_go_of_and_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    free, calls = threading.Event(), list[object]()

    def hang(*key: object, **_: Any) -> list[object]:
        calls.append(key)
        free.wait(WAIT_S)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    lookups = HostLookups()
    for _ in range(3):
        with anyio.move_on_after(0.05) as scope:
            await lookups.find("hooks.example", 443)
        assert scope.cancelled_caught
    assert not free.is_set(), "nobody has waited for its end"
    assert len(calls) == 1
    free.set()
    await lookups.find("hooks.example", 443)
    assert len(calls) <= 2
