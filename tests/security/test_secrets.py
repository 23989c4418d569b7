"""Secrets leave no trace: a daemon runs with secrets set, is asked everything, and all that it left is searched."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from typer.testing import CliRunner

from deploy.lab.ports import free_ports
from syncer.cli.main import app
from syncer.stores.sqlite import OutsideWriter
from syncer.waiting import WAIT_S, wait_until
from tests.shell.on_bus import Bystander, change
from tests.shell.region import path_of, tenant
from tests.support.environment import without_settings
from tests.support.group_keys import secret, text
from tests.support.region_keys import pair, pair_file, seed, tables

LAX: Final = "import os; os.umask(0); from syncer.cli.main import main; main()"
REGION_KEYS: Final = ("a bad region key", "another region's key")
MARK: Final = "Geheimnis"
"""Stands in every secret that is text."""


def forms(*more: bytes) -> list[bytes]:
    """In which forms a secret would be found."""
    group = (secret("ours"), secret("ours").hex().encode(), text("ours").encode())
    own = seed("east")
    lines = [line for line in pair("east").pem().splitlines() if not line.startswith(b"-----")]
    region = (own, own.hex().encode(), base64.b64encode(own), repr(own).encode(), *lines)
    return [MARK.encode(), *more, *group, *region]


def private(file: Path, content: str) -> str:
    """A file with a secret."""
    file.touch(mode=0o600)
    file.write_text(content, encoding="utf-8")
    return str(file)


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    without_settings(monkeypatch)


class Running:
    """A daemon as a process of its own, started with no umask at all."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.port, nowhere = free_ports(2)
        self.work = work
        self.config = work / "config.json.yaml"
        self.config.write_text(
            json.dumps(
                {
                    "region": "east",
                    "heartbeat_interval": "200ms",
                    "store": {"kind": "sqlite", "path": str(work / "store.db")},
                    "bus": {"kind": "embedded", "path": str(work / "bus.db")},
                    "state": {"path": str(work / "state.db")},
                    **tables(folder, "east", {"east": ["east"]}, group=["ours"], required=True),
                    "admin": {
                        "url": f"http://127.0.0.1:{nowhere}",
                        "token_file": private(folder / "token", f"{MARK}-token"),
                        "timeout": "1s",
                    },
                    "api": {"listen": f"127.0.0.1:{self.port}"},
                    "log": {"level": "debug", "format": "json"},
                }
            ),
            encoding="utf-8",
        )
        self.log = (work / "daemon.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAX, "run", "--config", str(self.config)],
            stdout=self.log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )

    def get(self, path: str) -> tuple[int, str]:
        """Ask the HTTP surface; 0 while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=WAIT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as exc:
            return exc.code, exc.read().decode()
        except OSError:
            return 0, ""

    def status(self) -> dict[str, Any]:
        """The status, empty while there is none."""
        code, said = self.get("/api/v1/status")
        return dict(json.loads(said)) if code == 200 else {}

    def stop(self) -> None:
        """End it in order."""
        self.process.terminate()
        try:
            self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            self.process.wait()
            self.log.close()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Running]:
    secrets, work = tmp_path / "secrets", tmp_path / "work"
    secrets.mkdir()
    work.mkdir()
    running = Running(secrets, work)
    yield running
    running.stop()


COMMANDS: Final = (
    ("status",),
    ("status", "-o", "json"),
    ("config", "show"),
    ("config", "show", "-o", "json"),
    ("config", "check"),
    ("config", "check", "--connect", "--timeout", "2", "-o", "json"),
    ("regions", "list", "-o", "json"),
    ("quarantine", "list", "-o", "json"),
    ("events", "tail"),
    ("explain", "/admin/policies/acme"),
    ("state", "check"),
    ("holds", "list"),
    ("conflicts", "list"),
)


def test_a_running_daemon_leaves_no_secret_anywhere_and_no_file_open_to_others(daemon: Running, tmp_path: Path) -> None:
    wait_until(lambda: daemon.status().get("baseline_done"), "it runs")
    writer = OutsideWriter(daemon.work / "store.db")
    writer.put(path_of("acme"), tenant("a"))
    wait_until(lambda: daemon.status().get("paths") == 1, "it has read the store")
    anyio.run(say_unsigned, daemon.work / "bus.db")
    wait_until(lambda: daemon.status()["waiting"]["quarantine"] == 1, "it refuses a message")
    writer.put("/admin/policies/acme/ns", b"{}")
    writer.delete("/admin/policies/acme/ns")  # it asks the brokers, with the token
    heard = [daemon.get(path)[1] for path in ("/livez", "/readyz?verbose", "/metrics", "/api/v1/status", "/nothing")]
    for command in (*COMMANDS, ("backup", "create", str(daemon.work / "backup"))):
        result = CliRunner().invoke(app, [*command, "--config", str(daemon.config)])
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exc_info)
        heard.append(result.output + result.stderr)
    assert "signing" in heard[7], "the configuration is shown"
    during = modes(daemon.work)
    daemon.stop()
    writer.close()
    left = {file: file.read_bytes() for file in daemon.work.rglob("*") if file.is_file()}
    assert len(left) >= 6
    for form in forms():
        assert not [said[:200] for said in heard if form in said.encode()]
        assert not [file for file, content in left.items() if form in content]
    open_to_others = {
        name: oct(mode)
        for name, mode in {**during, **modes(daemon.work)}.items()
        if mode & 0o077 and name not in {"config.json.yaml", "daemon.log"}  # made by this test
    }
    assert open_to_others == {}
    assert {"state.db", "store.db", "bus.db", "backup"} <= modes(daemon.work).keys()
    assert not list(tmp_path.glob("core*"))


async def say_unsigned(bus_file: Path) -> None:
    """Publish a message that is refused."""
    async with Bystander(bus_file) as west:
        await west.say(change(path_of("evil"), tenant("x")))


def modes(folder: Path) -> dict[str, int]:
    """Of every file and directory below; what is in a closed directory is closed."""
    return {str(each.relative_to(folder)): stat.S_IMODE(each.lstat().st_mode) for each in folder.rglob("*")}


def every_secret(folder: Path) -> dict[str, dict[str, Any]]:
    """Configurations which, together, have every kind of secret."""
    (nowhere,) = free_ports(1)
    pulsar: dict[str, Any] = {
        "kind": "pulsar",
        "service_url": f"pulsar://127.0.0.1:{nowhere}",
        "admin_url": f"http://127.0.0.1:{nowhere}",
        "topic": "persistent://pulsar/sync/metadata",
        "operation_timeout": "1s",
        "client_log": str(folder / "client.log"),
    }
    oauth2 = json.dumps({"client_id": f"{MARK}-id", "client_secret": f"{MARK}-secret"})
    embedded = {"kind": "embedded", "path": str(folder / "bus.db")}
    sqlite = {"kind": "sqlite", "path": str(folder / "store.db")}
    keys = tables(folder, "east", {"east": ["east"]}, group=["ours"])
    return {
        "zookeeper": {
            "store": {
                "kind": "zookeeper",
                "hosts": f"127.0.0.1:{nowhere}",
                "connect_timeout": "1s",
                "auth": {"user": "syncer", "password_file": private(folder / "zk", f"{MARK}-zk")},
            },
            "bus": {**pulsar, "auth": {"kind": "token", "file": private(folder / "token", f"{MARK}-token")}},
            **keys,
        },
        "etcd": {
            "store": {
                "kind": "etcd",
                "endpoints": [f"127.0.0.1:{nowhere}"],
                "request_timeout": "1s",
                "username": "syncer",
                "password_file": private(folder / "etcd", f"{MARK}-etcd"),
            },
            "bus": {
                **pulsar,
                "auth": {
                    "kind": "oauth2",
                    "issuer_url": f"http://127.0.0.1:{nowhere}",
                    "credentials_file": private(folder / "oauth2.json", oauth2),
                },
            },
            "admin": {
                "url": f"http://127.0.0.1:{nowhere}",
                "oauth2": {
                    "issuer_url": f"http://127.0.0.1:{nowhere}",
                    "credentials_file": private(folder / "admin.json", oauth2),
                },
            },
        },
        "database url": {
            "store": sqlite,
            "bus": embedded,
            "state": {"url": f"postgresql://syncer:{MARK}-db@127.0.0.1:{nowhere}/syncer?password={MARK}-too"},
        },
        "database file": {
            "store": sqlite,
            "bus": embedded,
            "state": {
                "url": f"postgresql://syncer@127.0.0.1:{nowhere}/syncer",
                "password_file": private(folder / "db", f"{MARK}-%/@db"),
            },
        },
        "mistakes": {
            "store": {**sqlite, "password": f"{MARK}-slip"},
            "bus": {**embedded, "token": f"{MARK}-slip"},
            "state": {"url": f"mysql://syncer:{MARK}-db@h/d"},
            "signing": {"key_files": [private(folder / "no.key", f"{MARK}{MARK}{MARK}{MARK}{MARK}")], "key": MARK},
        },
        "a bad key": {
            "store": sqlite,
            "bus": embedded,
            "signing": {"key_files": [private(folder / "bad.key", f"{MARK}{MARK}{MARK}{MARK}{MARK}")]},
        },
        "a bad region key": {
            "store": sqlite,
            "bus": embedded,
            "signing": {"region_key_file": private(folder / "bad.pem", f"-----BEGIN PRIVATE KEY-----\n{MARK}\n")},
        },
        "another region's key": {
            "store": sqlite,
            "bus": embedded,
            "signing": {"region_key_file": pair_file(folder, "east")},
            "peers": {"keys": {"west": [pair("east").public.text]}},
        },
    }


@pytest.mark.parametrize(
    "name", ["zookeeper", "etcd", "database url", "database file", "mistakes", "a bad key", *REGION_KEYS]
)
def test_no_command_shows_a_secret_of_any_configuration(name: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps({"region": "east", **every_secret(tmp_path)[name]}), encoding="utf-8")
    for command in COMMANDS:
        result = CliRunner().invoke(app, [*command, "--config", str(file)])
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exc_info)
        said = (result.output + result.stderr).encode()
        assert said.strip() or command[0] == "events", command
        for form in forms():
            assert form not in said, command
    log = tmp_path / "client.log"
    assert not log.exists() or MARK.encode() not in log.read_bytes()
