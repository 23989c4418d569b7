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
from syncer.cli.commands import (
    api,
    backup,
    config,
    conflicts,
    events,
    explain,
    holds,
    jobs,
    keys,
    notify,
    operations,
    plan,
    quarantine,
    run,
    state,
    status,
    topic,
)
from syncer.cli.commands import regions as _regions  # noqa: F401 - its commands go into overview's group
from syncer.cli.commands.balancing import advise as _balancer_advise  # noqa: F401 - its commands go into balancer's group
from syncer.cli.commands.balancing import balancer
from syncer.cli.commands.balancing import compare as _balancer_compare  # noqa: F401 - its command goes into balancer's group
from syncer.cli.commands.balancing import doctor as _balancer_doctor  # noqa: F401 - its command goes into balancer's group
from syncer.cli.commands.balancing import history as _balancer_history  # noqa: F401 - its group goes into balancer's
from syncer.cli.commands.balancing import load as _balancer_load  # noqa: F401 - its command goes into balancer's group
from syncer.cli.commands.balancing import moves as _balancer_moves  # noqa: F401 - its commands go into balancer's group
from syncer.cli.commands.ledgers import history as _ledger_history  # noqa: F401 - its group goes into ledgers'
from syncer.cli.commands.ledgers import ledgers
from syncer.cli.commands.migrations import control as _migration_control  # noqa: F401 - its commands go into migration's group
from syncer.cli.commands.migrations import migration
from syncer.cli.commands.migrations import rehearsal as _migration_rehearsal  # noqa: F401 - as control's
from syncer.cli.commands.migrations import report as _migration_report  # noqa: F401 - as control's
from syncer.cli.commands.migrations import reverse as _migration_reverse  # noqa: F401 - as control's
from syncer.cli.commands.migrations import status as _migration_status  # noqa: F401 - as control's
from syncer.cli.commands.servers import context as _context
from syncer.cli.commands.snapshots import snapshot
from syncer.cli.reaching.choosing import NamedSources, choose
from syncer.cli.render.output import Format, out, say, say_lines
from syncer.cli.session import CommandSession
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
    cls=Root,
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


app.command("init")(config.init)
app.add_typer(_context.app, name="context")
app.add_typer(config.app, name="config")
app.add_typer(topic.app, name="topic")
app.add_typer(keys.app, name="keys")
app.add_typer(api.app, name="api")
app.command("run")(run.run)
app.command("demo")(run.demo)
app.command("status")(status.status)
app.add_typer(status.regions, name="regions")
app.add_typer(events.app, name="events")
app.command("explain")(explain.explain)
app.add_typer(conflicts.app, name="conflicts")
app.add_typer(holds.app, name="holds")
app.add_typer(quarantine.app, name="quarantine")
app.add_typer(quarantine.parked, name="parked")
app.add_typer(operations.app, name="operations")
app.add_typer(notify.app, name="notify")
app.add_typer(migration.app, name="migration")
app.add_typer(balancer.app, name="balancer")
app.add_typer(ledgers.app, name="ledgers")
app.command("diff")(plan.diff)
app.add_typer(plan.app, name="plan")
app.add_typer(backup.app, name="backup")
app.add_typer(snapshot.app, name="snapshot")
app.add_typer(jobs.app, name="jobs")
app.add_typer(state.app, name="state")
app.command("pause")(run.pause)
app.command("resume")(run.resume)


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
