"""``syncer keys``: the key pair of a region. A private half is written into a file once, and never shown."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.render import output
from syncer.cli.render.output import Format, out, say
from syncer.cli.session import CommandSession, session_of
from syncer.documents.configuration import KeyDocument
from syncer.errors import ConfigError, PreconditionFailed

if TYPE_CHECKING:
    from syncer.bus.trust.region_keys import RegionKey

app = typer.Typer(no_args_is_help=True, help="Key pairs of regions: with them no member can speak as another one.")

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
"""Keys of TOML that need no quotation marks."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="File of the private key.")]
RegionName = Annotated[
    str, typer.Option("--region", metavar="REGION", help="Id of the region; that of the configuration if not given.")
]


@app.command("create")
def create(context: typer.Context, file: File, region: RegionName = "") -> None:
    """Make a key pair: write its private half into a new file, print its public half as 'peers.keys' wants it."""
    from syncer.bus.trust.region_keys import RegionKey

    key, session = RegionKey.make(), session_of(context)
    _write(file, key.pem())
    say(f"wrote {file}: the private key of one region, for its daemon alone")
    say("its public half belongs into [peers.keys], in every region:")
    _show(session, file, key, region)


@app.command("show")
def show(context: typer.Context, file: File, region: RegionName = "") -> None:
    """Print the public half of a private key, as 'peers.keys' wants it; never the private half."""
    from syncer.bus.trust.region_keys import RegionKey
    from syncer.config.group_keys import private_text

    try:
        key = RegionKey.of_pem(private_text(file))
    except ConfigError as exc:
        general = exc.hint == ConfigError.default_hint
        hint = "Name a file that 'syncer keys create' wrote." if general else exc.hint
        raise PreconditionFailed(f"{file} {exc.message}", hint=hint) from None
    _show(session_of(context), file, key, region)


def _show(session: CommandSession, file: Path, key: RegionKey, region: str) -> None:
    region = region or _configured(session)
    if session.form is not Format.TABLE:
        output.document(
            KeyDocument(file=str(file), id=key.public.id, public=key.public.text, region=region or None), session.form
        )
        return
    say(f"key {key.public.id}")
    name = region if _BARE.fullmatch(region) else json.dumps(region, ensure_ascii=False)
    out(f"{name} = [{json.dumps(key.public.text)}]" if region else key.public.text)


def _configured(session: CommandSession) -> str:
    """The region of the configuration, where there is one that can be used."""
    try:
        return session.config(whole=False).region
    except ConfigError:
        return ""


def _write(file: Path, text: bytes) -> None:
    """Write a new file that only its owner may read; what exists, a link too, is left as it is."""
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise PreconditionFailed(f"{file} exists; it is left as it is", hint="Name a file that is not there.") from None
    except (OSError, ValueError) as exc:
        raise _unwritten(file, exc) from exc
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as exc:
        file.unlink(missing_ok=True)
        raise _unwritten(file, exc) from exc


def _unwritten(file: Path, exc: Exception) -> PreconditionFailed:
    why = getattr(exc, "strerror", None) or exc
    return PreconditionFailed(
        f"{file} cannot be written: {why}", hint="Name a file in a directory that is there, and yours."
    )
