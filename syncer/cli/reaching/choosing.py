"""The choice of a server: by option, by environment, or by the context in use; none: the region of this host.

    --server, --context  >  --config  >  SYNCER_SERVER  >  SYNCER_CONFIG  >  'syncer context use'  >  the default file

What an option or a variable names has to do; what merely is in use gives way to commands about this host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from syncer.cli.reaching.contexts import RegionContext, contexts_file, read_contexts
from syncer.cli.reaching.routed import HERE, INSTEAD, ROUTED

if TYPE_CHECKING:
    from syncer.client.server import Server

SERVER: Final = "SYNCER_SERVER"
TOKEN_FILE: Final = "SYNCER_TOKEN_FILE"  # noqa: S105 - a name
TOKEN: Final = "SYNCER_TOKEN"  # noqa: S105 - likewise
CA_FILE: Final = "SYNCER_CA_FILE"
CERT_FILE: Final = "SYNCER_CERT_FILE"
KEY_FILE: Final = "SYNCER_KEY_FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenServer:
    """A server that a call is for.

    Args:
        label: As it is named: the name of its context, or its address.
        again: The options that name it, for the next command.
        reached: Reads what it takes to reach it.
    """

    label: str
    again: tuple[str, ...]
    reached: Callable[[], Server]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSources:
    """What a call names.

    Args:
        server: An address, by option.
        context: A context, by option.
        config_by_option: It names a configuration.
        config_by_environment: Likewise.
    """

    server: str | None
    context: str | None
    config_by_option: bool
    config_by_environment: bool


def choose(command: str, named: NamedSources, environment: Mapping[str, str] = os.environ) -> ChosenServer | None:
    """The server that a command is for; ``None``: it is for the region of this host.

    Args:
        command: Its words, such as ``holds list``.
        named: What the call names.
        environment: Variables.

    Raises:
        BadParameter: Two are named, or the command has no route.
        ConfigError: The contexts cannot be read.
        NotFound: There is no such context.
    """
    if named.server is not None and named.context is not None:
        raise typer.BadParameter("give either --server or --context")
    by_option = named.server is not None or named.context is not None
    if by_option and named.config_by_option:
        raise typer.BadParameter("--config is for the region of this host: give it, or a server")
    if by_option:
        found = _by_name(named.context) if named.context is not None else _of_address(named.server, environment)
        return _routed(command, found)
    if named.config_by_option or command in HERE:
        return None
    if environment.get(SERVER):
        return _routed(command, _of_address(environment[SERVER], environment))
    if named.config_by_environment:
        return None
    kept = read_contexts(contexts_file())
    return _routed(command, of_context(kept.current, kept.named(kept.current))) if kept.current is not None else None


def _routed(command: str, found: ChosenServer) -> ChosenServer:
    if command not in ROUTED:
        instead = INSTEAD.get(command)
        raise typer.BadParameter(
            f"'syncer {command}' works on the daemon's own host only, so {found.label} cannot be asked (no-route): "
            "run it there, with --config FILE" + (f", or ask by 'syncer {instead}'" if instead is not None else "")
        )
    return found


def _by_name(name: str) -> ChosenServer:
    return of_context(name, read_contexts(contexts_file()).named(name))


def of_context(name: str, context: RegionContext) -> ChosenServer:
    """The server of a context."""
    return ChosenServer(label=name, again=("--context", name), reached=context.reached)


def _of_address(address: str | None, environment: Mapping[str, str]) -> ChosenServer:
    from syncer.client.server import Server, address_of, checked_token, token_from

    place = address_of(address or "")

    def reached() -> Server:
        token = ""
        if environment.get(TOKEN_FILE):
            token = token_from(Path(environment[TOKEN_FILE]))
        elif environment.get(TOKEN):
            token = checked_token(environment[TOKEN], TOKEN)
        return Server.of(
            place,
            token=token,
            ca=_file(environment, CA_FILE),
            certificate=_file(environment, CERT_FILE),
            key=_file(environment, KEY_FILE),
        )

    return ChosenServer(label=place, again=("--server", place), reached=reached)


def _file(environment: Mapping[str, str], name: str) -> Path | None:
    return Path(environment[name]) if environment.get(name) else None
