"""The contract between the calls of the REST API and what carries them: a request, a reply, and the document in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar
from urllib.parse import quote

from syncer.client.reading import document_in, plain_in

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """A request.

    Args:
        method: Of HTTP.
        path: Percent-encoded.
        query: Parameters; ``None``: left to the daemon.
        headers: Likewise.
        body: JSON; ``None``: there is none.
        content: A file, in its place; ``None``: there is none.
        media: What the file is.
    """

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: Mapping[str, object] | None = None
    content: bytes | None = None
    media: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiReply:
    """A reply that is no error.

    Args:
        server: Whose it is, for messages.
        status: Of HTTP.
        headers: By name in small letters.
        content: The body.
    """

    server: str
    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class ApiAnswer(Generic[Found]):
    """What a call has found.

    Args:
        found: The document.
        etag: By which a decision names what was looked at; empty: there is none.
        pending: Whether the daemon has taken a request, and has yet to answer it.
    """

    found: Found
    etag: str = ""
    pending: bool = False


class Transport(Protocol):
    """Carries requests to one daemon."""

    def send(self, request: ApiRequest) -> ApiReply:
        """Send a request, and wait for the reply.

        Raises:
            ServerUnreachable: There was none in time.
            AnswerInvalid: It is none that a daemon gives.
            SyncerError: The daemon's own error, by its code.
        """
        ...


class ApiCalls:
    """Base of the calls of one noun.

    Args:
        transport: Carries them.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _document(self, model: type[Found], request: ApiRequest) -> ApiAnswer[Found]:
        reply = self._transport.send(request)
        return _answer(document_in(reply.content, model, reply.server), reply)

    def _plain(self, request: ApiRequest) -> ApiAnswer[dict[str, object]]:
        reply = self._transport.send(request)
        return _answer(plain_in(reply.content, reply.server), reply)


def _answer(found: Found, reply: ApiReply) -> ApiAnswer[Found]:
    return ApiAnswer(found, etag=reply.headers.get("etag", ""), pending=reply.status == 202)


def in_path(value: object) -> str:
    """A value as it stands in a path: its slashes kept, and no part that would be resolved."""
    parts = str(value).split("/")
    return "/".join(part.replace(".", "%2E") if part in {".", ".."} else quote(part, safe="") for part in parts)
