"""A helper process of a bench, told what to do by lines on its standard input and answering each by one line."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

ANSWER_TIMEOUT_S: Final = 300.0
END_TIMEOUT_S: Final = 20.0


class ChildFailed(Exception):
    """A helper process ended, or did not answer in time."""


class Child:
    """One process running ``python -m MODULE ARGUMENT ...``. It ends with its standard input, so never outlives us.

    Args:
        module: What to run.
        arguments: Its command line.
        log: Where its standard error goes.
    """

    def __init__(self, module: str, *arguments: str, log: Path) -> None:
        self._name = module
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._pending = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, *words: object, timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """Send one command and wait for its answer.

        Raises:
            ChildFailed: The process ended or did not answer in time; the message has the end of its log.
        """
        self.tell(*words)
        return self.hear(timeout_s=timeout_s)

    def tell(self, *words: object) -> None:
        """Send one command; :meth:`hear` brings the answer."""
        pipe = self._process.stdin
        if pipe is None:
            raise ChildFailed(f"{self._name} has no standard input")
        pipe.write((" ".join(map(str, words)) + "\n").encode())
        pipe.flush()

    def hear(self, *, timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """Wait for the next line."""
        pipe = self._process.stdout
        if pipe is None:
            raise ChildFailed(f"{self._name} has no standard output")
        while b"\n" not in self._pending:
            ready, _, _ = select.select([pipe], [], [], timeout_s)
            part = os.read(pipe.fileno(), 65_536) if ready else b""
            if not part:
                why = "ended" if ready else f"did not answer within {timeout_s:g} s"
                raise ChildFailed(f"{self._name} {why}:\n{self._log.read_text(errors='replace')[-2000:]}")
            self._pending += part
        line, self._pending = self._pending.split(b"\n", 1)
        return line.decode().split()

    def close(self) -> None:
        """End it and wait for that."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(END_TIMEOUT_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
