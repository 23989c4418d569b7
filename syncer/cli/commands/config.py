"""``syncer init`` and ``syncer config``: making a configuration, checking it, showing what is in force."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syncer.cli.render import output
from syncer.cli.render.output import Format, out, out_lines, say
from syncer.cli.session import CommandSession, log_to_stderr, session_of
from syncer.dispositions import ExitCode
from syncer.documents.configuration import CheckDocument, DependencyDocument, ProblemDocument
from syncer.errors import ConfigError, PreconditionFailed

if TYPE_CHECKING:
    from syncer.config import Config

app = typer.Typer(no_args_is_help=True, help="The configuration of this region's daemon.")


def init(
    context: typer.Context,
    store: Annotated[str, typer.Option("--store", help="Kind of store: sqlite, zookeeper, etcd, …")] = "zookeeper",
    bus: Annotated[str, typer.Option("--bus", help="Kind of bus: pulsar, embedded, …")] = "pulsar",
    region: Annotated[str, typer.Option("--region", help="Id of the region.")] = "east",
    stdout: Annotated[bool, typer.Option("--stdout", help="Print it instead of writing the file.")] = False,
) -> None:
    """Write a commented configuration to the file that --config names. One that exists is never overwritten."""
    from syncer.config.sample import sample

    text = sample(store=store, bus=bus, region=region)
    if stdout:
        out_lines(text.rstrip())
        return
    path = session_of(context).config_path
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as exc:
        raise PreconditionFailed(
            f"{path} exists; it is left as it is", hint="Name another file with --config."
        ) from exc
    except OSError as exc:
        raise PreconditionFailed(
            f"{path} cannot be written: {exc.strerror}", hint="Make its directory, or name another file with --config."
        ) from exc
    say(f"wrote {path}; fill in what is yours, then run: syncer config check --connect --config {path}")


@app.command("check")
def check(
    context: typer.Context,
    connect: Annotated[
        bool, typer.Option("--connect", help="Dial store, bus, admin APIs and database too, all at once.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="For all dependencies of --connect together.")
    ] = 15.0,
) -> None:
    """Check the configuration: every mistake with line, field, reason and suggestion."""
    from syncer.config import ConfigInvalid
    from syncer.config.believing import advice
    from syncer.config.sources import unknown_variables
    from syncer.config.trusting import lax

    session = session_of(context)
    problems: list[ProblemDocument] = []
    dependencies: list[DependencyDocument] = []
    warnings = [f"{name} is set, but names no field" for name in unknown_variables(os.environ)]
    try:
        config = session.config()
        warnings += [f"{what} ({code})" for code, what in advice(config)]
        warnings += lax(config)
        problems = [*_unfit_keys(config), *_half_protected(config), *_unfit_webhooks(config)]
        if connect:
            from syncer.cli.connecting import dial
            from syncer.cli.etcd_versions import etcd_warnings
            from syncer.cli.told_by_peers import compared_with_peers

            log_to_stderr(but=("pulsar",))  # its words are the cause in its row
            began = time.monotonic()
            dependencies = dial(config, timeout_s=timeout)
            left_s = max(0.1, timeout - (time.monotonic() - began))
            warnings += etcd_warnings(config, dependencies, timeout_s=left_s)
            left_s = max(0.1, timeout - (time.monotonic() - began))
            contradicted, doubtful = compared_with_peers(config, dependencies, timeout_s=left_s)
            problems, warnings = problems + contradicted, warnings + doubtful
    except ConfigInvalid as exc:
        problems = [
            ProblemDocument(
                source=each.source, line=each.line, field=each.field, what=each.what, suggestion=each.suggestion
            )
            for each in exc.problems
        ]
    reached = all(each.ok for each in dependencies)
    found = CheckDocument(
        ok=reached and not problems,
        file=str(session.config_path),
        problems=problems,
        warnings=warnings,
        dependencies=dependencies,
    )
    _show(found, session)
    if problems:
        raise typer.Exit(ExitCode.BAD_CONFIG)
    if not reached:
        raise typer.Exit(ExitCode.UNREACHABLE)


def _half_protected(config: Config) -> list[ProblemDocument]:
    """Why the HTTP server would not start where others reach it."""
    if not config.api.enabled:
        return []
    try:
        config.api.exposure()
    except ConfigError as exc:
        field, _, what = exc.message.partition(": ")
        return [ProblemDocument(source="configuration", line=None, field=field, what=what, suggestion=exc.hint)]
    return []


def _unfit_keys(config: Config) -> list[ProblemDocument]:
    """What is wrong with the files of keys, as far as they are on this machine."""
    from syncer.config.group_keys import read_keys, region_key
    from syncer.model import Region

    signing, found = config.signing, list[ProblemDocument]()
    if signing is None:
        return found
    present = [file for file in signing.key_files if file.exists()]
    own = signing.region_key_file
    checks: list[tuple[str, Callable[[], object]]] = [("key_files", lambda: read_keys(present))]
    if own is not None and own.exists():
        checks.append(("region_key_file", lambda: region_key(own, config.peers.halves(), Region(config.region))))
    for field, check in checks:
        try:
            check()
        except ConfigError as exc:
            what = exc.message.removeprefix(f"signing.{field}: ")
            found.append(
                ProblemDocument(source="file", line=None, field=f"signing.{field}", what=what, suggestion=exc.hint)
            )
    return found


def _unfit_webhooks(config: Config) -> list[ProblemDocument]:
    """What is wrong with the secrets and templates of webhooks, as far as they are on this machine."""
    found = list[ProblemDocument]()
    for name, webhook in config.webhook.items():
        checks: list[tuple[str, Path | None, Callable[[], object]]] = [
            ("secret_file", webhook.secret_file, webhook.secrets),
            ("template_file", webhook.template_file, webhook.body_template),
        ]
        for field, file, check in checks:
            if file is None or not file.exists():
                continue
            try:
                check()
            except ConfigError as exc:
                at = f"webhook.{name}.{field}"
                found.append(ProblemDocument(source="file", line=None, field=at, what=exc.message, suggestion=exc.hint))
    return found


def _show(found: CheckDocument, session: CommandSession) -> None:
    if session.form is not Format.TABLE:
        output.document(found, session.form)
        return
    for problem in found.problems:
        place = f"{problem.source}:{problem.line}" if problem.line is not None else problem.source
        out(" ".join(part for part in (f"{place}: {problem.field}:", problem.what, problem.suggestion) if part))
    for warning in found.warnings:
        say(f"warning: {warning}")
    output.table(
        ("dependency", "ok", "cause", "what next"),
        [(each.name, each.ok, each.cause or None, each.hint or None) for each in found.dependencies],
    )
    if found.ok:
        say(f"{found.file}: good")


@app.command("show")
def show(context: typer.Context) -> None:
    """Show every setting in force, defaults included, secrets hidden. YAML unless JSON is asked for."""
    session = session_of(context)
    with session.region() as region:
        document = region.configuration()
    output.structured(document, Format.JSON if session.form is Format.JSON else Format.YAML)


@app.command("schema")
def schema(context: typer.Context) -> None:
    """Print the JSON schema of the file, with every store and bus that is installed."""
    from syncer.config.showing import schema as make

    session = session_of(context)
    try:
        document = make()
    except ConfigError as exc:
        raise PreconditionFailed(exc.message, hint=exc.hint) from exc
    output.structured(document, Format.YAML if session.form is Format.YAML else Format.JSON)
