"""Processes of jobs: what they are begun with, and what they leave to the daemon."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

from deploy.lab.waiting import wait_for
from syncer.jobs.processes import RunFiles
from syncer.jobs.queue import ProcessState


def test_a_job_keeps_no_connection_of_its_daemon_open(tmp_path: Path) -> None:
    """A daemon that is killed is gone for its peers at once, also while its job goes on."""
    ours, peer = socket.socketpair()
    ours.set_inheritable(True)  # as libraries open theirs that are not written in Python
    files = RunFiles(tmp_path, "run")
    files.prepare({})
    try:
        with peer:
            with ours:
                files.begin((("sleep", "60"),))
                assert wait_for(lambda: files.process() is not None, deadline_s=10) is not None
            peer.settimeout(5)
            assert peer.recv(1) == b"", "the connection is closed"
            seen = files.look()
            assert seen is not None
            assert seen.process is ProcessState.ALIVE
    finally:
        files.signal(signal.SIGKILL)
        assert wait_for(lambda: (seen := files.look()) is None or seen.process is not ProcessState.ALIVE, deadline_s=10)
