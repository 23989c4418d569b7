"""``syncer api``: who may do what over HTTP. A token is shown when it is made, and never again."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.access.roles import AccessRole
from syncer.cli.render import output
from syncer.cli.render.output import Format, out, say
from syncer.cli.session import CommandSession, session_of
from syncer.documents.configuration import (
    ClientCertificateDocument,
    ClientCertificateList,
    NewTokenDocument,
    TokenDocument,
    TokenList,
)
from syncer.errors import PreconditionFailed

if TYPE_CHECKING:
    from syncer.access.tokens import ClientEntry, TokenEntry

app = typer.Typer(no_args_is_help=True, help="Rights over HTTP: who may ask the daemon for what.")
token = typer.Typer(no_args_is_help=True, help="Tokens; the daemon takes a change within two seconds.")
client = typer.Typer(no_args_is_help=True, help="Client certificates, by their subject.")
app.add_typer(token, name="token")
app.add_typer(client, name="client")

_NAME: Final = "Whose it is: letters, digits, '.', '_', '@' and '-'."

Name = Annotated[str, typer.Argument(metavar="NAME", help=_NAME)]
Role = Annotated[
    AccessRole, typer.Option("--role", help="What they may do; each may what the ones before it may, in every tenant.")
]
Values = Annotated[bool, typer.Option("--values", help="Stored values and payloads may be shown to them too.")]
Expires = Annotated[
    str,
    typer.Option("--expires", metavar="DURATION", help="How long it is good, such as 90d; without end if not given."),
]
Subject = Annotated[
    str, typer.Option("--subject", metavar="SUBJECT", help="Of the certificate, as RFC 4514 writes it: CN=app,O=acme.")
]


@token.command("create")
def create(context: typer.Context, name: Name, role: Role, values: Values = False, expires: Expires = "") -> None:
    """Make a token and print it, this once. A second one of the same name lets the first be replaced without a gap."""
    from syncer.access import token_file, tokens

    session, now = session_of(context), _now()
    path, ends = _file(session), _ends(expires, now)
    _check_name(name)
    with token_file.changing(path) as change:
        randomness = secrets.token_bytes(tokens.ID_BYTES + tokens.SECRET_BYTES)
        rights, made = tokens.made(
            change.rights, randomness, name=name, role=role, values=values, expires=ends, now=now
        )
        change.write(rights)
    if session.form is not Format.TABLE:
        found = NewTokenDocument(token=made.text, made=_token(made.entry, now))
        output.document(found, session.form)
        return
    say(f"made token {made.entry.id} of {name!r}, in {path}; it is shown this once:")
    out(made.text)


@token.command("list")
def list_tokens(context: typer.Context) -> None:
    """List tokens, without their secrets."""
    from syncer.access import token_file

    session, now = session_of(context), _now()
    rights = token_file.read(_file(session), anybodys=True).rights
    _show_tokens(session, [_token(each, now) for each in rights.tokens])


@token.command("revoke")
def revoke(
    context: typer.Context,
    name: Name,
    number: Annotated[
        str, typer.Option("--id", metavar="ID", help="The one of this id; all of the name if not given.")
    ] = "",
) -> None:
    """Take the tokens of a name away, or one of them."""
    from syncer.access import token_file, tokens

    session, now = session_of(context), _now()
    with token_file.changing(_file(session)) as change:
        rights, gone = tokens.revoked(change.rights, name, number or None)
        change.write(rights)
    say(f"revoked {len(gone)} of {name!r}")
    _show_tokens(session, [_token(each, now) for each in gone])


@client.command("add")
def add(
    context: typer.Context,
    name: Name,
    subject: Subject,
    role: Role,
    values: Values = False,
    expires: Expires = "",
) -> None:
    """Give rights to the subject of a client certificate, which an authority of 'api.tls.client_ca' has signed."""
    from syncer.access import token_file, tokens

    session, now = session_of(context), _now()
    path, ends = _file(session), _ends(expires, now)
    _check_name(name)
    try:
        written = tokens.canonical_subject(subject)
    except ValueError as exc:
        raise PreconditionFailed(
            f"{subject!r} is {exc}", hint="'openssl x509 -noout -subject -nameopt RFC2253 -in FILE' prints it."
        ) from None
    entry = tokens.ClientEntry(name=name, role=role, values=values, created=now, expires=ends, subject=written)
    with token_file.changing(path) as change:
        change.write(tokens.allowed(change.rights, entry))
    _show_clients(session, [_client(entry, now)])


@client.command("list")
def list_clients(context: typer.Context) -> None:
    """List client certificates that have rights."""
    from syncer.access import token_file

    session, now = session_of(context), _now()
    rights = token_file.read(_file(session), anybodys=True).rights
    _show_clients(session, [_client(each, now) for each in rights.clients])


@client.command("remove")
def remove(context: typer.Context, name: Name) -> None:
    """Take the rights of a client certificate away."""
    from syncer.access import token_file, tokens

    session, now = session_of(context), _now()
    with token_file.changing(_file(session)) as change:
        rights, gone = tokens.removed(change.rights, name)
        change.write(rights)
    say(f"removed {name!r}")
    _show_clients(session, [_client(gone, now)])


def _file(session: CommandSession) -> Path:
    found = session.config(whole=False).api.tokens
    if found is None:
        raise PreconditionFailed(
            "the configuration names no file of tokens",
            hint="Name one in [api] as 'tokens', such as /var/lib/pulsar-syncer/api-tokens.json; restart the daemon.",
        )
    return found


def _check_name(name: str) -> None:
    import re

    from syncer.access.tokens import NAME

    if re.fullmatch(NAME, name) is None:
        raise PreconditionFailed(f"{name!r} is no name", hint=f"Give one of at most 63 signs. {_NAME}")


def _ends(text: str, now: datetime) -> datetime | None:
    from syncer.config.durations import parse_duration

    if not text:
        return None
    found = parse_duration(text)
    if found is None or not found:
        raise PreconditionFailed(f"--expires: {text!r} is no duration", hint="Write it like 90d or 12h.")
    try:
        return now + found
    except OverflowError:
        raise PreconditionFailed(f"--expires: {text!r} is too long", hint="Leave it out for no end.") from None


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _ms(moment: datetime | None) -> int | None:
    return int(moment.timestamp() * 1000) if moment is not None else None


def _token(entry: TokenEntry, now: datetime) -> TokenDocument:
    return TokenDocument(
        name=entry.name,
        id=entry.id,
        role=entry.role,
        values=entry.values,
        created_at_ms=_ms(entry.created) or 0,
        expires_at_ms=_ms(entry.expires),
        expired=entry.expired(now),
    )


def _client(entry: ClientEntry, now: datetime) -> ClientCertificateDocument:
    return ClientCertificateDocument(
        name=entry.name,
        subject=entry.subject,
        role=entry.role,
        values=entry.values,
        created_at_ms=_ms(entry.created) or 0,
        expires_at_ms=_ms(entry.expires),
        expired=entry.expired(now),
    )


def _show_tokens(session: CommandSession, found: Sequence[TokenDocument]) -> None:
    if session.form is not Format.TABLE:
        output.document(TokenList(items=list(found)), session.form)
        return
    rows = [(each.name, each.id, each.role, _yes(each.values), _end(each)) for each in found]
    output.table(("name", "id", "role", "values", "expires"), rows, empty="there are no tokens")


def _show_clients(session: CommandSession, found: Sequence[ClientCertificateDocument]) -> None:
    if session.form is not Format.TABLE:
        output.document(ClientCertificateList(items=list(found)), session.form)
        return
    rows = [(each.name, each.subject, each.role, _yes(each.values), _end(each)) for each in found]
    output.table(("name", "subject", "role", "values", "expires"), rows, empty="no client certificate has rights")


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _end(entry: TokenDocument | ClientCertificateDocument) -> str:
    if entry.expires_at_ms is None:
        return "never"
    moment = datetime.fromtimestamp(entry.expires_at_ms / 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%SZ}" + (" (has expired)" if entry.expired else "")
