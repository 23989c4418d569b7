"""Commands as an operator types them next: with the same configuration, or the same command as another user."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from syncer.cli.session import CommandSession

_FOUND_BY_SUDO: Final = frozenset({"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"})
"""Where sudo looks for programs, whatever PATH is."""


def with_config(session: CommandSession, command: str) -> str:
    """A command of ``syncer`` for the configuration, or the server, that this call has named, if it has."""
    if command.startswith("syncer ") and session.server is not None:
        return f"{command} {shlex.join(session.server.again)}"
    if not command.startswith("syncer ") or not session.config_named:
        return command
    return f"{command} --config {shlex.quote(str(session.config_path))}"


def as_user(owner: str, arguments: Sequence[str], config: Path | None) -> str:
    """This very call, as another user.

    Args:
        owner: The user, or ``#`` and its number.
        arguments: Of this call.
        config: The configuration, where the environment names it: ``sudo`` does not hand that on.
    """
    named = ["--config", str(config)] if config is not None else []
    return shlex.join(["sudo", "-u", owner, _program(), *arguments, *named])


def _program() -> str:
    """The program as ``sudo`` finds it."""
    called = Path(sys.argv[0])
    if called.name != "syncer" or str(called.parent) in {".", *_FOUND_BY_SUDO}:
        return "syncer"
    return str(called.absolute())
