"""Processes of jobs: what they are begun with, and what they leave to the daemon."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

from syncer.jobs.processes import RunFiles
from syncer.jobs.queue import ProcessState
from syncer.waiting import WAIT_S, wait_until


def test_a_job_keeps_no_connection_of_its_daemon_open(tmp_path: Path) -> None:
    """A daemon that is killed is gone for its peers at once, also while its job goes on."""
    ours, peer = socket.socketpair()
    ours.set_inheritable(True)  # as libraries open theirs that are not written in Python
    files = RunFiles(tmp_path, "run")
    files.prepare({})
    try:
        with peer:
            with ours:
                files.begin((("sleep", "600"),))
                wait_until(lambda: files.process() is not None, "it has begun")
            peer.settimeout(WAIT_S)
            assert peer.recv(1) == b"", "the connection is closed"
            seen = files.look()
            assert seen is not None
            assert seen.process is ProcessState.ALIVE
    finally:
        files.signal(signal.SIGKILL)
        wait_until(lambda: (seen := files.look()) is None or seen.process is not ProcessState.ALIVE, "it has ended")
