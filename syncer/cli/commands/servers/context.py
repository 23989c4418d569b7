"""``syncer context``: daemons of other hosts by name, for ``--context`` and ``syncer status --all``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from syncer.cli.reaching.contexts import NAME, RegionContext, contexts_file, read_contexts, write_contexts
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import session_of
from syncer.documents.reached.contexts import ContextDocument, ContextList

app = typer.Typer(no_args_is_help=True, help="Daemons of other hosts by name.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the context.")]
_FITS: Final = re.compile(NAME)


@app.command("add")
def add(
    context: typer.Context,
    name: Name,
    server: Annotated[
        str, typer.Option("--server", metavar="URL", help="Where the daemon listens: https://HOST:PORT.")
    ],
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="Holds a token, alone; read at each call.")
    ] = None,
    ca: Annotated[
        Path | None, typer.Option("--ca", metavar="FILE", help="Certificates to trust instead of the system's.")
    ] = None,
    cert: Annotated[Path | None, typer.Option("--cert", metavar="FILE", help="Certificate of our own.")] = None,
    key: Annotated[Path | None, typer.Option("--key", metavar="FILE", help="Key of that certificate.")] = None,
    without_tls: Annotated[
        bool, typer.Option("--without-tls", help="The token may travel in clear: something else protects the way.")
    ] = False,
) -> None:
    """Keep a daemon's address under a name. Nothing is asked of it; its files have to be usable."""
    from syncer.client.server import address_of

    del context
    if not _FITS.fullmatch(name):
        raise typer.BadParameter("a name has letters, digits, '.', '_' and '-', 64 at most", param_hint="'NAME'")
    if (cert is None) != (key is None):
        raise typer.BadParameter("--cert and --key go together")
    entry = RegionContext(
        server=address_of(server),
        token_file=_absolute(token_file),
        ca=_absolute(ca),
        certificate=_absolute(cert),
        key=_absolute(key),
        without_tls=without_tls,
    )
    entry.reached()
    file = contexts_file()
    kept = read_contexts(file).adding(name, entry)
    write_contexts(file, kept)
    say(f"kept {name} in {file}; --context {name} asks it, and 'syncer context use {name}' makes that the default")


@app.command("use")
def use(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of the context.")] = None,
    none: Annotated[bool, typer.Option("--none", help="No context: the region of this host.")] = False,
) -> None:
    """Have the commands that follow ask a context's daemon, as long as they name nothing else."""
    del context
    if (name is None) != none:
        raise typer.BadParameter("give either a NAME or --none")
    file = contexts_file()
    write_contexts(file, read_contexts(file).using(name))
    say(f"commands are for {name} now" if name is not None else "commands are for the region of this host now")


@app.command("list")
def list_contexts(context: typer.Context) -> None:
    """List contexts, by name."""
    session = session_of(context)
    kept = read_contexts(contexts_file())
    found = ContextList(
        items=[
            ContextDocument(
                name=name,
                server=each.server,
                in_use=name == kept.current,
                token_file=_words(each.token_file),
                ca=_words(each.ca),
                certificate=_words(each.certificate),
                key=_words(each.key),
                without_tls=each.without_tls,
            )
            for name, each in sorted(kept.contexts.items())
        ]
    )
    if session.form is not Format.TABLE:
        output.document(found, session.form)
        return
    output.table(
        ("name", "in use", "server", "token", "trusts", "certificate"),
        [
            (each.name, each.in_use, each.server, each.token_file, each.ca or "the system's", each.certificate)
            for each in found.items
        ],
        empty="no context is kept; 'syncer context add' makes one",
    )


@app.command("remove")
def remove(context: typer.Context, name: Name) -> None:
    """Forget a context. Its files stay."""
    del context
    file = contexts_file()
    kept = read_contexts(file)
    write_contexts(file, kept.without(name))
    used = "; no context is in use now" if kept.current == name else ""
    say(f"removed {name}{used}")


def _absolute(file: Path | None) -> Path | None:
    return file.absolute() if file is not None else None


def _words(file: Path | None) -> str | None:
    return str(file) if file is not None else None
