"""Confirmation: an operator agrees to what a command is about to do by typing what it is about."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from syncer.cli.render.output import say
from syncer.errors import PreconditionFailed
from syncer.terminal import visible

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")]


def agree(target: str, *consequences: str, yes: bool) -> None:
    """Have the operator agree by typing what it is about; each consequence is a line of its own.

    Raises:
        PreconditionFailed: Nobody agreed, or there is nobody to ask.
    """
    for consequence in consequences:
        say(consequence)
    if yes:
        return
    if not attended():
        raise PreconditionFailed(
            f"this has to be confirmed for {target}, and there is no terminal to ask at; nothing was changed",
            hint="Give --yes to go ahead.",
        )
    say(f"Type {target} to go ahead, anything else to leave it as it is:")
    if sys.stdin.readline().strip() not in {target, visible(target)}:
        raise PreconditionFailed(
            "not confirmed; nothing was changed", hint="Type the name exactly as shown, or give --yes."
        )


def attended() -> bool:
    """Whether an operator can be asked."""
    return sys.stdin.isatty()
