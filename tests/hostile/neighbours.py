"""What others on the host or near a broker do: files that are none, and clients that never end what they ask."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from syncer.dispositions import ExitCode
from tests.hostile import commands
from tests.hostile.scene import Scene

LEVELS: Final = 100_000
RULES: Final = 100_000
PATTERN: Final = 5_000_000
CLIENTS: Final = 300
ANSWER_S: Final = 5.0
REFUSED: Final = frozenset(
    {ExitCode.FAILED, ExitCode.USAGE, ExitCode.DIFFERENT, ExitCode.REFUSED, ExitCode.BAD_CONFIG, ExitCode.UNREACHABLE}
)
Spoil = Callable[[Path], None]


# -- local files


async def refused(scene: Scene, *commands_given: tuple[str, ...]) -> None:
    """Commands that are given hostile files, all at once: each refuses its own in words, by a code."""
    ended = await asyncio.gather(*(commands.run(scene.group.folder, *words) for words in commands_given))
    for words, (status, text) in zip(commands_given, ended, strict=True):
        assert status in REFUSED, f"'syncer {' '.join(words)}' ended with {status}: {text[-300:]}"


def rewrite(**changes: object) -> Spoil:
    """Have a manifest say something else."""

    def spoil(folder: Path) -> None:
        file = folder / "MANIFEST.json"
        document = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**document, **changes}), encoding="utf-8")

    return spoil


def replaced(text: bytes) -> Spoil:
    """Have something else stand in the place of a manifest."""

    def spoil(folder: Path) -> None:
        (folder / "MANIFEST.json").write_bytes(text)

    return spoil


def piped(folder: Path) -> None:
    """Have a pipe stand in the place of a file: who opens it waits for ever."""
    file = next(each for each in sorted(folder.rglob("*.json")) if each.name != "MANIFEST.json")
    file.unlink()
    os.mkfifo(file)


def linked(folder: Path) -> None:
    """Have a link stand in the place of a file."""
    file = next(each for each in sorted(folder.rglob("*.json")) if each.name != "MANIFEST.json")
    copied = folder.parent / f"{folder.name}-elsewhere.json"
    shutil.move(file, copied)
    file.symlink_to(copied)


async def damaged_backups(scene: Scene) -> None:
    """Backups whose manifest or files somebody has replaced."""
    whole = scene.group.folder / f"backup-{scene.number}"
    await scene.east.command("backup", "create", str(whole))
    spoils: tuple[Spoil, ...] = (
        rewrite(region="a\0b"),
        rewrite(region="\ud800"),
        rewrite(taken_at_ms=10**40),
        rewrite(taken_at=10**40),
        rewrite(
            scope=[{"pattern": f"/admin/policies/{'a*' * 99}{each}", "direction": "both"} for each in range(RULES)]
        ),
        rewrite(scope=[{"pattern": "/admin/policies/" + "a*" * PATTERN, "direction": "both"}]),
        replaced(b"{" * LEVELS),
        replaced(b'{"region":' + b"9" * 1_000_000 + b"}"),
        replaced(b"\xff\xfe"),
        piped,
        linked,
    )
    folders = [scene.group.folder / f"backup-{scene.number}-{number}" for number in range(len(spoils))]
    for folder, spoil in zip(folders, spoils, strict=True):
        shutil.copytree(whole, folder)
        spoil(folder)
    await refused(scene, *(("backup", "verify", str(folder)) for folder in folders))


async def hostile_plans(scene: Scene) -> None:
    """Plans and configurations that are none."""
    folder = scene.group.folder / f"files-{scene.number}"
    folder.mkdir()
    odd = base64.b64encode(b"value").decode()[:-1]
    plans = (
        json.dumps({"format": "pulsar-syncer-plan", "value": odd}).encode(),
        b"[" * LEVELS,
        b"\0",
        b"\xff\xfe",
        b'{"format":"pulsar-syncer-plan","version":1,"made_at_ms":' + b"9" * 5_000 + b"}",
    )
    files = [folder / f"{number}.plan" for number in range(len(plans))]
    for file, text in zip(files, plans, strict=True):
        file.write_bytes(text)
    await refused(scene, *(("plan", "show", str(file)) for file in files))
    configurations = (
        ("toml", "a = " + "[" * LEVELS),
        ("toml", "a." * 10_000 + "b = 1"),
        ("yaml", "[" * 20_000),
        ("yaml", "a: &a [1]\nb: &b [*a, *a]\n" + "c: [*b, *b]\n"),
        ("toml", 'region = "\\u0000"'),
        ("yaml", 'region: "\\ud800"'),
    )
    files = [folder / f"{number}.{kind}" for number, (kind, _) in enumerate(configurations)]
    for file, (_, words) in zip(files, configurations, strict=True):
        file.write_text(words, encoding="utf-8")
    await refused(scene, *(("--config", str(file), "config", "check") for file in files))


# -- the HTTP surface


def _get(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as client:
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return client.recv(1024)


async def slow_clients(scene: Scene) -> None:
    """Clients that never end what they ask, and somebody who wants to know how the daemon is."""
    port = scene.east.api_port
    assert port is not None
    with ExitStack() as open_ones:
        for _ in range(CLIENTS):
            client = open_ones.enter_context(socket.socket())
            client.settimeout(ANSWER_S)
            try:
                client.connect(("127.0.0.1", port))
                client.sendall(b"GET /livez HTTP/1.1\r\nX: ")
            except OSError:
                break  # no further one is taken
        await scene.until(lambda: answers(port), "the slow ones are let go, and who asks is answered")
    await scene.until(lambda: answers(port), "who asks is answered")


async def endless_heads(scene: Scene) -> None:
    """Requests whose head never ends, and what is no request."""
    port = scene.east.api_port
    assert port is not None
    for text in (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 50_000, b"\0" * 100_000, b"GET /" + b"a" * 1_000_000):
        with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as client:
            try:
                client.sendall(text)
                client.recv(1024)
            except OSError:
                continue  # it was cut off
    await scene.until(lambda: answers(port), "who asks is answered")


def answers(port: int) -> bool:
    """Whether the daemon says that it lives."""
    try:
        return b"200" in _get(port)
    except OSError:
        return False
