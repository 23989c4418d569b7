"""The command line as an operator gives it: each command in a process of its own."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Final

from syncer.cli.main import main
from syncer.cli.tree import LateCommands
from syncer.waiting import until
from tests.hostile.daemon import LOADED
from tests.support.forked import leashed, say_into

_numbers: Final = itertools.count(1)
_COMMANDS: Final = dict(LateCommands())
"""All of them, loaded once, before processes are forked that call them."""


async def run(folder: Path, *words: str) -> tuple[int, str]:
    """Give a command; its exit status, and what it wrote.

    Args:
        folder: Where its output is kept.
        *words: Behind ``syncer``.

    Raises:
        AssertionError: It showed a traceback.
    """
    output = folder / f"command-{next(_numbers)}.txt"
    process = leashed(_main, words, str(output), loaded=LOADED)
    try:
        await until(lambda: process.exitcode is not None, f"'syncer {' '.join(words)[:100]}' ends")
    finally:
        process.kill()
        process.join()
    text = output.read_text(encoding="utf-8", errors="replace")
    assert "Traceback" not in text, f"'syncer {' '.join(words)[:100]}' fell: {text[-300:]}"
    assert process.exitcode is not None
    return process.exitcode, text


def _main(words: tuple[str, ...], output: str) -> None:
    say_into(output)
    sys.argv = ["syncer", *words]
    main()
