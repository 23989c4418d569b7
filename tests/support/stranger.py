"""The command line run by a user who has really no rights: the kernel refuses, nothing is played.

The interpreter and the installed packages may lie where that user cannot read them (``/root`` is closed). So the
process runs the same commands on a database that is open to it, which loads all that they need (in place of a daemon,
which it does not start, the status); then it gives its rights up for ever, and runs the commands that are asked for.
"""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from syncer.waiting import WAIT_S

NOBODY: Final = 65534
PRIVILEGED: Final = os.geteuid() == 0
OWNER: Final = pwd.getpwuid(os.geteuid()).pw_name
"""Whose everything is that a test makes."""
STRANGER: Final = pwd.getpwuid(NOBODY).pw_name if PRIVILEGED else OWNER
CLOSED: Final = 0o700 if PRIVILEGED else 0o000
"""Of a directory. Without privileges the test is its own stranger, and closes its files to itself."""
SHUT: Final = 0o600 if PRIVILEGED else 0o000
"""Of a file."""

_SCRIPT: Final = f"""
import contextlib, io, json, os, sys
from syncer.cli.main import main
from syncer.ownership import user

def outcome(arguments):
    sys.argv[:] = ["syncer", *arguments]
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            main()
            status = 0
        except SystemExit as exc:
            status = exc.code or 0
    return status, stdout.getvalue(), stderr.getvalue()

warm, commands = sys.argv[1], json.loads(sys.argv[2])
if any("run" in command for command in commands):
    import syncer.log, syncer.running, syncer.surface
for command in commands if warm else ():
    for config in (warm, warm + ".absent"):
        outcome([*(["status"] if "run" in command else command), "--config", config])
user(os.geteuid()), user({NOBODY})
if warm and os.geteuid() == 0:
    os.setgroups([])
    os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
    os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
print(json.dumps([outcome(command) for command in commands]))
"""


class Result(NamedTuple):
    """What a command has left."""

    exit_status: int
    stdout: str
    stderr: str


def run(warm: Path | None, *commands: Sequence[str], environment: dict[str, str] | None = None) -> list[Result]:
    """Run ``syncer`` as a stranger, once for each command.

    Args:
        warm: A configuration whose database may be used, to load the program with; ``None``: run it as ourselves.
        commands: Arguments, their own ``--config`` included.
        environment: Variables beside this process's own.
    """
    environ = {name: text for name, text in os.environ.items() if not name.startswith("SYNCER_")}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(warm or ""), json.dumps(commands)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
        env={**environ, **(environment or {})},
    )
    assert done.returncode == 0, done.stderr
    return [Result(*each) for each in json.loads(done.stdout)]
