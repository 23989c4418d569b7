"""The gate: who asks, by a token or a client certificate, judged by the file as it is now.

    Authorization: Bearer … ──▶ its token counts, whatever certificate came with it
    no such header          ──▶ the subject of the client certificate counts, which TLS has verified
    neither                 ──▶ nobody

The file is looked at once a second at most and read again when it is another one. One that cannot be used lets nobody
in, whatever it held before: it may be the one in which somebody was struck out. The daemon goes on without it, and
says so by the condition ``api-rights-unreadable``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from syncer.access import token_file, tokens
from syncer.access.failures import Failures, neighbourhood
from syncer.access.roles import Caller
from syncer.access.token_file import FileState
from syncer.access.tokens import ClientEntry, RightsFile, TokenEntry
from syncer.errors import RightsUnreadable, TooManyFailures, Unauthorized

LOOK_S: Final = 1.0
_SCHEME: Final = "bearer"
_PUBLIC: Final = "the rights of the HTTP surface cannot be read now"

log = structlog.get_logger()


class RightsReader:
    """The file as it is now.

    Args:
        path: The file.
        clock_s: Seconds of a clock that never goes back.
    """

    def __init__(self, path: Path, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock_s = path, clock_s
        self._lock = threading.Lock()
        self._looked_s: float | None = None
        self._stamp: FileState | None = None
        self._rights: RightsFile | None = None
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Why the file cannot be used; empty: it can."""
        with self._lock:
            self._look()
            return self._trouble

    def rights(self) -> RightsFile:
        """Who may do what.

        Raises:
            RightsUnreadable: The file cannot be used; the message is for the one who asks, the cause is in the log.
        """
        with self._lock:
            self._look()
            if self._rights is None:
                raise RightsUnreadable(_PUBLIC)
            return self._rights

    def _look(self) -> None:
        now_s = self._clock_s()
        if self._looked_s is not None and now_s - self._looked_s < LOOK_S:
            return
        self._looked_s = now_s
        if self._rights is not None and token_file.stamp_of(self._path) == self._stamp:
            return
        try:
            found = token_file.read(self._path)
        except RightsUnreadable as exc:
            if self._trouble != exc.message:
                log.error("api_rights_unreadable", cause=exc.message, hint=exc.hint)  # noqa: TRY400 - no trace of a file's state
            self._rights, self._stamp, self._trouble = None, None, exc.message
            return
        self._rights, self._stamp, self._trouble = found.rights, found.stamp, ""
        log.info("api_rights_read", tokens=len(found.rights.tokens), clients=len(found.rights.clients))


class Gate:
    """Tells callers from strangers. For any thread.

    Args:
        reader: The file.
        failures: How often an address may fail.
        clock_s: Seconds of a clock that never goes back.
    """

    def __init__(
        self, reader: RightsReader, failures: Failures | None = None, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._reader, self._clock_s = reader, clock_s
        self.failures = failures or Failures()
        self._lock = threading.Lock()

    @property
    def trouble(self) -> str:
        """Why nobody can be let in; empty: they can."""
        return self._reader.trouble

    def admit(self, authorization: str | None, subject: str | None, address: str, now: datetime) -> Caller:
        """Judge one request.

        Args:
            authorization: Its header, as it came.
            subject: Of the client certificate that TLS has verified, as RFC 4514 writes it; ``None``: none came.
            address: Where it came from.
            now: The present.

        Raises:
            Unauthorized: No credential came, or none that is good. That one has expired is said to who has its secret.
            TooManyFailures: The same, and the address has failed too often.
            RightsUnreadable: The file cannot be used.
        """
        try:
            return self.known(authorization, subject, address, now)
        except Unauthorized as exc:
            with self._lock:
                wait_s = self.failures.fail(address, self._clock_s())
            if wait_s:
                raise TooManyFailures(
                    f"too many requests from {neighbourhood(address)} came without a good credential",
                    retry_after_s=wait_s,
                ) from exc
            raise

    def known(self, authorization: str | None, subject: str | None, address: str, now: datetime) -> Caller:
        """Judge one request, or once more one that was let in, without counting a failure. Arguments as above.

        Raises:
            Unauthorized: No credential came, or none that is good.
            RightsUnreadable: The file cannot be used.
        """
        entry = _entry(self._reader.rights(), authorization, subject)
        if entry.expired(now):
            raise Unauthorized(
                f"the credential {entry.name!r} has expired",
                credential=entry.credential,
                hint=f"Make a new one: 'syncer api token create {entry.name}'.",
            )
        return Caller(
            name=entry.name, role=entry.role, values=entry.values, credential=entry.credential, origin=address
        )


def _entry(rights: RightsFile, authorization: str | None, subject: str | None) -> TokenEntry | ClientEntry:
    if authorization is not None:
        scheme, _, text = authorization.strip().partition(" ")
        if scheme.lower() != _SCHEME:
            raise Unauthorized("only 'Bearer' is understood in the header 'Authorization'")
        if (entry := tokens.found_token(rights, text.strip())) is None:
            raise Unauthorized("the token is not known here")
        return entry
    if subject is None:
        raise Unauthorized("this needs a token, or a client certificate")
    if (client := tokens.found_client(rights, subject)) is None:
        raise Unauthorized("the subject of the client certificate has no rights here")
    return client
