"""One PostgreSQL server alone, with a user whose password is asked for, and databases made on demand.

PostgreSQL refuses to run as root: then it runs as another account, in a directory that this account may enter. A server
is many processes, each in a session of its own, so that being killed or frozen has to be done to all of them.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psycopg
from psycopg import sql

from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import Command, ServerFailed, freeze, start_time
from deploy.lab.server import Server
from deploy.lab.software import SoftwareMissing, postgres_programs
from syncer.waiting import LIVING, WAIT_S, wait_until

USER: Final = "syncer"
ACCOUNTS: Final = ("postgres", "nobody")
"""Who runs the server when root starts it: the first that exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresTls:
    """Files (PEM) of a server that speaks TLS."""

    cert_file: Path
    key_file: Path


class PostgresServer(Server):
    """A server with a data directory and a port of its own; both survive a restart.

    Args:
        directory: Holds log and pid file, and the data unless root starts the server.
        name: Name of the process and of its files.
        port: ``None`` takes a free one.
        leashed: End it when this program ends.
        tls: Offer TLS; the password is asked for either way.
    """

    def __init__(
        self,
        directory: Path,
        *,
        name: str = "postgres",
        port: int | None = None,
        leashed: bool = False,
        tls: PostgresTls | None = None,
    ) -> None:
        self.password: Final = secrets.token_urlsafe(12) + "/@:%"  # must be escaped in a URL, as real ones must
        self._account = account()
        self._tls = tls
        self._home = directory if self._account is None else Path(tempfile.mkdtemp(prefix="pulsar-syncer-postgres-"))
        super().__init__(
            directory,
            name=name,
            port=port or free_ports(1)[0],
            data_directory=self._home / "data",
            leashed=leashed,
        )

    def url(self, database: str = "postgres", *, password: bool = True) -> str:
        """Where clients connect; without the password they have it from elsewhere."""
        secret = f":{quote(self.password, safe='')}" if password else ""
        return f"postgresql://{USER}{secret}@{self.endpoint}/{database}"

    def _command(self) -> Command:
        if not (self.data_directory / "PG_VERSION").exists():
            self._initialize()
        settings = {
            "port": str(self.port),
            "listen_addresses": HOST,
            "unix_socket_directories": "",
            "fsync": "off",
            "max_connections": "60",
            "shared_buffers": "32MB",
            "log_min_messages": "warning",
            "ssl": "on" if self._tls is not None else "off",
        }
        flags = (word for name, value in settings.items() for word in ("-c", f"{name}={value}"))
        words = (str(postgres_programs() / "postgres"), "-D", str(self.data_directory), *flags)
        return Command(words=words, directory=self._home, user=self._account, favoured=True)

    def stop(self) -> None:
        """End it in order, without waiting for its clients; the data stays."""
        self.resume()
        self.process.stop(by=signal.SIGINT)

    def kill(self) -> None:
        """End all of its processes as a power loss would; the data stays."""
        LIVING.let_go(self.process)
        pids = self._pids()
        freeze(*pids)  # none of them may tidy up after another
        pids |= self._pids()
        self._signal(pids, signal.SIGKILL)
        super().kill()
        _until_gone(pids)

    def pause(self) -> None:
        """Freeze all of its processes (SIGSTOP): connections stay open, nothing answers."""
        super().pause()  # first the one that starts the others
        freeze(*self._pids())

    def resume(self) -> None:
        """Let it go on after :meth:`pause`."""
        self._signal(self._pids(), signal.SIGCONT)

    def remove(self) -> None:
        """End it and delete its data."""
        super().remove()
        if self._account is not None:
            shutil.rmtree(self._home, ignore_errors=True)

    def create(self, database: str) -> str:
        """Make an empty database; its URL."""
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
        return self.url(database)

    def drop(self, database: str) -> None:
        """Delete a database, whoever is connected to it."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url(), autocommit=True, connect_timeout=10) as connection:
            connection.execute(statement)

    def _serves(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _initialize(self) -> None:
        owner = pwd.getpwnam(self._account) if self._account is not None else None
        self._home.mkdir(parents=True, exist_ok=True)
        if owner is not None:
            os.chown(self._home, owner.pw_uid, owner.pw_gid)
        file = self._home / "password"
        file.write_text(self.password)
        file.chmod(0o600)
        if owner is not None:
            os.chown(file, owner.pw_uid, owner.pw_gid)
        words = [
            str(postgres_programs() / "initdb"),
            *("-D", str(self.data_directory), "-U", USER, "--pwfile", str(file)),
            *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"),
        ]
        done = subprocess.run(
            words,
            cwd=self._home,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
            user=self._account,
            group=owner.pw_gid if owner is not None else None,
            extra_groups=() if owner is not None else None,
        )
        file.unlink()
        if done.returncode != 0:
            raise ServerFailed(f"initdb failed: {(done.stdout + done.stderr).strip()[-800:]}")
        if self._tls is not None:
            for source, name in ((self._tls.cert_file, "server.crt"), (self._tls.key_file, "server.key")):
                copy = self.data_directory / name
                shutil.copyfile(source, copy)
                copy.chmod(0o600)
                if owner is not None:
                    os.chown(copy, owner.pw_uid, owner.pw_gid)

    def _pids(self) -> set[int]:
        """The server's process and its children; children have none of their own."""
        main = self.process.pid()
        if main is None:
            return set()
        try:
            children = Path(f"/proc/{main}/task/{main}/children").read_text()
        except (FileNotFoundError, ProcessLookupError):
            children = ""
        return {main, *map(int, children.split())}

    @staticmethod
    def _signal(pids: set[int], number: signal.Signals) -> None:
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue


def account() -> str | None:
    """Whom the server runs as when that is not ourselves.

    Raises:
        SoftwareMissing: We are root, and no other account is there.
    """
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    for name in ACCOUNTS:
        if name in known:
            return name
    raise SoftwareMissing(f"PostgreSQL does not run as root, and none of these accounts exists: {', '.join(ACCOUNTS)}")


def _until_gone(pids: set[int]) -> None:
    """Wait until none of these processes is left: a killed server's memory is free only then."""
    wait_until(lambda: all(start_time(pid) is None for pid in pids), f"the killed server's processes {pids} are gone")
