"""A shell in which the commands of a page are typed, one after the other, by somebody who answers questions."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from syncer.waiting import WAIT_S

STEP_S: Final = 300.0
"""A command that takes longer hangs."""

_LOOP: Final = """
while IFS= read -r -d '' -u "$STEPS" step && IFS= read -r -d '' -u "$STEPS" output; do
    (exit "${status:-0}")
    eval "$step" >"$output" 2>&1
    status=$?
    printf '%s\\n' "$status" >&"$DONE"
done
kill $(jobs -p) 2>/dev/null
wait
"""


class Hangs(AssertionError):
    """A command did not end in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended, all that it printed, and whether the answer that was typed for it was read."""

    status: int
    printed: str
    answered: bool


class Shell:
    """One bash for a whole page: its variables, functions, directory and background jobs last as long as it does.

    Its input is a terminal, so that commands ask. Leaving the block ends all that was started in it.

    Args:
        directory: Where it begins.
        outputs: An existing directory for what commands print.
        environment: All variables that commands see.
    """

    def __init__(self, directory: Path, outputs: Path, environment: Mapping[str, str]) -> None:
        self._outputs = outputs
        self._count = 0
        self._keyboard, terminal = pty.openpty()
        attributes = termios.tcgetattr(terminal)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        self._terminal = terminal
        steps, self._steps = os.pipe()
        self._done, done = os.pipe()
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-c", _LOOP],
            cwd=directory,
            env={**environment, "STEPS": str(steps), "DONE": str(done)},
            stdin=terminal,
            pass_fds=(steps, done),
            start_new_session=True,
        )
        os.close(steps)
        os.close(done)

    def run(self, text: str, *, answer: str = "") -> Ran:
        """Type a command, and the answer to what it asks.

        Raises:
            Hangs: It did not end in time.
        """
        self._count += 1
        output = self._outputs / f"{self._count}.txt"
        termios.tcflush(self._terminal, termios.TCIFLUSH)
        if answer:
            os.write(self._keyboard, f"{answer}\n".encode())
        os.write(self._steps, f"{text}\0{output}\0".encode())
        ready, _, _ = select.select([self._done], [], [], STEP_S)
        said = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        if not ready:
            raise Hangs(f"no end within {STEP_S:g} s: {text}\n{said}")
        status = os.read(self._done, 16)
        if not status:
            raise Hangs(f"the shell has ended: {text}\n{said}")
        waiting = struct.unpack("i", fcntl.ioctl(self._terminal, termios.FIONREAD, b"\0" * 4))[0]
        printed = output.read_text(encoding="utf-8", errors="replace")
        return Ran(status=int(status), printed=printed, answered=bool(answer) and waiting == 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._steps)
        try:
            self._bash.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._bash.pid, signal.SIGKILL)
            self._bash.wait()
        for descriptor in (self._done, self._keyboard, self._terminal):
            os.close(descriptor)
