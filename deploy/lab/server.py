"""What every server of the lab has alike: one process, a port, data that survive a restart, and how it is ended."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from pathlib import Path

from deploy.lab.ports import HOST
from deploy.lab.process import Command, ServerProcess


class Server(ABC):
    """A server with a data directory and a port of its own; both survive a restart.

    Args:
        directory: Holds log and pid file.
        name: Name of the process and of its files.
        port: Where clients connect.
        data_directory: Deleted by :meth:`remove`.
        leashed: End it when this program ends.
    """

    def __init__(self, directory: Path, *, name: str, port: int, data_directory: Path, leashed: bool) -> None:
        self.directory = directory
        self.port = port
        self.data_directory = data_directory
        self.process = ServerProcess(name=name, directory=directory, leashed=leashed)

    @property
    def endpoint(self) -> str:
        """``host:port`` of the client port."""
        return f"{HOST}:{self.port}"

    def launch(self) -> None:
        """Start the process without waiting for it."""
        self.process.start(self._command())

    def wait_ready(self) -> None:
        """Wait until it serves clients.

        Raises:
            ServerFailed: It ended.
            WaitFailed: It was not ready in time, or another process ended.
        """
        self.process.wait_until(self._serves)

    def start(self) -> None:
        """Start it and wait until it serves; nothing when it runs already."""
        self.launch()
        self.wait_ready()

    def stop(self) -> None:
        """End it in order; the data stays."""
        self.process.stop()

    def kill(self) -> None:
        """End it as a power loss would; the data stays."""
        self.process.kill()

    def pause(self) -> None:
        """Freeze it (SIGSTOP): connections stay open, nothing answers."""
        self.process.pause()

    def resume(self) -> None:
        """Let it go on after :meth:`pause`."""
        self.process.resume()

    def remove(self) -> None:
        """End it and delete its data."""
        self.stop()
        shutil.rmtree(self.data_directory, ignore_errors=True)

    @abstractmethod
    def _command(self) -> Command:
        """What to run; what it needs on the disk is made."""

    @abstractmethod
    def _serves(self) -> bool:
        """Whether it answers a client."""
