"""The command ``syncer``: options before the command, errors after it. Heavy parts load when a command needs them."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import typer.core
from typer.exceptions import TyperException

from syncer.cli import leaving
from syncer.cli.again import as_user
from syncer.cli.reaching.choosing import NamedSources, choose
from syncer.cli.render.output import Format, out, say, say_lines
from syncer.cli.session import CommandSession
from syncer.cli.tree import LateCommands
from syncer.dispositions import ExitCode, disposition
from syncer.errors import ConfigDenied, ConfigError, StateDenied, SyncerError
from syncer.terminal import visible_lines
from syncer.version import made_by

DEFAULT_CONFIG: Final = Path("/etc/pulsar-syncer/config.toml")
_ARGUMENTS: Final = "syncer.arguments"
"""Where the arguments of this call are kept as they were given."""
_COMMAND: Final = "syncer.command"
"""Where the words of the command are kept."""
_EVERYWHERE: Final = {"-c": "--config", "--config": "--config", "-o": "--output", "--output": "--output"}
_SERVERS: Final = {"--server": "--server", "--context": "--context"}
"""Likewise for every command but those about contexts, which have an option of their own that is called so."""


class Root(typer.core.TyperGroup):
    """The root command: its options may stand anywhere, and errors leave with their own exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer's own copy of click
        """Move the options of every command to the front."""
        ctx.meta[_ARGUMENTS] = tuple(args)
        front, rest = hoisted(args)
        ctx.meta[_COMMAND] = _words(self, ctx, rest)
        with _shown_safely():
            return super().parse_args(ctx, front + rest)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - Typer's own copy of click
        """Run the command; say what is wrong and what to do about it."""
        try:
            with _shown_safely():
                return super().invoke(ctx)
        except SyncerError as exc:
            (say_lines if isinstance(exc, ConfigError) else say)(f"error: {exc.message}")
            say(f"hint: {_hint(exc, ctx)}")
            raise typer.Exit(disposition(exc).exit_code) from exc


class SyncerRoot(Root):
    """The root of ``syncer``, whose commands are loaded when they are called."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - Typer's own copy of click
        super().__init__(**given)
        self.commands = LateCommands()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Typer's own copy of click
        """The words, without a look at what is behind them."""
        del ctx
        return list(self.commands)


def _hint(error: SyncerError, context: Any) -> str:  # noqa: ANN401 - Typer's own copy of click
    """What the operator does next: where only rights are wanting, the same command as the user who has them."""
    if isinstance(error, (ConfigDenied, StateDenied)) and error.owner and isinstance(context.obj, CommandSession):
        return f"Run it as that user: {context.obj.as_owner(error.owner)}"
    return error.hint


@contextmanager
def _shown_safely() -> Iterator[None]:
    """Have what Typer says of a wrong command line hold no sign that acts on a terminal."""
    try:
        yield
    except TyperException as exc:
        exc.message = visible_lines(exc.message).replace("Value error, ", "")
        raise


def hoisted(args: list[str]) -> tuple[list[str], list[str]]:
    """Split arguments into the options that hold for every command, and the rest. What follows ``--`` stays."""
    front: list[str] = []
    rest: list[str] = []
    left = list(args)
    while left:
        arg = left.pop(0)
        if arg == "--":
            rest += [arg, *left]
            break
        name, equals, value = arg.partition("=")
        names = _EVERYWHERE if rest[:1] == ["context"] else {**_EVERYWHERE, **_SERVERS}
        if name in names and (equals or left):
            front += [names[name], value if equals else left.pop(0)]
        else:
            rest.append(arg)
    return front, rest


def _words(root: Any, context: Any, rest: list[str]) -> str:  # noqa: ANN401 - Typer's own copy of click
    """The words of the command that is called, as far as they are known."""
    words: list[str] = []
    group = root
    for arg in rest:
        below = group.get_command(context, arg)
        if below is None:
            break
        words.append(arg)
        if not hasattr(below, "commands"):
            break
        group = below
    return " ".join(words)


app = typer.Typer(
    cls=SyncerRoot,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Keeps the metadata of separate Apache Pulsar clusters equal, and proves that it is equal.",
    epilog="--config, --server, --context and --output may stand after the command too. Exit codes: 0 done, 1 failed,"
    " 2 usage, 3 different, 4 unreachable, 5 refused, 6 not allowed, 78 bad configuration.",
)


def _version(wanted: bool) -> None:
    if wanted:
        out(made_by())
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    config: Annotated[
        Path,
        typer.Option(
            "--config",
            "-c",
            envvar="SYNCER_CONFIG",
            metavar="FILE",
            readable=False,  # what keeps it from being read is said when it is
            help="Configuration, TOML or YAML.",
        ),
    ] = DEFAULT_CONFIG,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="URL",
            help="Ask this daemon by REST, instead of the database of this host; SYNCER_SERVER.",
        ),
    ] = None,
    context_name: Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="Likewise, the daemon of 'syncer context add'.")
    ] = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="Form of the data on stdout.")] = Format.TABLE,
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that hold for every command."""
    source = context.get_parameter_source("config")
    named = config if source is not None and source.name == "ENVIRONMENT" else None
    arguments = context.meta.get(_ARGUMENTS, ())
    by_option = source is not None and source.name == "COMMANDLINE"
    context.obj = CommandSession(
        config_path=config,
        form=output,
        config_named=by_option,
        server=choose(
            context.meta.get(_COMMAND, ""),
            NamedSources(
                server=server,
                context=context_name,
                config_by_option=by_option,
                config_by_environment=named is not None,
            ),
        ),
        as_owner=lambda owner: as_user(owner, arguments, named),
    )


def main() -> None:
    """Entry point of the ``syncer`` command. A bug leaves with its trace, which holds text of strangers too."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # where a terminal's encoding lacks a letter
    try:
        app(prog_name="syncer")
    except SystemExit as exc:
        if leaving.left():
            leaving.at_once(exc.code if isinstance(exc.code, int) else ExitCode.FAILED if exc.code else ExitCode.DONE)
        raise
    except Exception:  # noqa: BLE001 - whatever it is: the last words of a bug are shown as all text is
        say_lines(traceback.format_exc().rstrip())
        if leaving.left():
            leaving.at_once(ExitCode.FAILED)
        raise SystemExit(ExitCode.FAILED) from None
