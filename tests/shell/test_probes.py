"""Readiness and its gauge tell of what is missing what they can know: at the start, in work, and of what is silent."""

from __future__ import annotations

import json
import threading
from typing import Final

import anyio
import pytest
from anyio import to_thread

from deploy.lab.ports import free_ports
from syncer import surface
from syncer.daemon import Daemon
from syncer.errors import StoreUnavailable
from syncer.surface import Surface
from syncer.waiting import WAIT_S, until
from tests.shell.conftest import MakeSite
from tests.shell.region import active
from tests.shell.test_slow_clients import asked

REFUSED: Final = "no connection to host:2181: connection refused"


class Away:
    """A store that is not there."""

    async def open(self) -> None:
        """Find nobody."""
        raise StoreUnavailable(REFUSED)

    async def close(self) -> None:
        """Have nothing to close."""


def missing(looking: Surface) -> dict[str, str]:
    """What is not there, and why."""
    return {each.name: each.cause for each in looking.dependencies() if not each.ok}


def gauge(looking: Surface) -> dict[str, float | None]:
    """What the gauge says of each."""
    read = looking.registry.get_sample_value
    return {name: read("syncer_dependency_up", {"name": name}) for name in ("store", "bus", "state")}


async def test_a_start_that_waits_says_for_what_and_why(make_site: MakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Daemon, "_make_store", lambda _: Away())
    daemon = Daemon(make_site("east").config())
    looking = Surface(daemon, version="1")
    assert missing(looking) == dict.fromkeys(("state", "store", "bus"), "not open yet")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run)
        await until(lambda: missing(looking) == {"store": REFUSED, "bus": "not open yet"}, "it says why")
        assert gauge(looking) == {"store": 0, "bus": 0, "state": 1}
        tasks.cancel_scope.cancel()


async def test_the_gauge_is_what_readiness_says(make_site: MakeSite) -> None:
    (port,) = free_ports(1)
    east = make_site("east", api={"enabled": True, "listen": f"127.0.0.1:{port}"})
    async with east.running() as daemon, anyio.create_task_group() as tasks:
        await active(east)
        looking = Surface(daemon, version="1")
        tasks.start_soon(looking.serve)
        await until(lambda: len(looking.dependencies()) == 3 and not missing(looking), "all is there")
        told = await to_thread.run_sync(asked, port, "/readyz?verbose")
        ready = json.loads(told.partition("\r\n\r\n")[2])
        told = await to_thread.run_sync(asked, port, "/metrics")
        for each in ready["dependencies"]:
            assert f'syncer_dependency_up{{name="{each["name"]}"}} {1.0 if each["ok"] else 0.0}' in told
        assert "\nprocess_open_fds " in told
        assert "_created" not in told
        tasks.cancel_scope.cancel()


async def test_a_database_that_does_not_answer_is_missing(make_site: MakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    east = make_site("east", api={"enabled": True, "listen": f"127.0.0.1:{port}"})
    answered = threading.Event()
    monkeypatch.setattr(surface, "SILENT_S", 0.05)
    async with east.running() as daemon, anyio.create_task_group() as tasks:
        await active(east)
        looking = Surface(daemon, version="1")
        views = looking._open_views()
        status = views.status
        monkeypatch.setattr(views, "status", lambda: (answered.wait(WAIT_S), status())[1])
        tasks.start_soon(looking.serve)
        try:
            looking._state_trouble = ""  # as after an earlier look
            await until(lambda: "no answer for" in missing(looking).get("state", ""), "it is told")
            assert gauge(looking)["state"] == 0
        finally:
            answered.set()
        monkeypatch.setattr(surface, "SILENT_S", WAIT_S)
        await until(lambda: not missing(looking), "it is back")
        tasks.cancel_scope.cancel()
