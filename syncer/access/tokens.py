"""Tokens and certificate subjects that open the HTTP surface: one file's content as a value, judged without I/O.

A token is ``syncer_<id>_<secret>``: a prefix that secret scanners find, a public id, and 256 random bits. Kept is the
SHA-256 of the secret. A slow hash (bcrypt, argon2) protects secrets that people choose, by making each guess dear; of
256 random bits there is nothing to guess, and a slow hash would let strangers keep the daemon busy.

    name ──1..2──▶ token      two of one name, so that one is replaced without a gap: create, hand over, revoke
    name ──1─────▶ subject    of a client certificate, as RFC 4514 writes it

Certificates are named in the same file as tokens, not in the configuration: one file says who may do what, it is
shown and changed by one command, and who is struck out of it is out without a restart.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal, Self

from cryptography import x509
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from syncer.access.roles import AccessRole
from syncer.errors import NotFound, PreconditionFailed

PREFIX: Final = "syncer"
ID_BYTES: Final = 6
SECRET_BYTES: Final = 32
AT_A_TIME: Final = 2
"""Tokens of one name that may be there at once."""
MAX_ENTRIES: Final = 1000
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$"
_TOKEN: Final = re.compile(rf"{PREFIX}_([0-9a-f]{{{ID_BYTES * 2}}})_([A-Za-z0-9_-]{{43}})")
_NOBODYS: Final = hashlib.sha256(b"").hexdigest()
"""Compared with where there is no token of that id, so that both take equally long."""

EntryName = Annotated[str, StringConstraints(pattern=NAME)]


class RightsEntry(BaseModel):
    """Rights of somebody."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: EntryName
    role: AccessRole
    values: bool = Field(default=False, description="May see stored values and payloads.")
    created: AwareDatetime
    expires: AwareDatetime | None = None

    def expired(self, now: datetime) -> bool:
        """Whether it has ended."""
        return self.expires is not None and self.expires <= now


class TokenEntry(RightsEntry):
    """One token, by the hash of its secret."""

    id: Annotated[str, StringConstraints(pattern=rf"^[0-9a-f]{{{ID_BYTES * 2}}}$")]
    hash: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] = Field(repr=False)

    @property
    def credential(self) -> str:
        """How it is named where its use is told."""
        return f"token:{self.name}"


class ClientEntry(RightsEntry):
    """One client certificate, by its subject."""

    subject: str

    @model_validator(mode="after")
    def _written_as_is_compared(self) -> Self:
        if self.subject != canonical_subject(self.subject):
            raise ValueError(f"the subject is written {canonical_subject(self.subject)!r}")
        return self

    @property
    def credential(self) -> str:
        """How it is named where its use is told."""
        return f"mtls:{self.subject}"


