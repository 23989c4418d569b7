"""``syncer run``, ``demo``, ``pause``, ``resume``: starting the daemon, stopping its writes, letting them go on."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from syncer.cli.confirmation import Yes
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.session import session_of
from syncer.errors import ConfigDenied, ConfigError

Everywhere = Annotated[bool, typer.Option("--everywhere", help="In all regions, by a message on the bus.")]


def run(
    context: typer.Context,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        typer.Option("--log-level", help="Instead of log.level of the configuration."),
    ] = None,
) -> None:
    """Run the daemon of this region until SIGTERM."""
    from syncer import log, running
    from syncer.config import load
    from syncer.config.showing import secrets_of

    session = session_of(context)
    try:
        config = load(session.config_path, flags={"log.level": log_level} if log_level else None)
    except ConfigDenied as exc:  # no restart of the service mends it, as no other bad configuration
        raise ConfigError(exc.message, hint=exc.hint) from exc
    log.configure(level=config.log.level, form=config.log.format, secrets=secrets_of(config))
    running.run(config, session.config_path)


def demo() -> None:
    """Watch three regions on this machine converge, quarrel, crash and agree again."""
    from syncer.demo import run as play

    raise typer.Exit(play())


def pause(
    context: typer.Context,
    everywhere: Everywhere = False,
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Stop writing and publishing; changes are still read and kept."""
    session = session_of(context)
    with session.region() as region:
        carry_out(region.pause(everywhere=everywhere), yes=yes, reason=reason, timeout_s=timeout, form=session.form)


def resume(context: typer.Context, everywhere: Everywhere = False, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Go on writing and publishing."""
    session = session_of(context)
    with session.region() as region:
        carry_out(region.resume(everywhere=everywhere), yes=True, reason=reason, timeout_s=timeout, form=session.form)
