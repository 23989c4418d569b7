"""``config check --connect``: everything at once, within one deadline, closing included; stdout is data only."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.lowlevel
import pytest

from syncer.cli import leaving
from syncer.cli.connecting import CLOSE_S, Attempt, dial_all
from syncer.errors import StoreUnavailable
from syncer.waiting import WAIT_S, starvation

TIMEOUT_S: Final = 2.0
"""Where a server never answers."""
ANSWERED_S: Final = 20.0
"""Where each attempt is answered, or refused."""
GRACE_S: Final = 1.0
"""Slack of a deadline on an idle machine; it grows with how much the machine does."""


@pytest.fixture
def refusing() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield listener.getsockname()[1]


def written(directory: Path, address: str, *, store: str = "zookeeper", bus: str = "") -> Path:
    """A configuration whose dependencies are all at one address, or the bus at another."""
    hosts = f'hosts = "{address}"' if store == "zookeeper" else f'endpoints = ["{address}"]'
    file = directory / "config.toml"
    file.write_text(
        f'region = "east"\n[store]\nkind = "{store}"\n{hosts}\n[bus]\nkind = "pulsar"\n'
        f'service_url = "pulsar://{bus or address}"\nadmin_url = "http://{address}"\n'
        f'topic = "persistent://a/b/c"\n[admin]\nurl = "http://{address}"\n'
        f'[state]\nurl = "postgresql://me:hunter22@{address}/syncer"\n',
        encoding="utf-8",
    )
    return file


TIMED: Final = """
import sys, time
from syncer.cli import connecting
from syncer.cli.main import main

untimed = connecting.dial

def timed(*args, **options):
    began = time.monotonic()
    try:
        return untimed(*args, **options)
    finally:
        print(f"{time.monotonic() - began}", file=sys.stderr)

connecting.dial = timed
main()
"""
"""The program, which says on stderr how long it has dialled: how long it takes to load is no part of the deadline."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a call of the command left: its exit status, stdout as a document, stderr, and how it ended."""

    code: int
    document: dict[str, Any]
    talk: list[str]
    dialled_s: float
    timeout_s: float
    ended_after_s: float
    """From its first word on stdout to the end of the process."""

    @property
    def causes(self) -> dict[str, str]:
        return {each["name"]: each["cause"] for each in self.document["dependencies"]}


def told(file: Path, timeout_s: float = TIMEOUT_S) -> Told:
    """Run the command in a process of its own."""
    command = [sys.executable, "-c", TIMED, "config", "check", "--connect"]
    more = ["--timeout", f"{timeout_s:g}", "-o", "json", "-c", str(file)]
    with subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        said_at = time.monotonic()
        data, talk = process.communicate(timeout=WAIT_S)
        *lines, dialled_s = [line for line in talk.decode().splitlines() if not line.startswith("warning: ")]
        took_s = time.monotonic() - said_at
        return Told(process.returncode, json.loads(first + data), lines, float(dialled_s), timeout_s, took_s)


def test_dead_ports_are_refused_connections(refusing: int, tmp_path: Path) -> None:
    found = told(written(tmp_path, f"127.0.0.1:{refusing}"), ANSWERED_S)
    assert found.code == 4
    assert list(found.causes) == ["store zookeeper", "bus pulsar", "database", "admin"]
    for name, cause in found.causes.items():
        assert "connection refused" in cause.lower(), (name, cause)
    assert f"127.0.0.1:{refusing}: connection refused" in found.causes["store zookeeper"]
    assert f"pulsar://127.0.0.1:{refusing}: connection refused" in found.causes["bus pulsar"]
    assert found.dialled_s < found.timeout_s + GRACE_S * starvation.patience()
    assert found.ended_after_s < GRACE_S * starvation.patience()
    assert found.talk == [], "each is told by its row alone"


@pytest.mark.parametrize("store", ["zookeeper", "etcd"])
def test_servers_that_never_answer_do_not_hold_the_process(store: str, silent: int, tmp_path: Path) -> None:
    found = told(written(tmp_path, f"127.0.0.1:{silent}", store=store))
    assert found.code == 4
    assert [each["ok"] for each in found.document["dependencies"]] == [False] * 4
    assert all(each["hint"] for each in found.document["dependencies"])
    assert found.dialled_s < found.timeout_s + GRACE_S * starvation.patience()
    assert found.ended_after_s < GRACE_S * starvation.patience()
    assert found.talk == []


def test_hosts_that_nobody_knows_are_said_to_be_unknown(tmp_path: Path) -> None:
    # Names that the C library refuses by itself: what a machine's resolver says of others, and how soon, is its own.
    found = told(written(tmp_path, "-no-such-:1", bus=f"{'a' * 64}.invalid:1"), ANSWERED_S)
    assert "-no-such-:1: the host is unknown" in found.causes["store zookeeper"]
    assert "host not found" in found.causes["bus pulsar"]
    assert "the host is unknown" in found.causes["admin"]


# -- one that hangs


def stuck(release: threading.Event) -> Callable[[Attempt], Any]:
    async def dialled(_: Attempt) -> None:
        release.wait()  # blocks its thread, as a client library may

    return dialled


async def well(_: Attempt) -> None:
    await anyio.lowlevel.checkpoint()


async def refused(_: Attempt) -> None:
    raise StoreUnavailable("it is down", hint="Start it.")


class Slow:
    """A client that takes long to close, and knows why it has no connection."""

    trouble = "host:1: connection refused"

    def __init__(self) -> None:
        self.closing = threading.Event()

    async def close(self) -> None:
        self.closing.set()
        await anyio.sleep_forever()


def test_one_that_hangs_keeps_no_other_from_being_told() -> None:
    release = threading.Event()
    attempts = [Attempt("hangs", stuck(release)), Attempt("well", well), Attempt("down", refused)]
    try:
        found = dial_all(attempts, timeout_s=5)
        assert [(each.name, each.ok, each.cause) for each in found] == [
            ("hangs", False, "no answer within 5 s"),
            ("well", True, ""),
            ("down", False, "it is down"),
        ]
        assert leaving.left(), "the process does not wait for it"
    finally:
        release.set()


def test_a_client_that_does_not_close_is_left() -> None:
    slow = Slow()

    async def dialled(attempt: Attempt) -> None:
        attempt.client = slow

    began = time.monotonic()
    (found,) = dial_all([Attempt("slow", dialled)], timeout_s=WAIT_S)
    assert found.ok
    assert slow.closing.is_set()
    assert CLOSE_S <= time.monotonic() - began < CLOSE_S + 5 * starvation.patience()
    assert leaving.left()


def test_what_the_client_knows_is_told_when_it_does_not_answer() -> None:
    async def dialled(attempt: Attempt) -> None:
        attempt.client = Slow()
        await anyio.sleep_forever()

    (found,) = dial_all([Attempt("slow", dialled)], timeout_s=2)
    assert found.cause == "no answer within 2 s: host:1: connection refused"


def test_a_bug_is_no_row() -> None:
    async def dialled(_: Attempt) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        dial_all([Attempt("broken", dialled)], timeout_s=WAIT_S)
