"""A region with many holds, its daemon as a process, and a client that lists them all."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

from deploy.lab.ports import free_ports
from syncer.conflict.register import HoldReason, Register
from syncer.model import MetaPath
from syncer.state.sql.database import SqlState
from syncer.waiting import WAIT_S
from tests.bench.child import Child, ChildFailed
from tests.bench.place import START_TIMEOUT_S, poll
from tests.support.api_tokens import made
from tests.support.region_database import NEW, hold
from tests.unit.registers import HERE, Y, version

HOLDS: Final = 20_000
TOGETHER: Final = 1_000


def list_holds(directory: Path) -> tuple[float, int]:
    """List all holds of a daemon over HTTP: seconds, and how many there were.

    Raises:
        RuntimeError: It does not answer in time.
    """
    folder = directory / "holds"
    folder.mkdir()
    _fill(folder / "state.db")
    (port,), tokens = free_ports(1), folder / "tokens.json"
    token = made(tokens, "bench")
    config = folder / "here.toml"
    config.write_text(
        f'region = "{HERE}"\n[store]\nkind = "sqlite"\npath = "{folder}/store.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{folder}/bus.db"\n[state]\npath = "{folder}/state.db"\n'
        f'[api]\nlisten = "127.0.0.1:{port}"\ntokens = "{tokens}"\n'
    )
    with (folder / "daemon.log").open("wb") as log:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("syncer")), "-c", str(config), "run"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        with Child("tests.bench.api_clients", str(port), token, log=folder / "clients.log") as clients:
            if not poll(lambda: "role_changed" in (folder / "daemon.log").read_text(), timeout_s=START_TIMEOUT_S):
                raise RuntimeError(f"the daemon does not come up:\n{(folder / 'daemon.log').read_text()[-2000:]}")
            try:
                seconds, count = clients.ask("holds")
            except ChildFailed as exc:
                raise RuntimeError((folder / "daemon.log").read_text()[-2000:]) from exc
            return float(seconds), int(count)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(WAIT_S)


def _fill(file: Path) -> None:
    with closing(SqlState.open(f"sqlite:///{file}", HERE)) as state:
        state.activate()
        for first in range(0, HOLDS, TOGETHER):
            with state.transaction() as tx:
                tx.save([_held(number) for number in range(first, first + TOGETHER)])


def _held(number: int) -> Register:
    return Register(
        path=MetaPath(f"/admin/policies/held-{number:06d}"),
        known=version(Y, NEW),
        hold=hold(HoldReason.FIRST_CONTACT, NEW),
    )