class RightsFile(BaseModel):
    """The content of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    format: Literal["pulsar-syncer-rights"] = "pulsar-syncer-rights"
    version: Literal[1] = 1
    tokens: tuple[TokenEntry, ...] = Field(default=(), max_length=MAX_ENTRIES)
    clients: tuple[ClientEntry, ...] = Field(default=(), max_length=MAX_ENTRIES)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        ids, subjects = [each.id for each in self.tokens], [each.subject for each in self.clients]
        if len(set(ids)) < len(ids) or len(set(subjects)) < len(subjects):
            raise ValueError("an id of a token, or a subject, is there twice")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeToken:
    """A token that was just made: the only time that its text is known."""

    entry: TokenEntry
    text: str

    def __repr__(self) -> str:
        return f"MadeToken(entry={self.entry!r})"


def canonical_subject(text: str) -> str:
    """A subject in the one form in which subjects are compared: RFC 4514, the most specific part first.

    Raises:
        ValueError: It is no distinguished name.
    """
    try:
        name = x509.Name.from_rfc4514_string(text)
    except ValueError as exc:
        raise ValueError(f"no distinguished name as RFC 4514 writes it, such as CN=app,O=acme: {exc}") from None
    if not list(name):
        raise ValueError("an empty subject names nobody")
    return name.rfc4514_string()


def parse(text: bytes) -> RightsFile:
    """Read the content of a file.

    Raises:
        ValueError: It is none; the message names fields, and nothing that they hold.
    """
    try:
        return RightsFile.model_validate_json(text)
    except ValidationError as exc:
        found = exc.errors(include_url=False, include_input=False, include_context=False)
        words = [f"{'.'.join(map(str, each['loc'])) or 'the file'}: {each['msg']}" for each in found[:3]]
        raise ValueError("; ".join(words)) from None


def dump(rights: RightsFile) -> bytes:
    """The content of a file as it is written."""
    return rights.model_dump_json(indent=2, exclude_none=True).encode() + b"\n"


def token_of(text: str) -> tuple[str, str] | None:
    """Id and secret of a token; ``None``: it is none."""
    found = _TOKEN.fullmatch(text)
    return (found[1], found[2]) if found is not None else None


def made(
    rights: RightsFile,
    randomness: bytes,
    *,
    name: str,
    role: AccessRole,
    values: bool,
    expires: datetime | None,
    now: datetime,
) -> tuple[RightsFile, MadeToken]:
    """Add a token.

    Args:
        rights: What there is.
        randomness: ``ID_BYTES + SECRET_BYTES`` from the system's generator, used for nothing else.
        name: Whose it is; a second one of the same name replaces the first one without a gap.
        role: What it may do.
        values: Whether it may see values and payloads.
        expires: When it ends; ``None``: by revocation only.
        now: The present.

    Raises:
        PreconditionFailed: There are two of this name already, or there is no room.
        ValueError: The name cannot be one, or the randomness is too short.
    """
    if len(randomness) != ID_BYTES + SECRET_BYTES:
        raise ValueError(f"{ID_BYTES + SECRET_BYTES} random bytes are wanted")
    kept = tuple(each for each in rights.tokens if not (each.name == name and each.expired(now)))
    same = [each for each in kept if each.name == name]
    if len(same) >= AT_A_TIME:
        ids = " and ".join(each.id for each in same)
        raise PreconditionFailed(
            f"there are {AT_A_TIME} tokens of the name {name!r} already: {ids}",
            hint=f"Revoke the one that is used no more: 'syncer api token revoke {name} --id ID'.",
        )
    if len(kept) >= MAX_ENTRIES:
        raise PreconditionFailed(f"there are {MAX_ENTRIES} tokens already", hint="Revoke those that nobody uses.")
    if any(each.name == name for each in rights.clients):
        raise PreconditionFailed(f"{name!r} is the name of a client certificate", hint="Give another name.")
    number = randomness[:ID_BYTES].hex()
    secret = base64.urlsafe_b64encode(randomness[ID_BYTES:]).rstrip(b"=").decode()
    entry = TokenEntry(name=name, role=role, values=values, created=now, expires=expires, id=number, hash=_hash(secret))
    text = f"{PREFIX}_{number}_{secret}"
    return _checked(rights, tokens=(*kept, entry)), MadeToken(entry=entry, text=text)


def revoked(rights: RightsFile, name: str, number: str | None = None) -> tuple[RightsFile, tuple[TokenEntry, ...]]:
    """Take the tokens of a name away, or one of them by its id; those that went are returned too.

    Raises:
        NotFound: There is none.
    """
    gone = tuple(each for each in rights.tokens if each.name == name and number in {None, each.id})
    if not gone:
        what = f"token {number} of the name {name!r}" if number is not None else f"token of the name {name!r}"
        raise NotFound(f"there is no {what}", hint="See 'syncer api token list'.")
    return _checked(rights, tokens=tuple(each for each in rights.tokens if each not in gone)), gone


def allowed(rights: RightsFile, entry: ClientEntry) -> RightsFile:
    """Add a client certificate.

    Raises:
        PreconditionFailed: The name or the subject is there already, or there is no room.
    """
    if any(entry.name == each.name for each in (*rights.tokens, *rights.clients)):
        raise PreconditionFailed(f"the name {entry.name!r} is taken", hint="See 'syncer api token list'.")
    if any(entry.subject == each.subject for each in rights.clients):
        raise PreconditionFailed(f"the subject {entry.subject!r} has rights already", hint="Remove these first.")
    if len(rights.clients) >= MAX_ENTRIES:
        raise PreconditionFailed(f"there are {MAX_ENTRIES} subjects already", hint="Remove those that nobody uses.")
    return _checked(rights, clients=(*rights.clients, entry))


def removed(rights: RightsFile, name: str) -> tuple[RightsFile, ClientEntry]:
    """Take the rights of a client certificate away.

    Raises:
        NotFound: There is none of this name.
    """
    gone = next((each for each in rights.clients if each.name == name), None)
    if gone is None:
        raise NotFound(f"there is no client certificate of the name {name!r}", hint="See 'syncer api client list'.")
    return _checked(rights, clients=tuple(each for each in rights.clients if each is not gone)), gone


def found_token(rights: RightsFile, text: str) -> TokenEntry | None:
    """The entry of a token whose secret is right, expired or not; ``None``: there is none.

    Takes equally long whether its id is known or not, and wherever its secret differs.
    """
    parts = token_of(text)
    number, secret = parts if parts is not None else ("", "")
    entry = next((each for each in rights.tokens if each.id == number), None)
    right = hmac.compare_digest(_hash(secret), entry.hash if entry is not None else _NOBODYS)
    return entry if right and parts is not None else None


def found_client(rights: RightsFile, subject: str) -> ClientEntry | None:
    """The entry of a certificate's subject; ``None``: it has no rights here."""
    return next((each for each in rights.clients if each.subject == subject), None)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _checked(
    rights: RightsFile,
    *,
    tokens: tuple[TokenEntry, ...] | None = None,
    clients: tuple[ClientEntry, ...] | None = None,
) -> RightsFile:
    return RightsFile(
        tokens=rights.tokens if tokens is None else tokens, clients=rights.clients if clients is None else clients
    )
